// The private root while it is built, and the objects in it.
//
// It stands over "/" in init's mount namespace, but init's own root still shows the host below: source paths are host
// paths, and everything of the new root is reached through `root`, never followed through a symbolic link. Trees are
// attached only to what is attached already: moving onto a detached tree is EINVAL on 6.1 and 6.12.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernel/mount.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {

using kernel::Fd;
using kernel::FdView;
using kernel::Sys;
using plan::wire::Record;
using plan::wire::View;

struct Tree {
  Fd root;                        ///< mount of the private root
  Fd self;                        ///< /proc/self of the host, from before it was covered
  Fd blank;                       ///< mount with "directory" and "file", both empty: what masks show
  std::uint64_t host_device = 0;  ///< of the host's "/"
  std::uint64_t blank_device = 0;

  static constexpr std::size_t kMostOwn = 64;
  std::array<std::uint64_t, kMostOwn> own_devices{};  ///< file systems that Make… steps may write to
  std::size_t own_count = 0;
};

/// As stat's st_dev, which is how a FileId carries it.
std::uint64_t device_of(const struct statx& facts);
std::uint64_t attributes_of(const Record& record);  ///< MOUNT_ATTR_* of its flags

Sys<void> build_root(Tree& tree, const Record& record);
/// An object of the new root by its path there. ELOOP where a link stands in it.
Sys<Fd> locate(const Tree& tree, const char* path);
/// EXDEV for what is not on a file system of ours: nothing but Bind::create makes anything on the host.
Sys<void> must_be_own(const Tree& tree, FdView fd);
Sys<void> attach(FdView mount, FdView at);
/// A new tmpfs, not attached yet. Size 0: the kernel's default.
Sys<Fd> new_tmpfs(std::uint64_t size, std::uint64_t mode, std::uint64_t attributes);

Sys<void> make_directory(const Tree& tree, const char* path, mode_t mode);
Sys<void> make_symlink(const Tree& tree, const char* path, const char* text);
Sys<void> make_file(const Tree& tree, const char* path, std::span<const std::byte> content, mode_t mode);

/// mounts.cc
Sys<void> bind(const Tree& tree, const View& plan, const Record& record);
Sys<void> pin(const Tree& tree, const char* path, std::uint64_t attributes);
Sys<void> mask(const Tree& tree, const char* path, bool directory);
Sys<void> mount_tmpfs(Tree& tree, const char* path, const Record& record);

/// The object of a Bind or StubOverlay, compared on the descriptor that is answered; `create` made below it.
Sys<Fd> open_source(const View& plan, const Record& record);
struct Identity {
  std::uint64_t device = 0, inode = 0, type = 0;
  bool has_birth_time = false;
  std::uint64_t birth_ns = 0;
};
/// ESTALE where `fd` is another object.
Sys<void> must_be(FdView fd, const Identity& planned);

/// overlay.cc: the overlay of the record at `index`, over the stubs that the records after it name; not their masks.
Sys<void> stub_overlay(const Tree& tree, const View& plan, std::size_t index);

/// proc.cc, dev.cc
Sys<void> mount_proc(const Tree& tree, const char* path);
Sys<void> mount_dev(const Tree& tree, const char* path, std::uint64_t shm_bytes);

/// pivot_root into it, the host detached, the root sealed read-only.
Sys<void> enter_root(const Tree& tree);

}  // namespace cordon::enforce::launch
