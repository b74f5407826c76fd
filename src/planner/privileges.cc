#include "planner/privileges.h"

#include <sys/resource.h>

#include <string>

namespace cordon::planner {

void drop_privileges(Draft& draft, const Identity& identity) {
  // 0 does not keep a core from a handler behind a pipe, 1 does: the kernel takes it for "no dump" (core(5)). The
  // target's memory and name would otherwise reach a collector on the host.
  draft.step(plan::step::ResourceLimit{.resource = RLIMIT_CORE, .soft = 1, .hard = 1}, plan::Layer::kPrivileges,
             "no core dump leaves the sandbox");
  if (const auto& limit = draft.facts.descriptor_limit) {
    draft.step(plan::step::ResourceLimit{.resource = RLIMIT_NOFILE, .soft = limit->soft, .hard = limit->hard},
               plan::Layer::kPrivileges, "as many descriptors as the caller may have");
  }
  if (identity.run_as) {
    draft.step(plan::step::RunAs{.uid = identity.uid, .gid = identity.gid}, plan::Layer::kPrivileges,
               "the owner of the entrypoint's directory", draft.policy.entrypoint.at.span);
  }
  draft.step(plan::step::DropPrivileges{}, plan::Layer::kPrivileges, "no capability, and none to be had");
}

}  // namespace cordon::planner
