#include "cli/command_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"
#include "cli/config_files.h"
#include "cli/surroundings.h"
#include "policy/config/network.h"
#include "policy/ecosystem/registries.h"
#include "policy/network/address.h"
#include "policy/network/address_class.h"
#include "policy/network/rule.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
namespace network = policy::network;
namespace config = policy::config;

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

/// What the flags say, each the user's own word.
base::Result<std::vector<config::Step>, Stop> steps_of(const Arguments& arguments) {
  using What = config::Step::What;
  std::vector<config::Step> out;
  const auto step = [&](What what, HostAndPort at, const char* flag) {
    out.push_back(
        {.what = what, .host = std::move(at.host), .port = std::move(at.port), .at = {.span = {}, .source = flag}});
  };
  for (const std::string& denied : arguments.values("--deny-domain")) step(What::kDeny, split(denied), "--deny-domain");
  for (const char* flag : {"--allow-domain", "--allow-fetch"}) {
    for (const std::string& allowed : arguments.values(flag)) {
      HostAndPort at = split(allowed);
      if (auto host = network::parse_host(at.host, network::SuffixMeaning::kWithApex); !host)
        return base::fail(refuse_value("bad-host", fmt::format("{}: {}", flag, host.error().message),
                                       fmt::format("{} HOST or {} HOST:PORT", flag, flag))
                              .error());
      step(What::kAllow, std::move(at), flag);
    }
  }
  if (arguments.has("--no-proxy")) step(What::kAnyHttps, {}, "--no-proxy");
  return out;
}

/// --allow-all-network: no rule of anybody's counts beside it.
base::Result<bool, Stop> gives_host_network(const Arguments& arguments, policy::Policy& policy) {
  if (!arguments.has("--allow-all-network")) return false;
  for (const char* other : {"--strict", "--publish", "--host-service", "--ask", "--deny-domain"}) {
    if (!arguments.has(other)) continue;
    return base::fail(stop(report::refused_usage(
        "flags-contradict", fmt::format("--allow-all-network and {} exclude each other", other),
        other == std::string_view("--strict") ? "leave one out: the host's own network is no layer of a sandbox"
                                              : "leave one out: all is reached, in and out",
        {})));
  }
  policy.posture.host_network = small_text("/etc/resolv.conf");
  return true;
}

/// Which of them can be, the planner says, as it does of a manifest's.
void add_ports(const Arguments& arguments, policy::Policy& policy) {
  for (const std::string& port : arguments.values("--publish"))
    policy.publish.push_back({port, {.span = {}, .source = "--publish"}});
  for (const std::string& port : arguments.values("--host-service"))
    policy.host_services.push_back({port, {.span = {}, .source = "--host-service"}});
}

}  // namespace

base::Result<std::vector<plan::Note>, Stop> allow_network(const Invocation& invocation, const Arguments& arguments,
                                                          const ecosystem::Effective& effective,
                                                          const config::Merged& merged, const AskTool& ask,
                                                          policy::Policy& policy) {
  CORDON_TRY(const bool all, gives_host_network(arguments, policy));
  if (all) return std::vector<plan::Note>();
  Reach reach(invocation, ask, policy);
  for (const ecosystem::RegistryRole& role : effective.registries) reach.add_role(role);
  for (const ecosystem::NamedText& domain : effective.domains) {
    const HostAndPort at = split(domain.value);
    reach.add(at.host, at.port, domain.origin);
  }
  add_ports(arguments, policy);
  std::vector<plan::Note> notes;
  CORDON_TRY(const std::vector<config::Step> flags, steps_of(arguments));
  for (const std::span<const config::Step> steps : {std::span(merged.network), std::span(flags)}) {
    for (const config::Taken& taken : config::apply_steps(steps, policy.network))
      notes.push_back(
          {.code = "every-host-taken-away",
           .text = fmt::format("{} lets the command reach every host, and {} takes one away: as no rule says "
                               "all but one, only named hosts are reached",
                               base::shown(origin_words(taken.rule)), base::shown(origin_words(taken.by))),
           .at = {}});
  }
  return notes;
}

}  // namespace cordon::cli
