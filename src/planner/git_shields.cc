#include "planner/git_shields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "planner/draft.h"
#include "planner/git_places.h"
#include "planner/path_text.h"

namespace cordon::planner {

using plan::PathFact;
using plan::PathState;
using policy::shield::Deny;
using Setting = base::GitConfig::Setting;

namespace {

constexpr std::size_t kMostModules = 1'024;  // repositories inside one repository
constexpr std::size_t kDeepestModule = 12;
constexpr std::size_t kMostIncludes = 64;

constexpr std::string_view kHooks = "git hooks";
constexpr std::string_view kGitDirectory = "git's directory";
constexpr std::string_view kModules = "repositories of submodules";
constexpr std::string_view kWouldBeRepository = "what would make this directory a git repository";

}  // namespace

void GitShields::add(const std::string& path, const PathFact* known, Stands as, std::string_view what) {
  Shield shield{.path = path,
                .real = known != nullptr && !known->real.empty() ? known->real : path,
                .fact = known,
                .deny = Deny::kWrite,
                .directory = as == Stands::kAsDirectory,
                .what = what};
  if (shield.stands()) shield.directory = is_directory(*known);
  shields_.push_back(std::move(shield));
}

/// A link to what has shields of its own.
void GitShields::add_link(const std::string& path, const PathFact& known, std::string_view what) {
  if (known.hops.empty()) return;
  shields_.push_back({.path = path,
                      .real = path,
                      .fact = &known,
                      .deny = Deny::kWrite,
                      .directory = false,
                      .what = what,
                      .source = {},
                      .only_links = true});
}

void GitShields::protect(const std::string& path, Stands as, std::string_view what) {
  if (const PathFact* known = reader_.fact(path)) add(path, known, as, what);
}

/// It says where configuration and hooks are read from. While it is held it says that they are here.
void GitShields::hold_commondir(const std::string& directory) {
  const PathFact* common = reader_.fact(directory + "/commondir");
  if (common == nullptr) return;
  add(directory + "/commondir", common, Stands::kAsFile, "where git's configuration is");
  shields_.back().text = plan::step::StubText::kDot;
}

/// What the host's git writes to before it renames it over a configuration: a target that had it open would have the
/// configuration open. It is the host's to make, so no mount point on the host stands for it.
void GitShields::hold_lock(const std::string& configuration) {
  const std::string path = configuration + ".lock";
  const PathFact* known = reader_.fact(path);
  if (known == nullptr || stands(*known)) return;
  add(path, known, Stands::kAsFile, kGitConfiguration);
  shields_.back().only_without_trace = true;
}

void GitShields::no_repository_at(const std::string& root) {
  if (!reader_.is_written(root) || seen_.contains(root)) return;  // it is one
  // As directories, which no commit takes up: what matters is that the target makes neither.
  protect(root + "/commondir", Stands::kAsDirectory, kWouldBeRepository);
  // One of the two is enough. HEAD is none of them: git takes a file of that name for an ambiguity.
  for (const char* name : {"/refs", "/objects"}) {
    const PathFact* known = reader_.fact(root + name);
    if (known == nullptr) return;
    if (!stands(*known)) return add(root + name, known, Stands::kAsDirectory, kWouldBeRepository);
  }
}

void GitShields::checkout(const std::string& root) { submodules(root, git_of(root), 1); }

/// The git directory of the checkout at `root`, with everything held that says so.
std::optional<std::string> GitShields::git_of(const std::string& root) {
  const std::string path = root + "/.git";
  const PathFact* git = reader_.fact(path);
  if (git == nullptr) return std::nullopt;
  if (!stands(*git)) {
    add(path, git, Stands::kAsDirectory, kGitDirectory);
    return std::nullopt;
  }
  if (is_present_directory(git)) {
    add_link(path, *git, kGitDirectory);
    repository(git->real, root);
    return git->real;
  }
  if (!git->hops.empty()) add(path, git, is_directory(*git) ? Stands::kAsDirectory : Stands::kAsFile, kGitDirectory);
  if (git->state != PathState::kPresent) return std::nullopt;
  add(path, git, Stands::kAsFile, kGitLeadsHere);
  return linked_repository(*git, root);
}

/// One of git's directories: `directory` is real.
void GitShields::git_directory(const std::string& directory) {
  if (!seen_.insert(directory).second) return;
  protect(directory + "/hooks", Stands::kAsDirectory, kHooks);
  protect(directory + "/config", Stands::kAsFile, kGitConfiguration);
  protect(directory + "/config.worktree", Stands::kAsFile, kGitConfiguration);
  for (const char* name : {"/config", "/config.worktree"}) hold_lock(directory + name);
  hold_commondir(directory);
}

void GitShields::repository(const std::string& directory, const std::string& root) {
  git_directory(directory);
  hold_elsewhere(directory, root);
  modules(directory + "/modules", 1);
  worktrees(directory + "/worktrees");
}

/// The git directory that a file leads to. Where nothing is there yet, nothing is made there.
std::optional<std::string> GitShields::led_to(const PathFact& file, std::string_view prefix, const std::string& from) {
  const auto path = reader_.pointed_to(file, prefix, from);
  const PathFact* known = path ? reader_.fact(*path) : nullptr;
  if (known == nullptr) return std::nullopt;
  add_link(*path, *known, kGitDirectory);
  if (is_present_directory(known)) return known->real;
  add(*path, known, Stands::kAsDirectory, kGitDirectory);
  return std::nullopt;
}

/// The repository of a worktree or submodule, as far as the target can write there.
std::optional<std::string> GitShields::linked_repository(const PathFact& file, const std::string& root) {
  const auto directory = led_to(file, "gitdir:", root);
  if (!directory) return std::nullopt;
  git_directory(*directory);
  hold_elsewhere(*directory, root);
  const PathFact* common = reader_.fact(*directory + "/commondir");
  if (common == nullptr || common->state != PathState::kPresent) return directory;
  if (const auto main = led_to(*common, "", *directory)) repository(*main, root);
  return directory;
}

/// core.hooksPath, programs, and the configuration files that this one takes in: where the target could write them they
/// decide as much.
void GitShields::hold_elsewhere(const std::string& directory, const std::string& root) {
  hold(said_by({directory + "/config", directory + "/config.worktree"}), root);
  hold(users_, root);
}

std::vector<GitShields::Said> GitShields::said_by_user() {
  if (reader_.places().empty()) return {};
  return said_by(users_git_files(reader_.facts()));
}

std::vector<GitShields::Said> GitShields::said_by(std::vector<std::string> files) {
  std::vector<Said> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string file = files[i];
    const PathFact* known = reader_.fact(file);
    if (known == nullptr || known->state != PathState::kPresent) continue;
    if (i >= kMostIncludes) {
      reader_.cannot_tell(*known, "it is one of more files than are followed");
      break;
    }
    const std::string* text = reader_.content(*known);
    if (text == nullptr) continue;
    for (base::GitConfig::Line& line : base::parse_git_config(*text).lines) {
      if (line.setting == Setting::kHooksPath || line.setting == Setting::kProgram) {
        out.push_back({std::move(line), known});
        continue;
      }
      if (line.setting != Setting::kInclude && line.setting != Setting::kConditionalInclude) continue;
      const auto path = reader_.expand(line.value, std::string(parent_of(file)), *known);
      if (!path || std::ranges::find(files, *path) != files.end()) continue;
      files.push_back(*path);
      protect(*path, Stands::kAsFile, kGitConfiguration);
    }
  }
  return out;
}

void GitShields::hold(const std::vector<Said>& said, const std::string& root) {
  for (const auto& [line, by] : said) {
    if (line.setting == Setting::kProgram) {
      programs_.add(line, *by, root, shields_);
      continue;
    }
    const auto hooks = reader_.expand(line.value, root, *by);
    if (hooks && !is_too_broad(reader_.facts(), *hooks)) protect(*hooks, Stands::kAsDirectory, kHooks);
  }
}

/// Submodules have their repositories here, at any depth: a directory with a regular `config` is one.
void GitShields::modules(const std::string& directory, std::size_t depth) {
  if (!reader_.is_written(directory)) return;
  const PathFact* known = reader_.fact(directory);
  if (known == nullptr || !stands(*known)) return;
  if (!is_present_directory(known) || !known->hops.empty() || depth > kDeepestModule || ++modules_ > kMostModules) {
    return add(directory, known, Stands::kAsDirectory, kModules);
  }
  const std::vector<PathFact>* entries = reader_.listing(directory);
  if (entries == nullptr) return;
  const auto config = std::ranges::find(*entries, directory + "/config", &PathFact::asked);
  const bool is_repository = config != entries->end() && config->state == PathState::kPresent && is_regular(*config);
  if (is_repository) {
    module(directory, *config);
    return modules(directory + "/modules", depth + 1);
  }
  for (const PathFact& entry : *entries) {
    if (entry.state == PathState::kPresent && !is_directory(entry) && entry.hops.empty()) continue;
    modules(entry.asked, depth + 1);
  }
}

/// Its checkout's `.git` is a file that leads here, and must go on doing so.
void GitShields::module(const std::string& directory, const PathFact& config) {
  git_directory(directory);
  const std::string* text = reader_.content(config);
  if (text == nullptr) return;
  std::optional<std::string> root;
  for (const base::GitConfig::Line& line : base::parse_git_config(*text).lines) {
    if (line.setting == Setting::kWorktree) root = reader_.follow(line.value, directory, config);
  }
  hold_elsewhere(directory, root.value_or(directory));
  if (!root || reader_.is_anchor(*root)) return;
  const PathFact* git = reader_.fact(*root + "/.git");
  if (git != nullptr && git->state == PathState::kPresent && !is_directory(*git)) {
    add(*root + "/.git", git, Stands::kAsFile, kGitLeadsHere);
  }
}

void GitShields::worktrees(const std::string& directory) {
  if (!reader_.is_written(directory)) return;
  const std::vector<PathFact>* entries = reader_.listing(directory);
  if (entries == nullptr) return;
  for (const PathFact& entry : *entries) {
    if (!is_present_directory(&entry) || !entry.hops.empty()) continue;
    protect(entry.real + "/config.worktree", Stands::kAsFile, kGitConfiguration);
    hold_lock(entry.real + "/config.worktree");
    for (const char* name : {"/commondir", "/gitdir"}) {
      const PathFact* known = reader_.fact(entry.real + name);
      if (known != nullptr && known->state == PathState::kPresent)
        add(entry.real + name, known, Stands::kAsFile, kGitConfiguration);
    }
    worktree(reader_.fact(entry.real + "/gitdir"), entry.real, std::string(parent_of(directory)));
  }
}

/// Of a worktree: the file that leads here must go on doing so, and relative hooks are its own.
void GitShields::worktree(const PathFact* file, const std::string& from, const std::string& repository) {
  if (file == nullptr || file->state != PathState::kPresent) return;
  const auto git = reader_.pointed_to(*file, "", from);
  if (!git || !git->ends_with("/.git")) return;
  const PathFact* known = reader_.fact(*git);
  if (known != nullptr && known->state == PathState::kPresent) add(*git, known, Stands::kAsFile, kGitLeadsHere);
  hold_elsewhere(repository, std::string(parent_of(*git)));
}

/// Those that `root` names. `git` is its own git directory, where one is known.
void GitShields::submodules(const std::string& root, const std::optional<std::string>& git, std::size_t depth) {
  const PathFact* list = reader_.fact(root + "/.gitmodules");
  if (list == nullptr || list->state != PathState::kPresent) return;
  if (depth > kDeepestModule) return reader_.cannot_tell(*list, "it lies deeper than is followed");
  const std::string* text = reader_.content(*list);
  if (text == nullptr) return;
  for (const base::GitConfig::Line& line : base::parse_git_config(*text).lines) {
    if (line.setting != Setting::kSubmodule) continue;
    if (++modules_ > kMostModules) return reader_.cannot_tell(*list, "it names more submodules than are followed");
    submodule(root, git, line, depth);
  }
}

/// One that has no repository yet gets none: the first `git submodule update` of the host would take it for its own,
/// hooks and all.
void GitShields::submodule(const std::string& root, const std::optional<std::string>& git,
                           const base::GitConfig::Line& line, std::size_t depth) {
  const auto path = below(root, line.value);
  if (!path || !within(*path, root) || *path == root) return;
  const auto names = base::split(line.name, '/');
  const bool is_name = std::ranges::find(names, "..") == names.end();
  const auto place = git && is_name ? below(*git + "/modules", line.name) : std::nullopt;
  const PathFact* repository = place ? reader_.fact(*place) : nullptr;
  if (repository != nullptr && !stands(*repository)) add(*place, repository, Stands::kAsDirectory, kModules);
  if (!is_present_directory(reader_.fact(*path))) return;
  submodules(*path, git_of(*path), depth + 1);
  // Where a `.git` that is a file leads nowhere git looks no further.
  const PathFact* own = reader_.fact(*path + "/.git");
  if (own != nullptr && (!stands(*own) || is_directory(*own))) no_repository_at(*path);
}

}  // namespace cordon::planner
