// Handle: names a connection without keeping it. A slot is used again with another generation, so that an event or an
// answer that was meant for its last tenant finds nobody.
#pragma once

#include <cstdint>

namespace cordon::egress {

struct Handle {
  std::uint32_t slot = 0;
  std::uint16_t generation = 0;
  friend bool operator==(Handle, Handle) = default;
};

}  // namespace cordon::egress
