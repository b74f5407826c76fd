#include "policy/approval/links.h"

#include "base/abs_path.h"
#include "policy/approval/walk.h"

namespace cordon::policy::approval {

Way way_to(std::string_view absolute) {
  Way out{.links = {}, .real = std::string(absolute)};
  std::string rest;
  for (auto at = base::AbsPath::parse(absolute); at; at = at->parent()) {
    if (auto walked = walk(at->str(), Acls::kLeave)) {
      for (const WalkStep& step : walked->steps)
        if (step.kind == WalkStep::Kind::kLink) out.links.push_back({step.path, step.target, step.facts.owner});
      out.real = (walked->real_path == "/" && !rest.empty() ? "" : walked->real_path) + rest;
      return out;
    }
    if (at->is_root()) return out;
    rest.insert(0, at->name()).insert(0, 1, '/');
  }
  return out;
}

}  // namespace cordon::policy::approval
