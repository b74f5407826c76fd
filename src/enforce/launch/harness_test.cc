#include "enforce/launch/harness_test.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernel/process.h"
#include "kernel/security.h"

namespace cordon::enforce::launch::testing {
namespace {

namespace step = plan::step;
using kernel::Fd;

constexpr uid_t kUser = 23'456;  // no account needs to have it

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

sock_filter load(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter give(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }
sock_filter unless(std::uint32_t value, std::uint8_t skip) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
}
step::Filter filter(const std::string& name, const std::vector<sock_filter>& program, bool notify) {
  step::Filter out{.name = name, .notify = notify};
  out.program.resize(program.size() * sizeof(sock_filter));
  std::memcpy(out.program.data(), program.data(), out.program.size());
  return out;
}

void drop_to_user() {
  ASSERT_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
  ASSERT_EQ(syscall(SYS_setresgid, kUser, kUser, kUser), 0);
  ASSERT_EQ(syscall(SYS_setresuid, kUser, kUser, kUser), 0);
  ASSERT_TRUE(kernel::prctl(PR_SET_DUMPABLE, 1));  // as a process is that was an ordinary user's from the start
}

/// Answers one notification as the brief of exec: none wants it.
void answer(const Fd& listener, bool let, bool& continued, Told& told) {
  seccomp_notif notification{};
  if (!kernel::notification_receive(listener, notification)) return;
  seccomp_notif_resp response{.id = notification.id, .val = 0, .error = -EPERM, .flags = 0};
  if (let) {
    response.error = 0;
    response.flags = kernel::kSeccompUserNotifContinue;
  } else {
    ++told.refused_execs;
  }
  if (kernel::notification_send(listener, response) && response.error == 0) continued = true;
}

}  // namespace

void act(As as, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (as == As::kUser && geteuid() == 0) drop_to_user();
    if (!::testing::Test::HasFailure()) body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "what failed is said above, by the child";
}

void leave_the_hosts_mounts() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  ASSERT_TRUE(kernel::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER));
  if (uid != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << gid << " " << gid << " 1";
  }
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
}

Scratch::Scratch() {
  char name[] = "/tmp/cordon-launch-XXXXXX";
  path_ = std::filesystem::canonical(mkdtemp(name));
}
Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string Scratch::file(const std::string& name, const std::string& content) const {
  std::ofstream(path_ + "/" + name) << content;
  return path_ + "/" + name;
}
std::string Scratch::directory(const std::string& name) const {
  std::filesystem::create_directories(path_ + "/" + name);
  return path_ + "/" + name;
}

std::string read_file(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

plan::FileId identity(const std::string& path) {
  auto facts = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  EXPECT_TRUE(facts) << path;
  if (!facts) return {};
  return {.device = makedev(facts->stx_dev_major, facts->stx_dev_minor),
          .inode = facts->stx_ino,
          .type = static_cast<std::uint32_t>(facts->stx_mode & S_IFMT),
          .has_birth_time = (facts->stx_mask & STATX_BTIME) != 0,
          .birth_ns = facts->stx_btime.tv_sec * 1'000'000'000 + facts->stx_btime.tv_nsec};
}

PlanMaker::PlanMaker() {
  enter.flags =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET;
  enter.uids = {{.inside = geteuid(), .outside = geteuid(), .count = 1}};
  enter.gids = {{.inside = getegid(), .outside = getegid(), .count = 1}};
  for (const char* name : {"/usr", "/proc", "/dev", "/tmp"}) mount(step::MakeDirectory{.target = name});
  for (const char* name : {"bin", "sbin", "lib", "lib64"}) {
    const std::string host = std::string("/") + name;
    if (std::filesystem::is_symlink(host)) {
      mount(step::MakeSymlink{.target = host, .text = std::string("usr/") + name});
    } else if (std::filesystem::exists(host)) {
      mount(step::MakeDirectory{.target = host});
      bind(host, host, {.read_only = true});
    }
  }
  bind("/usr", "/usr", {.read_only = true});
  mount(step::MountProc{});
  mount(step::MountDev{.shm_bytes = 1 << 20});
  mount(step::MountTmpfs{.target = "/tmp", .size_bytes = 16 << 20});
}

PlanMaker& PlanMaker::mount(step::Any one) {
  mounts_.push_back(std::move(one));
  return *this;
}
PlanMaker& PlanMaker::begin_with(std::vector<step::Any> acts) {
  mounts_.insert(mounts_.begin(), acts.begin(), acts.end());
  return *this;
}
PlanMaker& PlanMaker::target(step::Any one) {
  target_.push_back(std::move(one));
  return *this;
}
PlanMaker& PlanMaker::bind(const std::string& source, const std::string& at, plan::MountAttributes attributes) {
  return mount(step::Bind{.source = source, .id = identity(source), .target = at, .attributes = attributes});
}
PlanMaker& PlanMaker::shell(const std::string& script) { return execute({"/bin/sh", "-c", script}); }
PlanMaker& PlanMaker::execute(std::vector<std::string> argv) {
  argv_ = std::move(argv);
  return *this;
}

plan::Plan PlanMaker::plan() const {
  plan::Plan out;
  const auto add = [&](const step::Any& one) { out.steps.push_back({.act = one}); };
  add(enter);
  add(step::BuildRoot{.size_bytes = 1 << 20});
  for (const auto& one : mounts_) add(one);
  add(step::EnterRoot{});
  add(step::Loopback{});
  add(step::DropPrivileges{});
  for (const auto& one : target_) add(one);
  add(step::Execute{.path = argv_.front(),
                    .argv = argv_,
                    .environment = {"PATH=/usr/bin:/bin", "SECRET=kept"},
                    .working_directory = working_directory});
  return out;
}

step::Filter notify_exec_filter() {
  return filter("exec",
                {load(offsetof(seccomp_data, arch)), unless(kArchitecture, 4), load(offsetof(seccomp_data, nr)),
                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0), unless(SYS_execveat, 1),
                 give(SECCOMP_RET_USER_NOTIF), give(SECCOMP_RET_ALLOW)},
                true);
}

step::Filter refuse_filter(const std::string& name, std::initializer_list<std::uint32_t> calls, int code) {
  std::vector<sock_filter> program{load(offsetof(seccomp_data, nr))};
  for (const std::uint32_t call : calls) {
    program.push_back(unless(call, 1));
    program.push_back(give(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(code)));
  }
  program.push_back(give(SECCOMP_RET_ALLOW));
  return filter(name, program, false);
}

const Message* Told::first(Kind kind) const {
  for (const auto* list : {&control, &life}) {
    for (const Message& message : *list) {
      if (message.kind == kind) return &message;
    }
  }
  return nullptr;
}
bool Told::held(Check check) const {
  bool any = false;
  for (const Message& message : control) {
    if (message.kind != Kind::kVerified || message.check != check) continue;
    if (message.held != 1) return false;
    any = true;
  }
  return any;
}
int Told::exit_code() const {
  const Message* end = first(Kind::kTargetExited);
  return end != nullptr && WIFEXITED(end->code) ? WEXITSTATUS(end->code) : -1;
}

namespace {

/// The loop of run(): one place for every descriptor.
class Watch {
 public:
  Watch(Started started, Fd output, const Manner& manner, Told& told)
      : started_(std::move(started)), output_(std::move(output)), manner_(manner), told_(told) {}

  void until_gone() {
    constexpr int kPatience = 20'000;
    while (true) {
      std::array<pollfd, 5> fds{{{started_.control.get(), POLLIN, 0},
                                 {started_.life.get(), POLLIN, 0},
                                 {manner_.answer_execs ? listener_.get() : -1, POLLIN, 0},
                                 {output_.get(), POLLIN, 0},
                                 {started_.init_pidfd.get(), POLLIN, 0}}};
      if (::poll(fds.data(), fds.size(), kPatience) <= 0) return;
      if (fds[0].revents != 0) hear(started_.control, told_.control);
      if (fds[1].revents != 0) hear(started_.life, told_.life);
      if ((fds[2].revents & POLLIN) != 0)
        answer(listener_, manner_.continue_all || (ready_ && !continued_), continued_, told_);
      if ((fds[2].revents & POLLHUP) != 0) listener_.reset();
      if (fds[3].revents != 0) listen();
      const bool heard_all = fds[0].revents == 0 && fds[1].revents == 0 && fds[3].revents == 0;
      if (fds[4].revents != 0 && heard_all) break;
    }
    told_.init_gone = kernel::waitid(P_PIDFD, static_cast<id_t>(started_.init_pidfd.get()), WEXITED).has_value();
  }

 private:
  void hear(Fd& socket, std::vector<Message>& into) {
    auto batch = receive(socket, 0);
    if (!batch || batch->count == 0) return socket.reset();
    for (const Message& message : batch->all()) {
      into.push_back(message);
      if (message.kind == Kind::kReady) ready_ = true;
      if (message.kind == Kind::kListener) listener_ = std::move(batch->fd);
      if (manner_.hear) manner_.hear(started_, message);
    }
  }
  void listen() {
    std::array<char, 4096> bytes{};
    const ssize_t n = ::read(output_.get(), bytes.data(), bytes.size());
    if (n <= 0) return output_.reset();
    told_.output.append(bytes.data(), static_cast<std::size_t>(n));
  }

  Started started_;
  Fd output_, listener_;
  bool ready_ = false, continued_ = false;
  const Manner& manner_;
  Told& told_;
};

}  // namespace

Told run(const plan::Plan& plan, const Manner& manner) {
  Told told;
  auto output = kernel::pipe();
  auto null = kernel::openat(kernel::kHere, "/dev/null", O_RDONLY);
  if (!output || !null) {
    told.error = "pipe";
    return told;
  }
  auto started =
      start(plan, manner.source, {.streams = {.in = *null, .out = output->write_end, .error = output->write_end}});
  output->write_end.reset();
  if (!started) {
    told.error = base::to_string(started.error());
    told.error_step = started.error().step;
    return told;
  }
  Watch(std::move(*started), std::move(output->read_end), manner, told).until_gone();
  return told;
}

}  // namespace cordon::enforce::launch::testing
