// What the target sees: real runs of hand-made plans, each as root and as an ordinary user.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "enforce/launch/harness_test.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
using testing::act;
using testing::As;
using testing::identity;
using testing::PlanMaker;
using testing::read_file;
using testing::run;
using testing::Scratch;
using testing::Told;

class Mounts : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, Mounts, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// A plan that binds the scratch directory at /w, which stands already.
PlanMaker with_work(const Scratch& scratch, plan::MountAttributes attributes = {}) {
  PlanMaker maker;
  maker.mount(step::MakeDirectory{.target = "/w"});
  maker.bind(scratch.path(), "/w", attributes);
  return maker;
}

/// The place of the first step of this kind.
template <class Act>
std::uint16_t place_of(const plan::Plan& plan) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (std::holds_alternative<Act>(plan.steps[i].act)) return static_cast<std::uint16_t>(i + 1);
  }
  return 0;
}

void expect_failed(const Told& told, std::uint16_t step, int code) {
  const Message* failed = told.first(Kind::kStepFailed);
  ASSERT_NE(failed, nullptr) << told.error << told.output;
  EXPECT_EQ(failed->step, step);
  EXPECT_EQ(failed->code, code) << failed->text.data();
  EXPECT_EQ(told.first(Kind::kReady), nullptr);
  EXPECT_EQ(told.output, "");
  EXPECT_TRUE(told.init_gone);
}

TEST_P(Mounts, AreSeenAndWrittenThroughAsPlanned) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.file("in", "from outside");
    const Told told = run(with_work(scratch).shell("cat /w/in; echo inside > /w/out").plan());
    EXPECT_EQ(told.output, "from outside") << told.error;
    EXPECT_EQ(told.exit_code(), 0);
    EXPECT_EQ(read_file(scratch.path() + "/out"), "inside\n");
    EXPECT_TRUE(told.held(Check::kMountFlags));
  });
}

TEST_P(Mounts, CanBeOfSingleFiles) {
  act(GetParam(), [] {
    const Scratch scratch;
    const std::string file = scratch.file("f", "one");
    PlanMaker maker;
    maker.mount(step::MakeFile{.target = "/etc/f"}).bind(file, "/etc/f", {.noexec = true});
    const Told told = run(maker.shell("cat /etc/f; echo two > /etc/f").plan());
    EXPECT_EQ(told.output, "one") << told.error;
    EXPECT_EQ(read_file(file), "two\n");
  });
}

TEST_P(Mounts, AreReadOnlyAndNoexecWherePlanned) {
  act(GetParam(), [] {
    const Scratch scratch;
    std::filesystem::permissions(scratch.file("program", "#!/bin/sh\necho ran\n"), std::filesystem::perms(0755));
    EXPECT_EQ(run(with_work(scratch).shell("/w/program").plan()).output, "ran\n") << "the control";
    const Told told = run(with_work(scratch, {.read_only = true, .noexec = true})
                              .shell("/w/program 2>&1; touch /w/x 2>&1; ls /w")
                              .plan());
    EXPECT_NE(told.output.find("ermission denied"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find("Read-only file system"), std::string::npos) << told.output;
    EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/x"));
  });
}

TEST_P(Mounts, TakeAlongWhatIsMountedBelow) {
  act(GetParam(), [] {
    // /proc/self/mountinfo of the target shows what came along; /dev of the host has /dev/pts and /dev/shm.
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/hostdev"}).bind("/dev", "/hostdev", {.read_only = true});
    const Told told = run(maker.shell("grep -c ' /hostdev/.* ro,nosuid,nodev' /proc/self/mountinfo").plan());
    EXPECT_GE(std::atoi(told.output.c_str()), 1) << told.error << told.output;
  });
}

TEST_P(Mounts, ShowNothingElseOfTheHost) {
  act(GetParam(), [] {
    const Scratch scratch;
    const std::string secret = scratch.file("secret", "s");
    const Told told = run(PlanMaker()
                              .shell("cat " + secret +
                                     " 2>/dev/null; ls /..; ls -A /root /home /var /mnt /etc 2>/dev/null;"
                                     "cat /proc/1/root/etc/passwd 2>/dev/null; true")
                              .plan());
    EXPECT_EQ(told.output, "bin\ndev\nlib\nlib64\nproc\nsbin\ntmp\nusr\n");
    EXPECT_TRUE(told.held(Check::kHostRootGone));
    EXPECT_TRUE(told.held(Check::kRootReadOnly));
  });
}

TEST_P(Mounts, RefuseAnObjectThatWasExchanged) {
  act(GetParam(), [] {
    const Scratch scratch;
    const std::string work = scratch.directory("work");
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"}).bind(work, "/w", {});
    const plan::Plan plan = maker.shell("echo ran").plan();
    EXPECT_EQ(run(plan).output, "ran\n") << "the control";
    std::filesystem::rename(work, scratch.path() + "/old");
    scratch.directory("work");
    const Told told = run(plan);
    const Message* failed = told.first(Kind::kStepFailed);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(plan::step_name(plan.at({failed->step}).act), "bind");
    expect_failed(told, static_cast<std::uint16_t>(failed->step), ESTALE);
    EXPECT_EQ(std::get<step::Bind>(plan.at({failed->step}).act).source, work);
  });
}

TEST_P(Mounts, RefuseALinkInTheSource) {
  act(GetParam(), [] {
    const Scratch scratch;
    const std::string work = scratch.directory("work");
    scratch.directory("work/inner");
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"}).bind(work + "/inner", "/w", {});
    const plan::Plan plan = maker.shell("echo ran").plan();
    std::filesystem::rename(work, scratch.path() + "/old");
    std::filesystem::create_symlink("old", work);  // the very same directory, through a link
    const Told told = run(plan);
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
    expect_failed(told, told.first(Kind::kStepFailed)->step, ELOOP);
  });
}

TEST_P(Mounts, RefuseAnotherTypeBirthOrDevice) {
  act(GetParam(), [] {
    const Scratch scratch;
    const auto with = [&](auto change) {
      PlanMaker maker;
      step::Bind bind{.source = scratch.path(), .id = identity(scratch.path()), .target = "/w"};
      change(bind.id);
      maker.mount(step::MakeDirectory{.target = "/w"}).mount(bind);
      const Told told = run(maker.shell("echo ran").plan());
      ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
      expect_failed(told, told.first(Kind::kStepFailed)->step, ESTALE);
    };
    with([](plan::FileId& id) { id.type = S_IFREG; });
    with([](plan::FileId& id) { id.device += 1; });
    with([](plan::FileId& id) { id.inode += 1; });
    with([](plan::FileId& id) { id.birth_ns += 1; });
  });
}

TEST_P(Mounts, CreateWhatAWriteGrantAsksFor) {
  act(GetParam(), [] {
    const Scratch scratch;
    PlanMaker maker;
    const std::string source = scratch.path() + "/new/deep";
    maker.mount(step::MakeDirectory{.target = "/w"});
    maker.mount(
        step::Bind{.source = source, .id = identity(scratch.path()), .target = "/w", .create = {"new", "deep"}});
    const plan::Plan plan = maker.shell("echo x > /w/x").plan();
    const mode_t before = umask(0);
    for (int again = 0; again < 2; ++again) {  // the second time it is entered
      const Told told = run(plan);
      EXPECT_EQ(told.exit_code(), 0) << told.error << told.output;
    }
    umask(before);
    struct stat facts{};
    ASSERT_EQ(stat(source.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0700U);
    EXPECT_EQ(facts.st_uid, geteuid());
    EXPECT_EQ(read_file(source + "/x"), "x\n");
  });
}

TEST_P(Mounts, CreateNothingThroughALinkOrSomebodyElsesDirectory) {
  act(GetParam(), [] {
    const Scratch scratch;
    const Scratch elsewhere;
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"});
    maker.mount(step::Bind{.source = scratch.path() + "/new/deep",
                           .id = identity(scratch.path()),
                           .target = "/w",
                           .create = {"new", "deep"}});
    const plan::Plan plan = maker.shell("echo ran").plan();
    std::filesystem::create_symlink(elsewhere.path(), scratch.path() + "/new");
    const Told told = run(plan);
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr) << told.output;
    expect_failed(told, told.first(Kind::kStepFailed)->step, ENOTDIR);
    EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
  });
}

TEST(MountsAsRoot, CreateForAnotherOwner) {
  if (geteuid() != 0) return;  // what an ordinary user cannot ask for, the planner does not plan
  act(As::kSelf, [] {
    const Scratch scratch;
    PlanMaker maker;
    maker.enter.uids = {{.inside = 0, .outside = 0, .count = 65'536}};
    maker.enter.gids = maker.enter.uids;
    maker.mount(step::MakeDirectory{.target = "/w"});
    maker.mount(step::Bind{.source = scratch.path() + "/new",
                           .id = identity(scratch.path()),
                           .target = "/w",
                           .create = {"new"},
                           .create_owner_uid = 4321,
                           .create_owner_gid = 4322});
    ASSERT_EQ(chown(scratch.path().c_str(), 4321, 4322), 0);
    EXPECT_EQ(run(maker.plan()).exit_code(), 0);
    struct stat facts{};
    ASSERT_EQ(stat((scratch.path() + "/new").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 4321U);
    EXPECT_EQ(facts.st_gid, 4322U);
    std::filesystem::remove(scratch.path() + "/new");
    std::filesystem::create_directory(scratch.path() + "/new");  // somebody was there first: root, not 4321
    const Told told = run(maker.plan());
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
    expect_failed(told, told.first(Kind::kStepFailed)->step, ESTALE);
  });
}

/// A plan that makes "new" in `parent` for user 4321.
plan::Plan creating_for_another(const std::string& parent) {
  PlanMaker maker;
  maker.enter.uids = {{.inside = 0, .outside = 0, .count = 65'536}};
  maker.enter.gids = maker.enter.uids;
  maker.mount(step::MakeDirectory{.target = "/w"});
  maker.mount(step::Bind{.source = parent + "/new",
                         .id = identity(parent),
                         .target = "/w",
                         .create = {"new"},
                         .create_owner_uid = 4321,
                         .create_owner_gid = 4322});
  return maker.plan();
}

TEST(MountsAsRoot, CreateWithTheOwnersRightsAndNotWithRoots) {
  if (geteuid() != 0) return;
  act(As::kSelf, [] {
    const Scratch scratch;
    ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
    const Told told = run(creating_for_another(scratch.path()));
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr) << "root's directory, which 4321 cannot write";
    expect_failed(told, told.first(Kind::kStepFailed)->step, EACCES);
    EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/new"));
  });
}

// The attack: the owner exchanges the new name for root's directory beside it, and root gives that one away.
TEST(MountsAsRoot, NeverGiveAwayWhatTheOwnerPutInPlaceOfTheNewDirectory) {
  if (geteuid() != 0) return;
  act(As::kSelf, [] {
    const Scratch scratch;
    const std::string made = scratch.path() + "/new";
    const std::string roots = scratch.directory("roots");
    ASSERT_EQ(chmod(scratch.path().c_str(), 0777), 0);
    const pid_t attacker = fork();
    if (attacker == 0) {
      while (true) syscall(SYS_renameat2, AT_FDCWD, made.c_str(), AT_FDCWD, roots.c_str(), 2 /* exchange */);
    }
    struct stat before{};
    struct stat after{};
    for (int round = 0; round < 40; ++round) {
      std::filesystem::remove_all(made);
      std::filesystem::remove_all(roots);
      ASSERT_EQ(mkdir(roots.c_str(), 0700), 0);
      ASSERT_EQ(stat(roots.c_str(), &before), 0);
      static_cast<void>(run(creating_for_another(scratch.path())));
      for (const std::string& place : {made, roots}) {
        if (stat(place.c_str(), &after) == 0 && after.st_ino == before.st_ino) {
          EXPECT_EQ(after.st_uid, 0U) << place;
        }
      }
    }
    kill(attacker, SIGKILL);
    waitpid(attacker, nullptr, 0);
  });
}

TEST_P(Mounts, HideWhatIsMasked) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.directory("keys");
    scratch.file("keys/id", "secret");
    scratch.file("token", "secret");
    PlanMaker maker = with_work(scratch);
    maker.mount(step::Mask{.target = "/w/keys"}).mount(step::Mask{.target = "/w/token", .directory = false});
    const Told told =
        run(maker
                .shell("cat /w/keys/* /w/token 2>/dev/null; ls -A /w/keys; wc -c < /w/token;"
                       "touch /w/keys/x 2>/dev/null || echo closed; echo x 2>/dev/null > /w/token || echo closed;"
                       "mv /w/keys /w/k 2>/dev/null || echo stays")
                .plan());
    EXPECT_EQ(told.output, "0\nclosed\nclosed\nstays\n") << told.error;
    EXPECT_EQ(read_file(scratch.path() + "/token"), "secret");
    EXPECT_TRUE(told.held(Check::kMasked));
  });
}

TEST_P(Mounts, StopTheRunWhereAMaskWasCoveredAgain) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.file("token", "secret");
    PlanMaker maker = with_work(scratch);
    maker.mount(step::Mask{.target = "/w/token", .directory = false}).bind(scratch.path(), "/w", {});
    const plan::Plan plan = maker.shell("cat /w/token").plan();
    const Told told = run(plan);
    EXPECT_EQ(told.output, "");
    EXPECT_FALSE(told.held(Check::kMasked));
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
    EXPECT_EQ(told.first(Kind::kStepFailed)->step, place_of<step::Mask>(plan));
  });
}

TEST_P(Mounts, PinAChainAgainstRename) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.directory("sub/.git/hooks");
    const std::string attack =
        "mv /w/sub /w/s 2>/dev/null && echo moved; mv /w/sub/.git /w/sub/g 2>/dev/null && echo moved;"
        "echo evil 2>/dev/null > /w/sub/.git/hooks/x && echo written; echo ok > /w/sub/free && cat /w/sub/free";
    EXPECT_EQ(run(with_work(scratch).shell("mv /w/sub /w/s && mv /w/s /w/sub && echo moved").plan()).output, "moved\n")
        << "the control";
    PlanMaker maker = with_work(scratch);
    maker.mount(step::Pin{.target = "/w/sub"}).mount(step::Pin{.target = "/w/sub/.git", .read_only = true});
    EXPECT_EQ(run(maker.shell(attack).plan()).output, "ok\n");
  });
}

TEST_P(Mounts, RefuseATargetThatIsMissingOrALink) {
  act(GetParam(), [] {
    const Scratch scratch;
    std::filesystem::create_symlink("/tmp", scratch.path() + "/link");
    PlanMaker missing = with_work(scratch);
    missing.mount(step::Mask{.target = "/w/not-there"});
    const plan::Plan first = missing.plan();
    expect_failed(run(first), place_of<step::Mask>(first), ENOENT);
    PlanMaker link = with_work(scratch);
    link.mount(step::Mask{.target = "/w/link"});
    const plan::Plan second = link.plan();
    expect_failed(run(second), place_of<step::Mask>(second), ELOOP);
  });
}

TEST_P(Mounts, MakeNothingOnTheHost) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.directory("there");
    for (const step::Any& one : std::initializer_list<step::Any>{
             step::MakeDirectory{.target = "/w/d"}, step::MakeDirectory{.target = "/w/there/d/e"},
             step::MakeFile{.target = "/w/f"}, step::MakeSymlink{.target = "/w/l", .text = "x"}}) {
      PlanMaker maker = with_work(scratch);
      maker.mount(one);
      const Told told = run(maker.plan());
      ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
      expect_failed(told, told.first(Kind::kStepFailed)->step, EXDEV);
    }
    PlanMaker dev = with_work(scratch);
    plan::Plan plan = dev.plan();
    for (plan::Step& one : plan.steps) {
      if (auto* found = std::get_if<step::MountDev>(&one.act)) found->target = "/w/there";
    }
    std::stable_partition(plan.steps.begin() + 2, plan.steps.end(), [](const plan::Step& one) {
      return !std::holds_alternative<step::MountDev>(one.act) && !std::holds_alternative<step::EnterRoot>(one.act) &&
             one.act.index() < plan::step::Any(step::EnterRoot{}).index();
    });
    expect_failed(run(plan), place_of<step::MountDev>(plan), EXDEV);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path() + "/there"));
  });
}

TEST_P(Mounts, BuildThePrivateRootAsPlanned) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/a/b/c", .mode = 0711});
    maker.mount(step::MakeDirectory{.target = "/a", .mode = 0700});  // there as a parent: not an error, and stays
    maker.mount(step::MakeFile{.target = "/etc/passwd", .content = "me:x:0:0::/:/bin/sh\n"});
    maker.mount(step::MakeDirectory{.target = "/tmp/inner/deep"});
    const Told told = run(maker
                              .shell("stat -c '%a %n' /a /a/b/c /etc /etc/passwd /tmp /tmp/inner; cat /etc/passwd;"
                                     "touch /a/x 2>/dev/null || echo sealed; touch /tmp/x && echo writable")
                              .plan());
    EXPECT_EQ(told.output,
              "755 /a\n711 /a/b/c\n755 /etc\n444 /etc/passwd\n1777 /tmp\n755 /tmp/inner\n"
              "me:x:0:0::/:/bin/sh\nsealed\nwritable\n")
        << told.error;
  });
}

TEST_P(Mounts, GiveAPrivateTmpOfThatSize) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/small"});
    maker.mount(
        step::MountTmpfs{.target = "/small", .size_bytes = 65'536, .mode = 0700, .attributes = {.noexec = true}});
    const Told told =
        run(maker
                .shell("cp /bin/true /small/t; /small/t 2>/dev/null || echo noexec;"
                       "head -c 100000 /dev/zero 2>/dev/null > /small/big || echo full; stat -c %a /small")
                .plan());
    EXPECT_EQ(told.output, "noexec\nfull\n700\n") << told.error;
  });
}

TEST_P(Mounts, GiveADevWithWhatProgramsNeed) {
  act(GetParam(), [] {
    const Told told = run(
        PlanMaker()
            .shell("echo $(ls /dev); echo x > /dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c;"
                   "echo x 2>/dev/null > /dev/full || echo full; echo hi > /dev/stdout; touch /dev/shm/x && echo shm;"
                   "chmod 600 /dev/null 2>/dev/null || echo kept; touch /dev/x 2>/dev/null || echo sealed;"
                   "test -c /dev/ptmx && echo ptmx; ls /dev/pts")
            .plan());
    EXPECT_EQ(told.output,
              "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero\n"
              "2\n2\nfull\nhi\nshm\nkept\nsealed\nptmx\nptmx\n")
        << told.error;
  });
}

TEST_P(Mounts, StopTheRunWhereAWriteGrantCameOutReadOnly) {
  act(GetParam(), [] {
    const Scratch scratch;
    testing::leave_the_hosts_mounts();
    ASSERT_EQ(mount(scratch.path().c_str(), scratch.path().c_str(), nullptr, MS_BIND, nullptr), 0);
    const Told control = run(with_work(scratch).shell("echo ran").plan());
    ASSERT_EQ(control.output, "ran\n") << control.error;
    ASSERT_EQ(mount(nullptr, scratch.path().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);
    // Every call succeeds; only looking afterwards tells.
    const plan::Plan plan = with_work(scratch).shell("echo ran").plan();
    const Told told = run(plan);
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr) << told.output;
    EXPECT_EQ(std::get<step::Bind>(plan.at({told.first(Kind::kStepFailed)->step}).act).target, "/w");
    EXPECT_STREQ(told.first(Kind::kStepFailed)->text.data(), "verification");
    EXPECT_FALSE(told.held(Check::kMountFlags));
    EXPECT_EQ(told.output, "");
    umount2(scratch.path().c_str(), MNT_DETACH);
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
