// What is held of a repository: hooks, configuration, and every file that says where those are read from.
//
// A repository may be a checkout's own, a worktree's or a submodule's, and one leads to the next. Of each git directory
// the names that git runs or obeys are held, be they there or not; of hooks and configuration that stand elsewhere,
// what leads there. Objects, refs and the index stay writable. Called by planner/checkout.cc for what it finds.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/git_config.h"
#include "planner/git_programs.h"
#include "planner/git_reader.h"

namespace cordon::planner {

class GitShields {
 public:
  explicit GitShields(GitReader& reader) : reader_(reader), programs_(reader), users_(said_by_user()) {}

  /// The checkout at `root`, whatever its `.git` is, and its submodules.
  void checkout(const std::string& root);
  /// A git directory (real); relative hooks are those of `root`.
  void repository(const std::string& directory, const std::string& root);
  /// Git takes a directory with HEAD, refs and objects for a repository of its own: none of this at `root`.
  void no_repository_at(const std::string& root);

  std::vector<Shield> take() { return std::move(shields_); }
  std::vector<ToldProgram> take_told() { return programs_.take_told(); }

 private:
  enum class Stands : unsigned char { kAsDirectory, kAsFile };  ///< what would be made, where there is nothing
  void add(const std::string& path, const plan::PathFact* known, Stands as, std::string_view what);
  void add_link(const std::string& path, const plan::PathFact& known, std::string_view what);
  void protect(const std::string& path, Stands as, std::string_view what);
  void hold_commondir(const std::string& directory);
  void hold_lock(const std::string& configuration);

  void git_directory(const std::string& directory);
  std::optional<std::string> led_to(const plan::PathFact& file, std::string_view prefix, const std::string& from);
  std::optional<std::string> linked_repository(const plan::PathFact& file, const std::string& root);
  std::optional<std::string> git_of(const std::string& root);

  /// A core.hooksPath or a program, and the file that says it. Every one counts: which is the last, conditions decide.
  struct Said {
    base::GitConfig::Line line;
    const plan::PathFact* by;
  };
  std::vector<Said> said_by(std::vector<std::string> files);
  std::vector<Said> said_by_user();
  void hold_elsewhere(const std::string& directory, const std::string& root);
  void hold(const std::vector<Said>& said, const std::string& root);

  void modules(const std::string& directory, std::size_t depth);
  void module(const std::string& directory, const plan::PathFact& config);
  void worktrees(const std::string& directory);
  void worktree(const plan::PathFact* file, const std::string& from, const std::string& repository);
  void submodules(const std::string& root, const std::optional<std::string>& git, std::size_t depth);
  void submodule(const std::string& root, const std::optional<std::string>& git, const base::GitConfig::Line& line,
                 std::size_t depth);

  GitReader& reader_;
  std::set<std::string> seen_;
  std::size_t modules_ = 0;
  std::vector<Shield> shields_;
  GitPrograms programs_;
  std::vector<Said> users_;  // the last: what is found for it goes to the shields
};

}  // namespace cordon::planner
