#include "enforce/outlet/settings.h"

#include "policy/network/name.h"

namespace cordon::enforce::outlet {
namespace {

namespace network = policy::network;
using base::Result;

auto unreadable(const std::string& text) {
  return base::fail(base::Error{.operation = "encode", .subject = text, .detail = "no network rule"});
}

Result<std::vector<network::Rule>> rules_of(const std::vector<plan::NetworkRule>& rules,
                                            network::SuffixMeaning meaning) {
  std::vector<network::Rule> out;
  for (const plan::NetworkRule& rule : rules) {
    auto parsed = network::parse_rule(rule.host, rule.ports, meaning);
    if (!parsed) return unreadable(rule.host + ":" + rule.ports);
    out.push_back(std::move(*parsed));
  }
  return out;
}

egress::ListenerRole role_of(plan::step::ListenFor what) {
  using plan::step::ListenFor;
  switch (what) {
    case ListenFor::kRedirected:
      return egress::ListenerRole::kRedirect;
    case ListenFor::kPort:
    case ListenFor::kHostService:
      return egress::ListenerRole::kPort;
    case ListenFor::kProxy:
      return egress::ListenerRole::kConnect;
    case ListenFor::kDnsUdp:
      return egress::ListenerRole::kDnsUdp;
    case ListenFor::kDnsTcp:
      return egress::ListenerRole::kDnsTcp;
  }
  return egress::ListenerRole::kRedirect;
}

Result<egress::Upstream> upstream_of(const plan::Upstream& upstream) {
  egress::Upstream out{.host = {}, .port = upstream.port, .authorization = upstream.authorization, .direct = {}};
  if (const auto address = network::parse_address(upstream.host)) {
    out.host = *address;
  } else if (auto name = network::HostName::parse(upstream.host)) {
    out.host = *name;
  } else {
    return unreadable(upstream.host);
  }
  CORDON_TRY(out.direct, rules_of(upstream.direct, network::SuffixMeaning::kWithApex));
  return out;
}

}  // namespace

Result<egress::Config> settings_of(const plan::Plan& plan) {
  egress::Config out;
  // Without a way out there is nothing that a rule could let through; ports are published all the same.
  const plan::Egress egress = plan.egress.value_or(plan::Egress{});
  CORDON_TRY(out.rules.allow, rules_of(egress.allow, network::SuffixMeaning::kBelowOnly));
  for (const std::string& text : egress.opened) {
    const auto block = network::parse_block(text);
    if (!block) return unreadable(text);
    out.opened.push_back(*block);
  }
  out.host_services = egress.host_services;
  for (const plan::Step& step : plan.steps) {
    if (const auto* pool = std::get_if<plan::step::SocketPool>(&step.act))
      (pool->ipv6 ? out.inner_ipv6 : out.inner_ipv4) = pool->count;
    const auto* listen = std::get_if<plan::step::Listen>(&step.act);
    if (listen == nullptr) continue;
    const bool ipv6 = listen->address.contains(':');
    out.listeners.push_back({role_of(listen->what), ipv6 ? network::Family::kIpv6 : network::Family::kIpv4});
  }
  if (egress.upstream) {
    CORDON_TRY(out.upstream, upstream_of(*egress.upstream));
  }
  out.gate = egress.asks ? egress::Gate::kAttached : egress::Gate::kAbsent;
  out.ipv6 = egress.ipv6 ? egress::Ipv6::kPresent : egress::Ipv6::kAbsent;
  return out;
}

}  // namespace cordon::enforce::outlet
