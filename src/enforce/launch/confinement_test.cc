// What the target can no longer do, and that a run stops where that does not hold.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <filesystem>

#include "enforce/launch/harness_test.h"
#include "kernel/uapi.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
using testing::act;
using testing::As;
using testing::notify_exec_filter;
using testing::PlanMaker;
using testing::refuse_filter;
using testing::run;
using testing::Scratch;
using testing::Told;

class Confinement : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, Confinement, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// Every path that a shell can open for writing, of what `find` names. Opening writes nothing.
std::string openable(const std::string& find) {
  return "find " + find +
         " -type f 2>/dev/null | while read -r f; do if true 2>/dev/null >> \"$f\"; then echo \"$f\"; fi; done";
}

TEST_P(Confinement, LeavesNothingOfProcWritableButTheTargetsOwn) {
  act(GetParam(), [] {
    EXPECT_NE(run(PlanMaker().shell(openable("/proc/self/")).plan()).output, "") << "the control: the search finds";
    const Told told = run(
        PlanMaker().shell(openable("/proc -path '/proc/[2-9]*' -prune -o -path '/proc/[1-9][0-9]*' -prune -o")).plan());
    EXPECT_EQ(told.output, "") << told.error;
    EXPECT_TRUE(told.held(Check::kProcHardened));
  });
}

TEST_P(Confinement, CoversWhatTellsOfTheHost) {
  act(GetParam(), [] {
    const Told told =
        run(PlanMaker()
                .shell("cd /proc; for f in kcore keys key-users kmsg kallsyms timer_list sysrq-trigger vmallocinfo "
                       "slabinfo iomem ioports; do test -e $f && cat $f; done 2>&1; ls /proc/acpi 2>/dev/null;"
                       "grep -q processor cpuinfo && grep -q MemTotal meminfo && cat self/comm")
                .plan());
    EXPECT_EQ(told.output, "cat\n") << told.error;
  });
}

TEST_P(Confinement, LeavesNoCapabilityAndNoWayToOne) {
  act(GetParam(), [] {
    const Told told = run(PlanMaker()
                              .shell("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | cut -f2 | sort -u;"
                                     "mount -t tmpfs x /tmp 2>/dev/null || echo no mount;"
                                     "chroot /usr /bin/true 2>/dev/null || echo no chroot")
                              .plan());
    EXPECT_EQ(told.output, "0000000000000000\n1\nno mount\nno chroot\n") << told.error;
    for (const Check check : {Check::kNoCapabilities, Check::kNoNewPrivileges, Check::kMountRefused}) {
      EXPECT_TRUE(told.held(check)) << check_name(check);
    }
  });
}

TEST_P(Confinement, ShowsAnEmptyNetworkWithItsOwnLoopback) {
  act(GetParam(), [] {
    const Told told = run(PlanMaker()
                              .shell("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route | wc -l;"
                                     "grep -c 127.0.0.0 /proc/net/fib_trie")
                              .plan());
    EXPECT_TRUE(told.output.starts_with("lo\n1\n")) << told.output << told.error;
    EXPECT_FALSE(told.output.ends_with("\n0\n")) << "lo is up: it has its addresses";
    EXPECT_TRUE(told.held(Check::kNetNamespace));
    PlanMaker sharing;
    sharing.enter.flags &= ~std::uint64_t{CLONE_NEWNET};
    const Told shared = run(sharing.shell("echo ran").plan());
    // Bringing up the host's lo is not the launcher's to do: the step fails, and nothing runs.
    ASSERT_NE(shared.first(Kind::kStepFailed), nullptr) << shared.output;
    EXPECT_EQ(shared.first(Kind::kStepFailed)->code, EPERM);
  });
}

TEST_P(Confinement, ShowsOnlyItsOwnProcesses) {
  act(GetParam(), [] {
    const Told told = run(PlanMaker()
                              .shell("cd /proc; echo [0-9]* | tr ' ' '\\n' | head -2; cat 1/comm; readlink 1/exe;"
                                     "cat 1/environ 1/mem 1/maps 2>/dev/null; readlink 1/fd/5; echo end")
                              .plan());
    EXPECT_EQ(told.output, "1\n2\ncordon-init\nend\n") << told.error;
    EXPECT_TRUE(told.held(Check::kPidNamespace));
    EXPECT_TRUE(told.held(Check::kInitProtected));
  });
}

TEST_P(Confinement, HandsOverNoDescriptorEnvironmentOrMask) {
  act(GetParam(), [] {
    const int leak = open("/", O_RDONLY);  // without close-on-exec, as a library's host may have them
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    umask(037);
    const Told told = run(
        PlanMaker()
            .shell("ls -m /proc/self/fd; env | sort; umask; grep -E '^SigBlk' /proc/self/status | cut -f2 | sort -u;"
                   "grep SigIgn /proc/self/status | cut -f2")
            .plan());
    // 3 is ls's own.
    EXPECT_EQ(told.output,
              "0, 1, 2, 3\nPATH=/usr/bin:/bin\nPWD=/tmp\nSECRET=kept\n0037\n0000000000000000\n0000000000000000\n")
        << told.error;
    EXPECT_TRUE(told.held(Check::kDescriptorsClosed));
    close(leak);
  });
}

TEST_P(Confinement, LowersLimits) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.target(step::ResourceLimit{.resource = RLIMIT_CORE, .soft = 1, .hard = 1});
    maker.target(step::ResourceLimit{.resource = RLIMIT_NOFILE, .soft = 99, .hard = 100});
    EXPECT_EQ(run(maker.shell("ulimit -n; ulimit -Hn; grep -i core /proc/self/limits | tr -s ' '").plan()).output,
              "99\n100\nMax core file size 1 1 bytes \n");
  });
}

TEST(ConfinementAsRoot, RunsAsSomebodyElseWithTheirGroups) {
  if (geteuid() != 0) return;  // only root may become somebody else
  act(As::kSelf, [] {
    const Scratch scratch;
    ASSERT_EQ(chown(scratch.path().c_str(), 1234, 1235), 0);
    PlanMaker maker;
    maker.enter.uids = {{.inside = 0, .outside = 0, .count = 65'536}};
    maker.enter.gids = maker.enter.uids;
    maker.enter.deny_setgroups = false;
    maker.enter.set_groups = true;
    maker.enter.groups = {1240, 1235};
    maker.target(step::RunAs{.uid = 1234, .gid = 1235});
    maker.mount(step::MakeDirectory{.target = "/w"}).bind(scratch.path(), "/w", {});
    const Told told = run(maker
                              .shell("id -u; id -g; id -G; touch /w/x && stat -c %u:%g /w/x;"
                                     "grep -E '^(Cap|NoNewPrivs)' /proc/self/status | cut -f2 | sort -u;"
                                     "kill -9 1 2>/dev/null || echo no signal to init; "
                                     "cat /usr/../proc/1/root 2>/dev/null || echo shut")
                              .plan());
    EXPECT_EQ(told.output, "1234\n1235\n1235 1240\n1234:1235\n0000000000000000\n1\nno signal to init\nshut\n")
        << told.error;
  });
}

step::Landlock usual_landlock() {
  // ABI 1: what every kernel with Landlock knows.
  constexpr std::uint64_t kAll = (1ULL << 13) - 1;
  step::Landlock landlock{.handled_access = kAll, .abi = 1};
  for (const char* path : {"/usr", "/proc", "/dev", "/tmp"}) landlock.rules.push_back({.target = path, .access = kAll});
  return landlock;
}

TEST_P(Confinement, RepeatsTheFilesByLandlock) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.file("f", "secret");
    scratch.file("g", "given");
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"}).bind(scratch.path(), "/w", {});
    const std::string script =
        "cat /w/g /w/f 2>/dev/null; echo; ls /w 2>/dev/null; echo x 2>/dev/null > /w/g || echo closed";
    EXPECT_EQ(run(maker.shell(script).plan()).output, "givensecret\nf\ng\n") << "the control";
    scratch.file("g", "given");
    step::Landlock landlock = usual_landlock();
    landlock.rules.push_back({.target = "/w/g", .access = kernel::kLandlockReadFile});
    maker.target(landlock);
    const Told told = run(maker.shell(script).plan());
    EXPECT_EQ(told.output, "given\nclosed\n") << told.error;
    EXPECT_TRUE(told.held(Check::kLandlock));
  });
}

// As where a host process renamed a secret over the masked name after the mask was made.
TEST_P(Confinement, OpensWhatStandsForAMaskedFileAndNotWhatTookItsPlace) {
  act(GetParam(), [] {
    const Scratch scratch;
    scratch.file("replaced", "secret");
    scratch.file("masked", "hidden");
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"}).bind(scratch.path(), "/w", {});
    maker.mount(step::Mask{.target = "/w/masked", .directory = false});
    const std::string script = "cat /w/replaced 2>/dev/null; cat /w/masked 2>/dev/null && echo opened";
    const auto with = [&](step::RuleFor object) {
      step::Landlock landlock = usual_landlock();
      landlock.rules.push_back({.target = "/w/replaced", .access = kernel::kLandlockReadFile, .object = object});
      PlanMaker one = maker;
      return run(one.target(landlock).shell(script).plan());
    };
    EXPECT_EQ(with(step::RuleFor::kTarget).output, "secret") << "the control: by its path it would be opened";
    const Told told = with(step::RuleFor::kMaskedFile);
    EXPECT_EQ(told.output, "opened\n") << told.error;
  });
}

TEST_P(Confinement, NamesTheLandlockStepWhereARuleLeadsNowhere) {
  act(GetParam(), [] {
    step::Landlock landlock = usual_landlock();
    landlock.rules.push_back({.target = "/nowhere", .access = 4});
    const plan::Plan plan = PlanMaker().target(landlock).shell("echo ran").plan();
    const Told told = run(plan);
    const Message* failed = told.first(Kind::kStepFailed);
    ASSERT_NE(failed, nullptr) << told.output;
    EXPECT_EQ(plan::step_name(plan.at({failed->step}).act), "landlock");
    EXPECT_EQ(failed->code, ENOENT);
  });
}

TEST_P(Confinement, InstallsFiltersAndSeesThemRefuse) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.target(refuse_filter("system-calls", {SYS_unshare, SYS_kill}, EPERM));
    maker.target(refuse_filter("other", {SYS_uname}, ENOSYS));
    const Told told = run(
        maker.shell("grep -E '^Seccomp(_filters)?:' /proc/self/status | cut -f2; uname -s 2>/dev/null || echo filtered")
            .plan());
    EXPECT_EQ(told.output, "2\n2\nfiltered\n") << told.error;
    EXPECT_TRUE(told.held(Check::kSystemCallsFiltered));
    EXPECT_TRUE(told.held(Check::kSignalsScoped)) << "no Landlock here: the filter has to";
  });
}

TEST_P(Confinement, StopsTheRunWhereNothingKeepsSignalsInside) {
  act(GetParam(), [] {
    const Told told =
        run(PlanMaker().target(refuse_filter("system-calls", {SYS_unshare}, EPERM)).shell("echo ran").plan());
    EXPECT_EQ(told.output, "");
    EXPECT_TRUE(told.held(Check::kSystemCallsFiltered));
    EXPECT_FALSE(told.held(Check::kSignalsScoped));
    EXPECT_EQ(told.first(Kind::kReady), nullptr);
  });
}

TEST_P(Confinement, StopsTheRunWhereTheFilterDoesNotRefuse) {
  act(GetParam(), [] {
    const Told told =
        run(PlanMaker().target(refuse_filter("system-calls", {SYS_uname}, EPERM)).shell("echo ran").plan());
    EXPECT_EQ(told.output, "");
    EXPECT_FALSE(told.held(Check::kSystemCallsFiltered));
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
    EXPECT_STREQ(told.first(Kind::kStepFailed)->text.data(), "verification");
    EXPECT_EQ(told.first(Kind::kReady), nullptr);
  });
}

TEST_P(Confinement, TriesWhatAListOfProgramsMustRefuse) {
  act(GetParam(), [] {
    const auto noexec = step::MountTmpfs{.target = "/tmp", .size_bytes = 16 << 20, .attributes = {.noexec = true}};
    const auto filter = refuse_filter("exec-list", {SYS_memfd_create}, EPERM);
    const Told held = run(PlanMaker().mount(noexec).target(filter).shell("echo ran").plan());
    EXPECT_EQ(held.output, "ran\n") << held.error;
    EXPECT_TRUE(held.held(Check::kExecListed));
    const Told mapped = run(PlanMaker().target(filter).shell("echo ran").plan());
    EXPECT_EQ(mapped.output, "") << "what is written in /tmp can be mapped as code";
    EXPECT_FALSE(mapped.held(Check::kExecListed));
    const auto other = refuse_filter("exec-list", {SYS_uname}, EPERM);
    const Told memory = run(PlanMaker().mount(noexec).target(other).shell("echo ran").plan());
    EXPECT_EQ(memory.output, "") << "files in memory can be made";
    EXPECT_FALSE(memory.held(Check::kExecListed));
  });
}

TEST_P(Confinement, ClosesExecByNotification) {
  act(GetParam(), [] {
    const std::string script = "echo started; /bin/true || echo refused; exec /bin/true";
    const Told told = run(PlanMaker().target(notify_exec_filter()).shell(script).plan());
    EXPECT_EQ(told.output.substr(0, 8), "started\n") << told.error;
    EXPECT_NE(told.output.find("refused\n"), std::string::npos) << told.output;
    EXPECT_TRUE(told.held(Check::kExecClosed));
    EXPECT_EQ(told.refused_execs, 3) << "the probe, and two attempts";
    EXPECT_EQ(told.exit_code(), 126);
  });
}

TEST_P(Confinement, StopsTheRunWhereTheSupervisorLetsTheProbeThrough) {
  act(GetParam(), [] {
    const Told told = run(PlanMaker().target(notify_exec_filter()).shell("echo ran").plan(), {.continue_all = true});
    EXPECT_EQ(told.output, "");
    EXPECT_FALSE(told.held(Check::kExecClosed));
    EXPECT_EQ(told.first(Kind::kReady), nullptr);
  });
}

TEST_P(Confinement, SaysWhyTheTargetCouldNotBeExecuted) {
  act(GetParam(), [] {
    const Told missing = run(PlanMaker().execute({"/bin/not-there"}).plan());
    ASSERT_NE(missing.first(Kind::kExecFailed), nullptr);
    EXPECT_EQ(missing.first(Kind::kExecFailed)->code, ENOENT);
    EXPECT_EQ(missing.exit_code(), 127);
    const Told directory = run(PlanMaker().execute({"/usr"}).plan());
    ASSERT_NE(directory.first(Kind::kExecFailed), nullptr);
    EXPECT_EQ(directory.first(Kind::kExecFailed)->code, EACCES);
    EXPECT_EQ(directory.exit_code(), 126);
  });
}

TEST_P(Confinement, RunsInTheWorkingDirectory) {
  act(GetParam(), [] {
    PlanMaker maker;
    maker.working_directory = "/usr/bin";
    EXPECT_EQ(run(maker.shell("pwd").plan()).output, "/usr/bin\n");
    maker.working_directory = "/usr/nowhere";
    const plan::Plan plan = maker.plan();
    const Told told = run(plan);
    ASSERT_NE(told.first(Kind::kStepFailed), nullptr);
    EXPECT_EQ(plan::step_name(plan.at({told.first(Kind::kStepFailed)->step}).act), "execute");
    EXPECT_STREQ(told.first(Kind::kStepFailed)->text.data(), "chdir");
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
