#include "policy/ecosystem/tool_settings.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "policy/ecosystem/registry_lines.h"
#include "policy/ecosystem/toml_document.h"

namespace cordon::policy::ecosystem {
namespace {

constexpr std::array kNpm = std::to_array<std::string_view>({"audit",
                                                             "auto-install-peers",
                                                             "cafile",
                                                             "engine-strict",
                                                             "fetch-retries",
                                                             "fetch-timeout",
                                                             "fund",
                                                             "ignore-scripts",
                                                             "legacy-peer-deps",
                                                             "link-workspace-packages",
                                                             "loglevel",
                                                             "maxsockets",
                                                             "network-timeout",
                                                             "node-linker",
                                                             "nodedir",
                                                             "omit-lockfile-registry-resolved",
                                                             "prefer-offline",
                                                             "progress",
                                                             "public-hoist-pattern",
                                                             "registry",
                                                             "save-exact",
                                                             "save-prefix",
                                                             "shamefully-hoist",
                                                             "strict-peer-dependencies",
                                                             "strict-ssl",
                                                             "update-notifier",
                                                             "yes"});
constexpr std::array kPip = std::to_array<std::string_view>(
    {"cert", "default-timeout", "disable-pip-version-check", "extra-index-url", "index-url", "no-binary", "only-binary",
     "prefer-binary", "require-virtualenv", "retries", "timeout", "trusted-host"});

template <std::size_t N>
bool is_known(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

bool passes(RegistryFormat format, std::string_view key) {
  if (format == RegistryFormat::kPipConf) return is_known(kPip, key);
  return is_known(kNpm, key) || (key.starts_with('@') && key.ends_with(":registry"));
}

}  // namespace

std::optional<std::string> without_users(std::string_view value) {
  std::string out;
  while (true) {
    const std::size_t scheme = value.find("://");
    if (scheme == std::string_view::npos) break;
    out += value.substr(0, scheme + 3);
    value.remove_prefix(scheme + 3);
    const std::size_t end = std::min(value.find_first_of("/ \t,?#"), value.size());
    const std::size_t at = value.substr(0, end).rfind('@');
    const bool is_git = value.starts_with("git@") && out.ends_with("ssh://");
    if (at != std::string_view::npos && !is_git) value.remove_prefix(at + 1);
  }
  out += value;
  // A fragment is nobody's but the client's.
  if (const std::size_t hash = out.find('#'); hash != std::string::npos && out.contains("://")) out.resize(hash);
  // An address of another form may hold anything; so may a line that another reader ends elsewhere.
  if (out.contains(":/") && !out.contains("://")) return std::nullopt;
  if (out.find_first_of(std::string_view("\r\0;", 3)) != std::string::npos) return std::nullopt;
  // What a variable stands for is not known here: "${TOKEN}" in a URL is one. An '@' that is left is a scope's
  // ("@types/*"), or git's own user.
  if (out.contains("${") || out.contains('?')) return std::nullopt;
  for (std::size_t at = out.find('@'); at != std::string::npos; at = out.find('@', at + 1)) {
    const bool begins = at == 0 || out[at - 1] == ' ' || out[at - 1] == ',' || out[at - 1] == '\t';
    const bool is_git = at >= 3 && out.compare(at - 3, 3, "git") == 0 &&
                        (at == 3 || out.compare(0, at, "ssh://git") == 0 || out.compare(0, at, "git+ssh://git") == 0);
    if (!begins && !is_git) return std::nullopt;
  }
  return out;
}

std::string settings_without_credentials(RegistryFormat format, std::string_view text) {
  if (text.size() > kLargestConfiguration || text.contains('\0')) return {};
  for (std::size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1))
    if (text.substr(at + 1, 1) != "\n") return {};  // a line ends there for some readers, and for others it does not
  if (format == RegistryFormat::kCargoToml) return cargo_settings(text);
  if (format == RegistryFormat::kMavenSettings) return maven_settings(text);
  if (format != RegistryFormat::kNpmrc && format != RegistryFormat::kPipConf) return {};
  std::string out;
  const bool is_pip = format == RegistryFormat::kPipConf;
  bool any = false, passed = false;
  for (const std::string_view raw : base::split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    const bool goes_on = is_pip && !line.empty() && (raw.starts_with(' ') || raw.starts_with('\t'));
    if (goes_on && line.find('=') == std::string_view::npos) {  // of the value above
      const auto value = without_users(line);
      if (passed && value) out += "    " + *value + "\n";
      continue;
    }
    passed = false;
    if (is_pip && line.starts_with('[') && line.ends_with(']')) {
      out += std::string(line) + "\n";
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#') || line.starts_with(';')) continue;
    const std::string_view key = trimmed(line.substr(0, equals));
    const auto value = without_users(trimmed(line.substr(equals + 1)));
    if (!value || !passes(format, key)) continue;
    out += std::string(key) + "=" + *value + "\n";
    passed = any = true;
  }
  return any ? out : std::string();
}

}  // namespace cordon::policy::ecosystem
