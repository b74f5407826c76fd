// Addresses that a target gives to connect(2) and its kind: pure parsing of the bytes of a sockaddr.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cordon::observe {

/// Of the internet, as IPv6 has it: an IPv4 address is a mapped one, so that each has one form.
struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< in network order
  std::uint16_t port = 0;                ///< in the host's order
  friend bool operator==(const Address&, const Address&) = default;
};

/// No kernel takes a longer one.
inline constexpr std::size_t kMostAddress = 128;

/// Nothing of any other family, of port 0, and where the kernel would find the address too short.
std::optional<Address> parse_address(std::span<const std::byte> sockaddr);

/// "192.0.2.1", "2001:db8::1"
std::string address_text(const Address& address);

/// The machine itself, which inside is the sandbox: 127.0.0.0/8, ::1, and the unspecified address.
bool is_own(const Address& address);

}  // namespace cordon::observe
