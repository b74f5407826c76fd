#include "planner/wx.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/named_path.h"

namespace cordon::planner {
std::optional<policy::Policy> with_wx(const policy::Policy& policy) {
  if (policy.wx.empty()) return std::nullopt;
  policy::Policy out = policy;
  std::erase_if(out.write, [&](const policy::PathGrant& grant) {
    return std::ranges::find(out.wx, grant.path, &policy::PathGrant::path) != out.wx.end();
  });
  out.write.insert(out.write.end(), out.wx.begin(), out.wx.end());
  return out;
}

bool is_wx(const policy::Policy& policy, const policy::PathGrant& grant) {
  return std::ranges::find(policy.wx, grant) != policy.wx.end();
}

std::string write_label(const policy::Policy& policy, const policy::PathGrant& grant) {
  return label_of(is_wx(policy, grant) ? "wx" : "write", grant.written);
}

void note_wx(Draft& draft) {
  for (const policy::PathGrant& grant : draft.policy.wx) {
    if (exec_closed(draft.policy)) {
      draft.note("wx-maps-only",
                 fmt::format("{}: what is written there can be loaded as a library; under exec: none it is not started",
                             label_of("wx", grant.written)),
                 grant.at.span);
    } else if (!writes_execute(draft.policy)) {
      draft.note("writes-and-executes",
                 fmt::format("{}: what is written there can be started in the same run", label_of("wx", grant.written)),
                 grant.at.span);
    }
  }
}

}  // namespace cordon::planner
