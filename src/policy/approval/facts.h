// What an inspection of the disk found out about files, as plain values: identity, owner, mode, and who else may write
// by access control list. Gathered through descriptors by walk.h; judged by location.h, which touches no disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::policy::approval {

/// Who asks. Root (uid 0) is never "somebody else": it can rewrite anything anyway.
struct Caller {
  uid_t uid = 0;  ///< effective
  gid_t gid = 0;  ///< effective
};

/// What makes a file the same file. The birth time catches an inode number that was given away again.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t type = 0;      ///< S_IFMT bits
  std::int64_t birth_ns = -1;  ///< since the epoch; -1 where the file system keeps none
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A user or group that a POSIX ACL names with write permission left after the mask.
struct AclWriter {
  enum class Kind : std::uint8_t { kUser, kGroup };
  Kind kind = Kind::kUser;
  std::uint32_t id = 0;
  friend bool operator==(const AclWriter&, const AclWriter&) = default;
};

/// The access ACL, reduced to who may write. Where there is an extended ACL the group bits of the mode are its mask and
/// say nothing about the owning group; hence owning_group_write.
struct AclFacts {
  enum class State : std::uint8_t { kMinimal, kExtended, kUnreadable };
  State state = State::kMinimal;
  int code = 0;  ///< errno, for kUnreadable
  std::vector<AclWriter> writers;
  bool owning_group_write = false;  ///< effective
  friend bool operator==(const AclFacts&, const AclFacts&) = default;
};

struct FileFacts {
  FileIdentity id;
  uid_t owner = 0;
  gid_t group = 0;
  std::uint32_t mode = 0;  ///< permission bits, set-id and sticky: 07777
  std::uint64_t size = 0;
  std::uint32_t links = 0;
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

/// One directory or symbolic link that was crossed on the way, in order. Each directory stands once.
struct WalkStep {
  enum class Kind : std::uint8_t { kDirectory, kLink };
  Kind kind = Kind::kDirectory;
  std::string path;     ///< absolute, all links before it resolved
  std::string target;   ///< a link's text
  FileFacts facts;      ///< of the directory, or of the link itself
  AclFacts acl;         ///< of the directory; minimal for a link
  FileFacts holder;     ///< for a link: the directory that it stands in
  AclFacts holder_acl;  ///< likewise
  friend bool operator==(const WalkStep&, const WalkStep&) = default;
};

}  // namespace cordon::policy::approval
