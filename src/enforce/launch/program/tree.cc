#include "enforce/launch/program/tree.h"

#include "kernel/short_text.h"
#include "kernel/socket.h"

namespace cordon::enforce::launch {

using kernel::Errno;
using kernel::OpenHow;

namespace {

constexpr std::uint64_t kSealed = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;

Sys<Fd> enter_or_make(const Tree& tree, FdView directory, const char* name) {
  const OpenHow how{.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks | kernel::kResolveBeneath};
  auto there = kernel::openat2(directory, name, how);
  if (there || there.error().code != ENOENT) return there;
  CORDON_OK(must_be_own(tree, directory));
  CORDON_OK(kernel::mkdirat(directory, name, 0755));
  return kernel::openat2(directory, name, how);
}

/// The directory at `path`, with what is missing on the way made.
Sys<Fd> make_all(const Tree& tree, char* path) {
  auto there = locate(tree, path);
  if (there || there.error().code != ENOENT) return there;
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

template <class Open>
Sys<Place> place_of(Near& near, const char* path, Open open_directory) {
  const bool known = near.fd.valid() && std::strncmp(path, near.path, near.length) == 0 && path[near.length] == '/' &&
                     std::strchr(path + near.length + 1, '/') == nullptr;
  if (!known) {
    const auto length = static_cast<std::size_t>(std::strrchr(path, '/') - path);
    std::array<char, plan::wire::kLongestPath + 1> parent;
    std::memcpy(parent.data(), path, length);
    std::strcpy(parent.data() + length, length == 0 ? "/" : "");
    CORDON_TRY(Fd directory, open_directory(parent.data()));
    near = {.fd = std::move(directory), .path = path, .length = length};
  }
  return Place{.directory = near.fd, .name = path + near.length + 1};
}

/// Where a Make… step makes `path`: on a file system of ours.
Sys<Place> own_place(Tree& tree, const char* path) {
  CORDON_TRY(const Place place, place_of(tree.target, path, [&](char* parent) { return make_all(tree, parent); }));
  if (!tree.target.own) CORDON_OK(must_be_own(tree, place.directory));
  tree.target.own = true;
  return place;
}

/// What masks show, in a file system of its own that has no name inside: its mount is cloned with its attributes. It
/// must be attached to be cloned, so it stands over the host's proc, which is no source of anything, and goes with it.
Sys<Fd> build_blank() {
  CORDON_TRY(Fd blank, new_tmpfs(0, 0755, kSealed));
  CORDON_OK(kernel::attach_at(blank, kernel::kHere, "/proc"));
  CORDON_OK(kernel::mkdirat(blank, "directory", 0555));
  for (const char* name : {"file", "unnamed"}) {
    CORDON_TRY(const Fd file, kernel::openat(blank, name, O_CREAT | O_EXCL | O_RDONLY, 0444));
  }
  CORDON_OK(kernel::mount_setattr(blank, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly}));
  return blank;
}

}  // namespace

std::uint64_t attributes_of(const Record& record) {
  namespace wire = plan::wire;
  return ((record.flags & wire::kReadOnly) != 0 ? kernel::kMountAttrRdonly : 0) |
         ((record.flags & wire::kNoexec) != 0 ? kernel::kMountAttrNoexec : 0) |
         ((record.flags & wire::kNosuid) != 0 ? kernel::kMountAttrNosuid : 0) |
         ((record.flags & wire::kNodev) != 0 ? kernel::kMountAttrNodev : 0);
}

Sys<Fd> new_tmpfs(std::uint64_t size, std::uint64_t mode, std::uint64_t attributes) {
  CORDON_TRY(const Fd context, kernel::fsopen("tmpfs"));
  if (size != 0) CORDON_OK(kernel::fsconfig_string(context, "size", kernel::ShortText().number(size).c_str()));
  CORDON_OK(kernel::fsconfig_string(context, "mode", kernel::ShortText().number(mode, 8).c_str()));
  CORDON_OK(kernel::fsconfig_create(context));
  return kernel::fsmount(context, attributes);
}

namespace {

Sys<void> take_hosts_mounts(Tree& tree) {
  // The host's mounts would go on appearing below what we bind if they were not made private first.
  CORDON_OK(kernel::mount_setattr(kernel::kHere, "/", kernel::kAtRecursive, {.propagation = MS_PRIVATE}));
  CORDON_TRY(auto host, kernel::statx(kernel::kHere, "/", 0));
  tree.host_device = device_of(host);
  CORDON_TRY(tree.self, kernel::openat(kernel::kHere, "/proc/self", O_PATH | O_DIRECTORY));
  CORDON_TRY(tree.blank, build_blank());
  CORDON_TRY(auto blank, kernel::statx(tree.blank));
  tree.blank_device = device_of(blank);
  return {};
}

}  // namespace

void begin(Tree& tree) {
  tree.begun = take_hosts_mounts(tree);
  if (!tree.begun) return;
  tree.dev = make_dev(tree.host_dev);
  tree.proc = make_proc(tree);
}

Sys<void> build_root(Tree& tree, const Record& record) {
  CORDON_OK(tree.begun);
  CORDON_TRY(tree.root, new_tmpfs(record.args[0], 0755, kSealed));
  CORDON_OK(kernel::attach_at(tree.root, kernel::kHere, "/"));
  return become_own(tree, tree.root);
}

Sys<Fd> locate(const Tree& tree, const char* path) {
  return kernel::openat2(tree.root, path, {.flags = O_PATH, .resolve = kNoLinks | kernel::kResolveInRoot});
}

Sys<void> become_own(Tree& tree, FdView mount) {
  CORDON_TRY(auto facts, kernel::statx(mount));
  // Beyond the bound nothing is made there, so a Make… step fails; nothing gets more than it should.
  if (tree.own_count < Tree::kMostOwn) tree.own_devices[tree.own_count++] = device_of(facts);
  return {};
}

Sys<void> must_be_own(const Tree& tree, FdView directory) {
  CORDON_TRY(auto facts, kernel::statx(directory));
  for (std::size_t i = 0; i < tree.own_count; ++i) {
    if (tree.own_devices[i] == device_of(facts)) return {};
  }
  return base::fail(Errno{EXDEV, "statx"});
}

Sys<Place> place_of_source(Tree& tree, const char* path) {
  return place_of(tree.source, path, [](const char* parent) {
    return kernel::openat2(kernel::kHere, parent, {.flags = O_PATH, .resolve = kNoLinks});
  });
}

Sys<void> attach(Tree& tree, FdView mount, const char* path, Object object) {
  CORDON_TRY(const Place place, place_of(tree.target, path, [&](const char* parent) { return locate(tree, parent); }));
  // By name no link is followed in the last place, and the kernel puts no directory over what is none. A file it would
  // put over a link, and what that leads to would stay as it is.
  const bool by_name = object == Object::kDirectory || std::strcmp(tree.target.made, place.name) == 0;
  if (!by_name || !kernel::attach_at(mount, place.directory, place.name)) {
    const OpenHow how{.flags = O_PATH, .resolve = kNoLinks | kernel::kResolveBeneath};
    CORDON_TRY(const Fd at, kernel::openat2(place.directory, place.name, how));
    CORDON_OK(kernel::attach(mount, at));
  }
  forget_below(tree, path);
  return {};
}

void forget_below(Tree& tree, const char* path) {
  const std::size_t length = std::strlen(path);
  if (tree.target.length >= length && std::strncmp(tree.target.path, path, length) == 0) tree.target = {};
}

Sys<void> make_directory(Tree& tree, const char* path, mode_t mode) {
  CORDON_TRY(const Place place, own_place(tree, path));
  auto made = kernel::mkdirat(place.directory, place.name, mode);
  if (made || made.error().code != EEXIST) return made;
  // Made before as a parent of something else: good if it is a directory.
  CORDON_TRY(const Fd there, kernel::openat(place.directory, place.name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  return {};
}

Sys<void> make_symlink(Tree& tree, const char* path, const char* text) {
  CORDON_TRY(const Place place, own_place(tree, path));
  return kernel::symlinkat(text, place.directory, place.name);
}

Sys<void> make_unlisted(Tree& tree, const char* path) {
  CORDON_TRY(const Place place, own_place(tree, path));
  return kernel::make_socket(place.directory, place.name, 0444);
}

Sys<void> make_file(Tree& tree, const char* path, std::span<const std::byte> content, mode_t mode) {
  CORDON_TRY(const Place place, own_place(tree, path));
  tree.target.made = place.name;
  if (content.empty()) {  // a mount point: one more name of the first one is half the price of one more file
    if (mode == tree.point_mode && kernel::linkat(tree.point, "", place.directory, place.name, AT_EMPTY_PATH))
      return {};
    CORDON_OK(kernel::make_file(place.directory, place.name, mode));
    if (tree.point.valid()) return {};  // before 6.10, or on another file system of ours
    CORDON_TRY(tree.point, kernel::openat(place.directory, place.name, O_PATH | O_NOFOLLOW));
    tree.point_mode = mode;
    return {};
  }
  CORDON_TRY(const Fd file,
             kernel::openat(place.directory, place.name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode));
  return kernel::write_all(file, content);
}

Sys<Fd> make_listener(Tree& tree, const char* path) {
  CORDON_TRY(const Place place, own_place(tree, path));
  // By its last name: the whole of a path may be longer than an address.
  CORDON_OK(kernel::fchdir(place.directory));
  auto socket = kernel::unix_listener(place.name);
  CORDON_OK(kernel::fchdir(tree.self));
  return socket;
}

Sys<void> mount_tmpfs(Tree& tree, const char* path, const Record& record) {
  CORDON_TRY(const Fd mount, new_tmpfs(record.args[0], record.args[1], attributes_of(record)));
  CORDON_OK(attach(tree, mount, path, Object::kDirectory));
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
