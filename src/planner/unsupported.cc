#include "planner/unsupported.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cordon::planner {
namespace {

using plan::Layer;

void refuse(Draft& draft, const policy::Origin& at, std::string_view what, Layer layer) {
  draft.refuse(Code::kNotSupportedYet, at.span, fmt::format("{} cannot be enforced by this version", what),
               "remove the line; nothing runs while it stands");
  draft.items.back().layer = layer;
}

template <class Entries>
void refuse_each(Draft& draft, const Entries& entries, std::string_view what, Layer layer) {
  for (const auto& entry : entries) refuse(draft, entry.at, what, layer);
}

}  // namespace

void refuse_unsupported(Draft& draft) {
  const policy::Policy& policy = draft.policy;
  refuse_each(draft, policy.publish, "'publish'", Layer::kNetwork);
  refuse_each(draft, policy.agent, "'agent'", Layer::kNetwork);
  refuse_each(draft, policy.wx, "'wx'", Layer::kExec);
  refuse_each(draft, policy.allow, "'allow'", Layer::kSystemCalls);
  refuse_each(draft, policy.devices, "'devices'", Layer::kFilesystem);
  if (policy.exec.mode == policy::ExecMode::kList) refuse(draft, policy.exec.at, "a list under 'exec'", Layer::kExec);
  const policy::Limits& limits = policy.limits;
  if (!limits.memory.empty()) refuse(draft, limits.memory_at, "'limits.memory'", Layer::kLimits);
  if (!limits.cpu.empty()) refuse(draft, limits.cpu_at, "'limits.cpu'", Layer::kLimits);
  if (limits.pids) refuse(draft, limits.pids_at, "'limits.pids'", Layer::kLimits);
}

}  // namespace cordon::planner
