// Address and Block: IPv4 and IPv6 addresses as values, and the one spelling of each that the house reads.
//
// Only the canonical spelling is an address: no octal, hexadecimal, short, padded or upper-case forms, no zones, no
// brackets, and no IPv4 address in an IPv6 spelling. What a resolver or inet_aton would read as well is refused rather
// than understood, so that no text says one thing to a person and another to the machine.
//
// Used by the manifest, the configuration and the broker. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::policy::network {

enum class Family : std::uint8_t { kIpv4, kIpv6 };

struct Address {
  Family family = Family::kIpv4;
  std::array<std::uint8_t, 16> bytes{};  ///< network order; IPv4 in the first four

  static Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return {Family::kIpv4, {a, b, c, d}};
  }
  [[nodiscard]] unsigned bits() const { return family == Family::kIpv4 ? 32 : 128; }
  friend bool operator==(const Address&, const Address&) = default;
};

/// An address block. `address` has no bits beyond `length`.
struct Block {
  Address address;
  unsigned length = 0;
  [[nodiscard]] bool contains(const Address& other) const;
  /// True where all of this block lies in `other`.
  [[nodiscard]] bool is_within(const Block& other) const;
  friend bool operator==(const Block&, const Block&) = default;
};

/// Any spelling that inet_pton(3) reads; for_machine input only. People's texts go through parse_address().
std::optional<Address> read_address(std::string_view text);

/// The canonical spelling and no other.
std::optional<Address> parse_address(std::string_view text);

/// "10.0.0.0/8": canonical address, no bits beyond the length, no leading zeros.
std::optional<Block> parse_block(std::string_view text);

std::string to_string(const Address& address);
std::string to_string(const Block& block);

/// The address with all bits beyond `length` cleared.
Address masked(Address address, unsigned length);

/// ::ffff:a.b.c.d and ::a.b.c.d as the IPv4 address that they are; :: and ::1 are themselves, and so is all else.
std::optional<Address> disguised_ipv4(const Address& address);

}  // namespace cordon::policy::network
