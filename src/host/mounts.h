// The mount table as this process sees it: what each mount is, by the id that statx(2) gives, and which mounts may keep
// a question waiting for ever.
//
// Read once for each Session. A mount that is not in it (made since, or hidden by a chroot) is asked with fstatfs(2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/file.h"
#include "plan/host_facts.h"

namespace cordon::host {

struct Mount {
  std::uint64_t parent = 0;  ///< id of the mount that it stands on
  std::string point;         ///< unescaped
  std::string type;          ///< "ext4", "fuse.sshfs"
  std::string device;        ///< of the file system, "8:1": the same in every mount of it
  std::string root;          ///< which directory of the file system is mounted here, unescaped
  bool noexec = false;
  bool read_only = false;  ///< the mount or its superblock
};

class MountTable {
 public:
  MountTable() = default;

  /// Of /proc/self/mountinfo; empty where that cannot be read or is longer than 64 MiB.
  static MountTable read();
  /// Lines that cannot be parsed are left out: fstatfs(2) then speaks for them.
  static MountTable parse(std::string_view mountinfo);

  [[nodiscard]] const Mount* find(std::uint64_t mount_id) const;
  [[nodiscard]] const std::unordered_map<std::uint64_t, Mount>& all() const { return by_id_; }
  /// False where the table could not be read, or a line of it could not be parsed.
  [[nodiscard]] bool is_whole() const { return whole_; }

  /// Every mount that its path leads to, sorted by place: what another mount covers, at its own place or at one above,
  /// is left out. Nothing where the table could not be read, or a line of it could not be parsed.
  [[nodiscard]] std::optional<std::vector<plan::MountPlace>> places() const;

  /// True where a mount's answers may hang (its server is on the network or is a program): questions then need a bound.
  [[nodiscard]] bool any_may_hang() const { return !may_hang_.empty(); }
  /// The innermost mount that may hang at or above this path; nullptr if none.
  [[nodiscard]] const Mount* may_hang_above(std::string_view path) const;

 private:
  std::unordered_map<std::uint64_t, Mount> by_id_;
  std::vector<std::uint64_t> may_hang_;
  bool whole_ = false;
};

/// What fstatfs(2) says of a mount that is not in the table.
Mount describe_mount(const struct ::statfs& answer);

}  // namespace cordon::host
