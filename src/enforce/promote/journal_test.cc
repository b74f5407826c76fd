// The journal: what can be read back, and what a death at any system call leaves behind.
#include "enforce/promote/journal.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "enforce/promote/desk_test.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;

Work some_work() {
  Work out{.way = Way::kCopy, .stage = ".cordon-1", .device = 1, .inode = 2, .since = {.tv_sec = 3, .tv_nsec = 4}};
  out.acts.push_back({.does = Act::Does::kMake,
                      .kind = Kind::kDirectory,
                      .mode = 0755,
                      .modified = {-5, 6},
                      .parent = 7,
                      .source = 8,
                      .place = 9,
                      .files = 10,
                      .directories = 11,
                      .links = 12,
                      .bytes = 13,
                      .path = "a \n\x80"
                              "b"});
  out.acts.push_back({.does = Act::Does::kRemove, .kind = Kind::kLink, .wanted = Class::kManifest, .path = "a/b/c"});
  return out;
}

TEST(Journal, IsReadBackAsItWasWritten) {
  const Work work = some_work();
  const auto read = decode(encode(work));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(work));
  EXPECT_EQ(read->acts.front().path, work.acts.front().path);
  EXPECT_EQ(read->acts.front().modified.tv_sec, -5);
  EXPECT_EQ(read->since.tv_nsec, work.since.tv_nsec);
}

TEST(Journal, IsNotBelievedWhereItIsCutOrNamesWhatIsNotBelow) {
  const std::string whole = encode(some_work());
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(decode(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode(whole + "x"));
  for (const char* path : {"", "/etc/passwd", "../x", "a/../x", "a//b", "a/"}) {
    Work work = some_work();
    work.acts[0].path = path;
    EXPECT_FALSE(decode(encode(work))) << path;
    work = some_work();
    work.stage = path;
    EXPECT_FALSE(decode(encode(work))) << path;
  }
}

class Replay : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, Replay, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// One of everything: moved whole, replaced, merged, made and filled, led to, deleted, refused, parted, a lock file.
void set(Desk& desk) {
  desk.file("ws/node_modules/old/file", "old");
  desk.file("ws/target/changes", "old");
  desk.file("ws/target/goes/deep", "old");
  desk.file("ws/package-lock.json", "old");
  desk.directory("ws/sub");
  desk.begin();
  desk.made("up/node_modules");
  desk.file("up/node_modules/new/file", "new");
  desk.file("up/target/changes", "new");
  desk.whiteout("up/target/goes");
  desk.file("up/target/part/good", "new");
  desk.link("up/target/part/bad", "/etc/passwd");
  desk.made("up/sub/target");
  desk.file("up/sub/target/ro/file", "new", 0444);
  desk.directory("up/sub/target/ro", 0555);
  desk.directory("up/sub/target", 0555);
  desk.file("up/package-lock.json", "new");
  desk.file("up/source.c", "kept");
  desk.file("up/leads/target/file", "new");
  desk.file("up/leads/source.c", "kept");
}

constexpr const char* kDone =
    "leads 40755\nleads/target 40755\nleads/target/file 100644 'new'\n"
    "node_modules 40755\nnode_modules/new 40755\nnode_modules/new/file 100644 'new'\npackage-lock.json 100644 'new'\n"
    "sub 40755\nsub/target 40555\nsub/target/ro 40555\nsub/target/ro/file 100444 'new'\n"
    "target 40755\ntarget/changes 100644 'new'\ntarget/part 40755\ntarget/part/good 100644 'new'\n";

void replay_at(const Desk& desk) {
  const Task task = desk.task();
  const auto outcome = replay(task.upper, task.destination, task.scratch);
  ASSERT_TRUE(outcome) << base::to_string(outcome.error());
}

/// What a death at the nth change leaves: after a replay, and a promotion of what had not been decided, everything is
/// as if nobody had died, nothing is lost, and nothing of ours is left.
bool dies_well(int nth, const Desk& desk) {
  const bool died = testing::killed_at(nth, [&] { static_cast<void>(desk.promote()); });
  const bool decided = desk.exists("scratch/journal");
  replay_at(desk);
  EXPECT_FALSE(desk.exists("scratch/journal"));
  if (decided) replay_at(desk);  // once more changes nothing
  static_cast<void>(desk.promote());
  EXPECT_EQ(desk.listing("ws"), kDone) << "killed at change " << nth;
  EXPECT_EQ(desk.read("up/source.c"), "kept");
  EXPECT_EQ(desk.read("up/leads/source.c"), "kept");
  EXPECT_TRUE(desk.exists("up/target/part/bad"));
  EXPECT_FALSE(desk.exists("scratch/journal"));
  EXPECT_FALSE(desk.exists("scratch/old"));
  return died;
}

TEST_P(Replay, FinishesAfterADeathAtAnySystemCall) {
  as(GetParam(), [] {
    int nth = 1;
    for (bool died = true; died && !::testing::Test::HasFailure(); ++nth) {
      Desk desk;
      set(desk);
      died = dies_well(nth, desk);
    }
    EXPECT_GT(nth, 40);  // the control: it did die, and at many places
  });
}

TEST_P(Replay, FinishesAfterADeathAtAnySystemCallBetweenTwoMounts) {
  as(GetParam(), [] {
    testing::leave_the_hosts_mounts();
    char name[] = "/tmp/cordon-promote-XXXXXX";
    const std::string mount = mkdtemp(name);
    ASSERT_EQ(::mount(mount.c_str(), mount.c_str(), nullptr, MS_BIND, nullptr), 0);
    int nth = 1;
    for (bool died = true; died && !::testing::Test::HasFailure(); ++nth) {
      const std::string workspace = mount + "/" + std::to_string(nth);
      std::filesystem::create_directory(workspace);
      Desk desk(workspace);
      set(desk);
      died = dies_well(nth, desk);
      std::filesystem::remove_all(workspace);
    }
    EXPECT_GT(nth, 80);
    ::umount2(mount.c_str(), MNT_DETACH);
    ::rmdir(mount.c_str());
  });
}

TEST_P(Replay, RefusesAJournalOfAnotherWorkspaceAndAPromotionBesideOne) {
  as(GetParam(), [] {
    Desk desk;
    set(desk);
    const Task task = desk.task();
    Work work = some_work();
    ASSERT_TRUE(write_journal(task.scratch, work));
    EXPECT_FALSE(replay(task.upper, task.destination, task.scratch));
    Task again = desk.task();
    const auto refused = promote(again);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().detail, "an earlier one has not been finished");
    ASSERT_TRUE(remove_journal(task.scratch));
    EXPECT_TRUE(promote(again));
  });
}

}  // namespace
}  // namespace cordon::enforce::promote
