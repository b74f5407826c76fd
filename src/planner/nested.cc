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
  if (!starts_anything(draft.policy)) {
    draft.refuse(Code::kNestedNeedsExec, asked->at.span,
                 exec_listed(draft.policy)
                     ? "allow: nested-sandbox undoes a list under exec: in a file system of its own the target could "
                       "start what it wrote"
                     : "allow: nested-sandbox needs a program to start in it, and exec allows none",
                 "exec: all, or remove the allowance");
    draft.items.back().is_grant = true;
    return;
  }
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
             "the target may make user namespaces and mounts inside the sandbox: more of the kernel is open to it, and "
             "Landlock does not repeat the file system rules",
             asked->at.span);
}

}  // namespace cordon::planner
