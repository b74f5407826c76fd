#include "host/auto_exec.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "base/abs_path.h"
#include "host/alias_search.h"
#include "kernel/file.h"
#include "kernel/system.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using plan::FileChange;

constexpr std::size_t kMostInDirectory = 256;  // files; where there are more that is said
constexpr std::size_t kMostRepositories = 64;
constexpr std::size_t kMostRoots = 64;
constexpr std::size_t kMostChanges = 256;
// The look at what a run made anew.
constexpr std::size_t kDeepest = 3;
constexpr std::size_t kMostDirectories = 1'024;
constexpr std::size_t kMostEntries = 32'768;
constexpr std::size_t kDeepestModule = 12;  // a submodule's name has components

/// What a shell or an editor takes up on entering a directory.
constexpr std::array<std::string_view, 3> kFolderHooks = {".envrc", ".mise.toml", "mise.toml"};
/// Made by tools in bulk, and entered by nobody.
constexpr std::array<std::string_view, 6> kSkipped = {"node_modules", ".git",   "target",
                                                      ".venv",        "vendor", "__pycache__"};

constexpr std::uint64_t kWithin = kernel::kResolveBeneath | kernel::kResolveNoSymlinks;

base::Result<Fd, kernel::Errno> open_below(FdView root, const std::string& path, int flags) {
  return kernel::openat2(root, path.empty() ? "." : path.c_str(),
                         {.flags = static_cast<std::uint64_t>(flags), .mode = 0, .resolve = kWithin});
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

std::int64_t nanoseconds(const struct ::statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

/// As the kernel stamps files: its coarse clock.
std::int64_t now() {
  const timespec time = kernel::coarse_time();
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace

AutoExecWatch::State AutoExecWatch::state_of(const struct ::statx& stat) {
  return {.device = makedev(stat.stx_dev_major, stat.stx_dev_minor),
          .inode = stat.stx_ino,
          .size = stat.stx_size,
          .mode = stat.stx_mode,
          .modified = nanoseconds(stat.stx_mtime),
          .changed = nanoseconds(stat.stx_ctime)};
}

/// One name, which is no directory; a link by itself.
void AutoExecWatch::look_at(FdView root, const std::string& name, Snapshot& into) {
  const auto fd = open_below(root, name, O_PATH | O_NOFOLLOW);
  if (!fd) return;
  const auto stat = kernel::statx(*fd);
  if (stat && !S_ISDIR(stat->stx_mode)) into.files.emplace(name, state_of(*stat));
}

/// The files in one directory, links among them by themselves. A directory that is a link counts as one file.
void AutoExecWatch::look_into(FdView root, const std::string& directory, Snapshot& into) {
  const auto fd = open_below(root, directory, O_RDONLY | O_DIRECTORY);
  if (!fd) {
    look_at(root, directory, into);
    return;
  }
  // Directories count apart: a target makes as many as it likes to keep a file from being reached.
  std::size_t seen = 0, entries = 0;
  static_cast<void>(for_each_entry(*fd, [&](const Entry& entry) {
    into.partial = into.partial || seen == kMostInDirectory || ++entries > kMostEntries;
    if (into.partial || entry.type == DT_DIR) return !into.partial;
    const auto stat = kernel::statx(*fd, entry.name.c_str(), AT_SYMLINK_NOFOLLOW);
    if (stat && !S_ISDIR(stat->stx_mode)) into.files.emplace(below(directory, entry.name), state_of(*stat));
    ++seen;
    return true;
  }));
}

void AutoExecWatch::look_at_names(FdView root, const std::string& only, Snapshot& into) const {
  for (const std::string_view name : settings_.names) {
    if (!only.empty() && name != only) continue;
    if (name.ends_with('/')) {
      look_into(root, std::string(name.substr(0, name.size() - 1)), into);
      continue;
    }
    look_at(root, std::string(name), into);
  }
}

void AutoExecWatch::look_at_hooks(FdView root, const std::vector<std::string>& hooks, Snapshot& into) {
  for (const std::string& directory : hooks) look_into(root, directory, into);
}

void AutoExecWatch::look_at_programs(FdView root, const std::vector<std::string>& programs, Snapshot& into) {
  for (const std::string& program : programs) look_at(root, program, into);
}

/// Those that lie in this grant, relative to it.
std::vector<std::string> AutoExecWatch::below_root(const Root& root, const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (path == root.path) {
      out.emplace_back();
    } else if (lies_in(path, root.path)) {
      out.push_back(path.substr(root.path == "/" ? 1 : root.path.size() + 1));
    }
  }
  if (!root.only.empty()) std::erase_if(out, [&](const std::string& path) { return path != root.only; });
  return out;
}

namespace {

bool stands(FdView root, const std::string& path) {
  return kernel::statx(root, path.c_str(), AT_SYMLINK_NOFOLLOW).has_value();
}

/// What git takes for a repository without a checkout, whatever its name.
struct Bare {
  bool head = false, objects = false, refs = false, commondir = false;
  [[nodiscard]] bool is_repository() const { return head && ((objects && refs) || commondir); }
};

bool is_bare(FdView root, const std::string& directory) {
  if (!stands(root, below(directory, "HEAD"))) return false;
  return Bare{.head = true,
              .objects = stands(root, below(directory, "objects")),
              .refs = stands(root, below(directory, "refs")),
              .commondir = stands(root, below(directory, "commondir"))}
      .is_repository();
}

}  // namespace

/// Where git keeps the repositories of submodules; their names may have several components.
void AutoExecWatch::add_modules_in(FdView root, Repositories& out) {
  std::deque<std::pair<std::string, std::size_t>> open = {{".git/modules", 0}};
  std::size_t directories = 0;
  while (!open.empty()) {
    if (++directories > kMostDirectories) {
      out.partial = true;
      return;
    }
    const auto [directory, depth] = std::move(open.front());
    open.pop_front();
    const auto fd = open_below(root, directory, O_RDONLY | O_DIRECTORY);
    if (!fd) continue;
    if (is_bare(*fd, "")) {
      out.found.push_back(directory);
      open.emplace_back(below(directory, "modules"), depth + 1);
      continue;
    }
    static_cast<void>(for_each_entry(*fd, [&](const Entry& entry) {
      if (entry.type != DT_DIR) return true;
      out.partial = out.partial || depth == kDeepestModule || open.size() == kMostDirectories;
      if (!out.partial) open.emplace_back(below(directory, entry.name), depth + 1);
      return !out.partial;
    }));
  }
}

/// "" for the root itself, each of its own directories, and the submodules'.
AutoExecWatch::Repositories AutoExecWatch::repositories_in(FdView root) {
  Repositories out;
  const auto has_git = [&](const std::string& directory) {
    return stands(root, below(directory, ".git")) || is_bare(root, directory);
  };
  if (has_git("")) out.found.emplace_back();
  add_modules_in(root, out);
  const auto fd = open_below(root, "", O_RDONLY | O_DIRECTORY);
  if (!fd) return out;
  std::size_t seen = 0, directories = 0;
  static_cast<void>(for_each_entry(*fd, [&](const Entry& entry) {
    if (entry.type == DT_DIR && entry.name != ".git") {
      if (has_git(entry.name)) out.found.push_back(entry.name);
      ++directories;
    }
    return ++seen < kMostEntries && directories < kMostRepositories;
  }));
  std::ranges::sort(out.found);
  return out;
}

Fd AutoExecWatch::open_root(const Root& root) const {
  auto fd = open_below(root.held, root.rest, O_PATH | O_DIRECTORY);
  return fd ? std::move(*fd) : Fd();
}

/// Holds the root, or what stands of the way to it. A file is watched in its directory.
bool AutoExecWatch::hold(Root& root) {
  auto at = base::AbsPath::parse(root.path);
  for (; at; at = at->parent()) {
    auto fd = kernel::openat2(kernel::kHere, at->c_str(),
                              {.flags = O_PATH | O_DIRECTORY, .mode = 0, .resolve = kernel::kResolveNoSymlinks});
    if (fd) {
      root.held = std::move(*fd);
      return true;
    }
    if (at->is_root()) return false;
    if (fd.error().code == ENOTDIR && root.rest.empty() && root.only.empty()) {
      root.only = at->name();
      root.path = at->parent().str();
    } else {
      root.rest = root.rest.empty() ? std::string(at->name()) : std::string(at->name()) + "/" + root.rest;
    }
  }
  return false;
}

AutoExecWatch::AutoExecWatch(AutoExecSettings settings) : settings_(std::move(settings)), started_(now()) {
  around_ = {.user_configs = settings_.user_configs, .home = settings_.home, .writable = settings_.roots};
  if (settings_.roots.size() > kMostRoots) settings_.roots.resize(kMostRoots);
  for (const std::string& path : settings_.roots) {
    Root root;
    root.path = path;
    if (!hold(root)) continue;
    if (root.rest.empty()) look_before(root);
    roots_.push_back(std::move(root));
  }
}

void AutoExecWatch::look_before(Root& root) const {
  look_at_names(root.held, root.only, root.files);
  root.git = find_hooks(root.path, around_);
  root.programs = below_root(root, root.git.programs);
  look_at_programs(root.held, root.programs, root.program_files);
  if (!root.only.empty()) return;
  root.hooks = below_root(root, root.git.directories);
  look_at_hooks(root.held, root.hooks, root.hook_files);
  root.repositories = repositories_in(root.held).found;
}

namespace {

template <class Snapshot, class Tell>
void compare(const Snapshot& was, const Snapshot& now, Tell tell) {
  const auto &before = was.files, &after = now.files;
  for (const auto& [path, state] : after) {
    const auto known = before.find(path);
    if (known == before.end()) {
      tell(path, FileChange::kMade);
    } else if (!(known->second == state)) {
      tell(path, FileChange::kChanged);
    }
  }
  for (const auto& [path, state] : before) {
    if (!after.contains(path)) tell(path, FileChange::kRemoved);
  }
}

void tidy(std::vector<std::string>& list) {
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
}

}  // namespace

/// The configuration itself is held, so they are those that it named before.
void AutoExecWatch::compare_programs(const Root& root, FdView now, plan::LeftBehind& out) {
  Snapshot files;
  look_at_programs(now, root.programs, files);
  compare(root.program_files, files, [&](const std::string& path, FileChange change) {
    if (change == FileChange::kRemoved) return;  // executes nothing
    out.changed.push_back({.path = below_of(root.path, path), .change = change, .is_git_program = true});
  });
}

void AutoExecWatch::compare_hooks(const Root& root, FdView now, plan::LeftBehind& out) const {
  const Hooks git = find_hooks(root.path, around_);
  Snapshot files;
  look_at_hooks(now, root.hooks, files);
  out.partial = out.partial || root.hook_files.partial || files.partial;
  compare(root.hook_files, files, [&](const std::string& path, FileChange change) {
    // git's own samples are no hooks, and a removed hook executes nothing.
    if (path.ends_with(".sample") || change == FileChange::kRemoved) return;
    out.changed.push_back({.path = below_of(root.path, path), .change = change, .is_hook = true});
  });
  const bool same_checkout = git.checkout == root.git.checkout;
  if (same_checkout && !git.checkout.empty()) {
    std::ranges::set_difference(git.directories, root.git.directories, std::back_inserter(out.redirected_hooks));
  }
  const bool its_own = lies_in(git.checkout, root.path);
  if (git.unresolved && (its_own || !root.git.unresolved)) out.unresolved_hooks.push_back(git.checkout);
}

namespace {

/// What of a directory makes it a repository, and whether that is of this run. HEAD and configuration are not written
/// again when something is pushed.
struct Fresh {
  bool repository = false, made = false;
  Bare bare;

  void see(FdView directory, const std::string& name, std::int64_t since) {
    bare.objects = bare.objects || name == "objects";
    bare.refs = bare.refs || name == "refs";
    bare.commondir = bare.commondir || name == "commondir";
    bare.head = bare.head || name == "HEAD";
    if (name != "HEAD" && name != "config" && name != "commondir") return;
    const auto stat = kernel::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW);
    made = made || (stat && nanoseconds(stat->stx_ctime) >= since);
  }
  [[nodiscard]] bool is_repository() const { return repository || (made && bare.is_repository()); }
};

}  // namespace

/// Below the first level: what the kernel says was made or changed since the start. A change time cannot be set back.
void AutoExecWatch::look_deeper(const Root& root, FdView now, plan::LeftBehind& out) const {
  std::deque<std::pair<std::string, std::size_t>> open = {{"", 0}};
  std::size_t directories = 0, entries = 0;
  while (!open.empty()) {
    const auto [directory, depth] = std::move(open.front());
    open.pop_front();
    const auto fd = open_below(now, directory, O_RDONLY | O_DIRECTORY);
    if (!fd) continue;
    if (++directories > kMostDirectories || entries > kMostEntries) {
      out.partial = true;
      return;
    }
    Fresh fresh;
    static_cast<void>(for_each_entry(*fd, [&](const Entry& entry) {
      const std::string path = below(directory, entry.name);
      if (entry.name == ".git" || std::ranges::find(kFolderHooks, entry.name) != kFolderHooks.end()) {
        const auto stat = kernel::statx(*fd, entry.name.c_str(), AT_SYMLINK_NOFOLLOW);
        const bool has_birth = stat && (stat->stx_mask & STATX_BTIME) != 0;
        const bool made = stat && nanoseconds(has_birth ? stat->stx_btime : stat->stx_ctime) >= started_;
        if (entry.name == ".git") {
          fresh.repository = fresh.repository || made;
        } else if (stat && nanoseconds(stat->stx_ctime) >= started_) {
          out.changed.push_back({.path = below_of(root.path, path),
                                 .change = has_birth && made ? FileChange::kMade : FileChange::kChanged});
        }
      } else if (entry.type == DT_DIR && depth < kDeepest &&
                 std::ranges::find(kSkipped, entry.name) == kSkipped.end()) {
        open.emplace_back(path, depth + 1);
      }
      fresh.see(*fd, entry.name, started_);
      return ++entries <= kMostEntries;
    }));
    const bool was_there = depth == 0 || std::ranges::find(root.repositories, directory) != root.repositories.end();
    if (!was_there && fresh.is_repository()) out.repositories.push_back(below_of(root.path, directory));
  }
}

namespace {

/// Whether this is, still, the mount point of a run that goes on.
bool is_held(const std::string& path, std::span<const plan::HeldPoint> held) {
  const auto point = std::ranges::find(held, path, &plan::HeldPoint::path);
  if (point == held.end()) return false;
  const auto stat = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  return stat && stat->stx_ino == point->id.inode && kernel::device_of(*stat) == point->id.device &&
         (!point->id.has_birth_time || nanoseconds(stat->stx_btime) == point->id.birth_ns);
}

}  // namespace

plan::LeftBehind AutoExecWatch::after(std::span<const plan::HeldPoint> held) const {
  plan::LeftBehind out;
  for (const Root& root : roots_) {
    const Fd now = open_root(root);
    if (!now.valid()) continue;
    Snapshot files;
    look_at_names(now, root.only, files);
    out.partial = out.partial || root.files.partial || files.partial;
    compare(root.files, files, [&](const std::string& path, FileChange change) {
      out.changed.push_back({.path = below_of(root.path, path), .change = change});
    });
    compare_programs(root, now, out);
    if (!root.only.empty()) continue;
    compare_hooks(root, now, out);
    std::vector<std::string> made;
    const Repositories repositories = repositories_in(now);
    out.partial = out.partial || repositories.partial;
    std::ranges::set_difference(repositories.found, root.repositories, std::back_inserter(made));
    for (const std::string& directory : made) out.repositories.push_back(below_of(root.path, directory));
    look_deeper(root, now, out);
  }
  std::erase_if(out.changed, [&](const plan::AutoExecChange& change) { return is_held(change.path, held); });
  std::erase_if(out.repositories, [&](const std::string& at) { return is_held(at + "/.git", held); });
  std::ranges::sort(out.changed, {}, &plan::AutoExecChange::path);
  const auto twice = std::ranges::unique(out.changed, {}, &plan::AutoExecChange::path);
  out.changed.erase(twice.begin(), twice.end());
  if (out.changed.size() > kMostChanges) {
    out.changed.resize(kMostChanges);
    out.partial = true;
  }
  tidy(out.redirected_hooks);
  tidy(out.unresolved_hooks);
  tidy(out.repositories);
  return out;
}

}  // namespace cordon::host
