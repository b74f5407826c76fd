// Promise: where a file system takes two spellings for one name, none of them leads around a shield: what a mount over
// the one would not hold is refused. On a real file system of that kind, so as root; for root and for an ordinary user.

#include <optional>

#include "support/folding.h"
#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::StartsWith;

std::vector<Identity> where_the_suite_may_mount() { return running_as_root() ? identities() : std::vector<Identity>(); }

class Folding : public Promise {
 protected:
  Folding() {
    for (const char* file : {"backing/p/.git/HEAD", "backing/p/.git/config", "backing/p/.git/hooks/pre-commit",
                             "backing/p/src/main.c", "backing/h/.ssh/id", "backing/h/notes/today"}) {
      scene.tree().write(file, "SENTINEL");
    }
    scene.tree().make_directory("shown");
    folding_.emplace(scene.tree().path("backing"), scene.tree().path("shown"));
  }
  [[nodiscard]] std::string shown(std::string_view name) const {
    return scene.tree().path("shown/" + std::string(name));
  }
  [[nodiscard]] Finished run(const std::vector<std::string>& acts, const std::string& grants) const {
    const std::string manifest = scene.manifest(act_manifest(acts, grants));
    return scene.cordon({"run", "--allow-unapproved", manifest}).env("HOME", shown("h")).run();
  }

 private:
  std::optional<FoldingMount> folding_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Folding);
INSTANTIATE_TEST_SUITE_P(As, Folding, testing::ValuesIn(where_the_suite_may_mount()), identity_name);

TEST_P(Folding, AProjectWhoseHooksHaveAnotherSpellingIsNotGrantedForWriting) {
  const std::vector<std::string> acts{"append=" + shown("p/.GIT/hooks/pre-commit"), "append=" + shown("p/.git/CONFIG")};
  const Finished refused = run(acts, list("write", {shown("p")}));
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("its file system takes") && refused.says(".git")) << refused;
  EXPECT_EQ(scene.tree().read("backing/p/.git/hooks/pre-commit"), "SENTINEL");
  const Finished outside = scene.acts_bare(acts);
  for (const std::string& act : acts) EXPECT_EQ(verdict(outside, act), "ALLOWED") << "the control" << outside;
  EXPECT_EQ(scene.tree().read("backing/p/.git/hooks/pre-commit"), "SENTINEL+") << "the control: it is one file";
}

TEST_P(Folding, AHomeWhoseStoresHaveAnotherSpellingIsNotShownWhole) {
  const std::string key = "show-file=" + shown("h/.SSH/id"), note = "show-file=" + shown("h/notes/today");
  const Finished refused = run({key}, list("read", {"~"}));
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("its file system takes")) << refused;
  for (const char* spelled : {"~/.SSH", "~/.Ssh/ID"}) {
    EXPECT_EQ(run({key}, list("read", {spelled})).code, 125) << spelled;
  }
  EXPECT_TRUE(run({note}, list("read", {"~/notes"})).says("SENTINEL")) << "the control: what reaches no store is shown";
  EXPECT_TRUE(scene.acts_bare({key}).says("SENTINEL")) << "the control, bare";
}

}  // namespace
}  // namespace cordon::test
