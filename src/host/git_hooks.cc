#include "host/git_hooks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/abs_path.h"
#include "base/git_config.h"
#include "base/git_programs.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using base::AbsPath;
using base::GitConfig;

constexpr std::size_t kLongestConfig = 1U << 20U;
constexpr int kMostLevels = 64;      // of directories above a grant
constexpr int kDeepestInclude = 10;  // as git's own
constexpr int kMostFiles = 64;
constexpr std::size_t kMostPrograms = 1'024;

bool lies_in(const std::string& path, const std::string& directory) {
  const auto inner = AbsPath::parse(path), outer = AbsPath::parse(directory);
  return inner && outer && inner->is_within(*outer);
}

enum class Read : unsigned char { kRead, kAbsent, kUnknown };

class Finder {
 public:
  Finder(const std::string& directory, const GitSurroundings& around) : around_(around) {
    if (!find_checkout(directory)) return;
    const std::string git = git_directory();
    if (git.empty()) {
      out_.unresolved = true;
      return;
    }
    read_configs(git);
    if (!decided_ || decided_->empty()) {
      possible_.insert(join(common_, "hooks"));
    } else {
      possible_.insert(*decided_);
    }
    out_.directories.assign(possible_.begin(), possible_.end());
    out_.programs.assign(programs_.begin(), programs_.end());
  }

  Hooks take() { return std::move(out_); }

 private:
  static std::string join(const std::string& directory, const std::string& path) {
    const auto base = AbsPath::parse(directory);
    const auto joined = base ? base->join(path) : std::nullopt;
    return joined ? joined->str() : std::string();
  }
  [[nodiscard]] bool is_writable(const std::string& path) const {
    return std::ranges::any_of(around_.writable, [&](const std::string& tree) { return lies_in(path, tree); });
  }

  bool find_checkout(const std::string& directory);
  std::string git_directory();
  Read read(const std::string& path, std::string& text);
  void read_configs(const std::string& git);
  enum class Certainty : unsigned char { kSure, kPossible };
  void apply(const std::string& path, Certainty certainty, int depth);
  std::string expanded(const std::string& value, const std::string& relative_to);
  void add_programs(const GitConfig::Line& line);

  const GitSurroundings& around_;
  std::string common_;      ///< the repository's own directory, which worktrees share
  std::uint32_t type_ = 0;  ///< of .git
  std::optional<std::string> decided_;
  std::set<std::string> possible_, programs_;
  int files_ = 0;
  Hooks out_;
};

bool Finder::find_checkout(const std::string& directory) {
  std::string at = directory;
  for (int level = 0; level < kMostLevels; ++level) {
    const auto stat = kernel::statx(kernel::kHere, join(at, ".git").c_str(), AT_SYMLINK_NOFOLLOW);
    if (stat) {
      type_ = stat->stx_mode & static_cast<unsigned>(S_IFMT);
      out_.checkout = at;
      return true;
    }
    if (at == "/") return false;
    at = AbsPath::parse(at)->parent().str();
  }
  return false;
}

/// A regular file, whole. The kind is known before it is opened for reading: opening a device may act.
Read Finder::read(const std::string& path, std::string& text) {
  const std::uint64_t resolve = is_writable(path) ? kernel::kResolveNoSymlinks : kernel::kResolveNoMagiclinks;
  const auto found = kernel::openat2(kernel::kHere, path.c_str(), {.flags = O_PATH, .mode = 0, .resolve = resolve});
  if (!found) {
    const int code = found.error().code;
    return code == ENOENT || code == ENOTDIR ? Read::kAbsent : Read::kUnknown;
  }
  const auto stat = kernel::statx(*found);
  if (!stat || !S_ISREG(stat->stx_mode) || stat->stx_size > kLongestConfig) return Read::kUnknown;
  const std::string name = "/proc/self/fd/" + std::to_string(found->get());
  const auto fd = kernel::openat(kernel::kHere, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return Read::kUnknown;
  text.resize(stat->stx_size + 1);
  std::size_t have = 0;
  for (;;) {
    const auto n = kernel::pread(*fd, std::as_writable_bytes(std::span(text).subspan(have)), have);
    if (!n || have + *n == text.size()) return Read::kUnknown;
    if (*n == 0) break;
    have += *n;
  }
  text.resize(have);
  return Read::kRead;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find_first_of("\r\n")); }

/// `.git` itself, or where its text leads.
std::string Finder::git_directory() {
  const std::string path = join(out_.checkout, ".git");
  if (type_ == S_IFDIR) return path;
  if (type_ == S_IFLNK) return is_writable(path) ? std::string() : path;
  std::string text;
  if (read(path, text) != Read::kRead || !text.starts_with("gitdir: ")) return {};
  return join(out_.checkout, first_line(text).substr(8));
}

/// "~/" and relative values; anything else that git expands cannot be told.
std::string Finder::expanded(const std::string& value, const std::string& relative_to) {
  if (value.starts_with("~/")) return around_.home.empty() ? std::string() : join(around_.home, value.substr(2));
  if (value.starts_with('~') || value.starts_with("%(")) return {};
  return join(relative_to, value);
}

void Finder::add_programs(const GitConfig::Line& line) {
  const auto words = base::words_of_git_program(line.value);
  if (words.size() == base::kMostGitProgramWords) out_.unresolved = true;
  for (const base::GitProgramWord& word : words) {
    if (!word.starts && !base::git_starts_unasked(line.name)) continue;
    const auto add = [&](const std::string& text) {
      const std::string path = expanded(text, out_.checkout);
      if (path.empty()) return;
      if (programs_.size() < kMostPrograms) {
        programs_.insert(path);
      } else {
        out_.unresolved = true;
      }
    };
    add(word.text);
    if (word.after_expansion && word.text.starts_with('/')) add("." + word.text);
  }
}

void Finder::apply(const std::string& path, Certainty certainty, int depth) {
  std::string text;
  if (depth > kDeepestInclude || ++files_ > kMostFiles) {
    out_.unresolved = true;
    return;
  }
  const Read how = read(path, text);
  if (how == Read::kAbsent) return;
  const GitConfig config =
      how == Read::kRead ? base::parse_git_config(text) : GitConfig{.lines = {}, .well_formed = false};
  if (!config.well_formed) {
    out_.unresolved = true;
    return;
  }
  for (const GitConfig::Line& line : config.lines) {
    const bool is_hooks = line.setting == GitConfig::Setting::kHooksPath;
    if (line.setting == GitConfig::Setting::kWorktree || line.setting == GitConfig::Setting::kSubmodule) continue;
    if (line.setting == GitConfig::Setting::kProgram) {
      add_programs(line);
      continue;
    }
    const std::string value = expanded(line.value, is_hooks ? out_.checkout : join(path, ".."));
    if (value.empty()) {
      out_.unresolved = true;
    } else if (!is_hooks) {
      apply(value, line.setting == GitConfig::Setting::kInclude ? certainty : Certainty::kPossible, depth + 1);
    } else if (certainty == Certainty::kSure) {
      decided_ = value;
    } else {
      possible_.insert(value);
    }
  }
}

void Finder::read_configs(const std::string& git) {
  std::string text;
  common_ = git;
  const Read shared = read(join(git, "commondir"), text);
  if (shared == Read::kUnknown) out_.unresolved = true;
  if (shared == Read::kRead) common_ = join(git, first_line(text));
  for (const std::string& path : around_.user_configs) apply(path, Certainty::kSure, 0);
  apply(join(common_, "config"), Certainty::kSure, 0);
  // Read by git only where extensions.worktreeConfig is set.
  apply(join(git, "config.worktree"), Certainty::kPossible, 0);
}

}  // namespace

Hooks find_hooks(const std::string& directory, const GitSurroundings& around) {
  return Finder(directory, around).take();
}

}  // namespace cordon::host
