// The write of the stamp under everything that can go wrong with it: whatever happens, the name leads to the old bytes
// or to the new ones, and nothing else of ours is left.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>

#include "policy/approval/testing_stamp.h"

namespace cordon::policy::approval {
namespace {

using testing::Approval;
using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::shell;
using ::testing::StartsWith;
using testing::Who;

class Stamp : public testing::StampDisk {
 protected:
  static constexpr std::string_view kEvil = "entrypoint: ./evil\nexec: all\n";
  void replace_by_evil() const {
    std::ofstream(at("d/.evil")) << kEvil;
    ASSERT_EQ(::rename(at("d/.evil").c_str(), path().c_str()), 0);
  }
};
INSTANTIATE_TEST_SUITE_P(As, Stamp, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(Stamp, RefusesAFileThatWasReplacedWhileItWasRead) {
  as(me(), [&] {
    Approval reviewed = approval();
    replace_by_evil();
    const auto stamped = reviewed.stamp();
    ASSERT_FALSE(stamped);
    EXPECT_EQ(stamped.error().front().code, "manifest-changed");
    EXPECT_THAT(stamped.error().front().message, HasSubstr("changed while you were reading"));
    EXPECT_EQ(text_of(path()), kEvil);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
  });
}

TEST_P(Stamp, RefusesAFileThatWasReplacedByOneOfTheSameBytes) {
  as(me(), [&] {
    Approval reviewed = approval();
    std::filesystem::copy_file(path(), at("d/.copy"));
    ASSERT_EQ(::rename(at("d/.copy").c_str(), path().c_str()), 0);
    EXPECT_EQ(reviewed.stamp_code(), "manifest-changed");
    expect_untouched();
  });
}

TEST_P(Stamp, RefusesAFileThatWasEditedInPlace) {
  as(me(), [&] {
    Approval reviewed = approval();
    rewrite(std::string(kEvil));
    EXPECT_EQ(reviewed.stamp_code(), "manifest-changed");
    EXPECT_EQ(text_of(path()), kEvil);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
  });
}

TEST_P(Stamp, RefusesAFileThatWasRemovedOrBecameALink) {
  as(me(), [&] {
    Approval reviewed = approval();
    ASSERT_EQ(::rename(path().c_str(), at("d/kept.yaml").c_str()), 0);
    EXPECT_EQ(reviewed.stamp_code(), "manifest-changed");
    ASSERT_EQ(::symlink("kept.yaml", path().c_str()), 0);  // leads to the very file, yet is not what was inspected
    EXPECT_EQ(reviewed.stamp_code(), "manifest-changed");
    EXPECT_EQ(text_of(at("d/kept.yaml")), kText);
    EXPECT_THAT(names_of(at("d")), ElementsAre("kept.yaml", "m.yaml"));
  });
}

TEST_P(Stamp, RefusesWhereTheDirectoryWasMovedOrSwapped) {
  as(me(), [&] {
    Approval reviewed = approval();
    ASSERT_EQ(::rename(at("d").c_str(), at("was").c_str()), 0);
    EXPECT_EQ(reviewed.stamp_code(), "manifest-moved");
    ASSERT_EQ(::mkdir(at("d").c_str(), 0755), 0);
    rewrite(std::string(kEvil));
    EXPECT_EQ(reviewed.stamp_code(), "manifest-moved");
    EXPECT_EQ(text_of(path()), kEvil);
    EXPECT_EQ(text_of(at("was/m.yaml")), kText);
    EXPECT_THAT(names_of(at("was")), ElementsAre("m.yaml"));
  });
}

TEST_P(Stamp, FollowsTheLinkThatWasInspectedAndNeverARepointedOne) {
  as(me(), [&] {
    ASSERT_EQ(::symlink("d/m.yaml", at("l.yaml").c_str()), 0);
    std::ofstream(at("evil.yaml")) << kEvil;
    Approval reviewed(at("l.yaml"), journal(), me().caller());
    ASSERT_EQ(::unlink(at("l.yaml").c_str()), 0);
    ASSERT_EQ(::symlink("evil.yaml", at("l.yaml").c_str()), 0);
    ASSERT_EQ(reviewed.stamp_code(), "");
    EXPECT_EQ(text_of(at("evil.yaml")), kEvil);
    EXPECT_THAT(text_of(path()), HasSubstr("approves"));
    EXPECT_TRUE(std::filesystem::is_symlink(at("l.yaml")));
  });
}

TEST_P(Stamp, IsUndoneWhereTheFileIsReplacedInTheLastInstant) {
  // Whoever sees the temporary file appear knows that the first look is over; the exchange brings the truth out. The
  // manifest is large, so that it takes a while to write and sync.
  as(me(), [&] {
    const std::string large = std::string(kText) + "#" + std::string(1'000'000, 'x') + "\n";
    bool undone = false;
    for (int attempt = 0; attempt < 50 && !undone; ++attempt) {
      rewrite(large);
      Approval reviewed = approval();
      const int watch = ::inotify_init1(IN_CLOEXEC);
      ASSERT_GE(::inotify_add_watch(watch, at("d").c_str(), IN_CREATE), 0);
      std::ofstream(at("evil.yaml")) << kEvil;
      const pid_t attacker = ::fork();
      if (attacker == 0) {
        std::array<char, 4096> event{};
        (void)!::read(watch, event.data(), event.size());
        ::rename(at("evil.yaml").c_str(), path().c_str());
        ::_exit(0);
      }
      ::close(watch);
      undone = reviewed.stamp_code() == "manifest-changed";
      ::waitpid(attacker, nullptr, 0);
      EXPECT_EQ(text_of(path()), kEvil);  // refused or outrun: what the attacker put last is there, and is not stamped
      EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
    }
    EXPECT_TRUE(undone);
  });
}

TEST_P(Stamp, IsWholeOrAbsentWhereverItIsKilled) {
  as(me(), [&] {
    const std::string large = std::string(kText) + "#" + std::string(100'000, 'x') + "\n";
    const auto start_writer = [&] {
      rewrite(large);
      const pid_t writer = ::fork();
      if (writer == 0) {
        (void)approval().stamp().has_value();
        ::_exit(0);
      }
      return writer;
    };
    const auto begin = std::chrono::steady_clock::now();
    ::waitpid(start_writer(), nullptr, 0);
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    bool unstamped = false;
    for (int i = 0; i <= 20; ++i) {
      const pid_t writer = start_writer();
      ::usleep(static_cast<useconds_t>(whole.count() * i / 20));
      ::kill(writer, SIGKILL);
      ::waitpid(writer, nullptr, 0);
      const std::string text = text_of(path());
      ASSERT_THAT(text, StartsWith(large));
      unstamped = unstamped || text == large;
      const auto loaded = manifest::parse(text, "m.yaml");
      ASSERT_TRUE(loaded);
      EXPECT_EQ(loaded->policy.provenance.has_value(), text != large);
    }
    EXPECT_TRUE(unstamped);
    EXPECT_EQ(approval().stamp_code(), "");  // and a later approval works
  });
}

TEST_P(Stamp, FallsBackToARenameWhereTheFileSystemCannotExchange) {
  as(me(), [&] {
    // renameat2 with flags answers EINVAL, as on some file systems.
    const auto at_argument = [](unsigned index) {
      return static_cast<unsigned>(offsetof(seccomp_data, args)) + 8 * index;
    };
    std::array<sock_filter, 6> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at_argument(4)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    EXPECT_EQ(approval().stamp_code(), "");
    EXPECT_TRUE(approval().review().already_approved);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
    Approval reviewed = approval();
    replace_by_evil();
    EXPECT_EQ(reviewed.stamp_code(), "manifest-changed");
    EXPECT_EQ(text_of(path()), kEvil);
  });
}

TEST_P(Stamp, KeepsTheModeAndDropsWhatLetsOthersWrite) {
  as(me(), [&] {
    ::umask(0077);
    for (const auto& [before, after] : {std::pair{0644U, 0644U}, {0755U, 0755U}, {0400U, 0400U}, {0666U, 0644U}}) {
      rewrite(std::string(kText));
      ASSERT_EQ(::chmod(path().c_str(), before), 0);
      ASSERT_EQ(approval().stamp_code(), "") << before;
      EXPECT_EQ(mode_of(path()), after);
      ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
    }
  });
}

TEST_P(Stamp, LeavesNobodyElseWriteAccessByAnInheritedAcl) {
  as(me(), [&] {
    shell("setfacl -m u:60001:rw " + path());
    shell("setfacl -d -m u:60001:rwx " + at("d"));
    ASSERT_EQ(approval().stamp_code(), "");
    const auto opened = open_manifest(path());
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->acl.writers.empty());
    EXPECT_EQ(opened->facts.mode & 022U, 0U);
  });
}

TEST_P(Stamp, KeepsAnotherNameOfTheFileAsItIs) {
  as(me(), [&] {
    ASSERT_EQ(::link(path().c_str(), at("twin.yaml").c_str()), 0);
    ASSERT_EQ(approval().stamp_code(), "");
    EXPECT_EQ(text_of(at("twin.yaml")), kText);
  });
}

using StampAsUser = testing::Disk;

TEST_F(StampAsUser, SaysThatTheDirectoryMustBeWritable) {
  const Who me = testing::user();
  directory("d");
  file("d/m.yaml", "entrypoint: ./x\n");
  give_all_to(me);
  ASSERT_EQ(::chmod(at("d").c_str(), 0555), 0);
  as(me, [&] {
    Approval reviewed(at("d/m.yaml"), {}, me.caller());
    const auto stamped = reviewed.stamp();
    ASSERT_FALSE(stamped);
    EXPECT_EQ(stamped.error().front().code, "stamp-not-written");
    EXPECT_THAT(stamped.error().front().message, HasSubstr("EACCES"));
    EXPECT_THAT(stamped.error().front().hint, HasSubstr("the directory must be writable"));
  });
  EXPECT_EQ(text_of(at("d/m.yaml")), "entrypoint: ./x\n");
  ASSERT_EQ(::chmod(at("d").c_str(), 0755), 0);
}

class StampAsRoot : public testing::StampDisk {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StampAsRoot);
INSTANTIATE_TEST_SUITE_P(As, StampAsRoot, ::testing::ValuesIn(testing::root_only()), testing::name_of);

TEST_P(StampAsRoot, LeavesTheOldFileWhereTheDiskIsFull) {
  as(me(), [&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", at("d").c_str(), "tmpfs", 0, "size=64k"), 0);
    const std::string text = std::string(kText) + "#" + std::string(40'000, 'x') + "\n";
    rewrite(text);
    Approval reviewed = approval();
    const auto stamped = reviewed.stamp();
    ASSERT_FALSE(stamped);
    EXPECT_EQ(stamped.error().front().code, "stamp-not-written");
    EXPECT_THAT(stamped.error().front().message, HasSubstr("ENOSPC"));
    EXPECT_EQ(text_of(path()), text);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
    EXPECT_FALSE(std::filesystem::exists(journal().own));
  });
}

TEST_P(StampAsRoot, SaysSoWhereTheJournalsDiskIsFull) {
  as(me(), [&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mkdir(at("state").c_str(), 0700), 0);
    ASSERT_EQ(::mount("tmpfs", at("state").c_str(), "tmpfs", 0, "size=4k,mode=0700"), 0);
    std::ofstream(at("state/filler")) << std::string(100'000, 'x');
    const auto stamped = approval().stamp();
    ASSERT_TRUE(stamped);
    ASSERT_TRUE(stamped->journal_failure);
    EXPECT_EQ(stamped->journal_failure->code, ENOSPC);
    EXPECT_TRUE(names_of(journal().own).empty());
  });
}

TEST_P(StampAsRoot, SaysThatTheFileSystemIsReadOnly) {
  as(me(), [&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount(at("d").c_str(), at("d").c_str(), nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(::mount(nullptr, at("d").c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
    EXPECT_EQ(approval().stamp_code(), "stamp-not-written");
    expect_untouched();
  });
}

TEST_P(StampAsRoot, KeepsTheGroupThatTheFileHad) {
  const Who bob = testing::other();
  ASSERT_EQ(::chown(path().c_str(), 0, bob.gid), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
  ASSERT_EQ(approval().stamp_code(), "");
  struct stat found{};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_gid, bob.gid);
  EXPECT_EQ(found.st_uid, 0U);
  EXPECT_EQ(found.st_mode & 07777, 0640U);
}

TEST_P(StampAsRoot, LetsAUserStampRootsFileInTheUsersDirectory) {
  const Who user = testing::user();
  directory("home");
  file("home/m.yaml", std::string(kText));
  ASSERT_EQ(::chown(at("home").c_str(), user.uid, user.gid), 0);
  ASSERT_EQ(::chown(top().c_str(), user.uid, user.gid), 0);
  as(user, [&] {
    Approval reviewed(at("home/m.yaml"), journal(), user.caller());
    EXPECT_EQ(reviewed.stamp_code(), "");
    EXPECT_TRUE(Approval(at("home/m.yaml"), journal(), user.caller()).review().already_approved);
  });
}

}  // namespace
}  // namespace cordon::policy::approval
