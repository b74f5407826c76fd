#include "observe/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace cordon::observe {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const Address& address) { return std::ranges::equal(std::span(address.bytes).first(12), kMapped); }

template <class T>
std::optional<T> as(std::span<const std::byte> bytes, std::size_t least) {
  T out{};
  if (bytes.size() < least) return std::nullopt;
  std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
  return out;
}

}  // namespace

std::optional<Address> parse_address(std::span<const std::byte> sockaddr) {
  const auto family = as<sa_family_t>(sockaddr, sizeof(sa_family_t));
  Address out;
  if (family == AF_INET) {
    const auto ipv4 = as<sockaddr_in>(sockaddr, sizeof(sockaddr_in));
    if (!ipv4) return std::nullopt;
    std::ranges::copy(kMapped, out.bytes.begin());
    std::memcpy(out.bytes.data() + kMapped.size(), &ipv4->sin_addr, 4);
    out.port = ntohs(ipv4->sin_port);
  } else if (family == AF_INET6) {
    constexpr std::size_t kLeast = offsetof(sockaddr_in6, sin6_scope_id);  // RFC 2133 knew no more
    const auto ipv6 = as<sockaddr_in6>(sockaddr, kLeast);
    if (!ipv6) return std::nullopt;
    std::memcpy(out.bytes.data(), &ipv6->sin6_addr, out.bytes.size());
    out.port = ntohs(ipv6->sin6_port);
  } else {
    return std::nullopt;
  }
  return out.port == 0 ? std::nullopt : std::optional(out);
}

std::string address_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool mapped = is_mapped(address);
  ::inet_ntop(mapped ? AF_INET : AF_INET6, address.bytes.data() + (mapped ? kMapped.size() : 0), text.data(),
              text.size());
  return text.data();
}

bool is_own(const Address& address) {
  if (is_mapped(address)) return address.bytes[12] == 127 || address.bytes[12] == 0;
  return std::ranges::all_of(std::span(address.bytes).first(15), [](std::uint8_t one) { return one == 0; }) &&
         address.bytes[15] <= 1;
}

}  // namespace cordon::observe
