// The janitor's own bytes, linked in: it is run from a sealed memfd.
#pragma once

#include <cstddef>
#include <span>

namespace cordon::enforce::hold {

std::span<const std::byte> janitor_image();

}  // namespace cordon::enforce::hold
