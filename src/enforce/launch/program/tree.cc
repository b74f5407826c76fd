#include "enforce/launch/program/tree.h"

#include "enforce/launch/program/text.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using kernel::OpenHow;

namespace {

constexpr std::uint64_t kSealed = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;
constexpr std::uint64_t kNoLinks = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks;

Sys<void> become_own(Tree& tree, FdView mount) {
  CORDON_TRY(auto facts, kernel::statx(mount));
  // Beyond the bound nothing is made there, so a Make… step fails; nothing gets more than it should.
  if (tree.own_count < Tree::kMostOwn) tree.own_devices[tree.own_count++] = device_of(facts);
  return {};
}

/// A path cut into its parent and its last name.
struct Split {
  std::array<char, plan::wire::kLongestPath + 1> parent{};
  const char* name = "";
  explicit Split(const char* path) {
    const char* slash = std::strrchr(path, '/');
    name = slash + 1;
    const auto length = static_cast<std::size_t>(slash - path);
    std::memcpy(parent.data(), path, length);
    if (length == 0) parent[0] = '/';
  }
};

Sys<Fd> enter_or_make(const Tree& tree, FdView directory, const char* name) {
  const OpenHow how{.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks | kernel::kResolveBeneath};
  auto there = kernel::openat2(directory, name, how);
  if (there || there.error().code != ENOENT) return there;
  CORDON_OK(must_be_own(tree, directory));
  CORDON_OK(kernel::mkdirat(directory, name, 0755));
  return kernel::openat2(directory, name, how);
}

/// The directory at `path` on a file system of ours, with what is missing on the way made.
Sys<Fd> own_directory_at(const Tree& tree, char* path) {
  // On the root's own mount, as nearly all of them are, there is nothing to ask.
  const OpenHow inside{.flags = O_PATH, .resolve = kNoLinks | kernel::kResolveInRoot | kernel::kResolveNoXdev};
  auto there = kernel::openat2(tree.root, path, inside);
  if (there) return there;
  there = locate(tree, path);
  if (there) {
    CORDON_OK(must_be_own(tree, *there));
    return there;
  }
  if (there.error().code != ENOENT) return there;
  CORDON_TRY(Fd at, locate(tree, "/"));
  for (char* name = path + 1; *name != '\0';) {
    char* end = name + std::strcspn(name, "/");
    const bool last = *end == '\0';
    *end = '\0';
    CORDON_TRY(at, enter_or_make(tree, at, name));
    name = last ? end : end + 1;
  }
  return at;
}

/// What masks show, in a file system of its own that has no name inside: its mount is cloned with its attributes. It
/// must be attached to be cloned, so it stands over the host's proc, which is no source of anything, and goes with it.
Sys<Fd> build_blank() {
  CORDON_TRY(Fd blank, new_tmpfs(0, 0755, kSealed));
  CORDON_OK(kernel::move_mount(blank, "", kernel::kHere, "/proc", kernel::kMoveMountFromEmptyPath));
  CORDON_OK(kernel::mkdirat(blank, "directory", 0555));
  CORDON_TRY(const Fd file, kernel::openat(blank, "file", O_CREAT | O_EXCL | O_RDONLY, 0444));
  CORDON_OK(kernel::mount_setattr(blank, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly}));
  return blank;
}

}  // namespace

std::uint64_t device_of(const struct statx& facts) { return ::makedev(facts.stx_dev_major, facts.stx_dev_minor); }

std::uint64_t attributes_of(const Record& record) {
  namespace wire = plan::wire;
  return ((record.flags & wire::kReadOnly) != 0 ? kernel::kMountAttrRdonly : 0) |
         ((record.flags & wire::kNoexec) != 0 ? kernel::kMountAttrNoexec : 0) |
         ((record.flags & wire::kNosuid) != 0 ? kernel::kMountAttrNosuid : 0) |
         ((record.flags & wire::kNodev) != 0 ? kernel::kMountAttrNodev : 0);
}

Sys<Fd> new_tmpfs(std::uint64_t size, std::uint64_t mode, std::uint64_t attributes) {
  CORDON_TRY(const Fd context, kernel::fsopen("tmpfs"));
  if (size != 0) CORDON_OK(kernel::fsconfig_string(context, "size", Text().number(size).c_str()));
  CORDON_OK(kernel::fsconfig_string(context, "mode", Text().number(mode, 8).c_str()));
  CORDON_OK(kernel::fsconfig_create(context));
  return kernel::fsmount(context, attributes);
}

Sys<void> build_root(Tree& tree, const Record& record) {
  // The host's mounts would go on appearing below what we bind if they were not made private first.
  CORDON_OK(kernel::mount_setattr(kernel::kHere, "/", kernel::kAtRecursive, {.propagation = MS_PRIVATE}));
  CORDON_TRY(auto host, kernel::statx(kernel::kHere, "/", 0));
  tree.host_device = device_of(host);
  CORDON_TRY(tree.self, kernel::openat(kernel::kHere, "/proc/self", O_PATH | O_DIRECTORY));
  CORDON_TRY(tree.blank, build_blank());
  CORDON_TRY(auto blank, kernel::statx(tree.blank));
  tree.blank_device = device_of(blank);
  CORDON_TRY(tree.root, new_tmpfs(record.args[0], 0755, kSealed));
  CORDON_OK(kernel::move_mount(tree.root, "", kernel::kHere, "/", kernel::kMoveMountFromEmptyPath));
  return become_own(tree, tree.root);
}

Sys<Fd> locate(const Tree& tree, const char* path) {
  return kernel::openat2(tree.root, path, {.flags = O_PATH, .resolve = kNoLinks | kernel::kResolveInRoot});
}

Sys<void> must_be_own(const Tree& tree, FdView directory) {
  CORDON_TRY(auto facts, kernel::statx(directory));
  for (std::size_t i = 0; i < tree.own_count; ++i) {
    if (tree.own_devices[i] == device_of(facts)) return {};
  }
  return base::fail(Errno{EXDEV, "statx"});
}

Sys<void> attach(FdView mount, FdView at) {
  return kernel::move_mount(mount, "", at, "", kernel::kMoveMountFromEmptyPath | kernel::kMoveMountToEmptyPath);
}

Sys<void> make_directory(const Tree& tree, const char* path, mode_t mode) {
  Split split(path);
  CORDON_TRY(const Fd parent, own_directory_at(tree, split.parent.data()));
  auto made = kernel::mkdirat(parent, split.name, mode);
  if (made || made.error().code != EEXIST) return made;
  // Made before as a parent of something else: good if it is a directory.
  CORDON_TRY(const Fd there, kernel::openat(parent, split.name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  return {};
}

Sys<void> make_symlink(const Tree& tree, const char* path, const char* text) {
  Split split(path);
  CORDON_TRY(const Fd parent, own_directory_at(tree, split.parent.data()));
  return kernel::symlinkat(text, parent, split.name);
}

Sys<void> make_file(const Tree& tree, const char* path, std::span<const std::byte> content, mode_t mode) {
  Split split(path);
  CORDON_TRY(const Fd parent, own_directory_at(tree, split.parent.data()));
  CORDON_TRY(const Fd file, kernel::openat(parent, split.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode));
  return kernel::write_all(file, content);
}

Sys<void> mount_tmpfs(Tree& tree, const char* path, const Record& record) {
  CORDON_TRY(const Fd at, locate(tree, path));
  CORDON_TRY(const Fd mount, new_tmpfs(record.args[0], record.args[1], attributes_of(record)));
  CORDON_OK(attach(mount, at));
  return become_own(tree, mount);
}

Sys<void> enter_root(const Tree& tree) {
  CORDON_OK(kernel::fchdir(tree.root));
  // Both names are the new root: the host's ends up stacked on it and is detached from there (pivot_root(2)). Nothing
  // else may be stacked on "/": a detach takes the topmost, and what was left would be what "/.." shows.
  CORDON_OK(kernel::pivot_root(".", "."));
  CORDON_OK(kernel::umount2(".", MNT_DETACH));
  CORDON_OK(kernel::fchdir(tree.root));
  return kernel::mount_setattr(tree.root, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly});
}

}  // namespace cordon::enforce::launch
