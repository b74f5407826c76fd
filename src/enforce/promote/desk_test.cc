#include "enforce/promote/desk_test.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "enforce/promote/beneath.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/process.h"

namespace cordon::enforce::promote::testing {
namespace {
namespace fs = std::filesystem;

constexpr uid_t kUser = 23'456;

void drop() {
  ASSERT_TRUE(kernel::setgroups({}));
  ASSERT_TRUE(kernel::setresgid(kUser));
  ASSERT_TRUE(kernel::setresuid(kUser));
  ASSERT_TRUE(kernel::prctl(PR_SET_DUMPABLE, 1));
}

Fd open_at(const std::string& path) {
  auto opened = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_TRUE(opened) << path;
  return opened ? std::move(*opened) : Fd();
}

void enter_user_namespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  ASSERT_TRUE(kernel::unshare(CLONE_NEWNS | CLONE_NEWUSER));
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
  std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
}

}  // namespace

void as(As who, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    umask(022);
    if (who == As::kUser && geteuid() == 0) drop();
    if (!::testing::Test::HasFailure()) body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "what failed is said above, by the child";
}

void leave_the_hosts_mounts() {
  if (geteuid() != 0) return enter_user_namespace();
  ASSERT_TRUE(kernel::unshare(CLONE_NEWNS));
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
}

Desk::Desk() : Desk("") {}

Desk::Desk(const std::string& workspace_at) {
  char name[] = "/tmp/cordon-promote-XXXXXX";
  root_ = fs::canonical(mkdtemp(name));
  workspace_ = workspace_at.empty() ? root_ + "/ws" : workspace_at;
  for (const char* part : {"up", "work", "scratch", "merged"}) fs::create_directory(root_ + "/" + part);
  fs::create_directories(workspace_);
}

Desk::~Desk() {
  const Fd above = open_at("/tmp");
  EXPECT_TRUE(remove_tree(above, root_.substr(std::strlen("/tmp/"))));
}

std::string Desk::at(const std::string& path) const {
  if (path == "ws" || path.starts_with("ws/")) return workspace_ + path.substr(2);
  return root_ + "/" + path;
}

void Desk::file(const std::string& path, const std::string& content, unsigned mode) const {
  fs::create_directories(fs::path(at(path)).parent_path());
  std::ofstream(at(path), std::ios::binary) << content;
  ASSERT_EQ(::chmod(at(path).c_str(), mode), 0) << path;
}
void Desk::directory(const std::string& path, unsigned mode) const {
  fs::create_directories(at(path));
  ASSERT_EQ(::chmod(at(path).c_str(), mode), 0) << path;
}
void Desk::link(const std::string& path, const std::string& target) const {
  fs::create_directories(fs::path(at(path)).parent_path());
  ASSERT_EQ(::symlink(target.c_str(), at(path).c_str()), 0) << path;
}
void Desk::whiteout(const std::string& path) const {
  fs::create_directories(fs::path(at(path)).parent_path());
  ASSERT_EQ(::mknod(at(path).c_str(), S_IFCHR, makedev(0, 0)), 0) << path << std::strerror(errno);
}
void Desk::mark(const std::string& path, const char* attribute, const std::string& value) const {
  ASSERT_EQ(::setxattr(at(path).c_str(), attribute, value.data(), value.size(), 0), 0) << path;
}
void Desk::made(const std::string& path) const {
  fs::create_directories(at(path));
  mark(path, "user.overlay.opaque", "y");
}

std::string Desk::read(const std::string& path) const {
  std::ifstream in(at(path), std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}
bool Desk::exists(const std::string& path) const {
  return fs::symlink_status(at(path)).type() != fs::file_type::not_found;
}

unsigned Desk::mode(const std::string& path) const {
  struct stat facts{};
  EXPECT_EQ(::lstat(at(path).c_str(), &facts), 0) << path;
  return facts.st_mode & 07777U;
}

std::string Desk::listing(const std::string& path) const {
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(at(path))) {
    struct stat facts{};
    EXPECT_EQ(::lstat(entry.path().c_str(), &facts), 0);
    std::ostringstream line;
    line << entry.path().lexically_relative(at(path)).string() << " " << std::oct << facts.st_mode;
    if (S_ISREG(facts.st_mode))
      line << " '" << read(path + "/" + entry.path().lexically_relative(at(path)).string()) << "'";
    if (S_ISLNK(facts.st_mode)) line << " -> " << fs::read_symlink(entry.path()).string();
    std::array<char, 4096> names{};
    const ssize_t size = ::llistxattr(entry.path().c_str(), names.data(), names.size());
    if (size > 0) line << " has attributes";
    lines.push_back(line.str());
  }
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

void Desk::begin() {
  // The kernel stamps by ticks: what follows must be a later one than what was.
  ::usleep(12'000);
  const std::string stamp = workspace_ + ".stamp";
  std::ofstream(stamp) << "x";
  struct stat facts{};
  ASSERT_EQ(::stat(stamp.c_str(), &facts), 0);
  since_ = facts.st_ctim;
  fs::remove(stamp);
  ::usleep(12'000);
}

void Desk::run(const std::string& script) const {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    enter_user_namespace();
    const std::string options =
        "userxattr,lowerdir=" + workspace_ + ",upperdir=" + root_ + "/up,workdir=" + root_ + "/work";
    if (::mount("overlay", (root_ + "/merged").c_str(), "overlay", 0, options.c_str()) != 0) _exit(100);
    if (::chdir((root_ + "/merged").c_str()) != 0) _exit(101);
    ::execl("/bin/sh", "sh", "-ec", script.c_str(), nullptr);
    _exit(102);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0) << script;
}

Task Desk::task() const {
  Task out;
  out.upper = open_at(at("up"));
  out.destination = open_at(workspace_);
  out.scratch = open_at(at("scratch"));
  out.since = since_;
  out.classify = [](std::string_view path, Kind kind) {
    const std::string_view name = promote::name_of(path);
    if (name == "node_modules" || name == "target") return Class::kOutput;
    if (name == "package-lock.json") return Class::kLock;
    if (name == "package.json") return Class::kManifest;
    if (name == "leads" && kind == Kind::kDirectory) return Class::kLeads;
    return name == "secrets" ? Class::kNever : Class::kOther;
  };
  out.shields = {".envrc", ".vscode/tasks.json", ".gitconfig"};
  out.workspace = workspace_;
  out.allowed_roots = {"/usr"};
  out.uid = geteuid();
  out.gid = getegid();
  return out;
}

Outcome Desk::promote() const { return promote(task()); }

Outcome Desk::promote(Task task) const {
  auto outcome = promote::promote(task);
  EXPECT_TRUE(outcome) << base::to_string(outcome.error());
  return outcome ? std::move(*outcome) : Outcome{};
}

void make_chain(base::FdView top, const char* name, int levels) {
  ASSERT_TRUE(kernel::mkdirat(top, name, 0755));
  Fd at = std::move(*open_directory(top, name));
  for (int i = 0; i < levels; ++i) {
    ASSERT_TRUE(kernel::mkdirat(at, "a-rather-long-name-for-a-directory", 0755));
    at = std::move(*open_directory(at, "a-rather-long-name-for-a-directory"));
  }
  ASSERT_TRUE(kernel::make_file(at, "end", 0644));
}

std::vector<std::string> words(const List& list) {
  std::vector<std::string> out;
  for (const Entry& entry : list.entries) out.push_back(entry.path + ": " + std::string(code_of(entry.reason)));
  std::ranges::sort(out);
  return out;
}

namespace {

bool changes_something(std::uint64_t call) {
  constexpr std::array<std::uint64_t, 14> kCalls{SYS_renameat2, SYS_mkdirat,  SYS_unlinkat,  SYS_write,     SYS_fchmod,
                                                 SYS_fsync,     SYS_syncfs,   SYS_utimensat, SYS_symlinkat, SYS_openat,
                                                 SYS_fchownat,  SYS_fchmodat, SYS_ftruncate, SYS_linkat};
  return std::ranges::find(kCalls, call) != kCalls.end();
}

/// Lets the child go on to its next call that changes something; false where it ended.
bool next_change(pid_t child) {
  while (true) {
    int status = 0;
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return false;
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) return false;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_something(info.entry.nr)) return true;
  }
}

}  // namespace

bool killed_at(int nth, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    body();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD), 0);
  for (int i = 0; i < nth; ++i)
    if (!next_change(child)) return false;
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return true;
}

}  // namespace cordon::enforce::promote::testing
