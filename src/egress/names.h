// NameTable: the names that this run asked for, and the address that stands for each inside the sandbox.
//
// The n-th name gets the n-th address of 198.18.0.0/15 and of the IPv6 range, and keeps both: an address is never given
// to another name in a run, so a client that holds an old one cannot reach a new host by it. At the bound no name is
// added. A name in the table has power over nothing: rules are asked for every connection.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "policy/network/address.h"
#include "policy/network/name.h"

namespace cordon::egress {

class NameTable {
 public:
  /// At most 131,000, which the IPv4 range holds.
  explicit NameTable(std::size_t most) : most_(most) {}

  /// The number of this name, a new one if need be; nothing where the table is full.
  std::optional<std::size_t> number_of(const policy::network::HostName& name);

  [[nodiscard]] policy::network::Address ipv4(std::size_t number) const;
  [[nodiscard]] policy::network::Address ipv6(std::size_t number) const;

  /// The name that this address stands for; nothing for one that was not handed out.
  [[nodiscard]] const policy::network::HostName* find(const policy::network::Address& address) const;

  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::size_t most_;
  std::deque<policy::network::HostName> names_;  // never moved: the map's keys point into it
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

/// True for every address of the synthetic ranges, handed out or not, and the sandbox's own.
bool is_synthetic(const policy::network::Address& address);

}  // namespace cordon::egress
