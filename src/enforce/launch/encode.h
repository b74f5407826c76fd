// encode(): a Plan as the bytes of plan/wire.h.
//
// A pure function, and no judge: what it makes of a plan that breaks the rules of the wire, the decoder refuses.
// Everything that the launcher has no use for (reasons, places, notes) stays out; environment values go in.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace cordon::enforce::launch {

std::vector<std::byte> encode(const plan::Plan& plan);
/// The opening of a plan whose first step this is.
std::vector<std::byte> encode(const plan::step::Any& opening);
/// What a plan begins with: its first steps, in order.
std::vector<std::byte> encode(std::span<const plan::Step> beginning);

}  // namespace cordon::enforce::launch
