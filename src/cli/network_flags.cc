#include "cli/network_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "policy/network/address.h"
#include "policy/network/name.h"
#include "policy/network/rule.h"
#include "report/json.h"

namespace cordon::cli {
namespace {

namespace network = policy::network;

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return std::string_view("0123456789abcdef").find(text[at] | 0x20); };
    const bool escape = text[i] == '%' && i + 2 < text.size() && digit(i + 1) < 16 && digit(i + 2) < 16;
    out += escape ? static_cast<char>(digit(i + 1) * 16 + digit(i + 2)) : text[i];
    if (escape) i += 2;
  }
  return out;
}

/// "http://user:password@host:port": the only kind of proxy that can be asked for a tunnel in the clear.
std::optional<policy::UpstreamProxy> proxy_in(std::string_view url) {
  policy::UpstreamProxy out;
  if (url.starts_with("http://")) url.remove_prefix(7);
  if (url.contains("://")) return std::nullopt;
  if (url.ends_with('/')) url.remove_suffix(1);
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
    out.authorization = "Basic " + report::base64(percent_decoded(url.substr(0, at)));
    url.remove_prefix(at + 1);
  }
  const std::size_t colon = url.rfind(':');
  const bool bare_ipv6 = url.ends_with(']');
  out.port = colon == std::string_view::npos || bare_ipv6 ? "80" : std::string(url.substr(colon + 1));
  out.host = network::lower_case(colon == std::string_view::npos || bare_ipv6 ? url : url.substr(0, colon));
  if (out.host.starts_with('[') && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  const bool host = network::parse_address(out.host) || network::HostName::parse(out.host);
  if (!host || !network::parse_port(out.port)) return std::nullopt;
  return out;
}

/// An entry of NO_PROXY covers the host and what is below it. One that is no host of ours is passed over: then the
/// proxy is asked, which reaches less and not more.
std::vector<policy::NetworkRule> direct_in(std::string_view list) {
  std::vector<policy::NetworkRule> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty()) continue;
    const std::string text = network::lower_case(one);
    const bool literal = one == "*" || network::parse_address(text) || network::parse_block(text);
    const std::string host = literal || text.starts_with('.') || text.starts_with("*.") ? text : "." + text;
    if (network::parse_host(host, network::SuffixMeaning::kWithApex))
      out.push_back({.host = host, .port = "*", .reason = {}, .at = {.span = {}, .source = "NO_PROXY"}});
  }
  return out;
}

std::string variable(const host::Caller& caller, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = caller.environment.find(name);
    if (found != caller.environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

/// What OpenSSL, Python, Node, curl, git, cargo, npm, Deno, Nix, the AWS tools and gRPC ask whom to trust.
constexpr auto kTrustVariables = std::to_array<const char*>(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE",
     "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "CARGO_HTTP_CAINFO", "npm_config_cafile", "NPM_CONFIG_CAFILE", "DENO_CERT",
     "NIX_SSL_CERT_FILE", "AWS_CA_BUNDLE", "HEX_CACERTS_PATH", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"});

/// Absolute paths alone: what a relative one means inside is not what it means here.
std::vector<policy::TrustSetting> trust_of(const host::Caller& caller) {
  std::vector<policy::TrustSetting> out;
  for (const char* name : kTrustVariables) {
    const std::string value = variable(caller, {name});
    if (value.empty()) continue;
    policy::TrustSetting setting{.name = name, .value = value, .paths = {}};
    bool absolute = true;
    for (std::string_view path : base::split(value, ':')) {
      auto normal = base::AbsPath::parse(path);
      absolute = absolute && normal.has_value();
      if (absolute) setting.paths.push_back(normal->str());
    }
    if (absolute) out.push_back(std::move(setting));
  }
  return out;
}

}  // namespace

base::Result<void, Stop> network_posture(const Invocation& invocation, const Arguments& arguments,
                                         policy::Posture& posture) {
  for (const std::string& text : arguments.values("--allow-address")) {
    const auto block = network::parse_opened(text);
    if (!block)
      return refuse_value("allow-address-malformed", "--allow-address " + block.error().message, block.error().hint);
    posture.allow_address.push_back({to_string(*block), {.span = {}, .source = "--allow-address"}});
  }
  posture.trust = trust_of(invocation.caller);
  posture.ask = arguments.has("--ask");
  posture.proxy_env = arguments.has("--proxy-env");
  const bool flag = arguments.has("--upstream-proxy");
  const std::string url = flag ? arguments.value("--upstream-proxy")
                               : variable(invocation.caller, {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
  if (url.empty() || (flag && url == "none")) return {};
  posture.upstream = proxy_in(url);
  if (!posture.upstream && flag)
    return refuse_value("upstream-proxy-malformed", "--upstream-proxy takes a proxy that speaks HTTP",
                        "--upstream-proxy http://HOST:PORT, or none");
  if (posture.upstream) posture.upstream->direct = direct_in(variable(invocation.caller, {"NO_PROXY", "no_proxy"}));
  return {};
}

}  // namespace cordon::cli
