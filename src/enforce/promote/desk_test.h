// For this room's tests: a workspace, an upper directory as an overlay would have left it, and a promotion between
// them. Everything is done as root and as an ordinary user; who runs the tests as an ordinary user does it twice as
// that.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "enforce/promote/promote.h"

namespace cordon::enforce::promote::testing {

enum class As { kSelf, kUser };
/// Runs `body` in a child process, as that. What gtest finds wrong in it fails the caller's test.
void as(As who, const std::function<void()>& body);

class Everybody : public ::testing::TestWithParam<As> {};
inline std::string name_of(const ::testing::TestParamInfo<As>& who) {
  return who.param == As::kSelf ? "AsSelf" : "AsUser";
}

/// From here on this process (a child of as()'s) has mounts of its own.
void leave_the_hosts_mounts();

class Desk {
 public:
  Desk();
  explicit Desk(const std::string& workspace_at);  ///< which exists, on another mount perhaps
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Paths begin with "ws/", "up/" or "scratch/". Directories above are made.
  void file(const std::string& path, const std::string& content = "x", unsigned mode = 0644) const;
  void directory(const std::string& path, unsigned mode = 0755) const;
  void link(const std::string& path, const std::string& target) const;
  void whiteout(const std::string& path) const;
  void mark(const std::string& path, const char* attribute, const std::string& value) const;
  /// A directory that the run made, or made anew.
  void made(const std::string& path) const;

  [[nodiscard]] std::string at(const std::string& path) const;
  [[nodiscard]] std::string read(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] unsigned mode(const std::string& path) const;
  /// Every name below with kind, mode, content or target, and its attributes.
  [[nodiscard]] std::string listing(const std::string& path) const;

  /// The run begins: what was written until now is older.
  void begin();
  /// Runs a script in a real overlay over the workspace, in a user namespace, and waits for it.
  void run(const std::string& script) const;
  /// With these classes: node_modules and target anywhere are outputs, package-lock.json is a lock, package.json a
  /// manifest; a directory "leads" leads to outputs.
  [[nodiscard]] Task task() const;
  [[nodiscard]] Outcome promote() const;
  [[nodiscard]] Outcome promote(Task task) const;

 private:
  std::string root_, workspace_;
  timespec since_{};
};

/// Directories in directories, whose path no system call takes.
void make_chain(base::FdView top, const char* name, int levels);

/// "path: code" of each.
std::vector<std::string> words(const List& list);

/// Runs `body` in a child that is killed at its `nth` system call that changes anything; false where it ended before.
bool killed_at(int nth, const std::function<void()>& body);

}  // namespace cordon::enforce::promote::testing
