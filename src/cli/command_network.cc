#include "cli/command_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/surroundings.h"
#include "policy/ecosystem/registries.h"
#include "policy/network/address.h"
#include "policy/network/address_class.h"
#include "policy/network/rule.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
namespace network = policy::network;

constexpr std::string_view kHttps = "443";

/// "host", "host:port"; an IPv6 address in brackets where a port follows.
struct HostAndPort {
  std::string host, port;
};
HostAndPort split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool bare_ipv6 = colon != std::string_view::npos && text.find(':') != colon && !text.starts_with('[');
  const bool has_port = colon != std::string_view::npos && !bare_ipv6 && !text.ends_with(']');
  std::string_view host = has_port ? text.substr(0, colon) : text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::string(host), std::string(has_port ? text.substr(colon + 1) : kHttps)};
}

class Reach {
 public:
  Reach(const Invocation& invocation, const AskTool& ask, policy::Policy& policy)
      : invocation_(invocation), ask_(ask), policy_(policy) {}

  void add(std::string host, std::string port, const std::string& origin) {
    // Maven's own settings block plain http by a mirror at 0.0.0.0: what is never dialled is no registry.
    if (const auto address = network::parse_address(host);
        address && network::plain_class(*address) >= network::kFirstNever)
      return;
    policy::NetworkRule rule{
        .host = std::move(host), .port = std::move(port), .reason = {}, .at = {.span = {}, .source = origin}};
    const auto same = [&](const policy::NetworkRule& other) {
      return other.host == rule.host && other.port == rule.port;
    };
    if (std::ranges::none_of(policy_.network, same)) policy_.network.push_back(std::move(rule));
  }

  void add_role(const ecosystem::RegistryRole& role) {
    const ecosystem::Registry& registry = *role.registry;
    bool tools_own = true;
    const auto take = [&](const ecosystem::RegistryHosts& hosts, const std::string& from) {
      for (const ecosystem::RegistryHost& one : hosts.hosts)
        add(one.host, std::to_string(one.port), fmt::format("{}: {}", registry.role, from));
      if (hosts.tools_own == ecosystem::Default::kReplaced) tools_own = false;
    };
    for (const std::string_view variable : registry.variables) {
      const auto value = invocation_.caller.environment.find(std::string(variable));
      if (value == invocation_.caller.environment.end() || value->second.empty()) continue;
      take(ecosystem::registries_of_variable(variable, value->second), std::string(variable));
    }
    for (const ecosystem::RegistryFileAt& file : role.files) {
      if (const std::string text = small_text(file.path.str()); !text.empty())
        take(ecosystem::read_registries(file.format, text, file.path.str()), file.path.str());
    }
    if (!tools_own) return;
    if (!registry.hosts.empty()) {
      for (const std::string_view host : registry.hosts) {
        const HostAndPort at = split(host);
        add(at.host, at.port, role.origin);
      }
      return;
    }
    if (registry.ask.empty() || !ask_) return;
    take(ecosystem::registries_of_variable(registry.ask.front(), ask_(registry.ask)), "asked of the tool");
  }

 private:
  const Invocation& invocation_;
  const AskTool& ask_;
  policy::Policy& policy_;
};

base::Result<void, Stop> mistake(const Arguments& arguments, const char* flag, const std::string& why) {
  return base::fail(stop(report::refused_usage("bad-host", fmt::format("{}: {}", flag, why),
                                               fmt::format("{} HOST or {} HOST:PORT", flag, flag),
                                               usage_line(*arguments.command, 78))));
}

/// In flags `*.x` and `.x` cover x itself as well.
std::string apex_of(std::string_view host) {
  if (host.starts_with("*.")) return std::string(host.substr(2));
  if (host.starts_with('.')) return std::string(host.substr(1));
  return {};
}

bool covers(const policy::NetworkRule& rule, const std::string& denied) {
  const std::string apex = apex_of(denied);
  const std::string& name = apex.empty() ? denied : apex;
  if (rule.host == denied || rule.host == name || rule.host == "*") return true;
  if (!apex.empty() && rule.host.ends_with("." + apex)) return true;
  const std::string wide = apex_of(rule.host);
  return !wide.empty() && (name == wide || name.ends_with("." + wide));
}

}  // namespace

base::Result<void, Stop> allow_network(const Invocation& invocation, const Arguments& arguments,
                                       const ecosystem::Effective& effective, const AskTool& ask,
                                       policy::Policy& policy) {
  Reach reach(invocation, ask, policy);
  for (const ecosystem::RegistryRole& role : effective.registries) reach.add_role(role);
  for (const ecosystem::NamedText& domain : effective.domains) {
    const HostAndPort at = split(domain.value);
    reach.add(at.host, at.port, domain.origin);
  }
  for (const std::string& denied : arguments.values("--deny-domain")) {
    const HostAndPort at = split(denied);
    std::erase_if(policy.network, [&](const policy::NetworkRule& rule) { return covers(rule, at.host); });
  }
  for (const char* flag : {"--allow-domain", "--allow-fetch"}) {
    for (const std::string& allowed : arguments.values(flag)) {
      const HostAndPort at = split(allowed);
      if (auto host = network::parse_host(at.host, network::SuffixMeaning::kWithApex); !host)
        return mistake(arguments, flag, host.error().message);
      reach.add(at.host, at.port, flag);
      if (const std::string apex = apex_of(at.host); !apex.empty()) reach.add(apex, at.port, flag);
    }
  }
  if (arguments.has("--no-proxy")) reach.add("*", std::string(kHttps), "--no-proxy");
  return {};
}

}  // namespace cordon::cli
