#include "planner/unsupported.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cordon::planner {
namespace {

using plan::Layer;

/// `mend` is what the same need can be met by today: a line that is merely gone is no answer to it.
struct Missing {
  std::string_view what;
  Layer layer;
  std::string_view mend;
};

void refuse(Draft& draft, const policy::Origin& at, const Missing& missing) {
  draft.refuse(Code::kNotSupportedYet, at.span, fmt::format("{} cannot be enforced by this version", missing.what),
               std::string(missing.mend));
  draft.items.back().layer = missing.layer;
  draft.items.back().is_grant = true;
}

template <class Entries>
void refuse_each(Draft& draft, const Entries& entries, const Missing& missing) {
  for (const auto& entry : entries) refuse(draft, entry.at, missing);
}

}  // namespace

void refuse_unsupported(Draft& draft) {
  const policy::Policy& policy = draft.policy;
  refuse_each(draft, policy.agent,
              {"'agent'", Layer::kNetwork, "remove the line; the target cannot ask an agent to sign yet"});
}

}  // namespace cordon::planner
