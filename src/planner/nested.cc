#include "planner/nested.h"

#include <algorithm>

namespace cordon::planner {
namespace {

const policy::Text* entry(const policy::Policy& policy) {
  const auto found = std::ranges::find(policy.allow, "nested-sandbox", &policy::Text::value);
  return found == policy.allow.end() ? nullptr : &*found;
}

}  // namespace

bool nests(const policy::Policy& policy) { return entry(policy) != nullptr; }

void check_nested_sandbox(Draft& draft, const Identity& identity) {
  const policy::Text* asked = entry(draft.policy);
  if (asked == nullptr) return;
  if (identity.uid == 0) {
    draft.refuse(
        Code::kNestedNeedsUser, asked->at.span,
        "allow: nested-sandbox: the kernel lets nobody map uid 0 into a namespace who has not CAP_SETFCAP, and "
        "the target, which is uid 0 here, has no capability",
        "run it as an ordinary user");
    draft.items.back().is_grant = true;
    return;
  }
  draft.note("nested-sandbox",
             "the target may make user namespaces inside the sandbox: more of the kernel is open to it",
             asked->at.span);
}

}  // namespace cordon::planner
