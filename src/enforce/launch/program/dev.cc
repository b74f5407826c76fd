// A minimal /dev, in a file system of its own that is read-only as soon as all stands in it.
#include <cstring>
#include <string_view>

#include "enforce/launch/program/tree.h"

namespace cordon::enforce::launch {

using kernel::Errno;

namespace {

struct Device {
  const char* name;
  unsigned major, minor;
};
constexpr std::array<Device, 6> kDevices = {
    {{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}}};

struct Link {
  const char* name;
  const char* text;
};
constexpr std::array<Link, 5> kLinks = {{{"fd", "/proc/self/fd"},
                                         {"stdin", "/proc/self/fd/0"},
                                         {"stdout", "/proc/self/fd/1"},
                                         {"stderr", "/proc/self/fd/2"},
                                         {"ptmx", "pts/ptmx"}}};

/// The host's node, which must be the device of that number. Read-only keeps a target that is uid 0 from changing the
/// node's mode or owner; writing to a device is not writing to its file system.
Sys<void> bind_device(FdView host, FdView dev, const Device& device) {
  constexpr auto kAttributes = kernel::kMountAttrRdonly | kernel::kMountAttrNosuid | kernel::kMountAttrNoexec;
  constexpr unsigned kClone = kernel::kOpenTreeClone | AT_SYMLINK_NOFOLLOW;
  CORDON_TRY(const Fd mount, kernel::open_tree_attr(host, device.name, kClone, {.attr_set = kAttributes}));
  CORDON_TRY(auto facts, kernel::statx(mount));
  const bool right =
      S_ISCHR(facts.stx_mode) && facts.stx_rdev_major == device.major && facts.stx_rdev_minor == device.minor;
  if (!right) return base::fail(Errno{ENODEV, "statx"});
  CORDON_OK(kernel::make_file(dev, device.name, 0444));
  return kernel::attach_at(mount, dev, device.name);
}

/// Terminals of the target's own; the host's do not appear.
Sys<void> mount_terminals(FdView dev) {
  CORDON_OK(kernel::mkdirat(dev, "pts", 0755));
  CORDON_TRY(const Fd context, kernel::fsopen("devpts"));
  CORDON_OK(kernel::fsconfig_flag(context, "newinstance"));
  CORDON_OK(kernel::fsconfig_string(context, "ptmxmode", "0666"));
  CORDON_OK(kernel::fsconfig_string(context, "mode", "620"));
  CORDON_OK(kernel::fsconfig_create(context));
  CORDON_TRY(const Fd mount, kernel::fsmount(context, kernel::kMountAttrNosuid | kernel::kMountAttrNoexec));
  return kernel::attach_at(mount, dev, "pts");
}

/// Where a device is mounted: an empty file, with the directories above it. Answers the one that holds it.
Sys<Fd> make_point(FdView dev, std::string_view name) {
  CORDON_TRY(Fd at, kernel::duplicate(dev, 3));
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    std::array<char, plan::wire::kLongestName + 1> part{};
    if (slash >= part.size()) return base::fail(Errno{ENAMETOOLONG, "mkdirat"});
    std::memcpy(part.data(), name.data(), slash);
    const auto made = kernel::mkdirat(at, part.data(), 0755);
    if (!made && made.error().code != EEXIST) return base::fail(made.error());
    CORDON_TRY(at, kernel::openat2(at, part.data(), {.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks}));
    name.remove_prefix(slash + 1);
  }
  CORDON_OK(kernel::make_file(at, name.data(), 0444));
  return at;
}

}  // namespace

/// It must be attached to be mounted on: over the host's /dev, which is no source of anything, and goes with that where
/// no step moves it.
Sys<Fd> make_dev(Fd& host) {
  CORDON_TRY(host, kernel::openat(kernel::kHere, "/dev", O_PATH | O_DIRECTORY));
  CORDON_TRY(Fd dev, new_tmpfs(0, 0755, kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec));
  CORDON_OK(kernel::attach_at(dev, kernel::kHere, "/dev"));
  for (const Device& device : kDevices) CORDON_OK(bind_device(host, dev, device));
  for (const Link& link : kLinks) CORDON_OK(kernel::symlinkat(link.text, dev, link.name));
  CORDON_OK(mount_terminals(dev));
  CORDON_OK(kernel::mkdirat(dev, "shm", 0755));
  CORDON_OK(kernel::mount_setattr(dev, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly}));
  return dev;
}

Sys<void> mount_dev(Tree& tree, const char* path, std::uint64_t shm_bytes) {
  if (!tree.dev) return base::fail(tree.dev.error());
  CORDON_TRY(const Fd at, locate(tree, path));
  CORDON_OK(must_be_own(tree, at));
  CORDON_OK(kernel::attach(*tree.dev, at));
  forget_below(tree, path);
  constexpr auto kAttributes = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;
  CORDON_TRY(const Fd shm, new_tmpfs(shm_bytes, 01777, kAttributes));
  return kernel::attach_at(shm, *tree.dev, "shm");
}

/// The host's /dev is covered by ours where paths lead, so that the node is reached through the descriptor from before.
Sys<void> mount_device(Tree& tree, const char* path, const Record& record) {
  if (!tree.dev) return base::fail(tree.dev.error());
  const char* const name = path + std::strlen("/dev/");
  constexpr std::uint64_t kResolve = kNoLinks | kernel::kResolveBeneath;
  CORDON_TRY(const Fd node, kernel::openat2(tree.host_dev, name, {.flags = O_PATH | O_NOFOLLOW, .resolve = kResolve}));
  CORDON_OK(must_be(node, record, record.args[1], record.args[2], record.args[3]));
  CORDON_TRY(const Fd mount, kernel::open_tree_attr(node, "", kernel::kOpenTreeClone | AT_EMPTY_PATH,
                                                    {.attr_set = attributes_of(record)}));
  CORDON_OK(kernel::mount_setattr(*tree.dev, "", AT_EMPTY_PATH, {.attr_clr = kernel::kMountAttrRdonly}));
  const auto at = make_point(*tree.dev, name);
  CORDON_OK(kernel::mount_setattr(*tree.dev, "", AT_EMPTY_PATH, {.attr_set = kernel::kMountAttrRdonly}));
  if (!at) return base::fail(at.error());
  const char* const last = std::strrchr(path, '/') + 1;
  return kernel::attach_at(mount, *at, last);
}

}  // namespace cordon::enforce::launch
