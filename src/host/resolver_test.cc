#include "host/resolver.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;
using testing::as_each_user;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempTree;

/// A resolver of its own, as `caller` (who may be somebody else than this process: then its own links are foreign).
struct Fresh {
  explicit Fresh(std::uint32_t caller_uid = ::geteuid(), std::string_view passwd = "", std::string_view group = "")
      : accounts(AccountBook::parse(passwd, group)),
        tree({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts, pins),
        resolver(tree, accounts, caller_uid) {}
  PathFact operator()(const std::string& path) { return resolver.resolve(path, Keep::kIfRoom); }

  MountTable mounts = MountTable::read();
  AccountBook accounts;
  std::shared_ptr<PinStore> pins = std::make_shared<PinStore>();
  Tree tree;
  Resolver resolver;
};

PathFact resolve(const std::string& path) { return Fresh()(path); }

struct ::stat stat_of(const std::string& path) {
  struct ::stat about{};
  EXPECT_EQ(::lstat(path.c_str(), &about), 0) << path;
  return about;
}

TEST(Resolver, SaysWhatAPlainFileIs) {
  as_each_user([] {
    const TempTree tree;
    const std::string path = tree.file("file", "content", 0640);
    const auto about = stat_of(path);
    const PathFact fact = resolve(path);
    EXPECT_EQ(fact.state, PathState::kPresent);
    EXPECT_EQ(fact.code, 0);
    EXPECT_EQ(fact.asked, path);
    EXPECT_EQ(fact.real, path);
    EXPECT_EQ(fact.id.device, about.st_dev);
    EXPECT_EQ(fact.id.inode, about.st_ino);
    EXPECT_EQ(fact.id.type, static_cast<std::uint32_t>(S_IFREG));
    EXPECT_EQ(fact.uid, ::geteuid());
    EXPECT_EQ(fact.gid, ::getegid());
    EXPECT_EQ(fact.mode, 0640U);
    EXPECT_EQ(fact.links, 1U);
    EXPECT_TRUE(fact.writable);
    EXPECT_FALSE(fact.executable);
    EXPECT_FALSE(fact.noexec);
    EXPECT_FALSE(fact.read_only);
    EXPECT_FALSE(fact.on_proc);
    EXPECT_THAT(fact.hops, IsEmpty());
    EXPECT_THAT(fact.planted_by, IsEmpty());
  });
}

TEST(Resolver, ResolvesTheRootDirectory) {
  const PathFact fact = resolve("/");
  EXPECT_EQ(fact.state, PathState::kPresent);
  EXPECT_EQ(fact.real, "/");
  EXPECT_EQ(fact.id.inode, stat_of("/").st_ino);
}

TEST(Resolver, FollowsRelativeAndAbsoluteLinksAndRecordsEachHop) {
  const TempTree tree;
  tree.dir("d");
  tree.file("d/file");
  tree.link("relative", "d/file");
  tree.link("absolute", tree.path("relative"));
  const PathFact fact = resolve(tree.path("absolute"));
  EXPECT_EQ(fact.real, tree.path("d/file"));
  const plan::LinkHop first{.at = tree.path("absolute"), .target = tree.path("relative"), .owner = ::geteuid()};
  const plan::LinkHop second{.at = tree.path("relative"), .target = "d/file", .owner = ::geteuid()};
  EXPECT_THAT(fact.hops, ElementsAre(first, second));
}

TEST(Resolver, TakesDotDotBehindALinkFromWhereTheLinkLeads) {
  const TempTree tree;
  tree.dir("far");
  tree.dir("far/deep");
  tree.file("far/here");
  tree.file("here");
  tree.link("jump", "far/deep");
  tree.link("up", "jump/../here");
  EXPECT_EQ(resolve(tree.path("up")).real, tree.path("far/here"));
}

TEST(Resolver, KeepsDotDotAtTheRootThere) {
  const TempTree tree;
  tree.link("over", "/../../../../usr");
  EXPECT_EQ(resolve(tree.path("over")).real, "/usr");
}

TEST(Resolver, FollowsFortyLinksAndNoMore) {
  const TempTree tree;
  tree.file("l0");
  for (int i = 1; i <= 41; ++i) tree.link("l" + std::to_string(i), "l" + std::to_string(i - 1));
  const PathFact most = resolve(tree.path("l40"));
  EXPECT_EQ(most.state, PathState::kPresent);
  EXPECT_EQ(most.hops.size(), 40U);
  EXPECT_EQ(stat_of(most.real).st_ino, most.id.inode);
  const PathFact more = resolve(tree.path("l41"));
  EXPECT_EQ(more.state, PathState::kLoop);
  EXPECT_EQ(more.code, ELOOP);
  struct ::stat unused{};
  EXPECT_EQ(::stat(tree.path("l41").c_str(), &unused), -1) << "the kernel draws the line elsewhere";
}

TEST(Resolver, NamesALoop) {
  const TempTree tree;
  tree.link("self", "self");
  tree.link("a", "b");
  tree.link("b", "a");
  for (const char* name : {"self", "a", "b", "a/x"})
    EXPECT_EQ(resolve(tree.path(name)).state, PathState::kLoop) << name;
}

TEST(Resolver, SaysWhereADanglingLinkWouldLand) {
  const TempTree tree;
  tree.dir("d");
  tree.link("dangling", "d/not/there");
  const PathFact fact = resolve(tree.path("dangling"));
  EXPECT_EQ(fact.state, PathState::kAbsent);
  EXPECT_EQ(fact.code, ENOENT);
  EXPECT_EQ(fact.real, tree.path("d/not/there"));
  EXPECT_EQ(fact.first_absent, tree.path("d/not"));
  EXPECT_EQ(fact.id.inode, stat_of(tree.path("d")).st_ino);
  EXPECT_TRUE(fact.writable);
}

TEST(Resolver, GoesOnThroughComponentsThatAreNotThere) {
  const TempTree tree;
  const PathFact fact = resolve(tree.path("no/such/thing"));
  EXPECT_EQ(fact.state, PathState::kAbsent);
  EXPECT_EQ(fact.real, tree.path("no/such/thing"));
  EXPECT_EQ(fact.first_absent, tree.path("no"));
  EXPECT_EQ(fact.id.inode, stat_of(tree.path()).st_ino);
}

TEST(Resolver, RefusesALinkThatClimbsOutOfWhatIsNotThere) {
  const TempTree tree;
  tree.file("file");
  tree.link("odd", "missing/../file");
  const PathFact fact = resolve(tree.path("odd"));
  EXPECT_EQ(fact.state, PathState::kFailed);
  EXPECT_EQ(fact.code, ENOENT);
  EXPECT_EQ(fact.real, tree.path("file"));
}

TEST(Resolver, SaysWhatIsNoDirectory) {
  const TempTree tree;
  tree.file("file");
  tree.link("link", "file");
  tree.link("slash", "file/");
  for (const char* name : {"file/x", "file/x/y", "link/x", "slash"}) {
    const PathFact fact = resolve(tree.path(name));
    EXPECT_EQ(fact.state, PathState::kNotDirectory) << name;
    EXPECT_EQ(fact.code, ENOTDIR) << name;
    EXPECT_EQ(fact.real, tree.path("file")) << name;
  }
}

TEST(Resolver, BoundsNamesAndPathsAsTheKernelDoes) {
  const TempTree tree;
  EXPECT_EQ(resolve(tree.path(std::string(255, 'n'))).state, PathState::kAbsent);
  EXPECT_EQ(resolve(tree.path(std::string(256, 'n'))).state, PathState::kTooLong);
  EXPECT_EQ(resolve(tree.path("absent/" + std::string(256, 'n'))).state, PathState::kTooLong);
  EXPECT_EQ(resolve(tree.path(std::string(4096, 'n'))).state, PathState::kTooLong);
  std::string deep = tree.path();
  while (deep.size() + 101 < 4096) deep += "/" + std::string(100, 'd');
  EXPECT_EQ(resolve(deep).state, PathState::kAbsent);
  EXPECT_EQ(resolve(deep + "/" + std::string(100, 'd')).state, PathState::kTooLong);
  // Short to write, too long to be.
  tree.link("long", deep.substr(tree.path().size() + 1));
  EXPECT_EQ(resolve(tree.path("long/" + std::string(100, 'd'))).state, PathState::kTooLong);
}

TEST(Resolver, TakesNamesAsBytes) {
  const TempTree tree;
  for (const char* name : {"new\nline", "tab\there", "\x01\x1b[31m",
                           "\xe2\x80\xae"
                           "gnp.exe",
                           "\xff\xfe", " ", "a b", "..."}) {
    const std::string path = tree.file(name);
    const PathFact fact = resolve(path);
    EXPECT_EQ(fact.state, PathState::kPresent);
    EXPECT_EQ(fact.real, path);
    EXPECT_EQ(fact.id.inode, stat_of(path).st_ino);
  }
}

TEST(Resolver, WordsHostileNamesQuoted) {
  const TempTree tree;
  tree.dir("open", 0777);
  const std::string name = "open/a\n\x1b[2Jb";
  tree.link(name, "x");
  const PathFact fact = resolve(tree.path(name));
  EXPECT_THAT(fact.planted_by, HasSubstr("\\n"));
  EXPECT_EQ(fact.planted_by.find('\n'), std::string::npos);
  EXPECT_EQ(fact.planted_by.find('\x1b'), std::string::npos);
}

TEST(Resolver, OpensNoFifoSocketOrDevice) {
  const TempTree tree;
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, tree.path("socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(resolve(tree.path("fifo")).id.type, static_cast<std::uint32_t>(S_IFIFO));
  EXPECT_EQ(resolve(tree.path("socket")).id.type, static_cast<std::uint32_t>(S_IFSOCK));
  EXPECT_EQ(resolve("/dev/null").id.type, static_cast<std::uint32_t>(S_IFCHR));
  EXPECT_EQ(resolve(tree.path("fifo/x")).state, PathState::kNotDirectory);
  ::close(socket);
}

TEST(Resolver, KnowsWhatLiesOnProc) {
  const PathFact version = resolve("/proc/version");
  EXPECT_TRUE(version.on_proc);
  EXPECT_EQ(version.filesystem, "proc");
  const PathFact self = resolve("/proc/self");
  EXPECT_EQ(self.real, "/proc/" + std::to_string(::getpid()));
  EXPECT_TRUE(self.on_proc);
  EXPECT_FALSE(resolve("/etc").on_proc);
}

TEST(Resolver, FollowsNoMagicLinkOfProc) {
  for (const char* path : {"/proc/self/cwd", "/proc/self/exe", "/proc/self/root/etc", "/dev/fd/0"}) {
    const PathFact fact = resolve(path);
    EXPECT_EQ(fact.state, PathState::kFailed) << path;
    EXPECT_EQ(fact.code, ELOOP) << path;
    EXPECT_TRUE(fact.on_proc) << path;
  }
  // A plain link of proc is one.
  EXPECT_EQ(resolve("/proc/mounts").real, "/proc/" + std::to_string(::getpid()) + "/mounts");
}

TEST(Resolver, RefusesWhatIsNoPath) {
  for (const std::string& path : {std::string("relative"), std::string(), std::string("/a\0b", 4)}) {
    const PathFact fact = resolve(path);
    EXPECT_EQ(fact.state, PathState::kFailed);
    EXPECT_EQ(fact.code, EINVAL);
  }
}

TEST(Resolver, SaysWhatTheCallerMayDoThere) {
  // owner's bits bind the owner; root is bound by none but the execute bit of files.
  as_each_user([] {
    const TempTree tree;
    for (const unsigned bits : {0000U, 0400U, 0600U, 0500U, 0700U, 0070U, 0007U, 0111U, 0222U, 0755U}) {
      const std::string name = std::to_string(bits);
      tree.file("f" + name, "x", bits);
      tree.dir("d" + name, bits);
      for (const std::string& path : {tree.path("f" + name), tree.path("d" + name)}) {
        const PathFact fact = resolve(path);
        EXPECT_EQ(fact.state, PathState::kPresent) << path;
        EXPECT_EQ(fact.writable, ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) << path;
        EXPECT_EQ(fact.executable, ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) << path;
      }
    }
    for (const char* path : {"/usr", "/etc/passwd", "/tmp", "/root", "/bin/sh", "/proc/version", "/dev/null"}) {
      const PathFact fact = resolve(path);
      EXPECT_EQ(fact.writable, ::faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0) << path;
      EXPECT_EQ(fact.executable, ::faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0) << path;
    }
  });
}

TEST(Resolver, SaysWhatCannotBeChecked) {
  as_each_user([] {
    const TempTree tree;
    tree.dir("closed");
    tree.file("closed/file");
    tree.mode("closed", 0600);
    const PathFact fact = resolve(tree.path("closed/file"));
    if (::geteuid() == 0) {
      EXPECT_EQ(fact.state, PathState::kPresent);
      return;
    }
    EXPECT_EQ(fact.state, PathState::kDenied);
    EXPECT_EQ(fact.code, EACCES);
    EXPECT_EQ(fact.real, tree.path("closed/file"));
  });
}

TEST(Resolver, AsksEachNameOnce) {
  const TempTree tree;
  tree.file("file");
  Fresh fresh;
  const PathFact before = fresh(tree.path("file"));
  ASSERT_EQ(::unlink(tree.path("file").c_str()), 0);
  EXPECT_EQ(fresh(tree.path("file")), before) << "one Session has one view of the host";
}

TEST(Resolver, PinsTheInodeUntilItIsReleased) {
  const TempTree tree;
  const std::string path = tree.file("pinned");
  Fresh fresh;
  const std::uint64_t pinned = fresh(path).id.inode;
  int reused = 0;
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::symlink("/etc", path.c_str()), 0);
    if (stat_of(path).st_ino == pinned) ++reused;
  }
  EXPECT_EQ(reused, 0) << "the number went to another file while it was planned on";
}

}  // namespace
}  // namespace cordon::host
