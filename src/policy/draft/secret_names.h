// Secret names: files that hold passwords, tokens or keys as often as not, by their names alone. Private to this room.
#pragma once

#include <string_view>

namespace cordon::policy::draft {

/// By its last component: whoever reads the draft should not have to know each. A copy that somebody put beside it
/// counts as the file, and letters count without their case.
bool may_hold_secrets(std::string_view name);

}  // namespace cordon::policy::draft
