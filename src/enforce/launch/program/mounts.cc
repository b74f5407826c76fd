// Bind, pin and mask: what is visible, what keeps its place, what is hidden.
#include <array>
#include <string_view>
#include <utility>

#include "enforce/launch/program/tree.h"
#include "kernel/process.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using kernel::OpenHow;

namespace {

namespace wire = plan::wire;

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

/// A detached copy of the planned object. What is compared is the copy itself: nothing is resolved again after that.
Sys<Fd> clone_source(Tree& tree, const View& plan, const Record& record) {
  if (record.refs[2].size != 0) {
    CORDON_TRY(const Fd made, open_source(plan, record));
    return kernel::open_tree_attr(made, "", kClone, {.attr_set = attributes_of(record)});
  }
  CORDON_TRY(const Place place, place_of_source(tree, plan.string(record.refs[1])));
  CORDON_TRY(Fd mount,
             kernel::open_tree_attr(place.directory, place.name, kClone | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                                    {.attr_set = attributes_of(record)}));
  CORDON_OK(must_be(mount, record, record.args[1], record.args[2], record.args[3]));
  return mount;
}

/// The mount is at hand, so its Landlock rule needs no other walk to it. Rules come in the order of the binds.
Sys<void> add_rule_of(Tree& tree, const View& plan, FdView mount, const char* target) {
  if (!tree.ruleset.valid() || tree.next_rule >= plan.size()) return {};
  const Record rule = plan.record(tree.next_rule);
  const bool is_its_own = rule.op == wire::Op::kLandlockRule && (rule.flags & wire::kMaskedFile) == 0;
  if (!is_its_own || std::strcmp(plan.string(rule.refs[0]), target) != 0) return {};
  ++tree.next_rule;
  return add_landlock_rule(tree.ruleset, mount, rule.args[0]);
}

/// The link itself, while it says what it said when the plan was made.
Sys<Fd> locate_link(const Tree& tree, const char* path, const char* text) {
  const OpenHow how{.flags = O_PATH | O_NOFOLLOW, .resolve = kNoLinks | kernel::kResolveInRoot};
  CORDON_TRY(Fd at, kernel::openat2(tree.root, path, how));
  std::array<char, wire::kLongestPath + 1> there{};
  CORDON_TRY(const std::size_t length, kernel::readlinkat(at, "", there));
  if (std::string_view(there.data(), length) != text) return base::fail(Errno{ESTALE, "readlinkat"});
  return at;
}

}  // namespace

/// Cordon holds a descriptor on the planned object, so its inode number cannot have been given to another; the birth
/// time is a second witness where the file system keeps one.
Sys<void> must_be(FdView fd, const Record& record, std::uint64_t inode, std::uint64_t type, std::uint64_t birth) {
  CORDON_TRY(auto facts, kernel::statx(fd));
  const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
  const std::int64_t birth_ns = facts.stx_btime.tv_sec * 1'000'000'000 + facts.stx_btime.tv_nsec;
  const bool same =
      device_of(facts) == record.args[0] && facts.stx_ino == inode && (facts.stx_mode & S_IFMT) == type &&
      ((record.flags & wire::kHasBirthTime) == 0 || (has_birth && static_cast<std::uint64_t>(birth_ns) == birth));
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
  CORDON_OK(must_be(at, record, record.args[1], record.args[2], record.args[3]));
  return record.refs[2].size == 0 ? std::move(at) : create_as_owner(std::move(at), plan, record);
}

Sys<void> bind(Tree& tree, const View& plan, const Record& record) {
  const char* target = plan.string(record.refs[0]);
  CORDON_TRY(Fd mount, clone_source(tree, plan, record));
  CORDON_OK(add_rule_of(tree, plan, mount, target));
  CORDON_OK(attach(tree, mount, target, record.args[2] == S_IFDIR ? Object::kDirectory : Object::kFile));
  if (tree.keeps && tree.kept_count < Tree::kMostKept) tree.kept[tree.kept_count++] = {std::move(mount), target};
  return {};
}

Sys<void> add_kept_rules(Tree& tree, const View& plan) {
  for (std::size_t i = 0; i < tree.kept_count; ++i) {
    const Tree::Kept kept = std::move(tree.kept[i]);
    CORDON_OK(add_rule_of(tree, plan, kept.mount, kept.target));
  }
  tree.kept_count = 0;
  return {};
}

Sys<void> pin(Tree& tree, const char* path, const char* link, std::uint64_t attributes) {
  CORDON_TRY(const Fd at, link != nullptr ? locate_link(tree, path, link) : locate(tree, path));
  CORDON_TRY(const Fd mount, kernel::open_tree_attr(at, "", kClone, {.attr_set = attributes}));
  forget_below(tree, path);
  return kernel::attach(mount, at);
}

Sys<void> mask(Tree& tree, const char* path, bool directory) {
  // One shared object for all: a tmpfs each costs 40 % more. The clone keeps the attributes of what it is cloned from.
  CORDON_TRY(const Fd mount, kernel::open_tree(tree.blank, directory ? "directory" : "file", kernel::kOpenTreeClone));
  return attach(tree, mount, path, directory ? Object::kDirectory : Object::kFile);
}

}  // namespace cordon::enforce::launch
