// Promise: a project's configuration only narrows. What it asks for beyond that is listed and ignored until somebody
// trusts exactly that, and another text is trusted no more; no run can write what is trusted.
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProjectConfig : public Promise {
 protected:
  ProjectConfig() {
    const Tree& tree = scene.tree();
    tree.write("work/p/package.json", "{}\n");
    tree.write("work/p/.git/HEAD", "ref: refs/heads/main\n");
    tree.make_directory("work/p/.git/objects");
    tree.make_directory("work/p/.git/refs");
    tree.write("work/p/src/a.js", "source\n");
    tree.write("work/p/secret/key", "sentinel-project\n");
    tree.write("home/data/x", "sentinel-data\n");
    tree.write("home/.ssh/id_ed25519", "sentinel-key\n", 0600);
  }
  [[nodiscard]] std::string path(const std::string& below = "") const {
    return scene.in_work("p") + (below.empty() ? "" : "/" + below);
  }
  std::string project(const std::string& block, const std::string& name = ".cordon.yaml") const {
    return scene.tree().write("work/p/" + name, "profiles:\n  node:\n    " + block + "\n");
  }
  std::string user(const std::string& text) const {
    return scene.tree().write("home/.config/cordon/config.yaml", text, 0644);
  }
  [[nodiscard]] Finished run(const std::string& script, std::vector<std::string> flags = {},
                             const std::string& below = "") const {
    return words("run", std::move(flags), script).in(path(below)).run();
  }
  [[nodiscard]] Finished inspect(std::vector<std::string> flags = {}) const {
    return words("inspect", std::move(flags), "true").in(path()).run();
  }
  [[nodiscard]] Finished trust(std::vector<std::string> flags = {"--yes"}) const {
    flags.insert(flags.begin(), "trust");
    return scene.cordon(flags).in(path()).run();
  }
  [[nodiscard]] Command words(const char* command, std::vector<std::string> flags, const std::string& script) const {
    std::vector<std::string> out = {command};
    out.insert(out.end(), flags.begin(), flags.end());
    if (std::ranges::find(flags, "--profile") == flags.end()) out.insert(out.end(), {"-p", "node"});
    out.insert(out.end(), {"--", "sh", "-c", script});
    return scene.cordon(out);
  }
  const std::string data_ = "cat " + scene.home() + "/data/x";
};
INSTANTIATE_TEST_SUITE_P(As, ProjectConfig, testing::ValuesIn(identities()), identity_name);

TEST_P(ProjectConfig, ThatAsksForMoreIsListedAndIgnoredAndTheRunHolds) {
  const std::string file = project("{allowRead: [~/data], allowDomains: [evil.example], env: {EVIL: '1'}}");
  const std::string script = data_ + "; echo env=$EVIL";
  const Finished held = run(script);
  EXPECT_EQ(held.code, 0) << held;
  EXPECT_THAT(held.out, AllOf(Not(HasSubstr("sentinel")), HasSubstr("env=\n"))) << held;
  for (const char* ask : {"may read \"~/data\"", "may reach \"evil.example\"", "has the variable \"EVIL=1\""})
    EXPECT_TRUE(held.says(std::string("ignored of .cordon.yaml:3: ") + ask)) << ask << held;
  EXPECT_TRUE(held.says("to have those of " + file + ": cordon trust")) << held;
  const Finished plan = inspect();
  EXPECT_THAT(plan.out, AllOf(Not(HasSubstr("evil.example:443")), HasSubstr("ignored"))) << plan;

  const Finished trusted = run(script, {"--trust-project-config"});
  EXPECT_THAT(trusted.out, AllOf(HasSubstr("sentinel-data"), HasSubstr("env=1"))) << "the control" << trusted;
  EXPECT_THAT(inspect({"--trust-project-config"}).out, HasSubstr("evil.example:443  " + file + ":3"));
  EXPECT_THAT(run(data_).out, Not(HasSubstr("sentinel"))) << "for one run alone";
}

TEST_P(ProjectConfig, NarrowsUnasked) {
  EXPECT_THAT(run("cat secret/key").out, HasSubstr("sentinel-project")) << "the control: without it";
  EXPECT_THAT(inspect({"--allow-domain", "p.example"}).out, HasSubstr("p.example:443"));
  project("{denyRead: [./secret], denyExec: [/usr/bin/env], denyDomains: ['*.denied.example'], enableProxy: true}");
  const Finished hidden = run("cat secret/key; /usr/bin/env true && echo ran; cat src/a.js");
  EXPECT_THAT(hidden.out, AllOf(Not(HasSubstr("sentinel")), Not(HasSubstr("ran")), HasSubstr("source"))) << hidden;
  EXPECT_FALSE(hidden.says("cordon trust")) << "nothing was asked" << hidden;
  EXPECT_THAT(run("cat ../secret/key", {}, "src").out, Not(HasSubstr("sentinel"))) << "from further down too";
  EXPECT_THAT(run("cat secret/key", {"--workspace", "write"}).out, Not(HasSubstr("sentinel")));
  EXPECT_THAT(run("cat secret/key", {"--workspace", "live"}).out, Not(HasSubstr("sentinel")));
}

TEST_P(ProjectConfig, OfTheUsersIsWidenedByNoProjectAndNarrowedByIt) {
  user("profiles: {node: {allowRead: [~/data], allowDomains: [mine.example], enableProxy: false}}\n");
  EXPECT_THAT(run(data_).out, HasSubstr("sentinel-data")) << "the control: the user's own word";
  EXPECT_THAT(inspect().out, AllOf(HasSubstr("mine.example:443"), HasSubstr("*:443")));
  project("{denyRead: [~/data], denyDomains: [mine.example], enableProxy: true}");
  EXPECT_THAT(run(data_).out, Not(HasSubstr("sentinel")));
  EXPECT_THAT(inspect().out, AllOf(Not(HasSubstr("mine.example")), Not(HasSubstr("*:443"))));
}

TEST_P(ProjectConfig, IsTrustedAsItStandsAndNoLongerOnceItIsEdited) {
  const std::string file = project("{allowRead: [~/data]}");
  const Finished nobody = trust({});
  EXPECT_EQ(nobody.code, 125) << nobody;
  EXPECT_TRUE(nobody.says("nobody can be asked")) << nobody;
  EXPECT_THAT(run(data_).out, Not(HasSubstr("sentinel"))) << "not trusted yet";
  const Finished done = trust();
  EXPECT_EQ(done.code, 0) << done;
  EXPECT_THAT(done.out, HasSubstr("node: may read \"~/data\"  (line 3)")) << done;
  const Finished trusted = run(data_);
  EXPECT_THAT(trusted.out, HasSubstr("sentinel-data")) << "the control" << trusted;
  EXPECT_FALSE(trusted.says("ignored")) << trusted;
  EXPECT_THAT(trust().out, HasSubstr("trusted as it is"));
  EXPECT_THAT(trust({"--list"}).out, AllOf(HasSubstr(file), HasSubstr("as trusted")));

  project("{allowRead: [~/data], allowWrite: [~/data]}");
  const Finished edited = run(data_);
  EXPECT_THAT(edited.out, Not(HasSubstr("sentinel"))) << edited;
  EXPECT_TRUE(edited.says("changed since it was trusted")) << edited;
  EXPECT_TRUE(edited.says("it now also asks: \"node\" allowWrite \"~/data\"")) << edited;
  EXPECT_THAT(trust({"--list"}).out, HasSubstr("trusted no more"));
  project("{allowRead: [~/data] } # a comment");
  EXPECT_THAT(run(data_).out, Not(HasSubstr("sentinel"))) << "another text, whatever it says";

  project("{allowRead: [~/data]}");
  EXPECT_THAT(run(data_).out, HasSubstr("sentinel-data")) << "the very text";
  EXPECT_EQ(trust({"--forget"}).code, 0);
  EXPECT_THAT(run(data_).out, Not(HasSubstr("sentinel")));
  EXPECT_EQ(trust({"--forget"}).code, 125);
}

TEST_P(ProjectConfig, IsTrustedByAnAnswerOnTheTerminalAlone) {
  project("{allowRead: [~/data]}");
  for (const char* answer : {"n\n", "y\n"}) {
    Running asked = scene.cordon({"trust"}).in(path()).pty().start();
    ASSERT_TRUE(asked.expect("trust it? [y/N]")) << asked.seen();
    asked.type(answer);
    const Finished ended = asked.wait();
    EXPECT_EQ(ended.code, answer[0] == 'y' ? 0 : 125) << ended;
    EXPECT_EQ(run(data_).out.contains("sentinel"), answer[0] == 'y');
  }
}

TEST_P(ProjectConfig, LiftsNoShieldHoweverItIsTrusted) {
  project("{allowRead: [~/.ssh, ./link], allowWrite: [./.git/hooks]}");
  scene.tree().link("work/p/link", scene.home() + "/.ssh");
  scene.tree().make_directory("work/p/.git/hooks");
  const std::string script = "cat " + scene.home() + "/.ssh/id_ed25519 link/id_ed25519; echo x > .git/hooks/pre-commit";
  const Finished told = trust();
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_TRUE(told.says("it will not count")) << told;
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>(), {"--trust-project-config"}, {"--config", path(".cordon.yaml")}}) {
    const Finished held = run(script, flags);
    EXPECT_EQ(held.out, "") << held;
    EXPECT_TRUE(held.says("does not count")) << held;
    EXPECT_FALSE(scene.tree().exists("work/p/.git/hooks/pre-commit"));
  }
  EXPECT_THAT(run(script, {"--allow-read", "~/.ssh"}).out, HasSubstr("sentinel-key")) << "the control: the user's word";
}

TEST_P(ProjectConfig, ALinkTakesATrustedPathNowhereElse) {
  const std::string alias = scene.tree().link("home/alias", path());
  project("{allowRead: [./assets, " + path("assets") + ", " + alias + "/assets, ~/place/in], allowWrite: [~/place]}");
  scene.tree().write("work/p/assets/x", "own\n");
  scene.tree().write("home/place/in/x", "placed\n");
  const std::string look = "cat assets/x " + alias + "/assets/x " + scene.home() + "/place/in/x";
  ASSERT_EQ(trust().code, 0);
  EXPECT_THAT(run(look).out, AllOf(HasSubstr("own"), HasSubstr("placed"))) << "while they are what they were";
  for (const char* one : {"work/p/assets", "home/place/in"}) {
    scene.tree().remove(one);
    scene.tree().link(one, scene.home() + "/data");
  }
  const Finished held = run(look);
  EXPECT_THAT(held.out, Not(HasSubstr("sentinel"))) << held;
  EXPECT_TRUE(held.says("assets is a link")) << held;
  EXPECT_TRUE(held.says("place/in is a link")) << held;
  EXPECT_THAT(scene.outside({"/bin/cat", path("assets/x")}).run().out, HasSubstr("sentinel-data")) << "the control";
  EXPECT_THAT(run(data_, {"--allow-read", path("assets")}).out, HasSubstr("sentinel-data")) << "the user's own word";
}

TEST_P(ProjectConfig, NoRunWritesTheStore) {
  project("{allowRead: [~/data]}");
  ASSERT_EQ(trust().code, 0);
  const std::string store = scene.home() + "/.local/state/cordon/trust";
  const Snapshot before = snapshot(store);
  ASSERT_EQ(before.size(), 2U) << "the directory and one record";
  const std::string script = "ls " + store + "; rm -rf " + store + "; mkdir -p " + store + " && echo '{}' > " + store +
                             "/x; cat " + store + "/*.json";
  const auto untouched = [&](const std::vector<std::string>& flags) {
    const Finished tried = run(script, flags);
    const Snapshot after = snapshot(store);
    EXPECT_EQ(before, after) << difference(before, after) << tried;
    return tried;
  };
  for (const std::vector<std::string>& flags : {std::vector<std::string>(),
                                                {"--allow-write", "~/.local/state"},
                                                {"--allow-read", "~/.local"},
                                                {"--allow-write", "~/.local/state/cordon/trust"}})
    EXPECT_THAT(untouched(flags).out, Not(HasSubstr("sha256")));
  EXPECT_EQ(untouched({"--allow-read", "~/.local/state/cordon/trust"}).code, 125) << "and no part of it can be named";
  const Finished manifest = scene.acts({"append=" + store + "/x"}, list("write", {"~/.local/state"}));
  EXPECT_THAT(verdict(manifest, "append=" + store + "/x"), testing::StartsWith("DENIED")) << manifest;
  static_cast<void>(scene.outside({"/bin/sh", "-c", script}).run());
  EXPECT_NE(snapshot(store), before) << "the control: outside it can be";
}

TEST_P(ProjectConfig, ThatIsALinkOrNoFileRefuses) {
  const std::string text = "profiles: {node: {denyRead: [./secret]}}\n";
  scene.tree().write("work/elsewhere.yaml", text);
  EXPECT_EQ(run("true").code, 0) << "the control";
  scene.tree().link("work/p/.cordon.yaml", "../elsewhere.yaml");
  const Finished linked = run("echo ran");
  EXPECT_EQ(linked.code, 125) << linked;
  EXPECT_TRUE(linked.says("is a symbolic link")) << linked;
  EXPECT_EQ(trust().code, 125);
  scene.tree().remove("work/p/.cordon.yaml");
  scene.tree().link("work/p/.cordon.yaml", "nowhere");
  EXPECT_EQ(run("echo ran").code, 125) << "and one that leads nowhere";
  scene.tree().remove("work/p/.cordon.yaml");
  scene.tree().make_directory("work/p/.cordon.yaml");
  EXPECT_EQ(run("echo ran").code, 125);
  scene.tree().remove("work/p/.cordon.yaml");
  ASSERT_EQ(scene.outside({"/usr/bin/mkfifo", path(".cordon.yaml")}).run().code, 0);
  EXPECT_EQ(run("echo ran").code, 125) << "nothing is waited for";
  scene.tree().remove("work/p/.cordon.yaml");
  scene.tree().write("work/p/.cordon.yaml", "#" + std::string(1U << 20, 'x'));
  EXPECT_EQ(run("echo ran").code, 125) << "beyond a mebibyte";
  scene.tree().remove("work/p/.cordon.yaml");
  user(text);
  EXPECT_EQ(run("true").code, 0);
  scene.tree().remove("home/.config/cordon/config.yaml");
  scene.tree().write("home/real.yaml", text);
  scene.tree().link("home/.config/cordon/config.yaml", "../../real.yaml");
  EXPECT_EQ(run("echo ran").code, 125) << "the user's own too";
}

TEST_P(ProjectConfig, ThatIsWrongRefusesWithEveryPlace) {
  project("{allowRaed: [x], allowDegraded: true, allowRead: [../x]}");
  const Finished refused = run("echo ran");
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_EQ(refused.out, "");
  for (const char* word : {":3:6: error", "did you mean \"allowRead\"", "--allow-degraded", "climbs by .."})
    EXPECT_TRUE(refused.says(word)) << word << refused;
}

TEST_P(ProjectConfig, OfTheBuildSandboxIsReadWhereCordonsDoesNotStand) {
  scene.tree().write("home/.config/sbe/config.yaml", "profiles: {node: {allowDomains: [global.example]}}\n");
  project("{denyRead: [./secret]}", ".sbe.yml");
  EXPECT_THAT(inspect().out, HasSubstr("global.example:443"));
  EXPECT_THAT(run("cat secret/key").out, Not(HasSubstr("sentinel")));
  project("{denyRead: [./src]}", ".sbe.yaml");
  EXPECT_THAT(run("cat secret/key").out, HasSubstr("sentinel")) << ".sbe.yaml first";
  project("{}");
  user("allow_address: []\n");
  EXPECT_THAT(run("cat src/a.js").out, HasSubstr("source")) << "Cordon's own first";
  EXPECT_THAT(inspect().out, Not(HasSubstr("global.example")));
}

TEST_P(ProjectConfig, TheNearestUpToTheRootCounts) {
  project("{denyRead: [./secret]}");
  scene.tree().write("work/.cordon.yaml", "profiles: {node: {denyRead: [./p/src]}}\n");
  EXPECT_THAT(run("cat secret/key; cat src/a.js").out, AllOf(Not(HasSubstr("sentinel")), HasSubstr("source")));
  scene.tree().write("work/p/src/.cordon.yaml", "{}\n");
  EXPECT_THAT(run("cat ../secret/key", {}, "src").out, HasSubstr("sentinel")) << "the nearer one alone";
}

TEST_P(ProjectConfig, ANamedConfigurationCountsAndAMissingOneRefuses) {
  scene.tree().write("work/ci.yaml", "profiles: {node: {allowRead: [~/data], env: {FROM: ci}}}\n");
  const Finished named = run(data_ + "; echo $FROM", {"-c", "../ci.yaml"});
  EXPECT_THAT(named.out, AllOf(HasSubstr("sentinel-data"), HasSubstr("ci"))) << named;
  const Finished missing = run("echo ran", {"--config", "../no.yaml"});
  EXPECT_EQ(missing.code, 125) << missing;
  EXPECT_TRUE(missing.says("does not exist")) << missing;
  project("{allowRead: [~/data]}");
  EXPECT_THAT(run(data_, {"--config", ".cordon.yaml"}).out, HasSubstr("sentinel-data"))
      << "named by hand, it is trusted";
  ASSERT_EQ(::chmod(path(".cordon.yaml").c_str(), 0666), 0);
  EXPECT_EQ(run("echo ran", {"--config", ".cordon.yaml"}).code, 125) << "but others can write it";
}

TEST_P(ProjectConfig, AProfileOfTheUsersOwnIsChosenByName) {
  const std::string file =
      user("profiles:\n  mytool: {extends: node, allowRead: [~/data]}\n  plain: {denyRead: [./secret]}\n");
  EXPECT_THAT(run(data_, {"--profile", "mytool"}).out, HasSubstr("sentinel-data"));
  const Finished plan = inspect({"--profile", "mytool"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("mytool"), HasSubstr("node"), HasSubstr(file + ":2"))) << plan;
  EXPECT_THAT(run(data_, {"--profile", "js"}).out, Not(HasSubstr("sentinel"))) << "another profile has not its entries";
  EXPECT_THAT(run("cat secret/key", {"--profile", "plain"}).out, Not(HasSubstr("sentinel")));
  EXPECT_EQ(run("true", {"--profile", "notool"}).code, 125);

  project("{}");
  scene.tree().write("work/p/.cordon.yaml", "profiles: {theirs: {extends: node, allowRead: [~/data]}}\n");
  const Finished theirs = run(data_, {"--profile", "theirs"});
  EXPECT_EQ(theirs.code, 125) << theirs;
  EXPECT_TRUE(theirs.says("nobody trusted its file")) << theirs;
  ASSERT_EQ(trust().code, 0);
  EXPECT_THAT(run(data_, {"--profile", "theirs"}).out, HasSubstr("sentinel-data"));
}

TEST_P(ProjectConfig, InspectNamesEveryEntrysPlaceAndNoValue) {
  const std::string mine = user("profiles: {node: {allowRead: [~/data], env: {TOKEN: sentinel-value}}}\n");
  const std::string theirs = project("{denyRead: [./secret], allowRead: [/srv]}");
  const auto document = nlohmann::json::parse(inspect({"--json"}).out);
  const auto& command = document["command"];
  const auto has = [&](const char* kind, const std::string& value, const std::string& origin) {
    for (const auto& one : command[kind])
      if (one["value"] == value && one["origin"] == origin) return true;
    return false;
  };
  EXPECT_TRUE(has("read", scene.home() + "/data", mine + ":1")) << command.dump(1);
  EXPECT_TRUE(has("env", "TOKEN", mine + ":1")) << command.dump(1);
  EXPECT_TRUE(has("hide", path("secret"), theirs + ":3")) << command.dump(1);
  EXPECT_TRUE(has("ignored", "may read \"/srv\"", theirs + ":3")) << command.dump(1);
  EXPECT_THAT(document.dump(), Not(HasSubstr("sentinel-value")));
  EXPECT_THAT(inspect().out, AllOf(HasSubstr(theirs + ":3"), Not(HasSubstr("sentinel-value"))));
}

TEST_P(ProjectConfig, ADirectoryIsMeantWithItsSlashAndWithout) {
  scene.tree().make_directory("home/out");
  user("profiles: {node: {allowWrite: [~/out]}}\n");
  EXPECT_EQ(run("echo x > " + scene.home() + "/out/one").code, 0);
  user("profiles: {node: {allowWrite: [~/out/]}}\n");
  EXPECT_EQ(run("echo x > " + scene.home() + "/out/two").code, 0);
  EXPECT_TRUE(scene.tree().exists("home/out/one") && scene.tree().exists("home/out/two"));
  user("profiles: {}\n");
  static_cast<void>(run("mkdir -p " + scene.home() + "/out; echo x > " + scene.home() + "/out/three"));
  EXPECT_FALSE(scene.tree().exists("home/out/three")) << "the control: without it";
}

TEST_P(ProjectConfig, WhatIsHiddenStaysHiddenBelowABroaderGrant) {
  scene.tree().write("home/data/y/z", "sentinel-inner\n");
  const std::string look = data_ + " " + scene.home() + "/data/y/z";
  user("profiles: {generic: {denyRead: [~/data/x]}}\n");
  const Finished held = run(look, {"--allow-read", "~/data"});
  EXPECT_THAT(held.out, AllOf(HasSubstr("sentinel-inner"), Not(HasSubstr("sentinel-data")))) << held;
  const Finished named = run(look, {"--allow-read", "~/data/x"});
  EXPECT_EQ(named.code, 125) << "a flag that names it is not half obeyed" << named;
  EXPECT_TRUE(named.says("config.yaml:1") || named.says("hides")) << named;
  user("profiles: {}\n");
  EXPECT_THAT(run(look, {"--allow-read", "~/data"}).out, HasSubstr("sentinel-data")) << "the control";
}

TEST_P(ProjectConfig, ADenyTakesAwayWhatTheProfileShows) {
  scene.tree().write("home/.nvm/versions/x", "sentinel-tool\n");
  const std::string look = "cat " + scene.home() + "/.nvm/versions/x";
  EXPECT_THAT(run(look).out, HasSubstr("sentinel-tool")) << "the control: a toolchain of node";
  project("{denyRead: [~/.nvm]}");
  const Finished held = run(look + "; echo ran");
  EXPECT_EQ(held.out, "ran\n") << held;
}

/// Only root can give a file to somebody else.
CORDON_ROOT_PROMISE(ProjectConfigOwner);

TEST_P(ProjectConfigOwner, OfSomebodyElseIsRefused) {
  const Tree& tree = scene.tree();
  const auto project = [&](const std::string& name) {
    tree.write("work/" + name + "/package.json", "{}\n");
    tree.write("work/" + name + "/.cordon.yaml", "profiles: {generic: {denyRead: [./secret]}}\n");
    tree.write("work/" + name + "/secret", "sentinel\n");
  };
  const auto look = [&](const std::string& name) {
    return scene.cordon({"run", "--", "sh", "-c", "cat secret; cat package.json"}).in(scene.in_work(name)).run();
  };
  project("ours");
  EXPECT_EQ(look("ours").out, "{}\n") << "root's own holds";
  tree.give("work/ours/.cordon.yaml", other_user());
  const Finished foreign = look("ours");
  EXPECT_EQ(foreign.code, 125) << foreign;
  EXPECT_TRUE(foreign.says("neither you nor the workspace's owner")) << foreign;
  project("theirs");
  for (const char* one : {"", "/package.json", "/.cordon.yaml", "/secret"})
    tree.give(std::string("work/theirs") + one, other_user());
  EXPECT_EQ(look("theirs").out, "{}\n") << "the workspace is theirs as well, and their file holds";
}

}  // namespace
}  // namespace cordon::test
