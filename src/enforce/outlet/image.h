// The bytes of cordon-broker, cordon-resolve and cordon-agent, linked in: what runs from a memfd where they are not
// installed.
#pragma once

#include <cstddef>
#include <span>

namespace cordon::enforce::outlet {

std::span<const std::byte> broker_image();
std::span<const std::byte> resolver_image();
std::span<const std::byte> agent_image();

}  // namespace cordon::enforce::outlet
