#include "enforce/outlet/destinations.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "base/error.h"
#include "egress/lookup_wire.h"
#include "policy/network/address_class.h"
#include "policy/network/name.h"

namespace cordon::enforce::outlet {
namespace {

using egress::Bound;
using egress::Row;
using egress::Verdict;

std::string lookup_words(std::uint32_t status) {
  constexpr std::array<const char*, 6> kWords = {"",
                                                 "no such name",
                                                 "no name server answered",
                                                 "the name server failed",
                                                 "the lookup took too long",
                                                 "no resolver could be started"};
  return status < kWords.size() ? kWords[status] : "the lookup failed";
}

std::string unreachable_words(std::uint32_t detail) {
  if (detail >= egress::kUpstreamDetail) {
    const auto status = detail - egress::kUpstreamDetail;
    return status == 0 ? std::string("the upstream proxy gave no answer")
                       : "the upstream proxy answered " + std::to_string(status);
  }
  if (detail >= egress::kLookupDetail) return lookup_words(detail - egress::kLookupDetail);
  return base::errno_name(static_cast<int>(detail));
}

std::string bound_words(std::uint32_t detail) {
  switch (static_cast<Bound>(detail)) {
    case Bound::kConnections:
      return "connections";
    case Bound::kNames:
      return "names";
    case Bound::kHeadTime:
      return "head-time";
    case Bound::kGateQuestions:
      return "gate-questions";
    case Bound::kDnsConnections:
      return "dns-connections";
    case Bound::kIdle:
      return "idle-time";
    case Bound::kDescriptors:
      return "descriptors";
    case Bound::kInnerSockets:
      return "inner-sockets";
  }
  return {};
}

/// What no rule could change.
std::string never_words(const Row& row) {
  const auto name = policy::network::HostName::parse(row.host);
  if (name && name->is_local()) return std::string(class_name(policy::network::AddressClass::kLoopback));
  const auto address = policy::network::parse_address(row.host);
  if (!address) return {};
  const auto its_class = policy::network::classify(*address, {});
  return its_class < policy::network::kFirstNever ? std::string() : std::string(class_name(its_class));
}

std::string why(const Row& row) {
  if (row.verdict == Verdict::kDenied || row.verdict == Verdict::kGateDenied) return never_words(row);
  if (row.verdict == Verdict::kGuardBlocked)
    return std::string(policy::network::class_name(static_cast<policy::network::AddressClass>(row.detail)));
  if (row.verdict == Verdict::kUnreachable) return unreachable_words(row.detail);
  if (row.verdict == Verdict::kOverBound) return bound_words(row.detail);
  return {};
}

/// The block that made it one of `its_class`: of the address itself, or of an IPv4 address that it carries.
std::string block_of(const policy::network::Address& address, policy::network::AddressClass its_class) {
  std::vector<policy::network::Address> all = policy::network::embedded_ipv4(address, {});
  all.insert(all.begin(), address);
  const auto found = std::ranges::find(all, its_class, policy::network::plain_class);
  const auto block = found == all.end() ? std::nullopt : policy::network::special_block(*found);
  return block ? to_string(*block) : std::string();
}

void add_block(plan::Destination& out, const Row& row) {
  if (row.verdict != Verdict::kGuardBlocked) return;
  out.can_be_opened = row.detail < static_cast<std::uint32_t>(policy::network::kFirstNever);
  if (!row.address) return;
  out.address = to_string(*row.address);
  out.block = block_of(*row.address, static_cast<policy::network::AddressClass>(row.detail));
}

plan::Way way_of(egress::Via via) {
  if (via == egress::Via::kDns) return plan::Way::kDns;
  return via == egress::Via::kProxy ? plan::Way::kProxy : plan::Way::kDirect;
}

}  // namespace

bool wants_descriptors(const Row& row) {
  return row.verdict == Verdict::kOverBound && row.detail == static_cast<std::uint32_t>(Bound::kDescriptors);
}

std::vector<plan::Inbound> inbound_of(const std::map<std::uint32_t, Row>& rows) {
  std::map<std::uint16_t, plan::Inbound> by_port;
  for (const auto& [id, row] : rows) {
    if (row.via != egress::Via::kPublished) continue;
    plan::Inbound& one = by_port[row.port];
    one.port = row.port;
    const bool beyond = row.verdict == Verdict::kOverBound;
    (row.verdict == Verdict::kAdmitted ? one.count : beyond ? one.no_room : one.refused) += row.count;
    one.bytes_out += row.bytes_out;
    one.bytes_in += row.bytes_in;
  }
  std::vector<plan::Inbound> out;
  for (const auto& [port, one] : by_port) out.push_back(one);
  return out;
}

std::vector<plan::Destination> destinations_of(const std::map<std::uint32_t, Row>& rows) {
  std::vector<plan::Destination> out;
  for (const auto& [id, row] : rows) {
    if (row.via == egress::Via::kPublished) continue;
    out.push_back({.reach = static_cast<plan::Reach>(static_cast<std::uint8_t>(row.verdict) - 1),
                   .way = way_of(row.via),
                   .host = row.host,
                   .port = row.port,
                   .count = row.count,
                   .bytes_out = row.bytes_out,
                   .bytes_in = row.bytes_in,
                   .why = why(row),
                   .can_be_opened = false,
                   .address = {},
                   .block = {}});
    add_block(out.back(), row);
  }
  std::ranges::sort(out, {},
                    [](const plan::Destination& one) { return std::tie(one.reach, one.host, one.port, one.way); });
  return out;
}

}  // namespace cordon::enforce::outlet
