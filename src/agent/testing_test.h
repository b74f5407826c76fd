// Messages of the agent's protocol, written by hand for tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol.h"

namespace cordon::agent::testing {

inline Bytes bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline std::string number(std::uint32_t value) {
  std::string out;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out.push_back(static_cast<char>(value >> shift & 0xffU));
  return out;
}
inline std::string string(std::string_view text) {
  return number(static_cast<std::uint32_t>(text.size())) + std::string(text);
}
inline std::string message(const std::string& body) { return number(static_cast<std::uint32_t>(body.size())) + body; }
/// A public key, as far as this room looks.
inline std::string key(std::string_view which) { return string("ssh-ed25519") + string(which); }

}  // namespace cordon::agent::testing
