// The parsers of the mount table and of the account files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/accounts.h"
#include "host/mounts.h"

namespace cordon::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kMountinfo =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
    "23 22 0:21 / /proc rw,nosuid,nodev,noexec - proc proc rw\n"
    "24 22 0:22 / /mnt/a\\040b\\134c ro,noexec shared:7 master:1 - tmpfs tmpfs rw\n"
    "25 22 0:23 / /srv/data rw - nfs4 server:/x rw,vers=4.2\n"
    "26 25 0:24 / /srv/data/deep rw - fuse.sshfs me@host:/ ro\n"
    "27 23 0:25 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
    "garbage\n"
    "x 22 0:1 / /bad rw - ext4 d rw\n"
    "28 22 0:1 / /no/separator rw ext4 d rw\n";

TEST(MountTable, ReadsEachMount) {
  const MountTable table = MountTable::parse(kMountinfo);
  ASSERT_NE(table.find(22), nullptr);
  EXPECT_EQ(table.find(22)->type, "ext4");
  EXPECT_FALSE(table.find(22)->noexec);
  EXPECT_TRUE(table.find(23)->noexec);
  EXPECT_EQ(table.find(24)->point, "/mnt/a b\\c");
  EXPECT_TRUE(table.find(24)->read_only);
  EXPECT_TRUE(table.find(26)->read_only) << "the superblock's option counts";
  EXPECT_EQ(table.find(28), nullptr);
  EXPECT_EQ(table.find(99), nullptr);
}

TEST(MountTable, KnowsWhichMountsMayHang) {
  const MountTable table = MountTable::parse(kMountinfo);
  EXPECT_TRUE(table.any_may_hang());
  EXPECT_EQ(table.may_hang_above("/etc"), nullptr);
  EXPECT_EQ(table.may_hang_above("/srv/database"), nullptr);
  EXPECT_EQ(table.may_hang_above("/srv/data")->type, "nfs4");
  EXPECT_EQ(table.may_hang_above("/srv/data/deep/x")->type, "fuse.sshfs");
  EXPECT_EQ(table.may_hang_above("/proc/sys/fs/binfmt_misc"), nullptr) << "every systemd host has that one";
  EXPECT_FALSE(MountTable::parse("22 1 254:1 / / rw - ext4 /dev/vda1 rw\n").any_may_hang());
}

std::vector<std::string> places_of(std::string_view mountinfo) {
  std::vector<std::string> out;
  const auto places = MountTable::parse(mountinfo).places();
  if (!places) return {"unknown"};
  for (const plan::MountPlace& place : *places) out.push_back(place.point + " " + place.type);
  return out;
}

TEST(MountTable, TellsWhatIsMountedWhere) {
  EXPECT_THAT(places_of("22 1 254:1 / / rw - ext4 /dev/vda1 rw\n"
                        "30 22 0:21 / /srv/c/proc rw - proc proc rw\n"
                        "31 30 0:21 /x /srv/c/proc/sys rw - tmpfs none rw\n"),
              ElementsAre("/ ext4", "/srv/c/proc proc", "/srv/c/proc/sys tmpfs"));
}

TEST(MountTable, OfSeveralMountsOnOnePlaceTellsTheOneOnTop) {
  EXPECT_THAT(places_of("22 1 254:1 / / rw - ext4 d rw\n"
                        "30 22 0:21 / /p rw - proc proc rw\n"
                        "31 30 0:22 / /p rw - tmpfs none rw\n"),
              ElementsAre("/ ext4", "/p tmpfs"));
  EXPECT_THAT(places_of("31 30 0:21 / /p rw - proc proc rw\n"
                        "30 22 0:22 / /p rw - tmpfs none rw\n"
                        "22 1 254:1 / / rw - ext4 d rw\n"),
              ElementsAre("/ ext4", "/p proc"))
      << "the ids say what stands on what, not the order of the lines";
}

TEST(MountTable, LeavesOutWhatLiesBehindAMountAbove) {
  EXPECT_THAT(places_of("22 1 254:1 / / rw - ext4 d rw\n"
                        "30 22 0:21 / /a/b rw - proc proc rw\n"
                        "32 30 0:21 / /a/b/c rw - sysfs s rw\n"
                        "31 22 0:22 / /a rw - tmpfs none rw\n"
                        "33 31 0:22 / /a/d rw - sysfs s rw\n"),
              ElementsAre("/ ext4", "/a tmpfs", "/a/d sysfs"));
  EXPECT_THAT(places_of("22 1 0:1 / / rw - rootfs d rw\n"
                        "23 22 0:2 / / rw - ext4 d rw\n"
                        "24 23 0:3 / /proc rw - proc d rw\n"
                        "25 22 0:3 / /old rw - proc d rw\n"),
              ElementsAre("/ ext4", "/proc proc"))
      << "a root on a root";
}

TEST(MountTable, ThatCannotBeReadWholeTellsNoPlaces) {
  EXPECT_THAT(places_of(""), ElementsAre("unknown"));
  EXPECT_THAT(places_of("22 1 254:1 / / rw - ext4 d rw"), ElementsAre("unknown")) << "cut off";
  EXPECT_THAT(places_of(kMountinfo), ElementsAre("unknown")) << "a line that cannot be parsed";
}

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "me:x:1000:1000:Me,,,:/home/me:/bin/zsh\n"
    "again:x:1000:5:second name of one id:/elsewhere:/bin/sh\n"
    "+nis:x:7:7::/:/bin/sh\n"
    "# comment:x:8:8::/:/bin/sh\n"
    "bad:x:-1:5::/:/bin/sh\n"
    "huge:x:4294967295:5::/:/bin/sh\n"
    "octal:x:010:5::/:/bin/sh\n"
    "short:x:9:9\n";
constexpr std::string_view kGroup =
    "root:x:0:\n"
    "me:x:1000:\n"
    "docker:x:998:other,me\n"
    "docker2:x:998:me\n"
    "audio:x:29:pulse,\n";

TEST(AccountBook, ReadsAccountsAndTheirGroups) {
  const AccountBook book = AccountBook::parse(kPasswd, kGroup);
  const auto me = book.by_uid(1000);
  ASSERT_TRUE(me);
  EXPECT_EQ(me->name, "me") << "the first line of an id wins";
  EXPECT_EQ(me->gid, 1000U);
  EXPECT_EQ(me->home, "/home/me");
  EXPECT_EQ(me->shell, "/bin/zsh");
  EXPECT_THAT(me->groups, ElementsAre(998));
  EXPECT_EQ(book.by_uid(0)->home, "/root");
}

TEST(AccountBook, LeavesOutWhatIsMalformed) {
  const AccountBook book = AccountBook::parse(kPasswd, kGroup);
  for (const std::uint32_t uid : {7U, 8U, 9U, 10U, 4294967295U}) EXPECT_FALSE(book.by_uid(uid)) << uid;
  EXPECT_FALSE(AccountBook::parse("", "").by_uid(0));
}

TEST(AccountBook, ReadsThisHost) {
  const auto root = AccountBook::read().by_uid(0);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
}

}  // namespace
}  // namespace cordon::host
