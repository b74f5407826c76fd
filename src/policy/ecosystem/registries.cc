#include "policy/ecosystem/registries.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policy/ecosystem/registry_lines.h"
#include "policy/network/name.h"
#include "policy/network/rule.h"

namespace cordon::policy::ecosystem {
namespace {

/// The parts of an address that may be known.
struct Address {
  std::string_view host;
  std::string_view port;  ///< "" for the scheme's own
  std::uint16_t scheme_port = 443;
  Secrets secrets = Secrets::kNone;
};

constexpr std::string_view kWrappers[]{"sparse+", "registry+", "git+"};

std::optional<Address> parts(std::string_view text) {
  Address out;
  // "name=https://…", as UV_INDEX has it.
  if (const auto name = text.find('='); name < text.find("://")) text.remove_prefix(name + 1);
  for (const auto wrapper : kWrappers)
    if (text.starts_with(wrapper)) text.remove_prefix(wrapper.size());
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
    out.scheme_port = 80;
  } else {
    return std::nullopt;
  }
  if (text.find_first_of("?#") != std::string_view::npos) out.secrets = Secrets::kSome;
  text = text.substr(0, text.find_first_of("/?#"));
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    out.secrets = Secrets::kSome;
    text.remove_prefix(at + 1);
  }
  const auto bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const auto colon = bracket == std::string_view::npos ? text.find(':') : text.find(':', bracket);
  out.host = bracket == std::string_view::npos ? text.substr(0, colon) : text.substr(1, bracket - 1);
  if (colon != std::string_view::npos) out.port = text.substr(colon + 1);
  return out;
}

std::optional<RegistryHost> host_of(const Address& address) {
  const auto pattern = network::parse_host(network::lower_case(address.host), network::SuffixMeaning::kBelowOnly);
  const bool is_one =
      pattern && (pattern->kind == network::HostKind::kName || pattern->kind == network::HostKind::kAddress);
  if (!is_one) return std::nullopt;
  RegistryHost out{to_string(*pattern), address.scheme_port, {}};
  if (address.port.empty()) return out;
  const auto port = network::parse_port(address.port);
  if (!port) return std::nullopt;
  out.port = *port;
  return out;
}

}  // namespace

bool Collected::address(std::string_view text, std::uint32_t line) {
  const auto address = parts(trimmed(text));
  const auto host = address ? host_of(*address) : std::nullopt;
  if (!host) {
    note(line, "the address of a registry stands here that is not https://HOST or http://HOST");
    return false;
  }
  if (address->secrets == Secrets::kSome) out_.secrets = Secrets::kSome;
  const bool is_there = std::ranges::any_of(
      out_.hosts, [&](const RegistryHost& one) { return one.host == host->host && one.port == host->port; });
  if (is_there) return true;
  if (out_.hosts.size() >= kMostRegistries) {
    note(line, "more registries than Cordon takes from one file stand here");
    return false;
  }
  out_.hosts.push_back(*host);
  out_.hosts.back().at = {file_, line, 1, 1};
  return true;
}

void Collected::note(std::uint32_t line, std::string message) {
  if (out_.notes.size() >= kMostRegistries) return;
  out_.notes.push_back({.severity = base::Severity::kNote,
                        .code = "registry",
                        .at = {file_, line, 1, 1},
                        .message = std::move(message),
                        .hint = "--allow-domain HOST admits it for a run"});
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    out.push_back({trimmed(line), ++number, indented ? Line::Indent::kSome : Line::Indent::kNone});
  }
  return out;
}

RegistryHosts read_registries(RegistryFormat format, std::string_view text, std::string_view file) {
  Collected out(file);
  if (text.size() > kLargestConfiguration) {
    out.note(0, "this file is too large to be read for registries");
    return out.take();
  }
  switch (format) {
    case RegistryFormat::kNpmrc:
      read_npmrc(text, out);
      break;
    case RegistryFormat::kYarnrc:
      read_yarnrc(text, out);
      break;
    case RegistryFormat::kPipConf:
      read_pip_conf(text, out);
      break;
    case RegistryFormat::kUvToml:
      read_uv_toml(text, out);
      break;
    case RegistryFormat::kCargoToml:
      read_cargo_toml(text, out);
      break;
    case RegistryFormat::kGoEnv:
      read_go_env(text, out);
      break;
    case RegistryFormat::kMavenSettings:
      read_maven_settings(text, out);
      break;
  }
  return out.take();
}

RegistryHosts registries_of_variable(std::string_view variable, std::string_view value) {
  Collected out(variable);
  if (value.size() > kLargestConfiguration) return out.take();
  const bool adds = variable.find("EXTRA") != std::string_view::npos || variable == "UV_INDEX";
  if (!adds && !trimmed(value).empty()) out.replaces_default();
  read_goproxy(value, 0, out);
  return out.take();
}

}  // namespace cordon::policy::ecosystem
