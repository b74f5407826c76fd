#include "egress/names.h"

#include <algorithm>

#include "policy/network/synthetic.h"

namespace cordon::egress {
namespace {

using policy::network::Address;
using policy::network::Family;
using policy::network::HostName;

constexpr std::size_t kFirst = 2;  // 0 is the network, 1 the sandbox's own
constexpr std::size_t kMostThatFit = 131'000;

/// base + offset, for offsets that fit the last four bytes.
Address at_offset(Address base, std::size_t offset) {
  const std::size_t last = base.bits() / 8;
  std::size_t carry = offset;
  for (std::size_t i = 1; i <= 4; ++i) {
    carry += base.bytes[last - i];
    base.bytes[last - i] = static_cast<std::uint8_t>(carry & 0xff);
    carry >>= 8;
  }
  return base;
}

std::size_t offset_in(const Address& base, const Address& address) {
  const std::size_t last = base.bits() / 8;
  std::size_t offset = 0;
  for (std::size_t i = last - 4; i < last; ++i) offset = offset << 8 | address.bytes[i];
  std::size_t start = 0;
  for (std::size_t i = last - 4; i < last; ++i) start = start << 8 | base.bytes[i];
  return offset - start;
}

const policy::network::Block& range_of(const Address& address) {
  return address.family == Family::kIpv4 ? policy::network::kSyntheticIpv4 : policy::network::kSyntheticIpv6;
}

}  // namespace

std::optional<std::size_t> NameTable::number_of(const HostName& name) {
  if (const auto known = numbers_.find(name.str()); known != numbers_.end()) return known->second;
  if (names_.size() >= std::min(most_, kMostThatFit)) return std::nullopt;
  names_.push_back(name);
  numbers_.emplace(names_.back().str(), names_.size() - 1);
  return names_.size() - 1;
}

Address NameTable::ipv4(std::size_t number) const {
  return at_offset(policy::network::kSyntheticIpv4.address, number + kFirst);
}

Address NameTable::ipv6(std::size_t number) const {
  return at_offset(policy::network::kSyntheticIpv6.address, number + kFirst);
}

const HostName* NameTable::find(const Address& address) const {
  const policy::network::Block& range = range_of(address);
  if (!range.contains(address)) return nullptr;
  const std::size_t offset = offset_in(range.address, address);
  // The IPv6 range is wider than the four bytes that count: the rest must be as we hand it out.
  if (offset < kFirst || offset - kFirst >= names_.size() || at_offset(range.address, offset) != address)
    return nullptr;
  return &names_[offset - kFirst];
}

bool is_synthetic(const Address& address) { return range_of(address).contains(address); }

}  // namespace cordon::egress
