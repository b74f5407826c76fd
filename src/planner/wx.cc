#include "planner/wx.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cordon::planner {
namespace {

std::string label_of(const policy::PathGrant& grant) {
  const bool flag = !grant.at.source.empty();
  return fmt::format("{}{}{}", flag ? grant.at.source : "wx", flag ? " " : ": ", base::shown(grant.written));
}

}  // namespace

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

void note_wx(Draft& draft) {
  for (const policy::PathGrant& grant : draft.policy.wx) {
    if (exec_closed(draft.policy)) {
      draft.note("wx-maps-only",
                 fmt::format("{}: what is written there can be loaded as a library; under exec: none it is not started",
                             label_of(grant)),
                 grant.at.span);
    } else if (!writes_execute(draft.policy)) {
      draft.note("writes-and-executes",
                 fmt::format("{}: what is written there can be started in the same run", label_of(grant)),
                 grant.at.span);
    }
  }
}

}  // namespace cordon::planner
