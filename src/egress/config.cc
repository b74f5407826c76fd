#include "egress/config.h"

#include <utility>

#include "egress/wire.h"

namespace cordon::egress {
namespace {

using policy::network::Rule;
using policy::network::SuffixMeaning;

constexpr std::uint64_t kMagic = 0x5353455247455243;  // "CREGRESS"
constexpr std::uint32_t kVersion = 4;
constexpr std::uint8_t kGateFlag = 1, kIpv6Flag = 2, kUpstreamFlag = 4, kAllFlags = 7;
constexpr std::size_t kLongestAuthorization = 1'024;

void write_rules(Writer& out, const std::vector<Rule>& rules) {
  out.number(static_cast<std::uint32_t>(rules.size()));
  for (const Rule& rule : rules) {
    out.number(static_cast<std::uint8_t>(rule.host.suffix));
    out.text(to_string(rule.host));
    out.text(to_string(rule.ports));
  }
}

std::vector<Rule> read_rules(Reader& in) {
  std::vector<Rule> rules;
  const auto count = in.number_up_to<std::uint32_t>(kMostRules);
  for (std::uint32_t i = 0; i < count && !in.bad(); ++i) {
    const auto meaning = static_cast<SuffixMeaning>(in.number_up_to<std::uint8_t>(1));
    const auto host = in.text(policy::network::kLongestName + 1);
    const auto ports = in.text(11);
    auto rule = policy::network::parse_rule(host, ports, meaning);
    // The spelling must be the canonical one too: what is shown elsewhere is what holds here.
    if (!rule || rule->host.suffix != meaning || to_string(rule->host) != host || to_string(rule->ports) != ports) {
      in.fail();
    } else {
      rules.push_back(std::move(*rule));
    }
  }
  return rules;
}

void write_upstream(Writer& out, const Upstream& upstream) {
  const bool literal = upstream.host.address() != nullptr;
  out.number(static_cast<std::uint8_t>(literal ? 1 : 0));
  out.text(to_string(upstream.host));
  out.number(upstream.port);
  out.text(upstream.authorization);
  write_rules(out, upstream.direct);
}

Upstream read_upstream(Reader& in) {
  Upstream out;
  const bool literal = in.number_up_to<std::uint8_t>(1) == 1;
  const auto text = in.text(policy::network::kLongestName);
  if (literal) {
    const auto address = policy::network::parse_address(text);
    if (address) out.host = *address;
    if (!address) in.fail();
  } else if (auto name = policy::network::HostName::parse(text)) {
    out.host = std::move(*name);
  } else {
    in.fail();
  }
  out.port = in.number<std::uint16_t>();
  out.authorization = in.text(kLongestAuthorization);
  // A line break here would write fields of its own into the request.
  for (const char c : out.authorization)
    if (c < 0x20 || c > 0x7e) in.fail();
  if (out.port == 0) in.fail();
  out.direct = read_rules(in);
  return out;
}

void read_lists(Reader& in, Config& out) {
  const auto blocks = in.number_up_to<std::uint32_t>(kMostBlocks);
  for (std::uint32_t i = 0; i < blocks && !in.bad(); ++i) {
    const auto block = policy::network::parse_block(in.text(64));
    if (block) out.opened.push_back(*block);
    if (!block) in.fail();
  }
  const auto services = in.number_up_to<std::uint32_t>(kMostHostServices);
  for (std::uint32_t i = 0; i < services && !in.bad(); ++i) {
    out.host_services.push_back(in.number<std::uint16_t>());
    if (out.host_services.back() == 0) in.fail();
  }
  const auto listeners = in.number_up_to<std::uint32_t>(kMostListeners);
  for (std::uint32_t i = 0; i < listeners && !in.bad(); ++i) {
    const auto role = in.number_up_to<std::uint8_t>(kLastRole);
    if (role == 0) in.fail();
    const auto family = in.number_up_to<std::uint8_t>(1);
    out.listeners.push_back({static_cast<ListenerRole>(role), static_cast<policy::network::Family>(family)});
  }
  out.inner_ipv4 = in.number_up_to<std::uint16_t>(kMostInnerSockets);
  out.inner_ipv6 = in.number_up_to<std::uint16_t>(kMostInnerSockets);
}

}  // namespace

std::vector<std::byte> encode(const Config& config) {
  Writer out;
  out.number(kMagic);
  out.number(kVersion);
  out.number(std::uint32_t{0});  // the size, known at the end
  const unsigned flags = (config.gate == Gate::kAttached ? kGateFlag : 0U) |
                         (config.ipv6 == Ipv6::kPresent ? kIpv6Flag : 0U) | (config.upstream ? kUpstreamFlag : 0U);
  out.number(static_cast<std::uint8_t>(flags));
  for (const BoundInfo& info : kBounds) out.number(config.bounds.*info.value);
  write_rules(out, config.rules.allow);
  write_rules(out, config.rules.deny);
  out.number(static_cast<std::uint32_t>(config.opened.size()));
  for (const auto& block : config.opened) out.text(to_string(block));
  out.number(static_cast<std::uint32_t>(config.host_services.size()));
  for (const std::uint16_t port : config.host_services) out.number(port);
  out.number(static_cast<std::uint32_t>(config.listeners.size()));
  for (const Listener& listener : config.listeners) {
    out.number(static_cast<std::uint8_t>(listener.role));
    out.number(static_cast<std::uint8_t>(listener.family));
  }
  out.number(config.inner_ipv4);
  out.number(config.inner_ipv6);
  if (config.upstream) write_upstream(out, *config.upstream);
  const auto size = static_cast<std::uint32_t>(out.bytes().size());
  std::memcpy(out.bytes().data() + sizeof kMagic + sizeof kVersion, &size, sizeof size);
  return std::move(out.bytes());
}

std::optional<Config> decode_config(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Config out;
  if (in.number<std::uint64_t>() != kMagic || in.number<std::uint32_t>() != kVersion) return std::nullopt;
  if (in.number<std::uint32_t>() != bytes.size() || bytes.size() > kMostConfigBytes) return std::nullopt;
  const auto flags = in.number_up_to<std::uint8_t>(kAllFlags);
  out.gate = (flags & kGateFlag) != 0 ? Gate::kAttached : Gate::kAbsent;
  out.ipv6 = (flags & kIpv6Flag) != 0 ? Ipv6::kPresent : Ipv6::kAbsent;
  for (const BoundInfo& info : kBounds) out.bounds.*info.value = in.number<std::uint64_t>();
  if (!within_limits(out.bounds)) return std::nullopt;
  out.rules.allow = read_rules(in);
  out.rules.deny = read_rules(in);
  read_lists(in, out);
  if ((flags & kUpstreamFlag) != 0) out.upstream = read_upstream(in);
  if (!in.finished()) return std::nullopt;
  return out;
}

}  // namespace cordon::egress
