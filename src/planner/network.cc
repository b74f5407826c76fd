#include "planner/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "planner/host.h"
#include "planner/landlock.h"
#include "policy/network/rule.h"
#include "policy/network/synthetic.h"

namespace cordon::planner {
namespace {

namespace network = policy::network;
namespace step = plan::step;
using plan::Feature;
using plan::Layer;
using step::ListenFor;

// Below 1024: the target has no right to these, so it loses none.
constexpr std::uint16_t kRedirectPort = 1;
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint16_t kProxyPort = 128;

constexpr std::size_t kMostPorts = 256;  // a listener for each, of both families
constexpr std::size_t kMostServices = 16;
constexpr std::size_t kMostPublished = 16;
/// Connections by published ports at once. The supervisor has all the sockets twice for a moment, and 1,024
/// descriptors.
constexpr std::uint16_t kPooled = 128;
constexpr std::uint16_t kFirstFreePort = 1'024;

constexpr auto kMeaning = network::SuffixMeaning::kBelowOnly;

/// The ports that the rules name, as long as they are few.
std::set<std::uint16_t> ports_of(const policy::Policy& policy) {
  std::set<std::uint16_t> out;
  for (const policy::NetworkRule& rule : policy.network) {
    const auto ports = network::parse_ports(rule.port);
    if (!ports) continue;
    for (std::uint32_t port = ports->first; port <= ports->last && out.size() <= kMostPorts; ++port)
      out.insert(static_cast<std::uint16_t>(port));
  }
  return out;
}

void refuse_host(Draft& draft, Feature feature, const base::Span& at, std::string message, std::string mend) {
  draft.refuse(Code::kFeatureMissing, at, std::move(message), std::move(mend));
  draft.items.back().layer = Layer::kNetwork;
  draft.items.back().feature = feature;
}

/// Granted ports of the host's loopback.
std::set<std::uint16_t> services_of(const policy::Policy& policy) {
  std::set<std::uint16_t> out;
  for (const policy::Text& text : policy.host_services) {
    if (const auto port = network::parse_port(text.value)) out.insert(*port);
  }
  return out;
}

/// As whoever asked for it wrote it: the flag, or the key of the manifest.
std::string name_of(const policy::Text& text, std::string_view key) {
  return text.at.source.starts_with("--") ? text.at.source : std::string(key);
}

/// The line that names this port.
std::string line_of(const policy::Text& text, std::string_view key, std::uint16_t port) {
  return text.at.source.starts_with("--") ? fmt::format("{} {}", text.at.source, port)
                                          : fmt::format("{}: [{}]", key, port);
}

/// Of "5173:80" and "127.0.0.1:5173", which other tools take: the port that was meant, or nothing.
std::optional<std::uint16_t> port_in(std::string_view text) {
  for (const std::string_view part : base::split(text, ':'))
    if (const auto port = network::parse_port(part); port && *port >= kFirstFreePort) return *port;
  return std::nullopt;
}

/// Cordon's own listeners stand on some ports of the loopback inside, where a client would look for the service.
void check_services(Draft& draft) {
  constexpr std::array kOwn = {kRedirectPort, kDnsPort, kProxyPort};
  const auto refuse = [&](const base::Span& at, std::string message, std::string mend) {
    draft.refuse(Code::kNetworkRuleInvalid, at, std::move(message), std::move(mend));
  };
  for (const policy::Text& text : draft.policy.host_services) {
    const auto port = network::parse_port(text.value);
    const std::string name = name_of(text, "host_services");
    if (!port) refuse(text.at.span, fmt::format("{}: {}", name, port.error().message), port.error().hint);
    if (port && std::ranges::find(kOwn, *port) != kOwn.end())
      refuse(text.at.span,
             fmt::format("{}: port {} is Cordon's own inside, so no service can be reached at it", name, *port),
             "let the service listen on another port");
  }
  if (services_of(draft.policy).size() > kMostServices)
    refuse(draft.policy.host_services.front().at.span,
           fmt::format("{}: at most {} ports", name_of(draft.policy.host_services.front(), "host_services"),
                       kMostServices),
           "name the ports that are needed");
}

/// What stands on this port of the loopback inside, so that the target cannot.
std::string_view taken_inside(const Draft& draft, std::uint16_t port) {
  if (services_of(draft.policy).contains(port)) return "host_services leads to the host's own service there";
  if (lacks(draft.facts, Feature::kNatRedirect) && ports_of(draft.policy).contains(port))
    return "this kernel has no nf_tables, so network: takes the port";
  return {};
}

/// Nothing maps one port to another, and the host's addresses are not to be chosen.
std::string mend_of_port(const policy::Text& text) {
  constexpr std::string_view kRange = "one number from 1024 to 65535";
  if (!text.value.contains(':')) return std::string(kRange);
  const auto port = port_in(text.value);
  return fmt::format("{}: host and inside have the same port, and the host listens on its loopback alone",
                     port ? line_of(text, "publish", *port) : std::string(kRange));
}

void check_published(Draft& draft) {
  const std::vector<policy::Text>& all = draft.policy.publish;
  const auto refuse = [&](const policy::Text& text, std::string message, std::string mend) {
    draft.refuse(Code::kNetworkRuleInvalid, text.at.span, std::move(message), std::move(mend));
    draft.items.back().is_grant = true;
  };
  std::set<std::uint16_t> seen;
  for (const policy::Text& text : all) {
    const auto port = network::parse_port(text.value);
    const std::string name = name_of(text, "publish");
    if (!port) {
      refuse(text, fmt::format("{}: {}", name, port.error().message), mend_of_port(text));
    } else if (*port < kFirstFreePort) {
      refuse(text, fmt::format("{}: the target has no right to listen on port {}", name, *port),
             "let it listen on a port from 1024 to 65535, and publish that");
    } else if (!seen.insert(*port).second) {
      refuse(text, fmt::format("{}: port {} is there twice", name, *port), "name it once");
    } else if (const auto why = taken_inside(draft, *port); !why.empty()) {
      refuse(text, fmt::format("{}: the target cannot listen on port {}: {}", name, *port, why),
             "let the target listen on another port");
    }
  }
  if (all.size() > kMostPublished)
    refuse(all[kMostPublished], fmt::format("{}: at most {} ports", name_of(all.front(), "publish"), kMostPublished),
           "name the ports that are needed");
}

/// The loopback inside is the sandbox's own, and the guard dials such an address for no rule and no flag: what can
/// never work is not approved.
void check_rule(Draft& draft, const policy::NetworkRule& rule) {
  const auto refuse = [&](std::string message, std::string mend) {
    draft.refuse(Code::kNetworkRuleInvalid, rule.at.span, std::move(message), std::move(mend));
    draft.items.back().is_grant = true;
  };
  const auto parsed = network::parse_rule(rule.host, rule.port, kMeaning);
  if (!parsed) return refuse(parsed.error().message, parsed.error().hint);
  const auto never = network::never_reached(parsed->host);
  const std::string host = base::quote(rule.host);
  if (never == network::AddressClass::kLoopback) {
    const bool one = parsed->ports.first == parsed->ports.last;
    refuse(fmt::format("network: {} is the sandbox's own loopback inside, so this rule reaches nothing", host),
           fmt::format("remove it: the target's own servers need no rule, and a service of this host is reached by "
                       "host_services: [{}]",
                       one ? to_string(parsed->ports) : "PORT"));
  } else if (never) {
    refuse(fmt::format("network: {} is {}, which is never reached", host, class_name(*never)), "remove it");
  }
}

std::string cause_of(const plan::FeatureFact& fact) {
  std::string out;
  if (!fact.operation.empty()) out += fmt::format(": {} failed", fact.operation);
  if (!fact.operation.empty() && fact.code != 0) out += fmt::format(" ({})", base::errno_name(fact.code));
  if (!fact.cause.empty()) out += fmt::format("; {}", fact.cause);
  return out;
}

/// Without nf_tables each granted port has a listener of its own.
void check_listeners(Draft& draft) {
  const plan::FeatureFact& fact = draft.facts.feature(Feature::kNatRedirect);
  const base::Span& at = draft.policy.network.empty() ? base::Span{} : draft.policy.network.front().at.span;
  if (draft.policy.posture.ask) {
    refuse_host(draft, Feature::kNatRedirect, {},
                "to be asked about connections needs nf_tables, so that one to any port arrives" + cause_of(fact),
                fact.mend);
  }
  if (ports_of(draft.policy).size() <= kMostPorts) return;
  refuse_host(draft, Feature::kNatRedirect, at,
              fmt::format("without nf_tables at most {} ports can be granted{}", kMostPorts, cause_of(fact)),
              fact.mend.empty() ? "name the ports that are needed" : fact.mend);
}

void listen(Draft& draft, ListenFor what, std::string address, std::uint16_t port, std::string reason) {
  draft.step(step::Listen{.what = what, .address = std::move(address), .port = port}, Layer::kNetwork,
             std::move(reason));
}

void listen_at_all(Draft& draft, ListenFor what, std::uint16_t port, const std::string& reason) {
  listen(draft, what, "0.0.0.0", port, reason);
  if (draft.plan.egress->ipv6) listen(draft, what, "::", port, reason);
}

void listen_redirected(Draft& draft) {
  const bool ipv6 = draft.plan.egress->ipv6;
  draft.step(step::Redirect{.port = kRedirectPort, .ipv6 = ipv6}, Layer::kNetwork, "network");
  listen(draft, ListenFor::kRedirected, "127.0.0.1", kRedirectPort, "network");
  if (ipv6) listen(draft, ListenFor::kRedirected, "::1", kRedirectPort, "network");
  listen(draft, ListenFor::kDnsTcp, "127.0.0.1", kDnsPort, "names");
  listen(draft, ListenFor::kProxy, "127.0.0.1", kProxyPort, "clients that want a proxy");
}

/// At the same port inside, on the loopback, where clients of such services look.
void listen_for_services(Draft& draft, const std::set<std::uint16_t>& taken) {
  for (const std::uint16_t port : draft.plan.egress->host_services) {
    if (taken.contains(port)) continue;
    listen(draft, ListenFor::kHostService, "127.0.0.1", port, "host_services");
    if (draft.plan.egress->ipv6) listen(draft, ListenFor::kHostService, "::1", port, "host_services");
  }
}

void listen_on_ports(Draft& draft) {
  const std::set<std::uint16_t> ports = ports_of(draft.policy);
  for (const std::uint16_t port : ports) listen_at_all(draft, ListenFor::kPort, port, "network");
  if (!ports.contains(kDnsPort)) listen_at_all(draft, ListenFor::kDnsTcp, kDnsPort, "names");
  if (!ports.contains(kProxyPort))
    listen(draft, ListenFor::kProxy, "127.0.0.1", kProxyPort, "clients that want a proxy");
  draft.note("ports-taken",
             "this kernel has no nf_tables: the target cannot listen on a port that the manifest lets it reach, and a "
             "connection to another port is refused without being reported",
             draft.policy.network.empty() ? base::Span{} : draft.policy.network.front().at.span);
}

plan::Egress egress_of(const Draft& draft) {
  plan::Egress out{.allow = {}, .opened = {}, .ipv6 = !lacks(draft.facts, Feature::kIpv6), .upstream = {}};
  for (const policy::NetworkRule& rule : draft.policy.network) {
    const auto parsed = network::parse_rule(rule.host, rule.port, kMeaning);
    if (parsed) out.allow.push_back({to_string(parsed->host), to_string(parsed->ports), rule.at.span});
  }
  const auto services = services_of(draft.policy);
  out.host_services.assign(services.begin(), services.end());
  const policy::Posture& posture = draft.policy.posture;
  for (const policy::Text& block : posture.allow_address) out.opened.push_back(block.value);
  out.asks = posture.ask;
  if (posture.upstream) {
    const auto port = network::parse_port(posture.upstream->port);
    out.upstream = plan::Upstream{.host = posture.upstream->host,
                                  .port = port ? *port : std::uint16_t{0},
                                  .authorization = posture.upstream->authorization,
                                  .direct = {}};
    for (const policy::NetworkRule& rule : posture.upstream->direct)
      out.upstream->direct.push_back({rule.host, rule.port, rule.at.span});
  }
  return out;
}

/// By an abstract socket a program of the host is reached that was never meant to be (D-Bus, X11): Landlock's scope
/// holds them apart where namespaces do not.
void check_host_network(Draft& draft) {
  draft.note("host-network",
             "the target is in this host's own network: every address, every service of its loopback, no rule and no "
             "record",
             {});
  constexpr int kScopingAbi = 6;
  if (landlock_abi(draft.facts) >= kScopingAbi) return;
  refuse_host(draft, Feature::kLandlock, {},
              "in the host's network the host's abstract sockets are reached, and this kernel's Landlock does not hold "
              "them apart",
              "a kernel of 6.12 or later; or name hosts: --allow-domain HOST");
}

}  // namespace

bool has_way_out(const policy::Policy& policy) {
  return !policy.network.empty() || !policy.host_services.empty() || policy.posture.ask;
}

bool reaches_out(const policy::Policy& policy) {
  return has_way_out(policy) || policy.posture.host_network.has_value();
}

void check_network(Draft& draft) {
  if (draft.policy.posture.host_network) return check_host_network(draft);
  if (!has_way_out(draft.policy) && draft.policy.publish.empty()) return;
  for (const policy::NetworkRule& rule : draft.policy.network) check_rule(draft, rule);
  check_services(draft);
  check_published(draft);
  if (const plan::FeatureFact& fact = draft.facts.feature(Feature::kNetNamespace);
      lacks(draft.facts, Feature::kNetNamespace) && draft.policy.posture.allow_degraded) {
    // Without --allow-degraded the missing namespace is refused anyway.
    refuse_host(draft, Feature::kNetNamespace, {},
                "without a network of its own the target's connections cannot be held to the rules" + cause_of(fact),
                fact.mend);
  }
  if (lacks(draft.facts, Feature::kNatRedirect) && has_way_out(draft.policy)) check_listeners(draft);
}

/// Whose word it is that names may lead into an inner network.
void note_opened(Draft& draft) {
  for (const policy::Text& block : draft.policy.posture.allow_address) {
    const base::Span& at = block.at.span;
    const std::string who = at.file.empty() ? block.at.source : fmt::format("{}:{}", base::shown(at.file), at.line);
    draft.note("address-opened", fmt::format("names may lead to {}, because {} says so", block.value, who), {});
  }
}

void let_out(Draft& draft) {
  if (!has_way_out(draft.policy)) return;
  note_opened(draft);
  draft.plan.egress = egress_of(draft);
  draft.step(step::LocalNetwork{.address = to_string(network::kOwnIpv4)}, Layer::kNetwork, "network");
  if (draft.plan.egress->ipv6)
    draft.step(step::LocalNetwork{.address = to_string(network::kOwnIpv6)}, Layer::kNetwork, "network");
  if (lacks(draft.facts, Feature::kNatRedirect)) {
    listen_on_ports(draft);
    listen_for_services(draft, ports_of(draft.policy));
  } else {
    listen_redirected(draft);
    listen_for_services(draft, {});
  }
  listen_at_all(draft, ListenFor::kDnsUdp, kDnsPort, "names");
}

void let_in(Draft& draft) {
  if (draft.policy.publish.empty()) return;
  const std::string reason = "publish";
  draft.step(step::SocketPool{.count = kPooled, .ipv6 = false}, Layer::kNetwork, reason);
  if (!lacks(draft.facts, Feature::kIpv6))
    draft.step(step::SocketPool{.count = kPooled, .ipv6 = true}, Layer::kNetwork, reason);
  for (const policy::Text& text : draft.policy.publish) {
    const auto port = network::parse_port(text.value);
    draft.step(step::Publish{.port = port ? *port : std::uint16_t{0}}, Layer::kNetwork, reason);
    draft.plan.steps.back().at = text.at.span;
  }
}

void connect_network(Draft& draft) {
  let_out(draft);
  let_in(draft);
}

std::string proxy_address() { return fmt::format("http://127.0.0.1:{}", kProxyPort); }

std::string resolver_settings(const policy::Policy& policy) {
  if (policy.posture.host_network) return *policy.posture.host_network;
  if (has_way_out(policy)) return fmt::format("nameserver {}\n", to_string(network::kOwnIpv4));
  // No server: the resolver then asks 127.0.0.1 and is refused at once, instead of waiting for an answer.
  return "options timeout:1 attempts:1\n";
}

}  // namespace cordon::planner
