// Promise: a device that `devices:` or `--device` names is there and works, no other is, and those by which a program
// would leave the sandbox are refused by name.

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "support/pause.h"
#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {

CORDON_ROOT_PROMISE(Devices);

/// What a reviewer is told of a manifest that cannot be approved.
Finished refused(const Scene& scene, const std::string& lines) {
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  return scene.cordon({"approve", "--yes", scene.manifest("entrypoint: ./run.sh\n" + lines)}).run();
}

/// A node of the host's /dev that gives bytes, gone at the end.
class Node {
 public:
  explicit Node(const std::string& name, dev_t number = makedev(1, 9)) : path_("/dev/" + name) {
    ::unlink(path_.c_str());
    require(::mknod(path_.c_str(), S_IFCHR | 0666, number) == 0, "mknod " + path_);
    require(::chmod(path_.c_str(), 0666) == 0, path_);
  }
  ~Node() { ::unlink(path_.c_str()); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string own_name(const char* what) { return std::string("cordon-test-") + what + std::to_string(::getpid()); }

TEST_P(Devices, ThatIsNamedIsThereAndNoOtherIs) {
  const Node named(own_name("a")), other(own_name("b"));
  allowed_inside({"read=" + named.path()}, "devices: [" + named.path() + "]\n");
  denied_inside({"read=" + other.path(), "chmod=" + named.path()}, "devices: [" + named.path() + "]\n");
  denied_inside({"read=" + named.path()});
}

TEST_P(Devices, ItsNodeCannotBeChangedOrExchanged) {
  const Node named(own_name("a"));
  const Finished inside =
      scene.acts({"unlink=" + named.path(), "chmod=" + named.path(), "create=/dev/planted", "read=" + named.path()},
                 "devices: [" + named.path() + "]\n");
  EXPECT_THAT(verdict(inside, "unlink=" + named.path()), testing::StartsWith("DENIED")) << inside;
  EXPECT_THAT(verdict(inside, "chmod=" + named.path()), testing::StartsWith("DENIED")) << inside;
  EXPECT_THAT(verdict(inside, "create=/dev/planted"), testing::StartsWith("DENIED")) << inside;
  EXPECT_EQ(verdict(inside, "read=" + named.path()), "ALLOWED") << inside;
  struct ::stat now{};
  ASSERT_EQ(::stat(named.path().c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0666U);
}

TEST_P(Devices, ACommandHasItByAFlag) {
  const Node named(own_name("a"));
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "head", "-c1", named.path()});
    return scene.cordon(flags).in(scene.in_work("project")).run();
  };
  EXPECT_EQ(run({"--device", named.path()}).code, 0);
  EXPECT_NE(run({}).code, 0);
}

TEST_P(Devices, WhatOpensTheHostIsRefusedWhateverItsName) {
  const Node memory(own_name("innocent"), makedev(1, 1)), loops(own_name("loops"), makedev(10, 237));
  ::unlink("/dev/cordon-test-link");
  require(::symlink("null", "/dev/cordon-test-link") == 0, "symlink");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {memory.path(), "(number 1:1) is none"},  {loops.path(), "(number 10:237) is none"},
      {"/dev/tty1", "(number 4:1) is none"},    {"/dev/pts", "is a directory"},
      {"/dev/shm", "is a directory"},           {"/dev/cordon-test-link", "is a link"},
      {"/dev/no-such-device", "does not exist"}};
  for (const auto& [path, words] : cases) {
    struct ::stat there{};
    if (path == "/dev/tty1" && ::stat(path.c_str(), &there) != 0) continue;  // a machine without screens has none
    const Finished got = refused(scene, "devices: [" + path + "]\n");
    EXPECT_EQ(got.code, 125) << path << got;
    EXPECT_TRUE(got.says("devices: " + path)) << got;
    EXPECT_TRUE(got.says(words)) << got;
  }
  ::unlink("/dev/cordon-test-link");
}

TEST_P(Devices, OneThatIsExchangedBeforeTheMountIsRefused) {
  const Node named(own_name("a"));
  scene.tree().write("work/run.sh", "#!/bin/sh\nexec head -c1 " + named.path() + "\n", 0755);
  const std::string manifest = scene.manifest("entrypoint: ./run.sh\nexec: all\ndevices: [" + named.path() + "]\n");
  ASSERT_EQ(scene.cordon({"approve", "--yes", manifest}).run().code, 0);
  Running run = scene.cordon({"run", manifest}).stopped().start();
  ASSERT_TRUE(pause_at_launch(run.pid(), [&] {
    ::unlink(named.path().c_str());
    require(::mknod(named.path().c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0, "mknod");
  }));
  const Finished got = run.wait();
  EXPECT_EQ(got.code, 125) << got;
  EXPECT_TRUE(got.says(named.path())) << got;
}

}  // namespace
}  // namespace cordon::test
