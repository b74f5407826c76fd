// A file system whose server never answers, as a dead network mount. Opening one name hangs in the kernel: a seccomp
// listener holds that call and lets all others go on. As root a FUSE mount whose requests nobody reads does it too.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "host/bounded.h"
#include "host/host.h"
#include "host/host_testing.h"
#include "host/questions.h"
#include "kernel/security.h"
#include "kernel/socket.h"

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::in_forked;
using testing::TempTree;

constexpr std::uint32_t kBoundMs = 300;
constexpr std::string_view kHangs = "hangs-for-ever";

base::Fd notify_of_openat() {
  const std::array<sock_filter, 4> program = {{
      {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = offsetof(seccomp_data, nr)},
      {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = SYS_openat},
      {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = kernel::kSeccompRetUserNotif},
      {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW},
  }};
  EXPECT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  auto listener = kernel::seccomp_set_filter(std::as_bytes(std::span(program)), kernel::kSeccompFilterNewListener);
  EXPECT_TRUE(listener.has_value());
  return listener ? std::move(*listener) : base::Fd();
}

bool is_the_name_that_hangs(const seccomp_notif& call) {
  std::array<char, 64> name{};
  const iovec local{.iov_base = name.data(), .iov_len = kHangs.size() + 1};
  const iovec remote{.iov_base = reinterpret_cast<void*>(call.data.args[1]), .iov_len = kHangs.size() + 1};
  const ssize_t n = ::process_vm_readv(static_cast<pid_t>(call.pid), &local, 1, &remote, 1, 0);
  return n == static_cast<ssize_t>(kHangs.size() + 1) && name.data() == kHangs;
}

/// Lets every openat(2) of the child go on but that of kHangs; until no process has the filter any more.
void serve(const base::Fd& listener) {
  for (;;) {
    pollfd ready{.fd = listener.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 10'000) <= 0 || (ready.revents & POLLIN) == 0) return;
    seccomp_notif call{};
    if (!kernel::notification_receive(listener, call) || is_the_name_that_hangs(call)) continue;
    (void)kernel::notification_send(listener,
                                    {.id = call.id, .val = 0, .error = 0, .flags = kernel::kSeccompUserNotifContinue});
  }
}

void where_a_name_hangs(const std::function<void()>& body) {
  auto sockets = kernel::socketpair(SOCK_SEQPACKET);
  ASSERT_TRUE(sockets);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    {
      const base::Fd listener = notify_of_openat();
      (void)kernel::send_message(sockets->theirs, std::as_bytes(std::span("x", 1)), listener);
    }
    body();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  std::array<std::byte, 1> byte{};
  const auto received = kernel::receive_message(sockets->ours, byte, 0);
  ASSERT_TRUE(received && received->fd.valid());
  serve(received->fd);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see the child's failures above";
}

class Hanging : public ::testing::Test {
 protected:
  Hanging() {
    tree.dir("dead");
    tree.dir("worse");
    tree.file("fine");
    tree.file("dead/fine");
    tree.link("to-dead", "dead/" + std::string(kHangs));
  }

  /// As this host is, but with network mounts at these places.
  [[nodiscard]] Inquiry inquiry(const std::vector<std::string>& network) const {
    std::string table;
    int id = 900'000;
    for (const std::string& name : network) {
      table += std::to_string(id++) + " 1 0:99 / " + tree.path(name) + " rw - nfs4 server:/x rw\n";
    }
    return {{.uid = ::geteuid(), .search_path = "/usr/bin:/bin", .bound = milliseconds(kBoundMs)},
            std::make_shared<const AccountBook>(),
            std::make_shared<const MountTable>(MountTable::parse(table))};
  }
  [[nodiscard]] PathQuestion path(const std::string& name) const {
    return {.path = tree.path(name), .keep = Keep::kIfRoom};
  }
  static std::string hangs(const std::string& directory) { return directory + "/" + std::string(kHangs); }

  TempTree tree;
};

const PathFact& fact(const std::vector<Answer>& answers, std::size_t index) {
  return std::get<PathFact>(answers.at(index));
}

TEST_F(Hanging, AQuestionIsGivenUpAndTheOthersAreAnswered) {
  where_a_name_hangs([&] {
    Inquiry host = inquiry({"dead"});
    const auto start = steady_clock::now();
    const auto answers =
        host.ask({path("fine"), path(hangs("dead")), path("to-dead"), path("dead/fine"), path("absent"),
                  ProgramQuestion{tree.path(hangs("dead")), "/"}, ProgramQuestion{"sh", "/"}});
    const auto took = steady_clock::now() - start;
    ASSERT_EQ(answers.size(), 7U);
    EXPECT_EQ(fact(answers, 0).state, PathState::kPresent);
    for (const std::size_t index : {1U, 2U, 3U}) {
      EXPECT_EQ(fact(answers, index).state, PathState::kFailed) << index;
      EXPECT_EQ(fact(answers, index).code, ETIMEDOUT) << index;
    }
    EXPECT_EQ(fact(answers, 4).state, PathState::kAbsent);
    EXPECT_EQ(std::get<plan::ProgramFact>(answers.at(5)).hops.at(0).file.code, ETIMEDOUT);
    EXPECT_TRUE(std::get<plan::ProgramFact>(answers.at(6)).found);
    EXPECT_GE(took, milliseconds(kBoundMs));
    EXPECT_LT(took, milliseconds(6 * kBoundMs)) << "each dead mount is waited for once";
  });
}

TEST_F(Hanging, EachDeadMountIsWaitedForOnceInASession) {
  where_a_name_hangs([&] {
    Inquiry host = inquiry({"dead", "worse"});
    const auto first = host.ask({path(hangs("dead")), path(hangs("worse")), path("fine")});
    EXPECT_EQ(fact(first, 1).code, ETIMEDOUT);
    EXPECT_EQ(fact(first, 2).state, PathState::kPresent);
    const auto start = steady_clock::now();
    const auto second = host.ask({path("dead/again"), path("worse/again")});
    EXPECT_LT(steady_clock::now() - start, milliseconds(kBoundMs));
    EXPECT_EQ(fact(second, 0).code, ETIMEDOUT);
    EXPECT_EQ(fact(second, 1).code, ETIMEDOUT);
    EXPECT_EQ(host.stores().size(), 3U) << "what was pinned before a thread was left behind stays pinned";
    for (const auto& store : host.stores()) store->release();
  });
}

TEST_F(Hanging, APlaceThatHangsOutsideEveryKnownMountIsDeadAlone) {
  where_a_name_hangs([&] {
    Inquiry host = inquiry({"worse"});
    const auto answers = host.ask({path(hangs("dead")), path("dead/fine")});
    EXPECT_EQ(fact(answers, 0).code, ETIMEDOUT);
    EXPECT_EQ(fact(answers, 1).state, PathState::kPresent);
  });
}

TEST_F(Hanging, AListingThatHangsIsAnError) {
  where_a_name_hangs([&] {
    Inquiry host = inquiry({"dead"});
    const auto answers = host.ask({ListQuestion{tree.path(hangs("dead"))}, path("fine")});
    const auto& listing = std::get<Listing>(answers.at(0));
    ASSERT_FALSE(listing.entries);
    EXPECT_EQ(listing.entries.error().code, ETIMEDOUT);
    EXPECT_EQ(fact(answers, 1).state, PathState::kPresent);
  });
}

/// A FUSE mount for this user, whose descriptor stays open: its requests wait.
void mount_dead(const std::string& point, std::uint32_t user) {
  const int fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fuse, 0) << "/dev/fuse: " << std::strerror(errno);
  const std::string id = std::to_string(user);
  const std::string options = "fd=" + std::to_string(fuse) + ",rootmode=40000,user_id=" + id + ",group_id=" + id;
  ASSERT_EQ(::mount("dead", point.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()), 0) << std::strerror(errno);
}

plan::HostFacts answers_of_a_session(std::vector<std::string> paths) {
  Session session(testing::caller(), {}, kBoundMs);
  plan::HostFacts facts;
  plan::Questions questions;
  questions.paths = std::move(paths);
  EXPECT_TRUE(session.answer(questions, facts));
  return facts;
}

class Fuse : public Hanging {
 protected:
  /// Only root may open /dev/fuse everywhere; for others a closed directory gives the kernel's same answer.
  void in_own_mounts(const std::function<void()>& body) const {
    in_forked([&] {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
      body();
    });
  }
};

TEST_F(Fuse, AServerThatDoesNotAnswerIsGivenUp) {
  if (!testing::is_root())
    return where_a_name_hangs([&] {
      Inquiry host = inquiry({"dead"});
      EXPECT_EQ(fact(host.ask({path(hangs("dead"))}), 0).code, ETIMEDOUT);
    });
  in_own_mounts([&] {
    mount_dead(tree.path("dead"), 0);
    const plan::HostFacts facts = answers_of_a_session({tree.path("dead/a"), tree.path("fine"), tree.path("dead/b")});
    EXPECT_EQ(facts.paths.at(tree.path("dead/a")).code, ETIMEDOUT);
    EXPECT_EQ(facts.paths.at(tree.path("dead/b")).code, ETIMEDOUT);
    EXPECT_EQ(facts.paths.at(tree.path("fine")).state, PathState::kPresent);
  });
}

TEST_F(Fuse, ACacheInADeadHomeIsDoneWithout) {
  if (!testing::is_root()) {
    EXPECT_FALSE(finishes_within(milliseconds(20), [] { std::this_thread::sleep_for(milliseconds(500)); }));
    EXPECT_TRUE(finishes_within(milliseconds(5'000), [] {}));
    return;
  }
  in_own_mounts([&] {
    mount_dead(tree.path("dead"), 0);
    Session session(testing::caller(), {.directory = tree.path("dead/cordon"), .build_id = "b"}, kBoundMs);
    plan::HostFacts facts;
    const auto start = steady_clock::now();
    ASSERT_TRUE(session.answer({}, facts));
    session.remember(facts);
    session.drop(plan::Feature::kOpenat2, facts);
    EXPECT_LT(steady_clock::now() - start, milliseconds(3 * kBoundMs)) << "it is waited for once";
    EXPECT_FALSE(facts.kernel_release.empty());
  });
}

TEST_F(Fuse, AFileSystemOfAnotherUserCannotBeChecked) {
  if (!testing::is_root()) {
    tree.dir("closed", 0);
    const plan::HostFacts facts = answers_of_a_session({tree.path("closed/x")});
    EXPECT_EQ(facts.paths.at(tree.path("closed/x")).state, PathState::kDenied);
    return;
  }
  // FUSE refuses everybody but its owner, root included.
  in_own_mounts([&] {
    mount_dead(tree.path("dead"), testing::kStranger);
    const plan::HostFacts facts = answers_of_a_session({tree.path("dead"), tree.path("dead/x"), tree.path("fine")});
    EXPECT_EQ(facts.paths.at(tree.path("dead")).state, PathState::kDenied);
    EXPECT_EQ(facts.paths.at(tree.path("dead/x")).state, PathState::kDenied);
    EXPECT_EQ(facts.paths.at(tree.path("fine")).state, PathState::kPresent);
  });
}

}  // namespace
}  // namespace cordon::host
