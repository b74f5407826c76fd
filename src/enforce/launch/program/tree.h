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

inline constexpr std::uint64_t kNoLinks = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks;

/// The directory of the last path asked for: a thousand files of one are one walk to it. The texts are the plan's.
struct Near {
  Fd fd;
  const char* path = "";  ///< its first `length` bytes lead to the directory; 0: "/"
  std::size_t length = 0;
  bool own = false;       ///< must_be_own() said so
  const char* made = "";  ///< the file that was made in it last
};

struct Place {
  FdView directory;
  const char* name = "";
};

struct Tree {
  Sys<void> begun;      ///< what begin() came to, told by the first step that needs it
  Sys<Fd> proc = Fd();  ///< mount of the private proc, hardened, until its step says where it goes
  Sys<Fd> dev = Fd();   ///< mount of the private /dev, less its shm, in the same way
  Fd host_dev;          ///< /dev of the host, from before it was covered
  Fd root;              ///< mount of the private root
  Fd self;              ///< /proc/self of the host, from before it was covered
  Fd blank;             ///< mount with "directory" and "file", both empty: what masks show; "unnamed" is in no rule
  std::uint64_t host_device = 0;  ///< of the host's "/"
  std::uint64_t blank_device = 0;

  static constexpr std::size_t kMostOwn = 64;
  std::array<std::uint64_t, kMostOwn> own_devices{};  ///< file systems that Make… steps may write to
  std::size_t own_count = 0;

  Near source, target;  ///< on the host, and in the new root
  Fd point;             ///< the first empty file that was made
  mode_t point_mode = ~mode_t{};
  Fd ruleset;                 ///< of Landlock; invalid where the plan has none
  std::size_t next_rule = 0;  ///< its first record that is not in the ruleset yet

  /// A bind of the plan's beginning, kept open for its rule: which rights that gives the plan says.
  struct Kept {
    Fd mount;
    const char* target = "";
  };
  static constexpr std::size_t kMostKept = 64;
  std::array<Kept, kMostKept> kept;
  std::size_t kept_count = 0;
  bool keeps = false;  ///< while the beginning is built
};

using kernel::device_of;
std::uint64_t attributes_of(const Record& record);  ///< MOUNT_ATTR_* of its flags

/// All that no plan says anything about: the host's mounts made private, the masks' file system, the private proc and
/// dev.
void begin(Tree& tree);
Sys<void> build_root(Tree& tree, const Record& record);
/// An object of the new root by its path there. ELOOP where a link stands in it.
Sys<Fd> locate(const Tree& tree, const char* path);
/// EXDEV for what is not on a file system of ours: nothing but Bind::create makes anything on the host.
Sys<void> must_be_own(const Tree& tree, FdView fd);
Sys<void> become_own(Tree& tree, FdView mount);
enum class Object { kDirectory, kFile };
/// Mounts at `path` in the new root, through no link.
Sys<void> attach(Tree& tree, FdView mount, const char* path, Object object);
/// After a mount at `path`: names below it lead to what was mounted.
void forget_below(Tree& tree, const char* path);
/// An object of the host, by the directory that holds it; no link is followed to that.
Sys<Place> place_of_source(Tree& tree, const char* path);
/// A new tmpfs, not attached yet. Size 0: the kernel's default.
Sys<Fd> new_tmpfs(std::uint64_t size, std::uint64_t mode, std::uint64_t attributes);

Sys<void> make_directory(Tree& tree, const char* path, mode_t mode);
Sys<void> make_symlink(Tree& tree, const char* path, const char* text);
/// A mount point for a file that is no file in a listing.
Sys<void> make_unlisted(Tree& tree, const char* path);
Sys<void> make_file(Tree& tree, const char* path, std::span<const std::byte> content, mode_t mode);

/// A unix socket that listens there, for anybody in the new root to connect to.
Sys<Fd> make_listener(Tree& tree, const char* path);

/// mounts.cc
Sys<void> bind(Tree& tree, const View& plan, const Record& record);
/// The rules of what was kept, once the ruleset is there; nothing is kept any more.
Sys<void> add_kept_rules(Tree& tree, const View& plan);
/// With `link` the symbolic link itself, whose text that must be; else nullptr.
Sys<void> pin(Tree& tree, const char* path, const char* link, std::uint64_t attributes);
Sys<void> mask(Tree& tree, const char* path, bool directory);
Sys<void> mount_tmpfs(Tree& tree, const char* path, const Record& record);

/// The object of a Bind or StubOverlay, compared on the descriptor that is answered; `create` made below it.
Sys<Fd> open_source(const View& plan, const Record& record);
/// ESTALE where `fd` is another object than this one, which is on the record's device.
Sys<void> must_be(FdView fd, const Record& record, std::uint64_t inode, std::uint64_t type, std::uint64_t birth);

/// overlay.cc: the overlay of the record at `index`, over the stubs that the records after it name; not their masks.
Sys<void> stub_overlay(Tree& tree, const View& plan, std::size_t index);
/// An overlay whose upper layer is a directory of Cordon's own.
Sys<void> private_overlay(Tree& tree, const View& plan, const Record& record);

/// landlock.cc: `object` and what is below it; a file gets the rights that a file can have.
Sys<void> add_landlock_rule(FdView ruleset, FdView object, std::uint64_t access);

/// proc.cc, dev.cc
Sys<Fd> make_proc(const Tree& tree);
Sys<void> mount_proc(Tree& tree, const char* path);
Sys<Fd> make_dev(Fd& host);
Sys<void> mount_dev(Tree& tree, const char* path, std::uint64_t shm_bytes);
Sys<void> mount_device(Tree& tree, const char* path, const Record& record);

/// pivot_root into it, the host detached, the root sealed read-only.
Sys<void> enter_root(const Tree& tree);

}  // namespace cordon::enforce::launch
