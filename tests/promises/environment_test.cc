// Promise: the target gets the variables that its manifest lists and no others, no descriptor but its standard streams,
// and leaves no core dump with a piped handler.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

CORDON_PROMISE(Environment);

TEST_P(Environment, OnlyListedNamesPass) {
  const std::string manifest = scene.approved(act_manifest({"show-env"}, "env: [PASSED, UNSET]\n"));
  const Finished inside = scene.cordon({"run", manifest}).env("PASSED", "yes").env("SECRET_TOKEN", "hunter2").run();
  EXPECT_THAT(lines(inside, "env "), UnorderedElementsAre("PASSED=yes", "HOME=/tmp", "PATH=/usr/bin:/bin")) << inside;
  EXPECT_FALSE(inside.says("hunter2"));
  const Finished outside = scene.outside({scene.in_work("act"), "show-env"}).env("SECRET_TOKEN", "hunter2").run();
  EXPECT_TRUE(outside.says("hunter2"));
}

TEST_P(Environment, HomeAndPathPassWhereListed) {
  const Finished inside = scene.acts({"show-env"}, "env: [HOME, PATH]\n");
  EXPECT_THAT(lines(inside, "env "), Contains("HOME=" + scene.home())) << inside;
  EXPECT_THAT(lines(inside, "env "), Contains(StartsWith("PATH=/usr/local/sbin:"))) << inside;
}

TEST_P(Environment, AValueIsSuppliedForAListedNameOnly) {
  const std::string manifest = scene.approved(act_manifest({"show-env"}, "env: [TOKEN]\n"));
  const Finished listed = scene.cordon({"run", "--env", "TOKEN=s3cret", manifest}).run();
  EXPECT_THAT(lines(listed, "env "), Contains("TOKEN=s3cret")) << listed;
  const Finished other = scene.cordon({"run", "--env", "OTHER=s3cret", manifest}).run();
  EXPECT_EQ(other.code, 125) << other;
  EXPECT_TRUE(other.says("OTHER")) << other;
  EXPECT_FALSE(other.says("s3cret")) << "a value is never printed";
}

TEST_P(Environment, ValuesAreNeverPrinted) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}, "env: [TOKEN]\n"));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"inspect", manifest},
                                                  {"inspect", "--json", manifest},
                                                  {"validate", manifest},
                                                  {"validate", "--json", manifest},
                                                  {"run", "--dry-run", manifest},
                                                  {"run", "--json", manifest}}) {
    const Finished shown = scene.cordon(command).env("TOKEN", "hunter2").run();
    EXPECT_FALSE(shown.says("hunter2")) << command[0];
    EXPECT_EQ(shown.code, 0) << command[0] << shown;
  }
}

TEST_P(Environment, DescriptorsAboveTwoAreClosed) {
  const auto leak = [] {
    ::dup2(1, 5);
    ::dup2(1, 77);
    ::dup2(1, 300);
  };
  const std::string manifest = scene.approved(act_manifest({"show-fds"}));
  const Finished outside = scene.outside({scene.in_work("act"), "show-fds"}).before(leak).run();
  EXPECT_THAT(lines(outside, "fds "),
              ElementsAre(testing::AllOf(HasSubstr(" 5 "), HasSubstr(" 77 "), HasSubstr(" 300"))))
      << outside;
  const Finished inside = scene.cordon({"run", manifest}).before(leak).run();
  EXPECT_THAT(lines(inside, "fds"), ElementsAre(" 0 1 2")) << inside;
}

TEST_P(Environment, ANetworkSocketAsAStandardStreamIsRefused) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}));
  const Finished inside = scene.cordon({"run", manifest})
                              .before([] {
                                const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
                                ::dup2(fd, 0);
                              })
                              .run();
  EXPECT_EQ(inside.code, 125) << inside;
  EXPECT_TRUE(inside.says("stdin") || inside.says("standard input")) << inside;
}

// Such a socket reaches services with abstract names of the network namespace that it was made in: the host's.
TEST_P(Environment, AUnixSocketThatIsNotJoinedForGoodIsRefusedAsAStandardStream) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}));
  const auto run_with = [&](int type, bool pair) {
    return scene.cordon({"run", manifest})
        .before([=] {
          std::array<int, 2> fds{-1, -1};
          if (pair ? ::socketpair(AF_UNIX, type, 0, fds.data()) == 0 : (fds[0] = ::socket(AF_UNIX, type, 0)) >= 0) {
            ::dup2(fds[0], 0);
          }
        })
        .run();
  };
  for (const Finished& inside :
       {run_with(SOCK_DGRAM, true), run_with(SOCK_DGRAM, false), run_with(SOCK_STREAM, false)}) {
    EXPECT_EQ(inside.code, 125) << inside;
    EXPECT_TRUE(inside.says("standard input")) << inside;
  }
  const Finished joined = run_with(SOCK_STREAM, true);
  EXPECT_EQ(joined.code, 0) << joined;
}

TEST_P(Environment, ADirectoryAsAStandardStreamIsRefused) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}));
  const Finished inside = scene.cordon({"run", manifest})
                              .before([] {
                                const int fd = ::open("/", O_RDONLY | O_DIRECTORY);
                                ::dup2(fd, 0);
                              })
                              .run();
  EXPECT_EQ(inside.code, 125) << inside;
}

// Else the first file that somebody opens takes the place, of Cordon's or of the target's.
TEST_P(Environment, AClosedStandardStreamIsDevNull) {
  const std::string manifest = scene.approved(act_manifest({"show-fds", "exit=7"}));
  for (const int closed : {0, 1, 2}) {
    const Finished inside = scene.cordon({"run", manifest}).before([closed] { ::close(closed); }).run();
    EXPECT_EQ(inside.code, 7) << closed << inside;
    if (closed != 1) {
      EXPECT_THAT(lines(inside, "fds"), ElementsAre(" 0 1 2")) << closed << inside;
    }
  }
  const Finished untold = scene.cordon({"run", "--json", manifest}).before([] { ::close(1); }).run();
  EXPECT_EQ(untold.code, 125) << "a verdict that nobody can have got is not taken for delivered" << untold;
}

TEST_P(Environment, ItStartsInItsEntrypointsDirectory) {
  const Finished inside = scene.acts({"show-cwd"});
  EXPECT_THAT(lines(inside, "cwd "), ElementsAre(scene.work())) << inside;
}

TEST_P(Environment, NoCoreDumpLeaves) {
  // 1 is the kernel's word for "to no pipe either" (core(5)); the target cannot raise it.
  const Finished inside = scene.acts({"show-core", "raise-core"});
  EXPECT_THAT(lines(inside, "core "), ElementsAre(testing::AnyOf("1 1", "0 0"))) << inside;
  EXPECT_THAT(verdict(inside, "raise-core"), StartsWith("DENIED")) << inside;
}

TEST_P(Environment, InputAndOutputPassThrough) {
  scene.tree().write("work/upper.py",
                     "import sys\nsys.stdout.write(sys.stdin.read().upper())\nsys.stderr.write('to err\\n')\n");
  const std::string manifest = scene.approved("entrypoint: ./upper.py\ninterpreter: /usr/bin/python3\n");
  const Finished inside = scene.cordon({"run", manifest}).input("abc\n").run();
  EXPECT_EQ(inside.out, "ABC\n") << inside;
  EXPECT_THAT(inside.err, HasSubstr("to err\n"));
}

}  // namespace
}  // namespace cordon::test
