// Tree: a directory of one test's own, owned by the identity that the test acts as, gone when the test ends.
//
// It lies in /var/tmp, because a sandbox has a /tmp of its own; tests about /tmp say so with Place::kTmp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/identity.h"

namespace cordon::test {

enum class Place { kVarTmp, kTmp };

class Tree {
 public:
  explicit Tree(const Identity& who, Place place = Place::kVarTmp);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string path(std::string_view relative) const;

  /// Each makes missing parents, and gives what it made to the tree's identity. Answers the absolute path.
  std::string make_directory(std::string_view relative, mode_t mode = 0755) const;
  std::string write(std::string_view relative, std::string_view content, mode_t mode = 0644) const;
  std::string link(std::string_view relative, const std::string& target) const;
  std::string copy(std::string_view relative, const std::string& from, mode_t mode = 0755) const;
  void remove(std::string_view relative) const;  ///< with all that is below it
  void give(std::string_view relative, const Identity& whom) const;

  [[nodiscard]] std::optional<std::string> read(std::string_view relative) const;
  [[nodiscard]] bool exists(std::string_view relative) const;

 private:
  Identity who_;
  std::string root_;
};

/// Everything below a directory: relative path -> kind, mode, owner, size and content's digest. Equal snapshots mean
/// that nothing was made, removed, changed or given away.
using Snapshot = std::map<std::string, std::string>;
Snapshot snapshot(const std::string& directory);

/// The differences in words, for a failing test's message.
std::string difference(const Snapshot& before, const Snapshot& after);

}  // namespace cordon::test
