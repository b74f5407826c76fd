// The file system policy once more, by another mechanism.
#include "enforce/launch/program/target.h"
#include "kernel/security.h"

namespace cordon::enforce::launch {

namespace {

constexpr std::uint64_t kFileRights = kernel::kLandlockExecute | kernel::kLandlockWriteFile |
                                      kernel::kLandlockReadFile | kernel::kLandlockTruncate | kernel::kLandlockIoctlDev;

Sys<void> add_rule(FdView ruleset, const char* path, std::uint64_t access) {
  constexpr kernel::OpenHow kHow{.flags = O_PATH, .resolve = kernel::kResolveNoSymlinks};
  CORDON_TRY(const Fd at, kernel::openat2(kernel::kHere, path, kHow));
  auto added = kernel::landlock_add_path(ruleset, at, access);
  // EINVAL: a right of directories on something else. A file gets the rights that a file can have.
  if (added || added.error().code != EINVAL) return added;
  return kernel::landlock_add_path(ruleset, at, access & kFileRights);
}

}  // namespace

Sys<Fd> build_ruleset(const View& plan, const Found& landlock) {
  const Record& record = landlock.record;
  const kernel::LandlockRulesetAttr attributes{.handled_access_fs = record.args[0], .scoped = record.args[1]};
  CORDON_TRY(Fd ruleset, kernel::landlock_create_ruleset(attributes, static_cast<int>(record.args[2])));
  for (std::size_t i = landlock.index + 1; i < plan.size(); ++i) {
    const Record rule = plan.record(i);
    if (rule.op != plan::wire::Op::kLandlockRule) break;
    CORDON_OK(add_rule(ruleset, plan.string(rule.refs[0]), rule.args[0]));
  }
  return ruleset;
}

}  // namespace cordon::enforce::launch
