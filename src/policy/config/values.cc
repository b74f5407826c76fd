#include "policy/config/values.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "policy/config/config.h"
#include "policy/network/idna.h"
#include "policy/network/rule.h"

namespace cordon::policy::config {
namespace {

using manifest::Fault;

Fault fault(std::string code, std::string_view value, std::string_view what, std::string hint) {
  return {std::move(code), base::quote(value) + " " + std::string(what), std::move(hint), 0, 0};
}

Fault of(network::Fault wrong) {
  return {std::move(wrong.code), std::move(wrong.message), std::move(wrong.hint), wrong.offset, wrong.length};
}

/// Variables by which a tool's files would stand elsewhere than what was granted for them.
bool moves_a_place(std::string_view name) {
  constexpr std::array kMoving = std::to_array<std::string_view>(
      {"CARGO_BUILD_BUILD_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR", "COURSIER_CACHE", "GRADLE_USER_HOME",
       "JAVA_TOOL_OPTIONS", "MIX_BUILD_ROOT", "MIX_DEPS_PATH", "PIP_CACHE_DIR", "REBAR_CACHE_DIR", "SBT_OPTS",
       "UV_CACHE_DIR"});
  return std::ranges::find(kMoving, name) != kMoving.end();
}

/// "HOST", and "PORT" where one follows.
std::pair<std::string_view, std::optional<std::string_view>> split_port(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

std::optional<Fault> check_path(std::string_view path) {
  if (auto wrong = manifest::check_value(manifest::Rule::kPath, path)) return wrong;
  std::size_t at = 0;
  for (const std::string_view part : base::split(path, '/')) {
    if (part == "..") {
      Fault wrong = fault("path-climbs", path, "climbs by ..", "write where it is: absolute, or below ~");
      wrong.offset = at;
      wrong.length = 2;
      return wrong;
    }
    at += part.size() + 1;
  }
  if (!path.starts_with('$')) return std::nullopt;
  const std::string_view variable = path.substr(0, path.find('/'));
  if (variable == "$HOME" || variable == "$PWD") return std::nullopt;
  Fault wrong = fault("unknown-variable", path, "begins with a variable that is not expanded",
                      "$HOME and $PWD are; for a file of that name write ./" + base::escape(path));
  wrong.length = variable.size();
  return wrong;
}

base::Result<std::string, Fault> host_of(std::string_view text, Port port) {
  const auto [written, number] = split_port(text);
  const std::string_view host = port == Port::kMay ? written : text;
  if (text.empty()) return base::fail(Fault{"empty-value", "a host is empty", "write a name: example.com", 0, 0});
  if (host == "*")
    return base::fail(fault("bad-host", text, "is every host", "enableProxy: false reaches any host on port 443"));
  if (text.contains('/')) return base::fail(fault("bad-host", text, "is no host name", "write the name alone"));
  if (std::ranges::count(text, ':') > 1 || network::parse_address(host))
    return base::fail(
        fault("bad-host", text, "is an address, not a name", "a configuration names hosts; an address is a flag's"));
  if (host.size() != text.size() && !network::parse_port(*number))
    return base::fail(fault("bad-port", text, "has no port behind the colon", "HOST, or HOST:PORT"));
  auto wire = network::wire_spelling(host);
  if (!wire) return base::fail(of(std::move(wire).error()));
  auto pattern = network::parse_host(*wire, network::SuffixMeaning::kWithApex);
  if (!pattern) return base::fail(of(std::move(pattern).error()));
  if (pattern->kind == network::HostKind::kSuffix && !wire->starts_with("*."))
    return base::fail(fault("bad-host", text, "begins with a dot", "write *" + base::escape(*wire)));
  if (pattern->kind != network::HostKind::kName && pattern->kind != network::HostKind::kSuffix)
    return base::fail(fault("bad-host", text, "is an address, not a name", "an address is a flag's"));
  return host.size() == text.size() ? std::move(*wire) : *wire + ":" + std::string(*number);
}

bool is_set_by_sandbox(std::string_view name) {
  constexpr std::array kReserved = std::to_array<std::string_view>(
      {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "TMPDIR", "TMP", "TEMP"});
  return name.starts_with("CORDON_") || std::ranges::find(kReserved, name) != kReserved.end();
}

std::optional<Fault> check_variable(std::string_view name, std::string_view value) {
  if (manifest::check_value(manifest::Rule::kEnvName, name))
    return fault("bad-env-name", name, "is not the name of an environment variable",
                 "letters, digits and underscores, not a digit first");
  if (is_set_by_sandbox(name) || name == "XDG_RUNTIME_DIR" || name == "SBE_PROXY_TOKEN")
    return fault("env-reserved", name, "is set by the sandbox", "leave it out");
  if (moves_a_place(name))
    return fault("env-reserved", name, "would move a tool's files to where nothing is granted",
                 "leave it out; set in your own environment it moves the grant as well");
  if (value.size() > kLongestVariable)
    return fault("value-too-long", name, "has a value of " + std::to_string(value.size()) + " bytes",
                 "at most " + std::to_string(kLongestVariable) + " bytes");
  if (value.contains('\0')) return fault("unsafe-character", name, "has a value that holds a NUL", "remove it");
  return std::nullopt;
}

}  // namespace cordon::policy::config
