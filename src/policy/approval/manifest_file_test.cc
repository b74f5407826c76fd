#include "policy/approval/manifest_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <csignal>
#include <thread>

#include "policy/approval/testing_disk.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Who;

class OpenManifest : public testing::DiskOf {
 protected:
  /// The one problem of opening `path`.
  static base::Diagnostic problem_of(const std::string& path) {
    const auto opened = open_manifest(path);
    EXPECT_FALSE(opened) << path;
    if (opened || opened.error().size() != 1) return {};
    EXPECT_EQ(opened.error().front().at.file, path);
    return opened.error().front();
  }
};
INSTANTIATE_TEST_SUITE_P(As, OpenManifest, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(OpenManifest, ReadsTheBytesOnceAndTellsWhoseTheyAre) {
  const std::string path = file("m.yaml", "entrypoint: ./x\n", 0640);
  give_all_to(me());
  as(me(), [&] {
    const auto opened = open_manifest(path);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->text, "entrypoint: ./x\n");
    EXPECT_EQ(opened->digest, manifest::sha256_hex(opened->text));
    EXPECT_EQ(opened->written_path, path);
    EXPECT_EQ(opened->name_path, path);
    EXPECT_EQ(opened->real_path, path);
    EXPECT_EQ(opened->located, path);
    EXPECT_EQ(opened->directory, top());
    EXPECT_EQ(opened->facts.owner, me().uid);
    EXPECT_EQ(opened->facts.mode, 0640U);
    EXPECT_EQ(opened->facts.links, 1U);
    std::vector<std::string> crossed;
    for (const WalkStep& step : opened->walk) crossed.push_back(step.path);
    EXPECT_THAT(crossed, ElementsAre("/", "/tmp", top()));
  });
}

TEST_P(OpenManifest, TakesAPathFromTheCurrentDirectoryWithDotsInIt) {
  directory("a");
  file("m.yaml", "x");
  give_all_to(me());
  as(me(), [&] {
    ASSERT_EQ(::chdir(at("a").c_str()), 0);
    const auto opened = open_manifest("./.././/m.yaml");
    ASSERT_TRUE(opened) << opened.error().front().message;
    EXPECT_EQ(opened->real_path, at("m.yaml"));
    EXPECT_EQ(opened->directory, top());
    EXPECT_EQ(opened->walk.back().path, at("a"));  // crossed, so whoever owns it is judged as well
  });
}

TEST_P(OpenManifest, FollowsLinksItselfAndRecordsEach) {
  directory("real");
  file("real/m.yaml", "x");
  link("dir", "real");
  link("abs", at("dir") + "/m.yaml");
  link("name.yaml", "abs");
  give_all_to(me());
  as(me(), [&] {
    const auto opened = open_manifest(at("name.yaml"));
    ASSERT_TRUE(opened) << opened.error().front().message;
    EXPECT_EQ(opened->name_path, at("name.yaml"));
    EXPECT_EQ(opened->directory, top());
    EXPECT_EQ(opened->real_path, at("real/m.yaml"));
    EXPECT_EQ(opened->located, at("real/m.yaml"));
    std::vector<std::string> links;
    for (const WalkStep& step : opened->walk) {
      if (step.kind == WalkStep::Kind::kLink) links.push_back(step.path + " -> " + step.target);
    }
    EXPECT_THAT(links, ElementsAre(at("name.yaml") + " -> abs", at("abs") + " -> " + at("dir") + "/m.yaml",
                                   at("dir") + " -> real"));
    EXPECT_EQ(opened->walk.back().path, at("real"));
  });
}

TEST_P(OpenManifest, AnchorsAtTheDirectoryThatALinkReallyLeadsTo) {
  directory("deep/er");
  file("deep/m.yaml", "x");
  link("l", "deep/er");
  give_all_to(me());
  as(me(), [&] {
    const auto opened = open_manifest(at("l") + "/../m.yaml");  // not top()/m.yaml, as a lexical reading would have it
    ASSERT_TRUE(opened) << opened.error().front().message;
    EXPECT_EQ(opened->directory, at("deep"));
  });
}

TEST_P(OpenManifest, RefusesLoopsAndTooManyLinksAndAllowsForty) {
  link("loop", "loop");
  link("a", "b");
  link("b", "a");
  file("end.yaml", "x");
  link("hop0", "end.yaml");
  for (int i = 1; i <= 40; ++i) link("hop" + std::to_string(i), "hop" + std::to_string(i - 1));
  give_all_to(me());
  as(me(), [&] {
    EXPECT_EQ(problem_of(at("loop")).code, "manifest-loop");
    EXPECT_EQ(problem_of(at("a")).code, "manifest-loop");
    EXPECT_TRUE(open_manifest(at("hop39")));
    EXPECT_EQ(problem_of(at("hop40")).code, "manifest-loop");
  });
}

TEST_P(OpenManifest, NamesWhatIsNotARegularFileAndNeverBlocks) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  directory("dir");
  give_all_to(me());
  as(me(), [&] {
    ::alarm(20);  // a blocked open ends the test instead of hanging it
    const std::pair<std::string, std::string> kinds[] = {{at("fifo"), "is a FIFO"},
                                                         {at("socket"), "is a socket"},
                                                         {at("dir"), "is a directory"},
                                                         {"/dev/zero", "is a character device"},
                                                         {"/", "is a directory"},
                                                         {at("dir") + "/.", "is a directory"},
                                                         {at("dir") + "/..", "is a directory"}};
    for (const auto& [path, words] : kinds) {
      const auto problem = problem_of(path);
      EXPECT_EQ(problem.code, "manifest-not-regular") << path;
      EXPECT_THAT(problem.message, HasSubstr(words));
    }
  });
  ::close(socket);
}

TEST_P(OpenManifest, NamesAPipeThatIsHandedInByNumber) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  as(me(), [&] {
    const auto problem = problem_of("/proc/self/fd/" + std::to_string(ends[0]));
    EXPECT_EQ(problem.code, "manifest-not-regular");
    EXPECT_THAT(problem.message, HasSubstr("is a pipe"));
  });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_P(OpenManifest, TakesOneMebibyteAndNotAByteMore) {
  file("full.yaml", std::string(kMostManifestBytes, '#'));
  file("more.yaml", std::string(kMostManifestBytes + 1, '#'));
  give_all_to(me());
  as(me(), [&] {
    const auto full = open_manifest(at("full.yaml"));
    ASSERT_TRUE(full);
    EXPECT_EQ(full->text.size(), kMostManifestBytes);
    EXPECT_EQ(problem_of(at("more.yaml")).code, "manifest-too-large");
  });
}

TEST_P(OpenManifest, NamesWhatIsMissingOnTheWay) {
  file("plain", "x");
  link("dangling.yaml", at("gone"));
  give_all_to(me());
  as(me(), [&] {
    EXPECT_EQ(problem_of(at("none/m.yaml")).code, "manifest-missing");
    const auto dangling = problem_of(at("dangling.yaml"));
    EXPECT_EQ(dangling.code, "manifest-missing");
    EXPECT_THAT(dangling.message, HasSubstr(at("gone")));
    EXPECT_EQ(problem_of(at("plain") + "/m.yaml").code, "manifest-path");
    EXPECT_EQ(problem_of(at("plain") + "/").code, "manifest-path");
  });
}

TEST_P(OpenManifest, RefusesPathsThatNoFileCanHave) {
  as(me(), [&] {
    EXPECT_EQ(problem_of("").code, "manifest-path");
    EXPECT_EQ(problem_of(std::string("/tmp/a\0b", 8)).code, "manifest-path");
    EXPECT_EQ(problem_of("/tmp/" + std::string(4096, 'n')).code, "manifest-path");
    EXPECT_EQ(problem_of("/tmp/" + std::string(256, 'n')).code, "manifest-path");
  });
}

TEST_P(OpenManifest, EscapesAHostileName) {
  as(me(), [&] {
    const auto problem = problem_of(at("e\x1b[2J\n\xe2\x80\xae.yaml"));
    EXPECT_EQ(problem.code, "manifest-missing");
    EXPECT_THAT(problem.message, HasSubstr("e\\x1b[2J\\n\\u202e.yaml"));
    EXPECT_EQ(problem.message.find('\x1b'), std::string::npos);
  });
}

TEST_P(OpenManifest, GuessesTheManifestThatWasMeant) {
  file("fetch.py", "print()\n");
  file("fetch.py.manifest.yaml", "x");
  directory("two");
  file("two/build.manifest.yaml", "x");
  file("two/test.manifest.yaml", "x");
  directory("none");
  give_all_to(me());
  as(me(), [&] {
    const auto script = problem_of(at("fetch.py"));
    EXPECT_EQ(script.code, "manifest-is-script");
    EXPECT_THAT(script.hint, HasSubstr(at("fetch.py.manifest.yaml")));
    EXPECT_THAT(problem_of(at("fetch.py.manifest.yml")).hint,
                HasSubstr("did you mean " + at("fetch.py.manifest.yaml")));
    EXPECT_THAT(problem_of(at("two/biuld.manifest.yaml")).hint, HasSubstr(at("two/build.manifest.yaml")));
    EXPECT_THAT(problem_of(at("two")).hint, HasSubstr("test.manifest.yaml"));
    EXPECT_THAT(problem_of(top()).hint, HasSubstr("did you mean " + at("fetch.py.manifest.yaml")));
    EXPECT_THAT(problem_of(at("none/m.yaml")).hint, HasSubstr("entrypoint: ./PROGRAM"));
    EXPECT_EQ(manifest_beside(at("fetch.py")), at("fetch.py.manifest.yaml"));
    EXPECT_EQ(manifest_beside(at("none")), "");
    ASSERT_EQ(::chdir(top().c_str()), 0);
    EXPECT_EQ(problem_of("fetch.py").hint, "did you mean fetch.py.manifest.yaml?");
    EXPECT_EQ(problem_of("fetch").hint, "did you mean fetch.py.manifest.yaml?");
  });
}

TEST_P(OpenManifest, ReadsAScriptlikeFileWhereNoManifestIsBeside) {
  file("run", "#!/usr/bin/env -S cordon run\nentrypoint: ./x\n", 0755);
  give_all_to(me());
  as(me(), [&] { EXPECT_TRUE(open_manifest(at("run"))); });
}

TEST_P(OpenManifest, RefusesWhereTheCurrentDirectoryIsGone) {
  directory("gone");
  give_all_to(me());
  as(me(), [&] {
    ASSERT_EQ(::chdir(at("gone").c_str()), 0);
    ASSERT_EQ(::rmdir(at("gone").c_str()), 0);
    EXPECT_EQ(problem_of("m.yaml").code, "manifest-path");
  });
}

TEST_P(OpenManifest, NoticesAFileThatIsWrittenWhileItIsRead) {
  // A writer that never rests: either the read was whole and steady, or it is refused; it is never torn.
  const std::string path = file("m.yaml", std::string(900'000, 'a'));
  give_all_to(me());
  const pid_t writer = ::fork();
  if (writer == 0) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string texts[] = {std::string(900'000, 'b'), std::string(900'000, 'a')};
    for (int i = 0;; ++i) (void)!::pwrite(fd, texts[i % 2].data(), texts[i % 2].size(), 0);
  }
  as(me(), [&] {
    bool refused = false;
    for (int i = 0; i < 200 && !refused; ++i) {
      const auto opened = open_manifest(path);
      refused = !opened;
      EXPECT_EQ(refused ? opened.error().front().code : "", refused ? "manifest-changing" : "");
    }
    EXPECT_TRUE(refused);
  });
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
}

using OpenManifestAsUser = testing::Disk;

TEST_F(OpenManifestAsUser, NamesWhatMayNotBeReadOrReached) {
  const Who me = testing::user();
  const std::string secret = file("secret.yaml", "x", 0000);
  const std::string shut = directory("shut");
  file("shut/m.yaml", "x");
  give_all_to(me);
  ASSERT_EQ(::chmod(shut.c_str(), 0), 0);
  as(me, [&] {
    const auto unreadable = open_manifest(secret);
    ASSERT_FALSE(unreadable);
    EXPECT_EQ(unreadable.error().front().code, "manifest-unreadable");
    EXPECT_EQ(unreadable.error().front().hint, "chmod u+r " + secret);
    const auto unreachable = open_manifest(shut + "/m.yaml");
    ASSERT_FALSE(unreachable);
    EXPECT_EQ(unreachable.error().front().code, "manifest-unreadable");
    EXPECT_THAT(unreachable.error().front().message, HasSubstr("permission denied"));
  });
  ASSERT_EQ(::chmod(shut.c_str(), 0755), 0);
}

}  // namespace
}  // namespace cordon::policy::approval
