// What the tests of this room share: a directory of their own, accounts, and acting as somebody.
//
// As root the suite acts as root and as ordinary accounts that it makes once; where it is not root, root's rows do not
// exist (nobody asked for them) and the ordinary user is the caller.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "policy/approval/facts.h"

namespace cordon::policy::approval::testing {

struct Who {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  [[nodiscard]] Caller caller() const { return {.uid = uid, .gid = gid}; }
};
inline void PrintTo(const Who& who, std::ostream* out) { *out << who.name; }

inline bool is_root() { return ::geteuid() == 0; }

/// Made once under a lock: two test programs may want it at the same time.
inline Who account(const std::string& name) {
  const int lock = ::open("/var/tmp/cordon-test-accounts.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(::flock(lock, LOCK_EX), 0);
  if (::getpwnam(name.c_str()) == nullptr) {
    EXPECT_EQ(std::system(("/usr/sbin/useradd -m -s /bin/bash " + name).c_str()), 0);
  }
  ::close(lock);
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) std::abort();
  return {.name = name, .uid = entry->pw_uid, .gid = entry->pw_gid};
}

inline Who user() { return is_root() ? account("cordontest") : Who{"caller", ::geteuid(), ::getegid()}; }
inline Who other() { return account("cordonother"); }  // only as root
inline Who root() { return {.name = "root", .uid = 0, .gid = 0}; }
inline std::vector<Who> everybody() { return is_root() ? std::vector<Who>{root(), user()} : std::vector<Who>{user()}; }
inline std::vector<Who> root_only() { return is_root() ? std::vector<Who>{root()} : std::vector<Who>{}; }
inline std::string name_of(const ::testing::TestParamInfo<Who>& info) { return info.param.name; }

/// Runs `act` in a child that is `who` for good, without supplementary groups; its failures become the test's.
inline void as(const Who& who, const std::function<void()>& act) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (is_root() && who.uid != 0 &&
        (::setgroups(0, nullptr) != 0 || ::setgid(who.gid) != 0 || ::setuid(who.uid) != 0)) {
      ::_exit(90);
    }
    act();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 91 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "as " << who.name << ": wait status " << status;
}

/// A command for the host, quietly: setfacl, mount. Fails the test where it fails.
inline void shell(const std::string& command) {
  ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
}

/// A directory of the test's own in /tmp, removed at the end.
class Disk : public ::testing::Test {
 protected:
  Disk() {
    std::string pattern = "/tmp/cordon-approval-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    top_ = pattern;
  }
  ~Disk() override {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }

  [[nodiscard]] const std::string& top() const { return top_; }
  [[nodiscard]] std::string at(const std::string& name) const { return top_ + "/" + name; }

  std::string file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = at(name);
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0) << path;
    return path;
  }
  std::string directory(const std::string& name, mode_t mode = 0755) const {
    const std::string path = at(name);
    std::filesystem::create_directories(path);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0) << path;
    return path;
  }
  std::string link(const std::string& name, const std::string& target) const {
    EXPECT_EQ(::symlink(target.c_str(), at(name).c_str()), 0) << name;
    return at(name);
  }
  /// Everything of the test's directory; nothing where the suite is not root (it is theirs then).
  void give_all_to(const Who& who) const {
    if (is_root()) shell("chown -hR " + std::to_string(who.uid) + ":" + std::to_string(who.gid) + " " + top_);
  }

  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
  }
  static std::vector<std::string> names_of(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string top_;
};

/// The same, once for each of everybody(), with everything theirs.
class DiskOf : public Disk, public ::testing::WithParamInterface<Who> {
 protected:
  DiskOf() { give_all_to(GetParam()); }
  static Who me() { return GetParam(); }
};

}  // namespace cordon::policy::approval::testing
