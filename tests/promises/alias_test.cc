// Promise: a credential is not reached under another name. A hard link of a key in what is granted refuses the run,
// with both ends and the flag that would accept it; what was accepted is said after every run.

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

class Alias : public Promise {
 protected:
  Alias() {
    key = scene.tree().write("home/.ssh/id", "the key", 0600);
    scene.tree().make_directory("work/data");
    name = scene.in_work("data/name");
    manifest = scene.manifest(act_manifest({"read=" + name}, list("read", {"./data"})));
  }
  /// The same content, and no other name: the control of every refusal.
  void copy() const { scene.tree().write("work/data/name", "the key"); }
  void link() const { ASSERT_EQ(::link(key.c_str(), name.c_str()), 0); }
  [[nodiscard]] Finished run(std::vector<std::string> flags = {}) const {
    std::vector<std::string> words = {"run", "--allow-unapproved"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back(manifest);
    return scene.cordon(words).run();
  }

  std::string key, name, manifest;
};
INSTANTIATE_TEST_SUITE_P(As, Alias, testing::ValuesIn(identities()), identity_name);

TEST_P(Alias, AHardLinkOfAKeyIsRefusedWithBothEnds) {
  copy();
  EXPECT_EQ(run().code, 0) << "the control: a copy is a file of its own" << run();
  scene.tree().remove("work/data/name");
  link();
  EXPECT_EQ(verdict(scene.acts_bare({"read=" + name}), "read=" + name), "ALLOWED") << "the control, bare";
  const Finished refused = run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_EQ(verdict(refused, "read=" + name), "(not tried)");
  EXPECT_TRUE(refused.says(name) && refused.says(key) && refused.says("hard link")) << refused;
  EXPECT_TRUE(refused.says("--accept-alias " + scene.in_work("data"))) << refused;
}

TEST_P(Alias, WhatWasAcceptedRunsAndIsSaidAfterEveryRun) {
  link();
  for (int i = 0; i < 2; ++i) {
    const Finished accepted = run({"--accept-alias", "data"});
    EXPECT_EQ(accepted.code, 0) << accepted;
    EXPECT_EQ(verdict(accepted, "read=" + name), "ALLOWED") << accepted;
    EXPECT_TRUE(accepted.says("accepted:") && accepted.says(name) && accepted.says(key)) << accepted;
  }
  const std::string out = run({"--json", "--accept-alias", scene.in_work("data")}).out;
  EXPECT_THAT(out, HasSubstr(R"("accepted_aliases":[{"path":")" + name + R"(","credential":")" + key + R"("}])"));
}

TEST_P(Alias, EveryCommandSaysTheSame) {
  link();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect"}, {"approve", "--yes"}, {"run", "--allow-unapproved", "--dry-run"}}) {
    std::vector<std::string> refused = words, accepted = words;
    refused.push_back(manifest);
    const Finished no = scene.cordon(refused).run();
    EXPECT_EQ(no.code, 125) << words[0] << no;
    EXPECT_TRUE(no.says("hard link")) << words[0] << no;
    accepted.insert(accepted.end(), {"--accept-alias", "data", manifest});
    const Finished yes = scene.cordon(accepted).run();
    EXPECT_EQ(yes.code, 0) << words[0] << yes;
  }
  const Finished validated = scene.cordon({"validate", "--json", manifest}).run();
  EXPECT_THAT(validated.out, HasSubstr("\"credential_aliases\"")) << validated;
  EXPECT_THAT(validated.out, HasSubstr("hard link"));
  EXPECT_EQ(scene.cordon({"validate", "--strict", manifest}).run().code, 125);
  EXPECT_EQ(scene.cordon({"validate", "--strict", "--accept-alias", "data", manifest}).run().code, 0);
}

TEST_P(Alias, ATreeThatHoldsAStoreIsNeverAccepted) {
  copy();
  for (const std::string& tree : {std::string("/"), scene.home(), scene.home() + "/.ssh", scene.tree().path("")}) {
    const Finished refused = run({"--accept-alias", tree});
    EXPECT_EQ(refused.code, 125) << tree << refused;
    EXPECT_TRUE(refused.says("store of credentials")) << tree << refused;
  }
  EXPECT_EQ(run({"--accept-alias", "data"}).code, 0) << "the control";
}

TEST_P(Alias, WhatDenyNamesIsNotReachedUnderAnotherName) {
  const std::string secret = scene.tree().write("work/secret", "s", 0600);
  manifest = scene.manifest(act_manifest({"read=" + name}, list("read", {"./data"}) + list("deny", {"./secret"})));
  copy();
  EXPECT_EQ(run().code, 0) << "the control" << run();
  scene.tree().remove("work/data/name");
  ASSERT_EQ(::link(secret.c_str(), name.c_str()), 0);
  const Finished refused = run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says(secret)) << refused;
}

TEST_P(Alias, NamesWithinTheStoreAreNobodysBusiness) {
  copy();
  ASSERT_EQ(::link(key.c_str(), (scene.home() + "/.ssh/id.old").c_str()), 0);
  EXPECT_EQ(run().code, 0) << run();
}

}  // namespace
}  // namespace cordon::test
