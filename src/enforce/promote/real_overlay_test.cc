// Uppers that the kernel made: a script in an overlay over the workspace, in a user namespace, as a run would have it;
// and destinations on another mount, full, or changed by somebody in the last moment.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "enforce/promote/apply.h"
#include "enforce/promote/desk_test.h"
#include "enforce/promote/survey.h"
#include "enforce/promote/work.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::words;

class RealOverlay : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, RealOverlay, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

TEST_P(RealOverlay, IsPromotedAsTheScriptSawIt) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/target/a", "1");
    desk.file("ws/target/b", "1");
    desk.file("ws/target/d/e", "1");
    desk.file("ws/node_modules/old/x", "1");
    desk.file("ws/src/s", "1");
    desk.begin();
    desk.run(
        "echo 2 >> target/a; rm target/b; rm -r target/d; mkdir target/d; echo 2 > target/d/f\n"
        "rm -r node_modules; mkdir -p node_modules/new; echo 2 > node_modules/new/y\n"
        "ln -s new node_modules/l; mv node_modules/new/y node_modules/z; echo 2 >> src/s; rm -f nothing\n"
        "mkdir new-source; echo {} > package-lock.json");
    const Outcome outcome = desk.promote();
    EXPECT_EQ(desk.listing("ws"),
              "node_modules 40755\nnode_modules/l 120777 -> new\nnode_modules/new 40755\nnode_modules/z 100644 '2\n'\n"
              "package-lock.json 100644 '{}\n'\nsrc 40755\nsrc/s 100644 '1'\n"
              "target 40755\ntarget/a 100644 '12\n'\ntarget/d 40755\ntarget/d/f 100644 '2\n'\n");
    EXPECT_THAT(words(outcome.kept), ElementsAre("new-source: not-an-output", "src/s: not-an-output"));
    EXPECT_EQ(outcome.conflicts.total + outcome.refused.total, 0U);
    // And once more, over what was promoted.
    desk.begin();
    desk.run("rm -r target node_modules; mkdir target; echo 3 > target/a");
    EXPECT_EQ(desk.promote().conflicts.total, 0U);
    EXPECT_EQ(desk.read("ws/target/a"), "3\n");
    EXPECT_FALSE(desk.exists("ws/node_modules"));
  });
}

TEST_P(RealOverlay, LetsNoHostileThingThrough) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    desk.run(
        "mkdir target; cd target; echo x > good; cp /bin/true suid; chmod 6755 suid; mkfifo fifo\n"
        "ln -s /home/victim/.bashrc bashrc; mkdir -p repo/.git/hooks; echo x > repo/.git/hooks/post-checkout\n"
        "setfattr -n user.evil -v 1 good 2>/dev/null || true\n"
        "setfattr -n user.overlay.redirect -v /etc good 2>/dev/null || true");
    const Outcome outcome = desk.promote();
    EXPECT_THAT(words(outcome.refused), ElementsAre("target/bashrc: link-leaves", "target/fifo: special-file",
                                                    "target/repo/.git: git-repository"));
    EXPECT_EQ(desk.mode("ws/target/suid"), 0755U);
    EXPECT_THAT(desk.listing("ws"), Not(HasSubstr("attributes")));
    EXPECT_FALSE(desk.exists("ws/target/bashrc"));
  });
}

TEST_P(RealOverlay, IsCopiedToAnotherMountAndLeavesNothingInAFullOne) {
  as(GetParam(), [] {
    testing::leave_the_hosts_mounts();
    char name[] = "/tmp/cordon-promote-XXXXXX";
    const std::string mount = mkdtemp(name);
    ASSERT_EQ(::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=512k"), 0);
    std::filesystem::create_directory(mount + "/ws");
    Desk desk(mount + "/ws");
    desk.file("ws/target/old", "old");
    desk.begin();
    desk.made("up/target");
    desk.file("up/target/ro/small", "new");
    desk.directory("up/target/ro", 0555);
    desk.file("up/target/large", std::string(2'000'000, 'x'));
    Task full = desk.task();
    const auto refused = promote(full);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
    EXPECT_EQ(desk.listing("ws"), "target 40755\ntarget/old 100644 'old'\n");
    EXPECT_EQ(desk.listing("scratch"), "");
    std::filesystem::remove(desk.at("up/target/large"));
    EXPECT_TRUE(desk.promote().is_all());
    EXPECT_EQ(desk.listing("ws"), "target 40755\ntarget/ro 40555\ntarget/ro/small 100644 'new'\n");
    EXPECT_EQ(desk.listing("up"), "");
    ::umount2(mount.c_str(), MNT_DETACH);
    ::rmdir(mount.c_str());
  });
}

/// The second half alone, with what somebody did between the two.
Outcome carry_out(const Desk& desk, const std::function<void()>& meanwhile) {
  const Task task = desk.task();
  const auto found = survey(task, Manner::kOutputs);
  EXPECT_TRUE(found);
  const Work work = work_of(*found, task, Way::kRename);
  meanwhile();
  Outcome out;
  EXPECT_TRUE(apply(work, {.upper = task.upper, .destination = task.destination, .scratch = task.scratch},
                    Round::kFirst, task.bounds, out));
  return out;
}

TEST_P(RealOverlay, IsNotFooledByWhatChangesBetweenLookingAndMoving) {
  as(GetParam(), [] {
    Desk desk;
    desk.directory("ws/elsewhere");
    desk.file("ws/target/sub/x", "1");
    desk.file("ws/target/file", "1");
    desk.file("ws/target/same", "1");
    desk.begin();
    desk.file("up/target/sub/added", "run");
    desk.file("up/target/file", "run");
    desk.file("up/target/same", "run");
    desk.file("up/target/taken", "run");
    desk.made("up/node_modules");
    desk.file("up/node_modules/x", "run");
    const Outcome outcome = carry_out(desk, [&] {
      std::filesystem::rename(desk.at("ws/target/sub"), desk.at("ws/moved"));
      desk.link("ws/target/sub", desk.at("ws/elsewhere"));
      std::filesystem::remove(desk.at("ws/target/file"));
      desk.link("ws/target/file", desk.at("ws/elsewhere/file"));
      desk.file("ws/target/taken", "host");
      desk.link("ws/node_modules", desk.at("ws/elsewhere"));
    });
    EXPECT_THAT(words(outcome.conflicts),
                ElementsAre("node_modules: appeared-meanwhile", "target/file: changed-meanwhile",
                            "target/sub/added: appeared-meanwhile", "target/taken: appeared-meanwhile"));
    EXPECT_THAT(words(outcome.promoted), ElementsAre("target/same: promoted"));
    EXPECT_EQ(desk.listing("ws/elsewhere"), "");
    EXPECT_EQ(desk.read("ws/target/taken"), "host");
    EXPECT_EQ(desk.read("up/target/taken"), "run");
  });
}

TEST_P(RealOverlay, IsRefusedWholeWhereItIsTooDeep) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    testing::make_chain(desk.task().upper, "target", 300);
    const Outcome outcome = desk.promote();
    EXPECT_TRUE(outcome.over_bound);
    EXPECT_FALSE(desk.exists("ws/target"));
  });
}

}  // namespace
}  // namespace cordon::enforce::promote
