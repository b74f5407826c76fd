// The launcher's own bytes, linked in: what start() runs from a memfd where no installed launcher fits.
#pragma once

#include <cstddef>
#include <span>

namespace cordon::enforce::launch {

std::span<const std::byte> launcher_image();

}  // namespace cordon::enforce::launch
