// Names that do not exist, kept from being made: an overlay over the real directory, with nothing below it but stubs.
//
// It keeps marks of its own in extended attributes of the real directory (userxattr): without them no directory could
// be moved to stand beside a stub (EXDEV). Whoever waits for the run takes them away (enforce/hold/overlay_marks.h). A
// mark that somebody planted can hide a stub from view, and is noticed: a stub that is not there cannot be masked, and
// this step fails. What the overlay wants in the work directory it wants for the copies and whiteouts of lower objects;
// the stubs are masked, so there are none, and the work directory is removed as soon as the mount stands. Whatever
// needs it later fails, as it should.
#include <span>
#include <string_view>

#include "enforce/launch/program/tree.h"
#include "kernel/process.h"
#include "kernel/short_text.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using plan::wire::Op;

namespace {

namespace wire = plan::wire;

/// Git lists untracked files, and `git add -A` takes them, by what their directory says of them: a socket is neither.
/// The mask over it is an empty regular file to everybody else.
Sys<void> build_stub(Tree& tree, const char* path, std::uint32_t flags) {
  if ((flags & wire::kDirectory) != 0) return make_directory(tree, path, 0755);
  if ((flags & wire::kDot) == 0) return make_unlisted(tree, path);
  constexpr std::string_view kText = ".\n";
  return make_file(tree, path, std::as_bytes(std::span(kText)), 0444);
}

/// The lower layer, in a file system of our own at the target, where the overlay will cover it: it must be attached to
/// be cloned.
Sys<Fd> build_lower(Tree& tree, const View& plan, std::size_t index) {
  constexpr auto kInert = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;
  CORDON_TRY(Fd lower, new_tmpfs(0, 0755, kInert));
  CORDON_OK(attach(tree, lower, plan.string(plan.record(index).refs[0]), Object::kDirectory));
  CORDON_OK(become_own(tree, lower));
  for (std::size_t i = index + 1; i < plan.size() && plan.record(i).op == Op::kStub; ++i) {
    const Record stub = plan.record(i);
    const char* path = plan.string(stub.refs[0]);
    CORDON_OK(build_stub(tree, path, stub.flags));
  }
  // It stays in the mount table, below the overlay: nothing that is writable there may be executable.
  CORDON_OK(kernel::mount_setattr(lower, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly}));
  return lower;
}

/// By descriptor, as paths of /proc/self, where this process stands: layers by descriptor came with 6.13.
Sys<Fd> mount_overlay(FdView lower, FdView upper, FdView work, std::uint64_t attributes) {
  const auto path = [](FdView fd) {
    return kernel::ShortText().add("fd/").number(static_cast<std::uint64_t>(fd.get()));
  };
  CORDON_TRY(const Fd context, kernel::fsopen("overlay"));
  CORDON_OK(kernel::fsconfig_string(context, "lowerdir", path(lower).c_str()));
  CORDON_OK(kernel::fsconfig_string(context, "upperdir", path(upper).c_str()));
  CORDON_OK(kernel::fsconfig_string(context, "workdir", path(work).c_str()));
  CORDON_OK(kernel::fsconfig_string(context, "uuid", "off"));
  CORDON_OK(kernel::fsconfig_flag(context, "userxattr"));
  CORDON_OK(kernel::fsconfig_create(context));
  return kernel::fsmount(context, attributes);
}

/// In a work directory that exists for this moment only.
Sys<Fd> mount_over(FdView place, FdView lower, FdView upper, std::uint64_t attributes) {
  std::uint64_t number = 0;
  CORDON_OK(kernel::getrandom(std::as_writable_bytes(std::span(&number, 1))));
  const kernel::ShortText name = kernel::ShortText().add("overlay-").number(number, 16);
  CORDON_OK(kernel::mkdirat(place, name.c_str(), 0700));
  auto work = kernel::openat(place, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  auto mounted = work ? mount_overlay(lower, upper, *work, attributes) : Sys<Fd>(base::fail(work.error()));
  if (work) static_cast<void>(kernel::unlinkat(*work, "work", AT_REMOVEDIR));  // not there where the mount failed
  CORDON_OK(kernel::unlinkat(place, name.c_str(), AT_REMOVEDIR));
  return mounted;
}

}  // namespace

Sys<void> stub_overlay(Tree& tree, const View& plan, std::size_t index) {
  const Record record = plan.record(index);
  CORDON_TRY(const Fd upper, open_source(plan, record));
  const kernel::OpenHow how{.flags = O_PATH, .resolve = kNoLinks};
  CORDON_TRY(const Fd place, kernel::openat2(kernel::kHere, plan.string(record.refs[3]), how));
  CORDON_OK(must_be(place, record, record.args[6], S_IFDIR, record.args[7]));
  const std::size_t own_count = tree.own_count;
  CORDON_TRY(const Fd lower, build_lower(tree, plan, index));
  tree.own_count = own_count;  // nothing more is made there, and many overlays must not use up what there is
  CORDON_OK(kernel::fchdir(tree.self));
  CORDON_TRY(const Fd mount, mount_over(place, lower, upper, attributes_of(record)));
  forget_below(tree, plan.string(record.refs[0]));
  return kernel::attach(mount, lower);
}

namespace {

/// A directory named by the plan, still the one that was planned.
Sys<Fd> open_place(const View& plan, const Record& record) {
  CORDON_TRY(Fd place, kernel::openat2(kernel::kHere, plan.string(record.refs[2]),
                                       {.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks}));
  CORDON_TRY(auto facts, kernel::statx(place));
  const bool births = (record.flags & wire::kPlaceHasBirthTime) != 0;
  const std::int64_t birth_ns = facts.stx_btime.tv_sec * 1'000'000'000 + facts.stx_btime.tv_nsec;
  const bool same = device_of(facts) == record.args[4] && facts.stx_ino == record.args[5] &&
                    (!births || static_cast<std::uint64_t>(birth_ns) == record.args[6]);
  if (!same) return base::fail(Errno{ESTALE, "statx"});
  return place;
}

}  // namespace

Sys<void> private_overlay(Tree& tree, const View& plan, const Record& record) {
  const kernel::OpenHow how{.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks};
  CORDON_TRY(const Fd lower, kernel::openat2(kernel::kHere, plan.string(record.refs[1]), how));
  CORDON_OK(must_be(lower, record, record.args[1], record.args[2], record.args[3]));
  CORDON_TRY(const Fd place, open_place(plan, record));
  CORDON_TRY(const Fd upper, kernel::openat(place, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW));
  CORDON_TRY(const Fd work, kernel::openat(place, "work", O_PATH | O_DIRECTORY | O_NOFOLLOW));
  CORDON_OK(kernel::fchdir(tree.self));
  CORDON_TRY(const Fd mount, mount_overlay(lower, upper, work, attributes_of(record)));
  return attach(tree, mount, plan.string(record.refs[0]), Object::kDirectory);
}

}  // namespace cordon::enforce::launch
