#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "host/host_testing.h"

namespace cordon::host::testing {
namespace {

void remove_all(const std::string& root) {
  const auto visit = [](const char* path, const struct stat* about, int kind, struct FTW*) {
    if (kind == FTW_D || kind == FTW_DNR) ::chmod(path, 0700);
    (void)about;
    return 0;
  };
  ::nftw(root.c_str(), visit, 16, FTW_PHYS);
  const auto remove = [](const char* path, const struct stat*, int, struct FTW*) {
    ::remove(path);
    return 0;
  };
  ::nftw(root.c_str(), remove, 16, FTW_PHYS | FTW_DEPTH);
}

void write_text(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0) << path;
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size())) << path;
  ::close(fd);
}

}  // namespace

TempTree::TempTree() {
  std::string name = "/tmp/cordon-host-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  EXPECT_EQ(::chmod(name.c_str(), 0755), 0);
  root_ = name;
}

TempTree::~TempTree() { remove_all(root_); }

std::string TempTree::path(std::string_view name) const {
  return name.empty() ? root_ : root_ + "/" + std::string(name);
}

std::string TempTree::dir(std::string_view name, unsigned bits) const {
  EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0) << name;
  mode(name, bits);
  return path(name);
}

std::string TempTree::file(std::string_view name, std::string_view content, unsigned bits) const {
  const int fd = ::open(path(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  EXPECT_GE(fd, 0) << name;
  EXPECT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::close(fd);
  mode(name, bits);
  return path(name);
}

std::string TempTree::link(std::string_view name, std::string_view text) const {
  EXPECT_EQ(::symlink(std::string(text).c_str(), path(name).c_str()), 0) << name;
  return path(name);
}

void TempTree::own(std::string_view name, std::uint32_t uid, std::uint32_t gid) const {
  EXPECT_EQ(::lchown(path(name).c_str(), uid, gid), 0) << name;
}

void TempTree::mode(std::string_view name, unsigned bits) const {
  EXPECT_EQ(::chmod(path(name).c_str(), bits), 0) << name;
}

bool is_root() { return ::geteuid() == 0; }

void in_forked(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see the child's failures above";
}

void as_each_user(const std::function<void()>& body) {
  in_forked(body);
  if (!is_root()) return;
  in_forked([&] {
    ASSERT_EQ(::setgroups(0, nullptr), 0);
    ASSERT_EQ(::setresgid(kStranger, kStranger, kStranger), 0);
    ASSERT_EQ(::setresuid(kStranger, kStranger, kStranger), 0);
    // As after an exec: a process that changed its ids may not write its children's maps.
    ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
    SCOPED_TRACE("as an ordinary user");
    body();
  });
}

void in_user_namespace(std::uint64_t namespaces, const std::function<void()>& body) {
  in_forked([&] {
    const auto uid = std::to_string(::geteuid());
    const auto gid = std::to_string(::getegid());
    ASSERT_EQ(::unshare(static_cast<int>(namespaces | CLONE_NEWUSER)), 0);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/gid_map", "0 " + gid + " 1");
    write_text("/proc/self/uid_map", "0 " + uid + " 1");
    if ((namespaces & CLONE_NEWNS) != 0) {
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    }
    // The first child is pid 1 of a new pid namespace.
    in_forked(body);
  });
}

Caller caller(std::map<std::string, std::string> environment) {
  Caller out{.uid = ::geteuid(), .gid = ::getegid(), .groups = {}, .environment = std::move(environment)};
  out.working_directory = "/";
  return out;
}

void refuse_call(long number, int code) {
  const std::array<sock_filter, 4> program = {{
      {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = offsetof(seccomp_data, nr)},
      {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = static_cast<std::uint32_t>(number)},
      {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(code)},
      {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW},
  }};
  const sock_fprog filter{.len = program.size(), .filter = const_cast<sock_filter*>(program.data())};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), 0);
}

}  // namespace cordon::host::testing
