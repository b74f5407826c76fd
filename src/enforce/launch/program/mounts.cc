// Bind, pin and mask: what is visible, what keeps its place, what is hidden.
#include <utility>

#include "enforce/launch/program/tree.h"
#include "kernel/process.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using kernel::OpenHow;

namespace {

namespace wire = plan::wire;

constexpr std::uint64_t kNoLinks = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks;
constexpr unsigned kClone = kernel::kOpenTreeClone | AT_EMPTY_PATH | kernel::kAtRecursive;

/// Makes `name` below `parent`, or enters it if it is a directory of whom it is made for: an earlier step may have made
/// it. Anything else there was put by somebody meanwhile.
Sys<Fd> create(FdView parent, const char* name, uid_t owner) {
  auto made = kernel::mkdirat(parent, name, 0700);
  if (!made && made.error().code != EEXIST) return base::fail(made.error());
  CORDON_TRY(Fd there, kernel::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  CORDON_TRY(auto facts, kernel::statx(there));
  if (facts.stx_uid != owner) return base::fail(Errno{ESTALE, "mkdirat"});
  return there;
}

Sys<Fd> create_all(Fd at, const View& plan, const Record& record, uid_t owner) {
  wire::List names = plan.list(record.refs[2]);
  while (const char* name = names.next()) {
    CORDON_TRY(at, create(at, name, owner));
  }
  return at;
}

/// With that owner's rights and no more: root that made the directory and gave it away by its name would give away
/// whatever the owner had put in its place meanwhile. The groups are the owner's since before the id maps.
Sys<Fd> create_as_owner(Fd at, const View& plan, const Record& record) {
  const bool other_uid = (record.flags & wire::kCreateUid) != 0;
  const uid_t uid = other_uid ? static_cast<uid_t>(record.args[4]) : ::geteuid();
  const gid_t gid = (record.flags & wire::kCreateGid) != 0 ? static_cast<gid_t>(record.args[5]) : ::getegid();
  CORDON_OK(kernel::setfsgid(gid));
  CORDON_OK(kernel::setfsuid(uid));
  auto made = create_all(std::move(at), plan, record, uid);
  CORDON_OK(kernel::setfsuid(::geteuid()));
  CORDON_OK(kernel::setfsgid(::getegid()));
  CORDON_OK(kernel::prctl(PR_SET_DUMPABLE, 0));  // a change of ids sets it anew, to what fs.suid_dumpable says
  return made;
}

Sys<void> attach_with(FdView mount, FdView at, std::uint64_t attributes) {
  if (attributes != 0) {
    CORDON_OK(kernel::mount_setattr(mount, "", AT_EMPTY_PATH | kernel::kAtRecursive, {.attr_set = attributes}));
  }
  return attach(mount, at);
}

}  // namespace

/// Cordon holds a descriptor on the planned object, so its inode number cannot have been given to another; the birth
/// time is a second witness where the file system keeps one.
Sys<void> must_be(FdView fd, const Identity& planned) {
  CORDON_TRY(auto facts, kernel::statx(fd));
  const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
  const std::int64_t birth_ns = facts.stx_btime.tv_sec * 1'000'000'000 + facts.stx_btime.tv_nsec;
  const bool same =
      device_of(facts) == planned.device && facts.stx_ino == planned.inode &&
      (facts.stx_mode & S_IFMT) == planned.type &&
      (!planned.has_birth_time || (has_birth && static_cast<std::uint64_t>(birth_ns) == planned.birth_ns));
  if (!same) return base::fail(Errno{ESTALE, "statx"});
  return {};
}

Sys<Fd> open_source(const View& plan, const Record& record) {
  std::array<char, wire::kLongestPath + 1> path{};
  std::size_t length = record.refs[1].size;
  wire::List sizes = plan.list(record.refs[2]);
  while (const char* name = sizes.next()) length -= 1 + std::strlen(name);  // the decoder saw that they are its end
  std::memcpy(path.data(), plan.string(record.refs[1]), length);
  if (length == 0) path[0] = '/';
  CORDON_TRY(Fd at, kernel::openat2(kernel::kHere, path.data(), {.flags = O_PATH, .resolve = kNoLinks}));
  CORDON_OK(must_be(at, {.device = record.args[0],
                         .inode = record.args[1],
                         .type = record.args[2],
                         .has_birth_time = (record.flags & wire::kHasBirthTime) != 0,
                         .birth_ns = record.args[3]}));
  return record.refs[2].size == 0 ? std::move(at) : create_as_owner(std::move(at), plan, record);
}

Sys<void> bind(const Tree& tree, const View& plan, const Record& record) {
  CORDON_TRY(const Fd source, open_source(plan, record));
  CORDON_TRY(const Fd mount, kernel::open_tree(source, "", kClone));
  CORDON_TRY(const Fd at, locate(tree, plan.string(record.refs[0])));
  return attach_with(mount, at, attributes_of(record));
}

Sys<void> pin(const Tree& tree, const char* path, std::uint64_t attributes) {
  CORDON_TRY(const Fd at, locate(tree, path));
  CORDON_TRY(const Fd mount, kernel::open_tree(at, "", kClone));
  return attach_with(mount, at, attributes);
}

Sys<void> mask(const Tree& tree, const char* path, bool directory) {
  CORDON_TRY(const Fd at, locate(tree, path));
  // One shared object for all: a tmpfs each costs 40 % more. The clone keeps the attributes of what it is cloned from.
  CORDON_TRY(const Fd mount, kernel::open_tree(tree.blank, directory ? "directory" : "file", kernel::kOpenTreeClone));
  return attach(mount, at);
}

}  // namespace cordon::enforce::launch
