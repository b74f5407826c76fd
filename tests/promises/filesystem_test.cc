// Promise: the target sees the system's programs, what was granted, and nothing else; it writes where it was granted
// and nowhere else.

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <sstream>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

CORDON_PROMISE(Filesystem);
CORDON_ROOT_PROMISE(Mounted);

TEST_P(Filesystem, WhatWasNotGrantedIsNotThere) {
  const std::string secret = scene.tree().write("home/secret.txt", "s");
  const std::string beside = scene.tree().write("work/beside.txt", "b");
  denied_inside({"read=" + secret, "read=" + beside, "stat=" + secret, "read=" + scene.home(), "append=" + secret});
  EXPECT_EQ(scene.tree().read("home/secret.txt"), "s+") << "the control appended once, the sandbox did not";
}

TEST_P(Filesystem, TheHostsFilesAreNotThere) {
  denied_inside({"read=/etc/login.defs", "stat=/var/lib/dpkg", "stat=/boot", "stat=/home"});
}

TEST_P(Filesystem, AReadGrantReadsAndDoesNotWrite) {
  const std::string file = scene.tree().write("work/data/in.txt", "content");
  const std::string directory = scene.in_work("data");
  const std::vector<std::string> writes{"append=" + file,
                                        "truncate=" + file,
                                        "create=" + directory + "/new",
                                        "chmod=" + file,
                                        "utime=" + file,
                                        "rename=" + file + ":" + file + "2",
                                        "mkdir=" + directory + "/d",
                                        "unlink=" + file};
  const std::string grant = list("read", {"./data"});
  const Finished inside = scene.acts(writes, grant);
  for (const auto& act : writes) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act;
  EXPECT_EQ(scene.tree().read("work/data/in.txt"), "content");
  allowed_inside({"read=" + file, "read=" + directory}, grant);
  const Finished outside = scene.acts_bare({"append=" + file, "chmod=" + file, "create=" + directory + "/new"});
  EXPECT_EQ(outside.out.find("DENIED"), std::string::npos) << outside;
}

TEST_P(Filesystem, AReadGrantOfOneFileShowsThatFileAlone) {
  const std::string file = scene.tree().write("work/data/in.txt", "content");
  const std::string sibling = scene.tree().write("work/data/sibling.txt", "content");
  const std::string grant = list("read", {"./data/in.txt"});
  allowed_inside({"read=" + file}, grant);
  denied_inside({"read=" + sibling}, grant);
}

TEST_P(Filesystem, AWriteGrantWrites) {
  scene.tree().write("work/out/old.txt", "old");
  const std::string out = scene.in_work("out");
  allowed_inside({"create=" + out + "/new", "append=" + out + "/old.txt", "mkdir=" + out + "/d",
                  "rename=" + out + "/new:" + out + "/d/moved", "symlink=old.txt:" + out + "/link",
                  "unlink=" + out + "/link", "read=" + out},
                 list("write", {"./out"}));
  EXPECT_EQ(scene.tree().read("work/out/d/moved"), "made\n");
  EXPECT_EQ(scene.tree().read("work/out/old.txt"), "old+");
  struct stat st{};
  ASSERT_EQ(::stat((out + "/d/moved").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, GetParam().uid);
}

TEST_P(Filesystem, AWriteGrantEndsAtItsDirectory) {
  scene.tree().make_directory("work/out");
  const std::string beside = scene.tree().write("work/beside.txt", "b");
  denied_inside({"append=" + beside, "create=" + scene.in_work("out/../new")}, list("write", {"./out"}));
}

TEST_P(Filesystem, AWriteGrantOfOneFileWritesThatFileAlone) {
  const std::string file = scene.tree().write("work/data/log", "a");
  scene.tree().write("work/data/other", "b");
  const std::string grant = list("write", {"./data/log"});
  allowed_inside({"append=" + file, "read=" + file}, grant);
  EXPECT_EQ(scene.tree().read("work/data/log"), "a+");
  denied_inside({"append=" + scene.in_work("data/other"), "create=" + scene.in_work("data/new")}, grant);
}

TEST_P(Filesystem, AMissingWriteDirectoryIsMadeForItsOwnerAlone) {
  allowed_inside({"create=" + scene.in_work("a/b/c/new")}, list("write", {"./a/b/c"}));
  EXPECT_EQ(scene.tree().read("work/a/b/c/new"), "made\n");
  struct stat st{};
  ASSERT_EQ(::stat(scene.in_work("a/b/c").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0700U);
  EXPECT_EQ(st.st_uid, GetParam().uid);
}

TEST_P(Filesystem, AMissingDirectoryIsNotMadeThroughALink) {
  scene.tree().make_directory("home/elsewhere");
  scene.tree().link("work/a", scene.home() + "/elsewhere");
  const std::string manifest =
      scene.manifest(act_manifest({"create=" + scene.in_work("a/new/x")}, list("write", {"./a/new"})));
  static_cast<void>(scene.approve(manifest));
  static_cast<void>(scene.cordon({"run", manifest}).run());
  // Our own link in our own directory may be followed; then the directory is where the link leads, and nowhere else.
  for (const auto& [name, what] : snapshot(scene.work())) EXPECT_THAT(name, Not(HasSubstr("/a/new")));
}

TEST_P(Filesystem, TheRootAndTheSystemAreReadOnly) {
  const std::vector<std::string> acts{"create=/new",     "mkdir=/new",         "create=/usr/new",  "create=/etc/new",
                                      "create=/dev/new", "append=/etc/passwd", "unlink=/bin/true", "mknod=/tmp/device",
                                      "remount=/",       "umount=/tmp"};
  const Finished inside = scene.acts(acts);
  for (const auto& act : acts) EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
}

TEST_P(Filesystem, TmpIsPrivate) {
  Tree host_tmp(GetParam(), Place::kTmp);
  const std::string planted = host_tmp.write("planted", "p");
  const std::string made = "/tmp/cordon-private-" + std::to_string(::getpid());
  denied_inside({"read=" + planted});
  allowed_inside({"create=" + made, "read=" + made});
  EXPECT_NE(::access(made.c_str(), F_OK), 0) << "what the target wrote in its /tmp must not be on the host";
}

TEST_P(Filesystem, DevHoldsWhatAProgramNeedsAndNoDevice) {
  const Finished inside = scene.acts({"show-list=/dev", "open-write=/dev/null", "read=/dev/zero", "read=/dev/urandom"});
  const auto entries = lines(inside, "entry ");
  const std::set<std::string> allowed{"null", "zero", "full", "random", "urandom", "tty",    "ptmx",
                                      "pts",  "shm",  "fd",   "stdin",  "stdout",  "stderr", "console"};
  EXPECT_THAT(entries, Contains("null"));
  for (const auto& entry : entries) EXPECT_TRUE(allowed.contains(entry)) << entry;
  EXPECT_EQ(verdict(inside, "open-write=/dev/null"), "ALLOWED");
  EXPECT_EQ(verdict(inside, "read=/dev/urandom"), "ALLOWED");
}

TEST_P(Filesystem, TheAccountsOfTheHostAreNotThere) {
  const Finished inside = scene.acts({"show-file=/etc/passwd", "read=/etc/shadow", "show-file=/etc/group"});
  EXPECT_EQ(verdict(inside, "show-file=/etc/passwd"), "ALLOWED") << inside;
  for (const auto& line : lines(inside, "| ")) EXPECT_THAT(line, Not(HasSubstr("messagebus")));
  EXPECT_THAT(verdict(inside, "read=/etc/shadow"), StartsWith("DENIED"));
}

TEST_P(Filesystem, WhatDenyNamesIsHiddenBelowABroadGrant) {
  const std::string key = scene.tree().write("home/.ssh/id", "k");
  const std::string token = scene.tree().write("home/.netrc", "t");
  const std::string notes = scene.tree().write("home/notes", "n");
  const std::string extra = list("read", {"~"}) + list("deny", {"~/.ssh", "~/.netrc"});
  const Finished inside = scene.acts({"read=" + key, "read=" + notes, "show-file=" + token}, extra);
  EXPECT_EQ(verdict(inside, "read=" + notes), "ALLOWED") << inside;
  EXPECT_THAT(verdict(inside, "read=" + key), StartsWith("DENIED")) << inside;
  EXPECT_FALSE(inside.says("| t")) << inside;
  const Finished outside = scene.acts_bare({"read=" + key, "show-file=" + token});
  EXPECT_EQ(verdict(outside, "read=" + key), "ALLOWED");
  EXPECT_TRUE(outside.says("| t"));
}

// A rename of an ancestor would carry a mount away with it (the shield would then stand over nothing).
TEST_P(Filesystem, WhatDenyNamesCannotBeMovedAwayBelowAWriteGrant) {
  scene.tree().write("work/project/a/b/secret", "k");
  const std::string top = scene.in_work("project");
  const std::string extra = list("write", {"./project"}) + list("deny", {"./project/a/b"});
  const std::vector<std::string> acts{"read=" + top + "/a/b/secret",
                                      "rename=" + top + "/a:" + top + "/moved",
                                      "rename=" + top + "/a/b:" + top + "/a/moved",
                                      "mkdir=" + top + "/other",
                                      "exchange=" + top + "/a:" + top + "/other",
                                      "exchange=" + top + "/a/b:" + top + "/other",
                                      "rmdir=" + top + "/a/b",
                                      "rmdir=" + top + "/a",
                                      "read=" + top + "/moved/b/secret",
                                      "read=" + top + "/other/b/secret"};
  const Finished inside = scene.acts(acts, extra);
  for (const auto& act : acts) {
    if (act.starts_with("mkdir")) continue;
    EXPECT_THAT(verdict(inside, act), StartsWith("DENIED")) << act << inside;
  }
  EXPECT_EQ(scene.tree().read("work/project/a/b/secret"), "k");
  const Finished outside = scene.acts_bare({"rename=" + top + "/a:" + top + "/moved"});
  EXPECT_THAT(lines(outside, "rename"), Not(IsEmpty()));
  EXPECT_FALSE(outside.says("DENIED")) << outside;
}

TEST_P(Filesystem, ALinkIsFollowedToWhatItNamesAndTheSpellingWorks) {
  scene.tree().write("home/real/data.txt", "d");
  scene.tree().link("work/short", scene.home() + "/real");
  allowed_inside({"read=" + scene.in_work("short/data.txt"), "read=" + scene.home() + "/real/data.txt"},
                 list("read", {"./short"}));
}

struct Mount {
  std::string at;
  std::set<std::string> options;
};

std::vector<Mount> mounts(const Finished& inside) {
  std::vector<Mount> all;
  for (const auto& line : lines(inside, "| ")) {
    std::istringstream fields(line);
    std::string skip;
    Mount mount;
    std::string options;
    fields >> skip >> skip >> skip >> skip >> mount.at >> options;
    std::istringstream parts(options);
    for (std::string part; std::getline(parts, part, ',');) mount.options.insert(part);
    if (!mount.at.empty()) all.push_back(mount);
  }
  return all;
}

TEST_P(Filesystem, NoMountHoldsSetIdProgramsOrDevicesAndWhatIsWritableIsNotExecutable) {
  scene.tree().make_directory("work/out");
  scene.tree().make_directory("work/in");
  const std::string extra = list("write", {"./out"}) + list("read", {"./in"});
  const auto all = mounts(scene.acts({"show-file=/proc/self/mountinfo"}, extra));
  ASSERT_GE(all.size(), 5U);
  bool saw_out = false;
  for (const auto& mount : all) {
    EXPECT_TRUE(mount.options.contains("nosuid")) << mount.at;
    const bool device = mount.at.starts_with("/dev");
    EXPECT_TRUE(device || mount.options.contains("nodev")) << mount.at;
    const bool writable = mount.options.contains("rw");
    const bool a_device = device && mount.at != "/dev" && mount.at != "/dev/shm" && mount.at != "/dev/pts";
    EXPECT_TRUE(!writable || a_device || mount.options.contains("noexec")) << mount.at;
    saw_out = saw_out || (mount.at == scene.in_work("out") && writable);
  }
  EXPECT_TRUE(saw_out);
}

TEST_P(Filesystem, UnderExecAllWhatWasWrittenMayBeExecuted) {
  scene.tree().make_directory("work/out");
  scene.tree().copy("work/out/program", programs().act);
  const std::string program = scene.in_work("out/program");
  allowed_inside({"exec=" + program, "mmap-exec=" + program}, list("write", {"./out"}) + "exec: all\n");
}

TEST_P(Filesystem, UnderExecNoneWhatWasWrittenIsNotEvenMapped) {
  scene.tree().copy("work/out/program", programs().act);
  denied_inside({"mmap-exec=" + scene.in_work("out/program")}, list("write", {"./out"}));
}

/// In a mount namespace of the test's own: first this, then the words.
Finished with_mounts(const Scene& scene, const std::string& mounts, const std::string& words) {
  return scene.outside({"unshare", "--mount", "--propagation", "private", "sh", "-ec", mounts + "\n" + words})
      .env("HOME", scene.home())
      .run();
}

TEST_P(Mounted, TheKernelsFileSystemsBelowAGrantAreHidden) {
  const std::string at = scene.tree().make_directory("work/c/proc");
  const std::string groups = scene.tree().make_directory("work/c/groups");
  const std::string mounts = "mount -t proc proc " + at + "\nmount -t sysfs sysfs " + groups;
  const std::vector<std::string> acts = {"read=" + at + "/version", "append=" + at + "/sys/kernel/core_pattern",
                                         "read=" + groups + "/kernel/mm/transparent_hugepage/enabled"};
  for (const char* key : {"read", "write"}) {
    const std::string manifest = scene.manifest(act_manifest(acts, list(key, {"./c"})));
    const Finished run = with_mounts(scene, mounts, programs().cordon + " run --allow-unapproved " + manifest);
    for (const std::string& act : acts) EXPECT_THAT(verdict(run, act), StartsWith("DENIED")) << key << act << run;
    const Finished said = with_mounts(scene, mounts, programs().cordon + " validate " + manifest);
    EXPECT_TRUE(said.says("proc file system")) << said;
  }
  EXPECT_EQ(with_mounts(scene, mounts, "head -c1 " + at + "/version >/dev/null").code, 0) << "the control";
  const std::string direct = scene.manifest(act_manifest({"fork"}, list("write", {"./c/proc/sys"})));
  EXPECT_EQ(with_mounts(scene, mounts, programs().cordon + " run --allow-unapproved " + direct).code, 125);
}

TEST_P(Mounted, WhatTheHostKeepsInUsrLocalEtcIsHiddenUnlessALineNamesIt) {
  const std::string mounts =
      "mount -t tmpfs none /usr/local/etc\numask 077\necho key >/usr/local/etc/x.key\necho app >/usr/local/etc/app";
  const std::string key = "show-file=/usr/local/etc/x.key", app = "show-file=/usr/local/etc/app";
  const std::string run = programs().cordon + " run --allow-unapproved ";
  const Finished hidden = with_mounts(scene, mounts, run + scene.manifest(act_manifest({key, app})));
  EXPECT_THAT(verdict(hidden, key), StartsWith("DENIED")) << hidden;
  EXPECT_THAT(verdict(hidden, app), StartsWith("DENIED")) << hidden;
  const Finished named =
      with_mounts(scene, mounts, run + scene.manifest(act_manifest({key, app}, list("read", {"/usr/local/etc/app"}))));
  EXPECT_FALSE(named.says("| key")) << "an empty file stands for it" << named;
  EXPECT_TRUE(named.says("| app")) << "the control" << named;
}

}  // namespace
}  // namespace cordon::test
