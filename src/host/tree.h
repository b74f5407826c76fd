// Tree: what stands on this host, asked once for each name and by descriptor: a name is opened O_PATH | O_NOFOLLOW
// below its directory's own descriptor, so that nobody can exchange a directory under our feet and 500 grants in one
// tree cost two calls each. Symbolic links are nodes here and are followed by the resolver alone.
//
// One thread at a time. Where an answer may hang, a Watch tells the thread that waits what is being asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "host/directory_listing.h"
#include "host/mounts.h"
#include "host/pin_store.h"
#include "kernel/errno.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// What a worker is asking the file system right now. Shared by two threads.
class Watch {
 public:
  void asks(std::string path);
  struct Question {
    std::string path;
    std::chrono::steady_clock::time_point since;
  };
  [[nodiscard]] Question question() const;

 private:
  mutable std::mutex mutex_;
  Question question_;
};

struct Access {
  bool writable = false;
  bool executable = false;
};

struct Node {
  Node* parent = nullptr;  ///< nullptr for the root
  std::string name;
  plan::PathState state = plan::PathState::kPresent;  ///< kPresent, kAbsent, kDenied, kTooLong or kFailed
  int code = 0;                                       ///< errno, unless kPresent
  plan::FileId id;
  std::uint32_t uid = 0, gid = 0, mode = 0;
  std::uint64_t links = 0;
  std::uint64_t rdev = 0;
  bool immutable = false;
  const Mount* mount = nullptr;  ///< never nullptr for kPresent
  std::uint64_t mount_id = 0;    ///< 0: the kernel does not say
  std::string link_text;         ///< of a symbolic link
  bool magic_link = false;       ///< procfs: leads to an object and not to its text
  std::optional<Access> access;
  std::optional<bool> acl;
  std::size_t slot = PinStore::kNoSlot;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
  std::optional<DirectoryListing> listing;  ///< a name that it has not is not looked up any more

  [[nodiscard]] bool is_present() const { return state == plan::PathState::kPresent; }
  [[nodiscard]] bool is_directory() const { return is_present() && id.type == S_IFDIR; }
  [[nodiscard]] bool is_link() const { return is_present() && id.type == S_IFLNK; }
  [[nodiscard]] bool is_file() const { return is_present() && id.type == S_IFREG; }
};

std::string path_of(const Node& node);

struct TreeSettings {
  std::uint32_t uid = 0;                   ///< effective, of this process
  bool overrides_modes = false;            ///< CAP_DAC_OVERRIDE over every id: permission bits do not bind this process
  std::vector<plan::HeldPoint> as_absent;  ///< mount points of runs that go on: answered as if nothing were there
  std::vector<std::string> dead_mounts;    ///< mount points that did not answer: nothing below is asked
  std::shared_ptr<Watch> watch;            ///< or nothing, where no mount may hang
};

class Tree {
 public:
  Tree(TreeSettings settings, const MountTable& mounts, std::shared_ptr<PinStore> pins);

  [[nodiscard]] Node& root();
  /// `name` within `directory`, which is a directory or absent; never "", "." or "..".
  [[nodiscard]] Node& child(Node& directory, std::string_view name, Keep keep);
  [[nodiscard]] Access access(Node& node);
  /// True where the directory has an access ACL, which may let in more than its group.
  [[nodiscard]] bool has_acl(Node& node);
  /// Opens the very object for reading: never a FIFO's or a device's driver, never another file that took its name.
  [[nodiscard]] base::Result<base::Fd, kernel::Errno> open_file(Node& file);
  /// Names in a directory, in no order. E2BIG beyond `most`.
  [[nodiscard]] base::Result<std::vector<std::string>, kernel::Errno> entries(Node& directory, std::size_t most);
  struct Entry {
    std::string name;
    unsigned char type = 0;  ///< DT_*; DT_UNKNOWN where the file system does not say
  };
  [[nodiscard]] base::Result<std::vector<Entry>, kernel::Errno> typed_entries(Node& directory, std::size_t most);

 private:
  struct Held {  ///< a descriptor on a node: pinned, or opened anew where the pin was given up
    base::FdView view;
    base::Fd own;
  };
  base::Result<Held, kernel::Errno> hold(Node& node);
  [[nodiscard]] bool look_for_acl(Node& node);
  [[nodiscard]] Access possible_access(const Node& node) const;
  void look(Node& node, Keep keep);
  void trigger_automount(Node& node, base::FdView directory, base::Fd& fd, struct ::statx& stat);
  void read_link(Node& node, base::FdView directory, base::FdView link);
  const Mount* mount_of(base::FdView fd, const struct ::statx& stat);
  void asks(const Node& node) const;
  [[nodiscard]] bool is_dead(const Node& node) const;

  TreeSettings settings_;
  const MountTable& mounts_;
  std::shared_ptr<PinStore> pins_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Mount>> unlisted_;
  std::vector<std::unique_ptr<Mount>> nameless_;  ///< of kernels that give no mount id
  std::unique_ptr<Node> root_;
};

}  // namespace cordon::host
