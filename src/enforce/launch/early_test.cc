// A launcher that is started before its plan: as good as any where the guess was right, and never used where it was
// not.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "enforce/launch/encode.h"
#include "enforce/launch/harness_test.h"
#include "enforce/launch/image.h"
#include "enforce/launch/start.h"
#include "kernel/process.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
namespace wire = plan::wire;
using testing::act;
using testing::As;
using testing::PlanMaker;
using testing::Scratch;

class EarlyLauncher : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, EarlyLauncher, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

base::Fd new_file(const std::string& path) {
  auto file = kernel::openat(kernel::kHere, path.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
  EXPECT_TRUE(file);
  return file ? std::move(*file) : base::Fd();
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

/// The only child of this process that is in a pid namespace of its own, once it is there.
pid_t early_init() {
  const std::string list = "/proc/self/task/" + std::to_string(gettid()) + "/children";
  for (int i = 0; i < 2'000; ++i, usleep(1'000)) {
    std::ifstream children(list);
    for (pid_t pid = 0; children >> pid;) {
      std::ifstream status("/proc/" + std::to_string(pid) + "/status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("NSpid:") && line.ends_with("\t1")) return pid;
      }
    }
  }
  return 0;
}

/// What the shell of `maker`'s plan prints, under a launcher started early on `assumed`; `meanwhile` before the plan.
struct Ran {
  std::string output;
  pid_t early = 0, init = 0;
};
template <class Meanwhile>
Ran run_early(const PlanMaker& maker, const step::EnterNamespaces& assumed, Meanwhile meanwhile,
              std::vector<plan::Step> beginning = {}) {
  const Scratch scratch;
  const base::Fd out = new_file(scratch.path() + "/out");
  auto early = Early::begin(assumed, {}, {.streams = {.out = out}});
  EXPECT_TRUE(early) << base::to_string(early.error());
  if (!early) return {};
  Ran ran{.output = {}, .early = early_init()};
  if (!beginning.empty()) early->begin_plan(std::move(beginning));
  meanwhile();
  auto started = std::move(*early).start(maker.plan());
  EXPECT_TRUE(started) << base::to_string(started.error());
  if (!started) return ran;
  ran.init = started->init;
  EXPECT_TRUE(kernel::waitid(P_PIDFD, static_cast<id_t>(started->init_pidfd.get()), WEXITED));
  EXPECT_FALSE(has_children());
  ran.output = testing::read_file(scratch.path() + "/out");
  return ran;
}

TEST_P(EarlyLauncher, CarriesOutThePlanThatComesLater) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.shell("echo ran $$");
    const Ran ran = run_early(maker, maker.enter, [] {});
    EXPECT_EQ(ran.output, "ran 2\n");
    EXPECT_EQ(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, IsNotUsedForAPlanWithOtherNamespaces) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.shell("echo ran");
    step::EnterNamespaces assumed = maker.enter;
    assumed.flags &= ~static_cast<std::uint64_t>(CLONE_NEWNET);
    const Ran ran = run_early(maker, assumed, [] {});
    EXPECT_EQ(ran.output, "ran\n");
    EXPECT_NE(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, IsNotUsedForAPlanWithOtherIds) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.shell("id -u");
    step::EnterNamespaces assumed = maker.enter;
    maker.enter.uids[0].inside = 77;
    const Ran ran = run_early(maker, assumed, [] {});
    EXPECT_EQ(ran.output, "77\n");
    EXPECT_NE(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, IsNotUsedWhereTheHostMountedSomethingMeanwhile) {
  act(GetParam(), [] {
    testing::leave_the_hosts_mounts();
    const Scratch scratch;
    const std::string place = scratch.directory("mounted");
    PlanMaker maker;
    maker.shell("cat /seen/file");
    const Ran ran = run_early(maker, maker.enter, [&] {
      ASSERT_EQ(mount("tmpfs", place.c_str(), "tmpfs", 0, nullptr), 0);
      scratch.file("mounted/file", "new\n");
      maker.mount(step::MakeDirectory{.target = "/seen"}).bind(place, "/seen", {.read_only = true});
    });
    EXPECT_EQ(ran.output, "new\n");
    EXPECT_NE(ran.init, ran.early);
    umount2(place.c_str(), MNT_DETACH);
  });
}

/// The steps of `maker`'s plan up to its last mount.
std::vector<plan::Step> beginning_of(const PlanMaker& maker) {
  std::vector<plan::Step> steps = maker.plan().steps;
  const auto end = std::ranges::find_if(steps, [](const plan::Step& step) {
    return std::holds_alternative<step::MountProc>(step.act) || std::holds_alternative<step::EnterRoot>(step.act);
  });
  steps.erase(end, steps.end());
  return steps;
}

/// A directory of the host with a file that says `text`, and the steps that show it.
struct Shown {
  explicit Shown(const std::string& text) {
    scratch.directory("shown");
    scratch.file("shown/file", text);
  }
  [[nodiscard]] std::vector<step::Any> at(const std::string& target, bool read_only = true) const {
    const std::string source = scratch.path() + "/shown";
    return {step::MakeDirectory{.target = target}, step::Bind{.source = source,
                                                              .id = testing::identity(source),
                                                              .target = target,
                                                              .attributes = {.read_only = read_only}}};
  }
  Scratch scratch;
};

TEST_P(EarlyLauncher, BuildsWhatThePlanWillBeginWith) {
  act(GetParam(), [] {
    const Shown one("one\n"), two("two\n");
    PlanMaker maker;
    maker.begin_with(one.at("/one"));
    const std::vector<plan::Step> beginning = beginning_of(maker);
    for (const step::Any& act : two.at("/two")) maker.mount(act);
    maker.shell("cat /one/file /two/file; echo x 2>/dev/null >/one/file || echo held");
    const Ran ran = run_early(maker, maker.enter, [] {}, beginning);
    EXPECT_EQ(ran.output, "one\ntwo\nheld\n");
    EXPECT_EQ(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, GivesWhatItBuiltTheRightsThatThePlanSays) {
  act(GetParam(), [] {
    const Shown one("one\n"), two("two\n");
    PlanMaker maker;
    maker.begin_with(two.at("/two")).begin_with(one.at("/one"));
    step::Landlock landlock{.handled_access = (1ULL << 13) - 1, .scoped = 0, .abi = 1, .rules = {}};
    for (const char* each : {"/two", "/usr", "/proc", "/dev", "/tmp"}) {
      landlock.rules.push_back({.target = each, .access = landlock.handled_access});
    }
    maker.target(landlock);
    maker.shell("cat /two/file; cat /one/file 2>/dev/null || echo held");
    const Ran ran = run_early(maker, maker.enter, [] {}, beginning_of(maker));
    EXPECT_EQ(ran.output, "two\nheld\n") << "/one has no rule";
    EXPECT_EQ(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, IsNotUsedForAPlanThatBeginsOtherwise) {
  act(GetParam(), [] {
    const Shown one("one\n"), two("two\n");
    PlanMaker guessed, maker;
    guessed.begin_with(one.at("/seen"));
    maker.begin_with(two.at("/seen"));
    maker.shell("cat /seen/file");
    const Ran ran = run_early(maker, maker.enter, [] {}, beginning_of(guessed));
    EXPECT_EQ(ran.output, "two\n");
    EXPECT_NE(ran.init, ran.early);
  });
}

TEST_P(EarlyLauncher, BuildsNothingBeforeThePlanThatTheHostWouldSee) {
  act(GetParam(), [] {
    const Shown one("one\n");
    PlanMaker writes, creates;
    writes.begin_with(one.at("/seen", false));
    writes.shell("echo changed >/seen/file; cat /seen/file");
    EXPECT_EQ(run_early(writes, writes.enter, [] {}, beginning_of(writes)).output, "changed\n");
    EXPECT_FALSE(wire::View::decode(encode(beginning_of(writes)), wire::Extent::kBeginning));

    auto act = one.at("/seen");
    auto& bind = std::get<step::Bind>(act.back());
    bind.source += "/new";
    bind.create = {"new"};
    creates.begin_with(act);
    EXPECT_FALSE(wire::View::decode(encode(beginning_of(creates)), wire::Extent::kBeginning));
  });
}

TEST_P(EarlyLauncher, FailsAsAFreshOneDoesWhereTheGuessCannotBeMade) {
  act(GetParam(), [] {
    PlanMaker maker;
    step::EnterNamespaces assumed = maker.enter;
    assumed.uids = {{.inside = 0, .outside = 4'000'000'000, .count = 10}, {.inside = 5, .outside = 0, .count = 1}};
    maker.shell("echo ran");
    const Ran ran = run_early(maker, assumed, [] {});
    EXPECT_EQ(ran.output, "ran\n");
  });
}

TEST_P(EarlyLauncher, IsGoneWithoutATraceWhereNoPlanComes) {
  act(GetParam(), [] {
    const Scratch scratch;
    const base::Fd out = new_file(scratch.path() + "/out");
    pid_t init = 0;
    {
      auto early = Early::begin(PlanMaker().enter, {}, {.streams = {.out = out, .error = out}});
      ASSERT_TRUE(early) << base::to_string(early.error());
      init = early_init();
      ASSERT_NE(init, 0);
    }
    EXPECT_FALSE(has_children());
    EXPECT_EQ(kill(init, 0), -1);
    EXPECT_EQ(testing::read_file(scratch.path() + "/out"), "");
  });
}

TEST_P(EarlyLauncher, IsGoneAtOnceWhereNoPlanComes) {
  act(GetParam(), [] {
    {
      auto early = Early::begin(PlanMaker().enter, {}, {});
    }
    EXPECT_FALSE(has_children());
  });
}

TEST_P(EarlyLauncher, IsGoneWhereSomebodyStoppedIt) {
  act(GetParam(), [] {
    {
      auto early = Early::begin(PlanMaker().enter, {}, {});
      ASSERT_TRUE(early);
      std::ifstream children("/proc/self/task/" + std::to_string(gettid()) + "/children");
      for (pid_t pid = 0; children >> pid;) kill(pid, SIGSTOP);
    }
    EXPECT_FALSE(has_children());
  });
}

TEST_P(EarlyLauncher, IsGoneWhereItsStarterIsKilled) {
  act(GetParam(), [] {
    for (const int delay_us : {0, 200, 500, 1'000, 2'000, 20'000}) {
      ASSERT_TRUE(kernel::prctl(PR_SET_CHILD_SUBREAPER, 1));  // so that its orphans come to us
      const pid_t starter = fork();
      if (starter == 0) {
        auto early = Early::begin(PlanMaker().enter, {}, {});
        pause();
        _exit(0);
      }
      usleep(static_cast<useconds_t>(delay_us));
      kill(starter, SIGKILL);
      int gone = 0;
      for (; gone < 10'000 && has_children(); ++gone) usleep(1'000);
      EXPECT_LT(gone, 10'000) << "killed after " << delay_us << " us, something of it lives";
    }
  });
}

TEST_P(EarlyLauncher, RefusesAPlanThatIsWrongAndLeavesNothing) {
  act(GetParam(), [] {
    plan::Plan plan = PlanMaker().plan();
    auto early = Early::begin(std::get<step::EnterNamespaces>(plan.steps.front().act), {}, {});
    ASSERT_TRUE(early);
    std::get<step::Execute>(plan.steps.back().act).path = "bin/true";
    auto started = std::move(*early).start(plan);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().detail, "not a plan that the launcher would take: path");
    EXPECT_FALSE(has_children());
  });
}

/// The launcher program itself, told whatever a test wants: start() would never say such things.
class Bare {
 public:
  Bare() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    int life[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, life), 0);
    const int program = memfd_create("cordon-launch", MFD_CLOEXEC);
    EXPECT_EQ(write(program, launcher_image().data(), launcher_image().size()),
              static_cast<ssize_t>(launcher_image().size()));
    child_ = fork();
    if (child_ == 0) {
      const int theirs = fcntl(pair[1], F_DUPFD, 50);
      const int their_life = fcntl(life[1], F_DUPFD, 50);
      const int image = fcntl(program, F_DUPFD, 50);
      dup2(theirs, kControlFd);
      dup2(their_life, kLifeFd);
      char* none[] = {nullptr};
      char name[] = "cordon-launch";
      char* argv[] = {name, nullptr};
      execveat(image, "", argv, none, AT_EMPTY_PATH);
      _exit(9);
    }
    close(pair[1]);
    close(life[1]);
    close(program);
    control_ = base::Fd(pair[0]);
    life_ = base::Fd(life[0]);
  }
  ~Bare() {
    control_.reset();
    life_.reset();
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void say(std::span<const std::byte> bytes, base::FdView fd = {}) const {
    EXPECT_TRUE(kernel::send_message(control_, bytes, fd));
  }
  void give(base::FdView plan, Kind kind = Kind::kPlan) const {
    const Message message{.kind = kind};
    say(std::as_bytes(std::span(&message, 1)), plan);
  }
  /// The first thing said that is not kInitStarted.
  [[nodiscard]] Message answer() const {
    while (true) {
      auto batch = receive(control_, 0);
      if (!batch || batch->count == 0) return {};
      if (batch->messages[0].kind != Kind::kInitStarted) return batch->messages[0];
    }
  }

 private:
  pid_t child_ = 0;
  base::Fd control_, life_;
};

base::Fd memory_of(std::span<const std::byte> bytes, int seals) {
  base::Fd memory(memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_TRUE(kernel::write_all(memory, bytes));
  EXPECT_TRUE(kernel::add_seals(memory, seals));
  return memory;
}
constexpr int kAllSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

TEST_P(EarlyLauncher, TakesNoPlanThatCanStillBeChanged) {
  act(GetParam(), [] {
    const PlanMaker maker;
    for (const int missing : {kAllSeals, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE}) {
      const Bare launcher;
      launcher.say(encode(maker.enter));
      launcher.give(memory_of(encode(maker.plan()), kAllSeals & ~missing));
      const Message said = launcher.answer();
      EXPECT_EQ(said.kind, Kind::kStepFailed) << missing;
      EXPECT_STREQ(said.text.data(), "fcntl(F_GET_SEALS)");
    }
  });
}

TEST_P(EarlyLauncher, TakesNoPlanThatOpensOtherwiseThanItWasTold) {
  act(GetParam(), [] {
    const auto answered = [](auto change) {
      PlanMaker maker;
      const Bare launcher;
      launcher.say(encode(maker.enter));
      change(maker.enter);
      launcher.give(memory_of(encode(maker.plan()), kAllSeals));
      return launcher.answer();
    };
    const auto refuses = [&](auto change) {
      const Message said = answered(change);
      return said.kind == Kind::kPlanRefused && std::string(said.text.data()) == "opening";
    };
    EXPECT_EQ(answered([](step::EnterNamespaces&) {}).kind, Kind::kMounts);
    EXPECT_TRUE(refuses([](step::EnterNamespaces& enter) { enter.flags ^= CLONE_NEWNET; }));
    EXPECT_TRUE(refuses([](step::EnterNamespaces& enter) { enter.deny_setgroups = !enter.deny_setgroups; }));
    EXPECT_TRUE(refuses([](step::EnterNamespaces& enter) { enter.uids[0].inside += 1; }));
    EXPECT_TRUE(refuses([](step::EnterNamespaces& enter) { enter.gids[0].outside += 1; }));
    EXPECT_TRUE(refuses([](step::EnterNamespaces& enter) { enter.groups = {5}; }));
  });
}

TEST_P(EarlyLauncher, TakesNoPlanThatBeginsOtherwiseThanItWasTold) {
  act(GetParam(), [] {
    const Shown one("one\n");
    const auto answered = [&](auto change) {
      PlanMaker told, maker;
      told.begin_with(one.at("/one"));
      const std::vector<plan::Step> beginning = beginning_of(told);
      change(maker);
      const Bare launcher;
      launcher.say(encode(maker.enter));
      launcher.give(memory_of(encode(std::span(beginning)), kAllSeals), Kind::kBeginning);
      launcher.give(memory_of(encode(maker.plan()), kAllSeals));
      const Message said = launcher.answer();
      return said.kind == Kind::kMounts ? "taken" : std::string(said.text.data());
    };
    EXPECT_EQ(answered([&](PlanMaker& maker) { maker.begin_with(one.at("/one")); }), "taken");
    EXPECT_EQ(answered([&](PlanMaker& maker) { maker.begin_with(one.at("/two")); }), "beginning");
    EXPECT_EQ(answered([&](PlanMaker& maker) { maker.begin_with(one.at("/one", false)); }), "beginning");
    EXPECT_EQ(answered([&](PlanMaker&) {}), "beginning");
  });
}

TEST_P(EarlyLauncher, TakesNoBeginningThatIsNoneAndNoTwo) {
  act(GetParam(), [] {
    const Shown one("one\n");
    PlanMaker maker;
    maker.begin_with(one.at("/one"));
    const std::vector<plan::Step> beginning = beginning_of(maker);
    const auto answered = [&](std::span<const std::byte> bytes, int times = 1) {
      const Bare launcher;
      launcher.say(encode(maker.enter));
      for (int i = 0; i < times; ++i) launcher.give(memory_of(bytes, kAllSeals), Kind::kBeginning);
      return std::string(launcher.answer().text.data());
    };
    EXPECT_EQ(answered(encode(maker.plan())), "order");
    EXPECT_EQ(answered(encode(std::span(beginning).first(1))), "order");
    EXPECT_EQ(answered(encode(std::span(beginning)), 2), "beginning");
  });
}

TEST_P(EarlyLauncher, TakesNoOpeningThatIsNone) {
  act(GetParam(), [] {
    const auto answered = [](std::vector<std::byte> bytes) {
      const Bare launcher;
      launcher.say(bytes);
      const Message said = launcher.answer();
      return said.kind == Kind::kPlanRefused ? std::string(said.text.data()) : "taken";
    };
    const std::vector<std::byte> good = encode(PlanMaker().enter);
    EXPECT_EQ(answered({std::byte{1}}), "size");
    EXPECT_EQ(answered({good.begin(), good.end() - 1}), "size");
    EXPECT_EQ(answered(encode(PlanMaker().plan())), "order") << "a whole plan is no opening";
    std::vector<std::byte> other = good;
    other[offsetof(plan::wire::Header, build_id)] ^= std::byte{1};
    EXPECT_EQ(answered(other), kOtherBuild);
    step::EnterNamespaces large = PlanMaker().enter;
    large.groups.assign(kMostOpening, 1);
    EXPECT_EQ(answered(encode(large)), "size");
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
