// The symbolic links on the way to a path, and who made them: for what holds by a path's name although somebody may
// lead the name elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/approval/facts.h"

namespace cordon::policy::approval {

struct LinkOnWay {
  std::string at;  ///< where it stands, links before it resolved
  std::string target;
  uid_t owner = 0;
};

struct Way {
  std::vector<LinkOnWay> links;
  std::string real;  ///< every link followed as far as there is something; the rest as it is written
};

/// `absolute` is lexically normal. Touches nothing.
Way way_to(std::string_view absolute);

}  // namespace cordon::policy::approval
