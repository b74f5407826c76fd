// Config: what a broker is told before it serves, and its form in a sealed memfd.
//
//   magic | version | bytes in all | flags | each bound | rules | opened blocks | host services | listeners |
//   inner sockets | upstream
//
// Rules travel as the canonical text of their host and ports, and are read back by the one parser of policy/network:
// the broker's idea of a rule is the manifest's. Written by the supervisor (encode), read once by the broker (decode),
// which takes nothing that is not exactly right. No secret is in it but the upstream proxy's, where one has any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "egress/bounds.h"
#include "egress/dns_answerer.h"
#include "policy/network/matcher.h"

namespace cordon::egress {

// The broker's descriptors. Listener i of the configuration is at kFirstListenerFd + i; the inner sockets follow, those
// of IPv4 first.
inline constexpr int kConfigFd = 3;    ///< memfd with all seals
inline constexpr int kControlFd = 4;   ///< SOCK_SEQPACKET to the supervisor (records.h)
inline constexpr int kResolverFd = 5;  ///< SOCK_SEQPACKET to cordon-resolve (lookup_wire.h)
inline constexpr int kFirstListenerFd = 6;

inline constexpr std::size_t kMostRules = 4'096;  ///< allow, deny and direct, each
inline constexpr std::size_t kMostBlocks = 1'024;
inline constexpr std::size_t kMostListeners = 600;  ///< without nf_tables there is one for each granted port
inline constexpr std::size_t kMostHostServices = 64;
inline constexpr std::uint16_t kMostInnerSockets = 256;  ///< of one family
inline constexpr std::size_t kMostConfigBytes = 8U << 20;

enum class ListenerRole : std::uint8_t {
  kRedirect = 1,  ///< TCP; SO_ORIGINAL_DST says where to
  kPort,          ///< TCP; its own address and port are where to: a host service, or, without nf_tables, anything
  kConnect,       ///< TCP, proxy requests
  kDnsUdp,
  kDnsTcp,
  kPublished,  ///< TCP, of the host's network; who comes there is led to the same port of the sandbox's loopback
};
inline constexpr std::uint8_t kLastRole = 6;

struct Listener {
  ListenerRole role = ListenerRole::kRedirect;
  policy::network::Family family = policy::network::Family::kIpv4;
  friend bool operator==(const Listener&, const Listener&) = default;
};

struct Upstream {
  policy::network::Host host;
  std::uint16_t port = 0;
  std::string authorization;                  ///< "Basic …", or empty
  std::vector<policy::network::Rule> direct;  ///< NO_PROXY: these are dialled without it
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

struct Config {
  policy::network::Rules rules;
  std::vector<policy::network::Block> opened;  ///< --allow-address
  std::vector<std::uint16_t> host_services;    ///< ports of the host's loopback, each reached at the same port inside
  std::vector<Listener> listeners;
  std::uint16_t inner_ipv4 = 0, inner_ipv6 = 0;  ///< sockets to come in by
  std::optional<Upstream> upstream;
  Gate gate = Gate::kAbsent;
  Ipv6 ipv6 = Ipv6::kPresent;
  Bounds bounds;
};

std::vector<std::byte> encode(const Config& config);

/// Nothing for bytes that are not exactly a configuration of this version.
std::optional<Config> decode_config(std::span<const std::byte> bytes);

}  // namespace cordon::egress
