// A minimal /dev in the private root itself, which is read-only in the end.
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
  CORDON_TRY(const Fd mount, kernel::open_tree(host, device.name, kernel::kOpenTreeClone | AT_SYMLINK_NOFOLLOW));
  CORDON_TRY(auto facts, kernel::statx(mount));
  const bool right =
      S_ISCHR(facts.stx_mode) && facts.stx_rdev_major == device.major && facts.stx_rdev_minor == device.minor;
  if (!right) return base::fail(Errno{ENODEV, "statx"});
  constexpr auto kAttributes = kernel::kMountAttrRdonly | kernel::kMountAttrNosuid | kernel::kMountAttrNoexec;
  CORDON_OK(kernel::mount_setattr(mount, "", AT_EMPTY_PATH, {.attr_set = kAttributes}));
  CORDON_TRY(const Fd at, kernel::openat(dev, device.name, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW, 0444));
  return attach(mount, at);
}

Sys<Fd> new_directory(FdView dev, const char* name) {
  CORDON_OK(kernel::mkdirat(dev, name, 0755));
  return kernel::openat(dev, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

/// Terminals of the target's own; the host's do not appear.
Sys<void> mount_terminals(FdView dev) {
  CORDON_TRY(const Fd at, new_directory(dev, "pts"));
  CORDON_TRY(const Fd context, kernel::fsopen("devpts"));
  CORDON_OK(kernel::fsconfig_flag(context, "newinstance"));
  CORDON_OK(kernel::fsconfig_string(context, "ptmxmode", "0666"));
  CORDON_OK(kernel::fsconfig_string(context, "mode", "620"));
  CORDON_OK(kernel::fsconfig_create(context));
  CORDON_TRY(const Fd mount, kernel::fsmount(context, kernel::kMountAttrNosuid | kernel::kMountAttrNoexec));
  return attach(mount, at);
}

}  // namespace

Sys<void> mount_dev(const Tree& tree, const char* path, std::uint64_t shm_bytes) {
  CORDON_TRY(const Fd dev, locate(tree, path));
  CORDON_OK(must_be_own(tree, dev));
  CORDON_TRY(const Fd host, kernel::openat(kernel::kHere, "/dev", O_PATH | O_DIRECTORY));
  for (const Device& device : kDevices) CORDON_OK(bind_device(host, dev, device));
  for (const Link& link : kLinks) CORDON_OK(kernel::symlinkat(link.text, dev, link.name));
  CORDON_OK(mount_terminals(dev));
  CORDON_TRY(const Fd at, new_directory(dev, "shm"));
  constexpr auto kAttributes = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;
  CORDON_TRY(const Fd shm, new_tmpfs(shm_bytes, 01777, kAttributes));
  return attach(shm, at);
}

}  // namespace cordon::enforce::launch
