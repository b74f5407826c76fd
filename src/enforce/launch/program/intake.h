// What the supervisor tells the launcher: the opening, and later the plan (protocol.h). Checked here, once.
#pragma once

#include <array>
#include <span>

#include "enforce/launch/program/channel.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {

struct Plan {
  Kind kind{};  ///< kPlan or kBeginning
  plan::wire::View view;
  std::span<const std::byte> bytes;  ///< the mapping that the view reads
};

/// What either of these does not take, the channel refuses, and the process ends; so it does without a word where the
/// supervisor is gone, who had nothing to be run then.
plan::wire::View take_opening(std::span<std::byte> into, Channel& control);
/// A plan or its beginning.
Plan take_plan(const plan::wire::View& opening, Channel& control);

}  // namespace cordon::enforce::launch
