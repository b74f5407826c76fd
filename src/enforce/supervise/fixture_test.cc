#include "enforce/supervise/fixture_test.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>

#include "kernel/file.h"
#include "observe/numbers_test.h"
#include "plan/wire.h"

namespace cordon::enforce::supervise::testing {
namespace {

namespace step = plan::step;
namespace fs = std::filesystem;

constexpr uid_t kUser = 34'567;

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

step::Filter filter(const char* name, const std::set<std::uint32_t>& notified) {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t number : notified) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const std::size_t size = code.size() * sizeof(sock_filter);
  step::Filter out{.name = name, .program = std::vector<std::uint8_t>(size), .notify = true};
  std::memcpy(out.program.data(), code.data(), size);
  return out;
}

step::Filter exec_filter() { return filter("exec", {SYS_execve, SYS_execveat}); }

step::EnterNamespaces namespaces() {
  return {.flags =
              CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET,
          .uids = {{.inside = geteuid(), .outside = geteuid(), .count = 1}},
          .gids = {{.inside = getegid(), .outside = getegid(), .count = 1}}};
}

void add_system_directory(std::vector<step::Any>& steps, const std::string& name) {
  const std::string path = "/" + name;
  if (fs::is_symlink(path)) {
    steps.emplace_back(step::MakeSymlink{.target = path, .text = "usr/" + name});
  } else if (fs::exists(path)) {
    steps.emplace_back(step::MakeDirectory{.target = path});
    steps.emplace_back(
        step::Bind{.source = path, .id = identity(path), .target = path, .attributes = {.read_only = true}});
  }
}

}  // namespace

plan::FileId identity(const std::string& path) {
  const auto facts = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  EXPECT_TRUE(facts) << path;
  if (!facts) return {};
  return {.device = makedev(facts->stx_dev_major, facts->stx_dev_minor),
          .inode = facts->stx_ino,
          .type = static_cast<std::uint32_t>(facts->stx_mode & S_IFMT),
          .has_birth_time = (facts->stx_mask & STATX_BTIME) != 0,
          .birth_ns = facts->stx_btime.tv_sec * 1'000'000'000 + facts->stx_btime.tv_nsec};
}

plan::Plan plan_for(const std::vector<std::string>& argv, Exec exec) {
  std::vector<step::Any> steps{namespaces(), step::BuildRoot{.size_bytes = 1 << 20}};
  for (const char* directory : {"/proc", "/dev", "/tmp"}) steps.emplace_back(step::MakeDirectory{.target = directory});
  for (const char* name : {"usr", "bin", "sbin", "lib", "lib64"}) add_system_directory(steps, name);
  steps.emplace_back(step::MountProc{});
  steps.emplace_back(step::MountDev{.shm_bytes = 1 << 20});
  steps.emplace_back(step::MountTmpfs{.target = "/tmp", .size_bytes = 64 << 20});
  steps.emplace_back(step::EnterRoot{});
  steps.emplace_back(step::Loopback{});
  steps.emplace_back(step::DropPrivileges{});
  if (exec == Exec::kNone) steps.emplace_back(exec_filter());
  steps.emplace_back(step::Execute{
      .path = argv.front(), .argv = argv, .environment = {"PATH=/usr/bin:/bin"}, .working_directory = "/tmp"});
  plan::Plan plan;
  for (step::Any& act : steps) plan.steps.push_back({.act = std::move(act)});
  plan.exec_closed = exec == Exec::kNone;
  return plan;
}

plan::Plan watched(plan::Plan plan, plan::Watching watching) {
  plan.watching = watching;
  plan.watched = observe::testing::native_calls(watching);
  std::set<std::uint32_t> notified;
  for (const plan::WatchedCall& call : plan.watched) {
    // The launcher's own messages are told from others by the planner's filter only (plan::kOwnMessage).
    if (call.number != SYS_sendmsg) notified.insert(call.number);
  }
  std::erase_if(plan.steps, [](const plan::Step& one) { return std::holds_alternative<step::Filter>(one.act); });
  const char* const name = plan.exec_closed ? "exec" : plan::wire::kWatch;
  plan.steps.insert(plan.steps.end() - 1, plan::Step{.act = filter(name, notified)});
  return plan;
}

plan::Plan shell(const std::string& script, Exec exec) { return plan_for({"/bin/sh", "-c", script}, exec); }

plan::step::Execute& execution(plan::Plan& plan) { return std::get<step::Execute>(plan.steps.back().act); }

Options listening(Heard& heard) {
  const auto into = [](std::string& text) {
    return [&text](std::span<const std::byte> chunk) {
      text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    };
  };
  Options options;
  options.streams = StreamMode::kCallbacks;
  options.on_stdout = into(heard.out);
  options.on_stderr = into(heard.error);
  options.stdin_mode = StdinMode::kNull;
  return options;
}

plan::Outcome run_to_end(const plan::Plan& plan, Options options) {
  auto outcome = run(plan, std::move(options));
  if (!outcome) {
    ADD_FAILURE() << base::to_string(outcome.error());
    return {};
  }
  return std::move(*outcome);
}

namespace {

/// The wait status of a process that does this.
int in_a_process(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void become_user() {
  ASSERT_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
  ASSERT_EQ(syscall(SYS_setresgid, kUser, kUser, kUser), 0);
  ASSERT_EQ(syscall(SYS_setresuid, kUser, kUser, kUser), 0);
}

}  // namespace

void as_root_and_as_a_user(const std::function<void()>& body) {
  const int as_we_are = in_a_process(body);
  // Looked at later: a child inherits the failures of its parent.
  const int as_a_user = geteuid() != 0 ? 0 : in_a_process([&] {
    become_user();
    if (!::testing::Test::HasFatalFailure()) body();
  });
  EXPECT_EQ(as_we_are, 0) << "what failed is said above, by the child";
  EXPECT_EQ(as_a_user, 0) << "what failed as a user is said above, by the child";
}

pid_t process_with_argument(const std::string& argument) {
  std::error_code gone;
  for (fs::directory_iterator entry("/proc", gone), end; !gone && entry != end; entry.increment(gone)) {
    const auto file = kernel::openat(kernel::kHere, (entry->path() / "cmdline").c_str(), O_RDONLY);
    std::array<char, 4096> bytes{};
    const auto size = file ? kernel::read(*file, std::as_writable_bytes(std::span(bytes))).value_or(0) : 0;
    const std::string_view line(bytes.data(), size);
    if (line.find(argument) == std::string_view::npos) continue;
    const int pid = std::atoi(entry->path().filename().c_str());
    if (pid > 0 && pid != getpid()) return pid;
  }
  return 0;
}

bool eventually(const std::function<bool()>& condition, int patience_ms) {
  for (int waited = 0; waited < patience_ms; waited += 5) {
    if (condition()) return true;
    usleep(5000);
  }
  return condition();
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

bool has_no_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

}  // namespace cordon::enforce::supervise::testing
