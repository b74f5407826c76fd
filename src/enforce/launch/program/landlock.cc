// The file system policy once more, by another mechanism.
#include "enforce/launch/program/target.h"
#include "kernel/security.h"

namespace cordon::enforce::launch {

Sys<void> add_landlock_rule(FdView ruleset, FdView object, std::uint64_t access) {
  constexpr std::uint64_t kFileRights = kernel::kLandlockExecute | kernel::kLandlockWriteFile |
                                        kernel::kLandlockReadFile | kernel::kLandlockTruncate |
                                        kernel::kLandlockIoctlDev;
  auto added = kernel::landlock_add_path(ruleset, object, access);
  // EINVAL: a right of directories on something else. A file gets the rights that a file can have.
  if (added || added.error().code != EINVAL) return added;
  return kernel::landlock_add_path(ruleset, object, access & kFileRights);
}

namespace {

/// One of many siblings, which the host may have removed or replaced since the plan was made: a right less.
bool is_left_out(const Record& rule, int code) {
  return (rule.flags & plan::wire::kOptional) != 0 &&
         (code == ENOENT || code == ELOOP || code == ENOTDIR || code == EACCES);
}

/// By its path there are masks that a host process could have taken away since they were made, and put a secret in
/// their place: what masks show is opened where they have it from.
Sys<Fd> object_of(const Tree& tree, const View& plan, const Record& rule) {
  if ((rule.flags & plan::wire::kMaskedFile) != 0) return kernel::openat(tree.blank, "file", O_PATH | O_NOFOLLOW);
  constexpr kernel::OpenHow kHow{.flags = O_PATH, .resolve = kernel::kResolveNoSymlinks};
  return kernel::openat2(kernel::kHere, plan.string(rule.refs[0]), kHow);
}

}  // namespace

Sys<void> begin_ruleset(Tree& tree, const Found& landlock) {
  if (!landlock.there) return {};
  const Record& record = landlock.record;
  const kernel::LandlockRulesetAttr attributes{
      .handled_access_fs = record.args[0], .handled_access_net = record.args[3], .scoped = record.args[1]};
  CORDON_TRY(tree.ruleset, kernel::landlock_create_ruleset(attributes, static_cast<int>(record.args[2])));
  tree.next_rule = landlock.index + 1;
  return {};
}

Sys<void> finish_ruleset(const Tree& tree, const View& plan) {
  for (std::size_t i = tree.next_rule; i < plan.size(); ++i) {
    const Record rule = plan.record(i);
    if (rule.op != plan::wire::Op::kLandlockRule) break;
    const auto at = object_of(tree, plan, rule);
    if (!at && is_left_out(rule, at.error().code)) continue;
    if (!at) return base::fail(at.error());
    CORDON_OK(add_landlock_rule(tree.ruleset, *at, rule.args[0]));
  }
  return {};
}

}  // namespace cordon::enforce::launch
