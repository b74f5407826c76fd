// The bytes of cordon-broker and cordon-resolve, linked in: what runs from a memfd where they are not installed.
#pragma once

#include <cstddef>
#include <span>

namespace cordon::enforce::outlet {

std::span<const std::byte> broker_image();
std::span<const std::byte> resolver_image();

}  // namespace cordon::enforce::outlet
