#include "policy/network/address_class.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cordon::policy::network {
namespace {

struct Entry {
  std::string_view block;
  AddressClass address_class;
};

// A more specific block stands before a wider one.
constexpr std::array kIpv4 = {
    Entry{"169.254.169.254/32", AddressClass::kMetadata},  // AWS, Google, Azure, OpenStack and others
    Entry{"169.254.170.2/32", AddressClass::kMetadata},    // AWS container credentials
    Entry{"100.100.100.200/32", AddressClass::kMetadata},  // Alibaba
    Entry{"168.63.129.16/32", AddressClass::kMetadata},    // Azure's wire server
    Entry{"192.0.0.192/32", AddressClass::kMetadata},      // Oracle
    Entry{"0.0.0.0/32", AddressClass::kUnspecified},
    Entry{"0.0.0.0/8", AddressClass::kReserved},
    Entry{"10.0.0.0/8", AddressClass::kPrivate},
    Entry{"100.64.0.0/10", AddressClass::kCarrierNat},
    Entry{"127.0.0.0/8", AddressClass::kLoopback},
    Entry{"169.254.0.0/16", AddressClass::kLinkLocal},
    Entry{"172.16.0.0/12", AddressClass::kPrivate},
    Entry{"192.0.0.0/24", AddressClass::kReserved},
    Entry{"192.0.2.0/24", AddressClass::kDocumentation},
    Entry{"192.88.99.0/24", AddressClass::kReserved},  // 6to4 relays
    Entry{"192.168.0.0/16", AddressClass::kPrivate},
    Entry{"198.18.0.0/15", AddressClass::kBenchmarking},
    Entry{"198.51.100.0/24", AddressClass::kDocumentation},
    Entry{"203.0.113.0/24", AddressClass::kDocumentation},
    Entry{"224.0.0.0/4", AddressClass::kMulticast},
    Entry{"240.0.0.0/4", AddressClass::kReserved},  // broadcast too
};

constexpr std::array kIpv6 = {
    Entry{"fd00:ec2::254/128", AddressClass::kMetadata},       // AWS
    Entry{"fd20:ce::254/128", AddressClass::kMetadata},        // Google
    Entry{"fd00:c1::a9fe:a9fe/128", AddressClass::kMetadata},  // Oracle
    Entry{"::/128", AddressClass::kUnspecified},
    Entry{"::1/128", AddressClass::kLoopback},
    Entry{"64:ff9b::/96", AddressClass::kPublic},     // NAT64: as what it carries
    Entry{"64:ff9b:1::/48", AddressClass::kPrivate},  // NAT64 of one's own
    Entry{"2001::/32", AddressClass::kPublic},        // Teredo: as what it carries
    Entry{"2001:2::/48", AddressClass::kBenchmarking},
    Entry{"2001:db8::/32", AddressClass::kDocumentation},
    Entry{"2001::/23", AddressClass::kReserved},
    Entry{"3fff::/20", AddressClass::kDocumentation},
    Entry{"2000::/3", AddressClass::kPublic},
    Entry{"fc00::/7", AddressClass::kUniqueLocal},
    Entry{"fe80::/10", AddressClass::kLinkLocal},
    Entry{"fec0::/10", AddressClass::kReserved},  // site-local of old
    Entry{"ff00::/8", AddressClass::kMulticast},
    Entry{"::/0", AddressClass::kReserved},  // nothing else was ever given out
};

struct Range {
  Block block;
  AddressClass address_class = AddressClass::kReserved;
};

/// The texts above as blocks; read_address, because mapped spellings are no addresses to parse_block.
template <std::size_t N>
std::array<Range, N> ranges_of(const std::array<Entry, N>& entries) {
  std::array<Range, N> out;
  for (std::size_t i = 0; i < N; ++i) {
    const auto block = parse_block(entries[i].block);
    CORDON_CHECK(block.has_value());
    out[i] = {*block, entries[i].address_class};
  }
  return out;
}

std::span<const Range> all_ranges(Family family) {
  static const auto kRanges4 = ranges_of(kIpv4);
  static const auto kRanges6 = ranges_of(kIpv6);
  return family == Family::kIpv4 ? std::span<const Range>(kRanges4) : std::span<const Range>(kRanges6);
}

const Range* find_range(const Address& address) {
  const std::span<const Range> ranges = all_ranges(address.family);
  const auto found = std::ranges::find_if(ranges, [&](const Range& range) { return range.block.contains(address); });
  return found == ranges.end() ? nullptr : &*found;
}

Address ipv4_at(const Address& address, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  const auto& bytes = address.bytes;
  return Address::v4(bytes[a], bytes[b], bytes[c], bytes[d]);
}

/// RFC 6052: the four bytes after the prefix, leaving out byte 8, which must be zero.
std::optional<Address> behind_prefix(const Address& address, unsigned length) {
  if (length == 96) return ipv4_at(address, 12, 13, 14, 15);
  if (address.bytes[8] != 0) return std::nullopt;
  std::array<std::size_t, 4> at{};
  std::size_t next = length / 8;
  for (std::size_t& one : at) {
    if (next == 8) ++next;
    one = next++;
  }
  return ipv4_at(address, at[0], at[1], at[2], at[3]);
}

bool begins(const Address& address, std::initializer_list<std::uint8_t> bytes, std::size_t at = 0) {
  return std::equal(bytes.begin(), bytes.end(), address.bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void add_local_nat64(const Address& address, std::vector<Address>& out) {
  // 64:ff9b:1::/48 (RFC 8215): nobody says how long the prefix in use is, so each reading counts.
  for (const unsigned length : {48U, 56U, 64U, 96U}) {
    const auto inner = behind_prefix(address, length);
    if (inner && inner->bytes[0] != 0) out.push_back(*inner);  // zeros are another reading's padding
  }
}

void add_tunnels(const Address& address, std::vector<Address>& out) {
  if (begins(address, {0x20, 0x02})) out.push_back(ipv4_at(address, 2, 3, 4, 5));  // 6to4
  if (begins(address, {0x20, 0x01, 0, 0})) {                                       // Teredo: server, hidden client
    out.push_back(ipv4_at(address, 4, 5, 6, 7));
    Address client = ipv4_at(address, 12, 13, 14, 15);
    for (std::size_t i = 0; i < 4; ++i) client.bytes[i] ^= 0xff;
    out.push_back(client);
  }
  const bool isatap = begins(address, {0x00, 0x00, 0x5e, 0xfe}, 8) || begins(address, {0x02, 0x00, 0x5e, 0xfe}, 8);
  if (isatap) out.push_back(ipv4_at(address, 12, 13, 14, 15));
}

}  // namespace

std::string_view class_name(AddressClass address_class) {
  constexpr std::array<std::string_view, 13> kNames = {
      "public",   "documentation", "benchmarking", "carrier-nat", "private",  "unique-local", "this-machine",
      "reserved", "multicast",     "unspecified",  "link-local",  "loopback", "metadata"};
  return kNames[static_cast<std::size_t>(address_class)];
}

AddressClass plain_class(const Address& address) {
  const Range* range = find_range(address);
  return range == nullptr ? AddressClass::kPublic : range->address_class;
}

std::optional<Block> special_block(const Address& address) {
  const Range* range = find_range(address);
  if (range == nullptr || range->address_class == AddressClass::kPublic) return std::nullopt;
  return range->block;
}

std::optional<AddressClass> never_dialled(const Block& block) {
  if (block.length == block.address.bits()) {
    const AddressClass its_class = classify(block.address, {});
    return its_class >= kFirstNever ? std::optional(its_class) : std::nullopt;
  }
  const Range* range = find_range(block.address);
  if (range == nullptr || range->address_class < kFirstNever || !block.is_within(range->block)) return std::nullopt;
  const bool has_others = std::ranges::any_of(all_ranges(block.address.family), [&](const Range& one) {
    return one.address_class < kFirstNever && one.block.is_within(block);
  });
  return has_others ? std::nullopt : std::optional(range->address_class);
}

std::vector<Address> embedded_ipv4(const Address& address, std::span<const Nat64Prefix> prefixes) {
  std::vector<Address> out;
  if (address.family == Family::kIpv4) return out;
  if (const auto inner = disguised_ipv4(address)) out.push_back(*inner);
  if (begins(address, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) out.push_back(ipv4_at(address, 12, 13, 14, 15));
  if (begins(address, {0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
    out.push_back(ipv4_at(address, 12, 13, 14, 15));
  if (begins(address, {0x00, 0x64, 0xff, 0x9b, 0, 1})) add_local_nat64(address, out);
  add_tunnels(address, out);
  for (const Nat64Prefix& known : prefixes) {
    if (!Block{known.prefix, known.length}.contains(address)) continue;
    // Behind the prefix and yet not decodable: no gateway would pass it on, so it is nothing (0.0.0.0).
    out.push_back(behind_prefix(address, known.length).value_or(Address{}));
  }
  return out;
}

AddressClass classify(const Address& address, std::span<const Nat64Prefix> prefixes) {
  AddressClass strictest = plain_class(address);
  for (const Address& inner : embedded_ipv4(address, prefixes)) strictest = std::max(strictest, plain_class(inner));
  return strictest;
}

std::vector<Nat64Prefix> nat64_prefixes(std::span<const Address> answers) {
  std::vector<Nat64Prefix> out;
  for (const Address& answer : answers) {
    if (answer.family != Family::kIpv6) continue;
    for (const unsigned length : {96U, 64U, 56U, 48U, 40U, 32U}) {
      const auto inner = behind_prefix(answer, length);
      const bool well_known = inner == Address::v4(192, 0, 0, 170) || inner == Address::v4(192, 0, 0, 171);
      const Nat64Prefix found{masked(answer, length), length};
      if (well_known && std::ranges::find(out, found) == out.end()) out.push_back(found);
    }
  }
  return out;
}

}  // namespace cordon::policy::network
