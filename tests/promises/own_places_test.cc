// Promise: no run decides what the next one holds. Cordon's program, launcher and state are out of reach of a write
// grant that covers them, and a lie in the cache makes no sandbox weaker.

#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::StartsWith;

CORDON_PROMISE(OwnPlaces);

TEST_P(OwnPlaces, CordonsProgramLauncherAndStateAreOutOfReach) {
  const std::string program = scene.tree().copy("home/.local/bin/cordon", programs().cordon);
  const std::string launcher = scene.tree().copy("home/.local/libexec/cordon/cordon-launch", programs().launcher);
  scene.tree().make_directory("home/.local/state/cordon", 0700);
  const std::string state = scene.tree().write("home/.local/state/cordon/x", "state");
  const std::vector<std::string> acts = {
      "append=" + program, "append=" + launcher, "append=" + state, "rename=" + launcher + ":" + launcher + "2",
      "rename=" + scene.tree().path("home/.local/libexec") + ":" + scene.tree().path("home/.local/moved")};
  const std::string beside = "create=" + scene.tree().path("home/.local/other");
  std::vector<std::string> all = acts;
  all.push_back(beside);
  const std::string manifest = scene.manifest(act_manifest(all, list("write", {"~/.local"})));
  const Finished run = scene.outside({program, "run", "--allow-unapproved", manifest}).env("HOME", scene.home()).run();
  for (const std::string& act : acts) EXPECT_THAT(verdict(run, act), StartsWith("DENIED")) << act << run;
  EXPECT_EQ(verdict(run, beside), "ALLOWED") << "the control: the grant holds" << run;
}

TEST_P(OwnPlaces, CannotBeGrantedNorLeftToTheTargetToMake) {
  scene.tree().make_directory("home/.cache/cordon/in", 0700);
  scene.tree().make_directory("home/.local/state");
  scene.tree().make_directory("home/.config");
  for (const char* grant : {"~/.local/state/cordon", "~/.cache/cordon", "~/.cache/cordon/in"}) {
    const std::string manifest = scene.manifest(act_manifest({"fork"}, list("write", {grant})));
    const Finished run = scene.cordon({"run", "--allow-unapproved", manifest}).run();
    EXPECT_EQ(run.code, 125) << grant << run;
    EXPECT_TRUE(run.says("Cordon's")) << run;
  }
  const std::string settings = scene.home() + "/.config/cordon";
  const std::string state = scene.home() + "/.local/state/cordon";
  const std::vector<std::string> acts = {"mkdir=" + settings,
                                         "create=" + settings,
                                         "create=" + settings + "/x",
                                         "rmdir=" + settings,
                                         "create=" + state + "/x",
                                         "mkdir=" + state + "/approvals",
                                         "rename=" + settings + ":" + settings + "2",
                                         "rename=" + state + ":" + state + "2"};
  const std::string beside = "mkdir=" + scene.home() + "/.config/other";
  std::vector<std::string> all = acts;
  all.push_back(beside);
  const Finished run = scene.acts(all, list("write", {"~/.local/state", "~/.config"}));
  for (const std::string& act : acts) EXPECT_THAT(verdict(run, act), StartsWith("DENIED")) << act << run;
  EXPECT_EQ(verdict(run, beside), "ALLOWED") << "the control: the grant holds" << run;
}

TEST_P(OwnPlaces, ALieInTheCacheWeakensNothing) {
  const std::string manifest = scene.approved(act_manifest({"fork"}));
  const std::string file = "home/.cache/cordon/facts-" + std::to_string(GetParam().uid) + ".json";
  ASSERT_TRUE(scene.tree().read(file)) << "approve probes and remembers";
  auto facts = nlohmann::json::parse(*scene.tree().read(file));
  for (const char* feature : {"landlock", "seccomp-filter", "net-namespace"}) {
    ASSERT_EQ(facts["features"][feature]["state"], "yes") << feature;
    facts["features"][feature] = {
        {"state", "no"}, {"code", 38U}, {"operation", "a lie"}, {"cause", "a lie"}, {"mend", "a lie"}};
  }
  scene.tree().write(file, facts.dump(), 0600);
  const Finished run = scene.cordon({"run", "--strict", manifest}).run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_FALSE(run.says("a lie")) << run;
}

}  // namespace
}  // namespace cordon::test
