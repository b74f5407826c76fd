// start(): which launcher is taken, what its streams may be, and what is said where nothing was started.
#include "enforce/launch/start.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "enforce/launch/encode.h"
#include "enforce/launch/harness_test.h"
#include "enforce/launch/image.h"
#include "enforce/launch/streams.h"
#include "kernel/process.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
using testing::act;
using testing::As;
using testing::PlanMaker;
using testing::run;
using testing::Scratch;
using testing::Told;

class Start : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, Start, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// The launcher as `make install` would put it.
std::string install(const Scratch& scratch, std::filesystem::perms mode = std::filesystem::perms(0755)) {
  const std::string path = scratch.path() + "/cordon-launch";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(launcher_image().data()),
             static_cast<std::streamsize>(launcher_image().size()));
  std::filesystem::permissions(path, mode);
  return path;
}

/// Which launcher ran a plan, and why not the installed one.
void expect_launcher(const std::string& path, LauncherKind kind, const std::string& passed_over) {
  auto started = start(PlanMaker().plan(), {path});
  ASSERT_TRUE(started) << base::to_string(started.error());
  EXPECT_EQ(started->launcher, kind);
  EXPECT_EQ(started->passed_over, passed_over);
  while (auto batch = receive(started->control, 0)) {
    if (batch->count == 0) break;
  }
}

TEST_P(Start, TakesTheInstalledLauncher) {
  act(GetParam(), [] {
    const Scratch scratch;
    expect_launcher(install(scratch), LauncherKind::kInstalled, "");
    EXPECT_EQ(run(PlanMaker().shell("echo ran").plan(), {.source = {install(scratch)}}).output, "ran\n");
  });
}

/// What the supervisor sees of a run whose init was shown to it before the plan: `seen` answers.
bool goes_on(const OnBorn& seen, bool early) {
  const plan::Plan plan = PlanMaker().plan();
  auto started = [&]() -> base::Result<Started> {
    if (!early) return start(plan, {}, {}, seen);
    const auto& opening = std::get<step::EnterNamespaces>(plan.steps.front().act);
    CORDON_TRY(Early begun, Early::begin(opening, {}, {}));
    return std::move(begun).start(plan, seen);
  }();
  if (!started) return false;
  bool mounts = false;
  while (auto batch = receive(started->control, 0)) {
    if (batch->count == 0) break;
    for (const Message& message : batch->all()) mounts = mounts || message.kind == Kind::kMounts;
  }
  return mounts;
}

TEST_P(Start, ShowsInitBeforeItHasThePlan) {
  act(GetParam(), [] {
    for (const bool early : {false, true}) {
      pid_t seen = 0;
      EXPECT_TRUE(goes_on(
          [&](pid_t init) -> base::Result<void> {
            seen = init;
            // Nobody else is there yet: what it starts comes after.
            EXPECT_EQ(
                testing::read_file("/proc/" + std::to_string(init) + "/task/" + std::to_string(init) + "/children"),
                "");
            return {};
          },
          early));
      EXPECT_GT(seen, 0);
      int asked = 0;
      EXPECT_FALSE(goes_on(
          [&](pid_t) -> base::Result<void> {
            ++asked;
            return base::fail(base::Error{.operation = "no"});
          },
          early));
      EXPECT_GE(asked, 1);
    }
  });
}

TEST_P(Start, TakesTheEmbeddedOneWhereTheInstalledOneIsNotTrusted) {
  act(GetParam(), [] {
    const Scratch scratch;
    expect_launcher("", LauncherKind::kEmbedded, "");
    expect_launcher(scratch.path() + "/none", LauncherKind::kEmbedded, "ENOENT");
    expect_launcher(scratch.path(), LauncherKind::kEmbedded, "not a regular file");
    const std::string path = install(scratch);
    std::filesystem::permissions(path, std::filesystem::perms(0775));
    expect_launcher(path, LauncherKind::kEmbedded, "writable by others than its owner");
  });
}

TEST_P(Start, TakesTheEmbeddedOneWhereTheInstalledOneIsOfAnotherBuild) {
  act(GetParam(), [] {
    const Scratch scratch;
    std::string bytes(reinterpret_cast<const char*>(launcher_image().data()), launcher_image().size());
    // The id is a string constant of the program's: another build has another one in its place.
    auto view = plan::wire::View::decode(encode(PlanMaker().plan()));
    ASSERT_TRUE(view);
    const std::string id(view->build_id().data(), view->build_id().size());
    const auto at = bytes.find(id);
    ASSERT_NE(at, std::string::npos);
    for (auto found = at; found != std::string::npos; found = bytes.find(id, found + 1)) bytes[found] ^= 1;
    const std::string path = install(scratch);
    std::ofstream(path, std::ios::binary) << bytes;
    expect_launcher(path, LauncherKind::kEmbedded, "is of another build");
  });
}

/// Told by the child itself, through the memory that it shares until its execve.
TEST_P(Start, SaysWhyALauncherCannotBeExecutedAndLeavesNothing) {
  act(GetParam(), [] {
    const Scratch scratch;
    const std::string path = install(scratch);
    std::ofstream(path, std::ios::binary) << "no program";
    const auto unknown = start(PlanMaker().plan(), {path});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().operation, "execve");
    EXPECT_EQ(unknown.error().code, ENOEXEC);
    const auto forbidden = start(PlanMaker().plan(), {install(scratch, std::filesystem::perms(0644))});
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code, EACCES);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  });
}

TEST(StartAsRoot, DoesNotTakeALauncherOfAnotherUsers) {
  if (geteuid() != 0) return;  // nobody else's file can be made without being root
  const Scratch scratch;
  const std::string path = install(scratch);
  ASSERT_EQ(chown(path.c_str(), 1234, 1234), 0);
  expect_launcher(path, LauncherKind::kEmbedded, "belongs to another user");
}

TEST_P(Start, NamesTheStepWhereNoNamespaceCanBeMade) {
  const Scratch scratch;  // of the parent's: from inside the chroot it could not be removed
  for (const char* name : {"proc", "dev"}) scratch.directory(name);
  std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
  act(GetParam(), [&] {
    // A namespace within the root of a chroot is refused to everybody (clone(2)): EPERM.
    testing::leave_the_hosts_mounts();
    for (const std::string name : {"/proc", "/dev"}) {
      ASSERT_EQ(mount(name.c_str(), (scratch.path() + name).c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
    }
    const plan::Plan plan = PlanMaker().plan();
    ASSERT_EQ(chroot(scratch.path().c_str()), 0);
    auto started = start(plan, {}, {.streams = {.in = base::FdView(-1)}});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().step.value, 1U);
    EXPECT_EQ(started.error().operation, "clone3");
    EXPECT_EQ(started.error().code, EPERM);
    errno = 0;
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process was left";
    EXPECT_EQ(errno, ECHILD);
  });
}

TEST_P(Start, NamesTheStepWhereTheMapsAreRefused) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.enter.uids = {{.inside = 0, .outside = 4'000'000'000, .count = 10}, {.inside = 5, .outside = 0, .count = 1}};
    const Told told = run(maker.shell("echo ran").plan());  // they overlap
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr) << told.error << told.output;
    EXPECT_EQ(told.first(Kind::kStepFailed)->step, 1U);
    EXPECT_TRUE(told.init_gone);
  });
}

TEST_P(Start, RefusesAPlanThatBreaksTheWiresRules) {
  act(GetParam(), [] {
    plan::Plan plan = PlanMaker().plan();
    std::get<step::Execute>(plan.steps.back().act).path = "bin/true";
    auto started = start(plan, {});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().step.value, plan.steps.size());
    EXPECT_EQ(started.error().detail, "not a plan that the launcher would take: path");
  });
}

TEST_P(Start, KeepsIgnoredWhatItIsAskedTo) {
  act(GetParam(), [] {
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    const Scratch scratch;
    auto out = kernel::openat(kernel::kHere, (scratch.path() + "/out").c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_TRUE(out);
    auto started = start(PlanMaker().shell("grep SigIgn /proc/self/status | cut -f2").plan(), {},
                         {.streams = {.out = *out}, .keep_ignored = {SIGHUP}});
    ASSERT_TRUE(started);
    ASSERT_TRUE(kernel::waitid(P_PIDFD, static_cast<id_t>(started->init_pidfd.get()), WEXITED));
    EXPECT_EQ(testing::read_file(scratch.path() + "/out"), "0000000000000001\n");  // 1 is SIGHUP, without SIGINT's 2
  });
}

TEST_P(Start, GivesTheStreamsWhereverTheyAre) {
  act(GetParam(), [] {
    const Scratch scratch;
    auto in = kernel::openat(kernel::kHere, scratch.file("in", "input\n").c_str(), O_RDONLY);
    auto out = kernel::openat(kernel::kHere, (scratch.path() + "/out").c_str(), O_CREAT | O_RDWR, 0600);
    auto error = kernel::openat(kernel::kHere, (scratch.path() + "/err").c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_TRUE(in && out && error);
    // Exchanged: standard input is at 1, standard error at 0, and output where the control socket will be.
    const int saved[2] = {dup(0), dup(1)};
    dup2(in->get(), 1);
    dup2(error->get(), 0);
    dup2(out->get(), kControlFd);
    const Streams streams{.in = base::FdView(1), .out = base::FdView(kControlFd), .error = base::FdView(0)};
    auto started = start(PlanMaker().shell("cat; echo oops >&2").plan(), {}, {.streams = streams});
    dup2(saved[0], 0);
    dup2(saved[1], 1);
    ASSERT_TRUE(started);
    ASSERT_TRUE(kernel::waitid(P_PIDFD, static_cast<id_t>(started->init_pidfd.get()), WEXITED));
    EXPECT_EQ(testing::read_file(scratch.path() + "/out"), "input\n");
    EXPECT_EQ(testing::read_file(scratch.path() + "/err"), "oops\n");
  });
}

TEST_P(Start, PutsDevNullInPlaceOfAClosedStream) {
  act(GetParam(), [] {
    const Scratch scratch;
    auto out = kernel::openat(kernel::kHere, (scratch.path() + "/out").c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_TRUE(out);
    auto started = start(PlanMaker().shell("readlink /proc/self/fd/0; cat | wc -c").plan(), {},
                         {.streams = {.in = base::FdView(-1), .out = *out}});
    ASSERT_TRUE(started) << base::to_string(started.error());
    ASSERT_TRUE(kernel::waitid(P_PIDFD, static_cast<id_t>(started->init_pidfd.get()), WEXITED));
    EXPECT_EQ(testing::read_file(scratch.path() + "/out"), "/dev/null\n0\n");
  });
}

TEST_P(Start, GivesNothingOfOursInPlaceOfAClosedStream) {
  act(GetParam(), [] {
    const Scratch scratch;
    auto out = kernel::openat(kernel::kHere, (scratch.path() + "/out").c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_TRUE(out);
    const int saved = dup(0);
    close(0);  // whatever start() opens first would be the target's standard input
    auto started =
        start(PlanMaker().shell("readlink /proc/self/fd/0; cat | wc -c").plan(), {}, {.streams = {.out = *out}});
    dup2(saved, 0);
    ASSERT_TRUE(started) << base::to_string(started.error());
    ASSERT_TRUE(kernel::waitid(P_PIDFD, static_cast<id_t>(started->init_pidfd.get()), WEXITED));
    EXPECT_EQ(testing::read_file(scratch.path() + "/out"), "/dev/null\n0\n");
  });
}

TEST_P(Start, RefusesStreamsThatAreDoors) {
  act(GetParam(), [] {
    const auto fault = [](int fd) {
      const base::Fd owner(fd);
      auto screened = screen_stream(owner, "standard input");
      return screened ? std::string("passes") : screened.error().detail;
    };
    int pipes[2];
    int pair[2];
    ASSERT_EQ(pipe(pipes), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    EXPECT_EQ(fault(pipes[0]), "passes");
    EXPECT_EQ(fault(pipes[1]), "passes");
    EXPECT_EQ(fault(pair[0]), "passes");
    EXPECT_EQ(fault(open("/dev/null", O_RDWR)), "passes");
    EXPECT_EQ(fault(open("/dev/urandom", O_RDONLY)), "passes");
    EXPECT_EQ(fault(posix_openpt(O_RDWR | O_NOCTTY)), "passes");
    EXPECT_EQ(fault(open("/usr/bin/env", O_RDONLY)), "passes");
    EXPECT_EQ(fault(open("/proc/self/status", O_RDONLY)), "passes");
    EXPECT_EQ(fault(-1), "passes");
    EXPECT_NE(fault(open("/proc/self/comm", O_RDWR)), "passes");
    EXPECT_NE(fault(open("/proc/self/maps", O_RDONLY)) + fault(open("/proc/self/environ", O_RDONLY)), "passespasses");
    EXPECT_NE(fault(open("/", O_RDONLY)), "passes");
    EXPECT_NE(fault(open("/proc/self/ns/net", O_RDONLY)), "passes");
    EXPECT_NE(fault(socket(AF_INET, SOCK_DGRAM, 0)), "passes");
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
      EXPECT_EQ(fault(kernel::socketpair(type)->ours.release()), "passes");
      EXPECT_NE(fault(socket(AF_UNIX, type, 0)), "passes") << "it could be connected to anybody's";
    }
    EXPECT_NE(fault(kernel::socketpair(SOCK_DGRAM)->ours.release()), "passes") << "it can send to anybody";
    EXPECT_NE(fault(socket(AF_NETLINK, SOCK_RAW, 0)), "passes");
    EXPECT_NE(fault(epoll_create1(0)), "passes");
    EXPECT_NE(fault(kernel::pidfd_open(getpid())->release()), "passes");
  });
}

TEST_P(Start, SaysWhichStreamItRefuses) {
  act(GetParam(), [] {
    auto directory = kernel::openat(kernel::kHere, "/", O_RDONLY);
    ASSERT_TRUE(directory);
    auto started = start(PlanMaker().plan(), {}, {.streams = {.out = *directory}});
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().subject, "standard output");
    EXPECT_EQ(started.error().detail, "it is a directory");
  });
}

TEST_P(Start, MayBeCalledFromAnyThread) {
  act(GetParam(), [] {
    const plan::Plan plan = PlanMaker().shell("echo ran").plan();
    std::array<int, 4> ran{};
    std::vector<std::thread> threads;
    for (int& count : ran) {
      threads.emplace_back([&count, &plan] {
        for (int i = 0; i < 5; ++i) count += run(plan).output == "ran\n" ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, (std::array<int, 4>{5, 5, 5, 5}));
  });
}

TEST(Checks, HaveNamesAndLayers) {
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(Check::kCount); ++i) {
    EXPECT_FALSE(check_name(Check{i}).empty());
  }
  EXPECT_EQ(check_name(Check::kExecClosed), "exec-closed");
  EXPECT_EQ(check_layer(Check::kExecClosed), plan::Layer::kExec);
  EXPECT_EQ(check_name(Check::kExecListed), "exec-listed");
  EXPECT_EQ(check_layer(Check::kNetNamespace), plan::Layer::kNetwork);
}

}  // namespace
}  // namespace cordon::enforce::launch
