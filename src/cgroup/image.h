// The bytes of cordon-scope, which are linked into this program.
#pragma once

#include <cstddef>
#include <span>

namespace cordon::cgroup {

std::span<const std::byte> scope_image();

}  // namespace cordon::cgroup
