// `cordon changes`: what is kept of runs, with an entry as the end of a run writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ChangesCommand : public testing::TestWithParam<Identity> {
 protected:
  ChangesCommand() {
    scene.tree().write("work/project/source.c", "one\ntwo\nthree\n");
    ::usleep(15'000);
    since_ = facts_of(scene.tree().write("work/stamp", "")).st_ctim;
    ::usleep(15'000);
  }

  static struct stat facts_of(const std::string& path) {
    struct stat out{};
    EXPECT_EQ(::stat(path.c_str(), &out), 0) << path;
    return out;
  }

  /// An entry of the registry; what is below its upper is the caller's to write.
  void keep(const std::string& id) const {
    const auto project = facts_of(scene.in_work("project"));
    std::string about;
    for (const std::string& field :
         {std::string("cordon-kept-1"), scene.in_work("project"), std::to_string(::time(nullptr)),
          std::to_string(project.st_dev), std::to_string(project.st_ino), std::to_string(since_.tv_sec),
          std::to_string(since_.tv_nsec), std::to_string(scene.who().uid), std::to_string(scene.who().gid),
          std::string("2"), std::string("4096"), std::string("2"), std::string("npm"), std::string("in\nstall")})
      about.append(field).push_back('\0');
    scene.tree().make_directory("home/.local/state/cordon/kept", 0700);
    scene.tree().make_directory(place(id), 0700);
    scene.tree().make_directory(place(id) + "/scratch", 0700);
    scene.tree().make_directory(place(id) + "/upper");
    scene.tree().write(place(id) + "/about", about, 0600);
  }
  static std::string place(const std::string& id) { return "home/.local/state/cordon/kept/" + id; }
  [[nodiscard]] Finished changes(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), "changes");
    return scene.cordon(words).run();
  }

  Scene scene{GetParam()};
  timespec since_{};
};
INSTANTIATE_TEST_SUITE_P(As, ChangesCommand, testing::ValuesIn(identities()), identity_name);

TEST_P(ChangesCommand, ListsShowsAndComparesWhatIsKept) {
  keep("run-1");
  scene.tree().write(place("run-1") + "/upper/source.c", "one\n2\nthree\n");
  scene.tree().write(place("run-1") + "/upper/evil\x1b[2J", "x");
  const Finished all = changes();
  EXPECT_EQ(all.code, 0) << all;
  EXPECT_THAT(all.out, AllOf(HasSubstr("run-1"), HasSubstr("npm \"in\\nstall\""), HasSubstr("/project"))) << all;
  const Finished one = changes({"run"});
  EXPECT_THAT(one.out, AllOf(HasSubstr("changed"), HasSubstr("source.c"), HasSubstr("evil\\x1b[2J"))) << one;
  EXPECT_THAT(one.out, Not(HasSubstr("-two")));
  const Finished compared = changes({"--diff"});
  EXPECT_THAT(compared.out, HasSubstr("--- a/source.c\n+++ b/source.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"))
      << compared;
  EXPECT_EQ(scene.tree().read("work/project/source.c"), "one\ntwo\nthree\n");
  const auto document = nlohmann::json::parse(changes({"run-1", "--json"}).out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(document["total"], 2);
  EXPECT_EQ(document["changes"][1]["what"], "changed");
  EXPECT_EQ(nlohmann::json::parse(changes({"--json"}).out)["kept"].size(), 1U);
}

TEST_P(ChangesCommand, AppliesWhatMayArriveAndNamesWhatStays) {
  keep("run-1");
  scene.tree().write(place("run-1") + "/upper/source.c", "new\n");
  scene.tree().write(place("run-1") + "/upper/.git/hooks/pre-commit", "evil", 0755);
  scene.tree().link(place("run-1") + "/upper/rc", "/home/victim/.bashrc");
  const Finished applied = changes({"apply"});
  EXPECT_EQ(applied.code, 1) << applied;
  EXPECT_THAT(applied.out, AllOf(HasSubstr("1 file"), HasSubstr(".git is a git repository"),
                                 HasSubstr("rc is a link that leaves the workspace")))
      << applied;
  EXPECT_EQ(scene.tree().read("work/project/source.c"), "new\n");
  EXPECT_FALSE(scene.tree().exists("work/project/.git"));
  EXPECT_EQ(changes({"discard", "run-1"}).code, 0);
  EXPECT_FALSE(scene.tree().exists(place("run-1")));
  EXPECT_THAT(changes().out, HasSubstr("no changes of yours are kept"));
}

TEST_P(ChangesCommand, RefusesWhatItCannotTellApartOrDoesNotKnow) {
  EXPECT_EQ(changes().code, 125);
  keep("run-1");
  keep("run-2");
  EXPECT_THAT(changes({"run"}).err, HasSubstr("more than one"));
  EXPECT_THAT(changes({"../run-1", "discard"}).err, HasSubstr("have an ID like"));
  EXPECT_EQ(changes({"apply", "discard"}).code, 125);
  EXPECT_EQ(changes({"run-1", "run-2"}).code, 125);
  EXPECT_TRUE(scene.tree().exists(place("run-1")));
  scene.tree().remove("work/project");
  EXPECT_THAT(changes({"run-1", "apply"}).err, HasSubstr("project"));
}

}  // namespace
}  // namespace cordon::test
