#include "policy/network/address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"

namespace cordon::policy::network {
namespace {

bool same_prefix(const Address& a, const Address& b, unsigned length) {
  return a.family == b.family && masked(a, length) == masked(b, length);
}

}  // namespace

Address masked(Address address, unsigned length) {
  for (unsigned bit = length; bit < address.bits(); ++bit)
    address.bytes[bit / 8] = static_cast<std::uint8_t>(address.bytes[bit / 8] & ~(0x80U >> (bit % 8)));
  return address;
}

bool Block::contains(const Address& other) const { return same_prefix(address, other, length); }

bool Block::is_within(const Block& other) const { return length >= other.length && other.contains(address); }

std::optional<Address> read_address(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  Address address;
  address.family = text.find(':') == std::string_view::npos ? Family::kIpv4 : Family::kIpv6;
  const int family = address.family == Family::kIpv4 ? AF_INET : AF_INET6;
  if (inet_pton(family, std::string(text).c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(address.family == Family::kIpv4 ? AF_INET : AF_INET6, address.bytes.data(), out.data(), out.size());
  return out.data();
}

std::string to_string(const Block& block) { return to_string(block.address) + "/" + std::to_string(block.length); }

std::optional<Address> parse_address(std::string_view text) {
  const auto address = read_address(text);
  if (!address || to_string(*address) != text || disguised_ipv4(*address)) return std::nullopt;
  return address;
}

std::optional<Block> parse_block(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_address(text.substr(0, slash));
  const auto length = base::parse_decimal(text.substr(slash + 1));
  if (!address || !length || *length > address->bits()) return std::nullopt;
  const Block block{*address, static_cast<unsigned>(*length)};
  if (masked(*address, block.length) != *address) return std::nullopt;
  return block;
}

std::optional<Address> disguised_ipv4(const Address& address) {
  if (address.family != Family::kIpv6) return std::nullopt;
  const auto& bytes = address.bytes;
  if (!std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
  const bool mapped = bytes[10] == 0xff && bytes[11] == 0xff;
  const bool special = bytes[12] == 0 && bytes[13] == 0 && bytes[14] == 0 && bytes[15] <= 1;
  const bool compatible = bytes[10] == 0 && bytes[11] == 0 && !special;
  if (!mapped && !compatible) return std::nullopt;
  return Address::v4(bytes[12], bytes[13], bytes[14], bytes[15]);
}

}  // namespace cordon::policy::network
