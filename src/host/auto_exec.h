// The look before and after a run at what a tool executes without being asked: package.json and its kind at the root of
// each write grant, the hooks that git takes, the programs that its configuration names, repositories and folder hooks
// that the run made.
//
// Before: each root is opened once and held, and what stands there is noted (size, times, inode). After: it is compared
// below those very descriptors, following no link, so that nothing that the target renamed, exchanged or linked leads
// elsewhere. A file's change time cannot be set back, so a change that kept size and modification time is seen too.
//
// Bounded: a few hundred system calls for an ordinary project. Called by cli/ around the run; tells, judges nothing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "host/git_hooks.h"
#include "kernel/file.h"
#include "plan/host_facts.h"
#include "plan/left_behind.h"

namespace cordon::host {

struct AutoExecSettings {
  std::vector<std::string> roots;           ///< write grants: real paths of directories or files; may not exist yet
  std::span<const std::string_view> names;  ///< below a root; one that ends in '/' stands for the files in it
  std::vector<std::string> user_configs;    ///< of git
  std::string home;
};

class AutoExecWatch {
 public:
  explicit AutoExecWatch(AutoExecSettings settings);
  AutoExecWatch(AutoExecWatch&&) noexcept = default;
  AutoExecWatch& operator=(AutoExecWatch&&) noexcept = default;

  /// `held`: mount points that other runs hold on this host for their own time. They are none of this run's doing.
  [[nodiscard]] plan::LeftBehind after(std::span<const plan::HeldPoint> held = {}) const;

 private:
  struct State {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::uint32_t mode = 0;
    std::int64_t modified = 0, changed = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Snapshot {
    std::map<std::string, State> files;  ///< by path relative to the root
    bool partial = false;                ///< more stood there than was looked at
  };
  struct Root {
    std::string path;
    base::Fd held;                      ///< the deepest directory that stood before, and for a file its directory
    std::string rest;                   ///< from there to the root; "" where it stood
    std::string only;                   ///< of a grant of one file: its name
    std::vector<std::string> hooks;     ///< below the root: "" is the root itself
    std::vector<std::string> programs;  ///< below the root, that git's configuration names
    Snapshot files, hook_files, program_files;
    std::vector<std::string> repositories;  ///< of the root, its own directories and its submodules' that were one
    Hooks git;
  };

  static State state_of(const struct ::statx& stat);
  static bool hold(Root& root);
  void look_before(Root& root) const;
  [[nodiscard]] base::Fd open_root(const Root& root) const;
  void look_at_names(base::FdView root, const std::string& only, Snapshot& into) const;
  static void look_at(base::FdView root, const std::string& name, Snapshot& into);
  static void look_at_hooks(base::FdView root, const std::vector<std::string>& hooks, Snapshot& into);
  static void look_into(base::FdView root, const std::string& directory, Snapshot& into);
  static std::vector<std::string> below_root(const Root& root, const std::vector<std::string>& paths);
  static void look_at_programs(base::FdView root, const std::vector<std::string>& programs, Snapshot& into);
  static void compare_programs(const Root& root, base::FdView now, plan::LeftBehind& out);
  struct Repositories {
    std::vector<std::string> found;
    bool partial = false;
  };
  static Repositories repositories_in(base::FdView root);
  static void add_modules_in(base::FdView root, Repositories& out);
  void compare_hooks(const Root& root, base::FdView now, plan::LeftBehind& out) const;
  void look_deeper(const Root& root, base::FdView now, plan::LeftBehind& out) const;

  AutoExecSettings settings_;
  GitSurroundings around_;
  std::int64_t started_ = 0;
  std::vector<Root> roots_;
};

}  // namespace cordon::host
