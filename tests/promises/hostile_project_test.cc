// Promises against a project and its build scripts that know how command mode works: names of repositories, marks,
// templates, machine code, temporary names and settings, each used to get or to leave more than is given.
#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(HostileProject);

struct Hostile {
  explicit Hostile(const Scene& scene) : scene_(scene) {
    scene.tree().write("home/.ssh/id_ed25519", "sentinel-key\n", 0600);
    scene.tree().write("work/project/package.json", "{\"name\":\"p\"}\n");
    scene.tree().write("work/project/notes", "precious\n");
    scene.tree().write("work/project/src/main.c", "int main(void) { return 0; }\n");
  }
  [[nodiscard]] Finished run(const std::string& script,
                             const std::vector<std::string>& flags = {"--profile", "c"}) const {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return scene_.cordon(words).in(path()).run();
  }
  [[nodiscard]] Finished outside(const std::string& script) const {
    return scene_.outside({"/bin/sh", "-c", script}).in(path()).run();
  }
  void commit() const {
    const Finished done = outside("git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x");
    EXPECT_EQ(done.code, 0) << done;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return scene_.tree().read("work/project/" + name).value_or("");
  }
  [[nodiscard]] bool has(const std::string& name) const { return scene_.tree().exists("work/project/" + name); }
  [[nodiscard]] std::string path() const { return scene_.in_work("project"); }

 private:
  const Scene& scene_;
};

TEST_P(HostileProject, NoFileOfItsOwnNamesARepositoryThatIsNotIts) {
  const Hostile project(scene);
  const std::string key = "cat " + scene.home() + "/.ssh/id_ed25519";
  scene.tree().write("work/project/fake/gitdir", "../.git\n");
  for (const std::string& common : {scene.home() + "/.ssh", scene.home(), std::string("../..")}) {
    scene.tree().write("work/project/.git", "gitdir: ./fake\n");
    scene.tree().write("work/project/fake/commondir", common + "\n");
    const Finished inside = project.run(key);
    EXPECT_THAT(inside.out, Not(HasSubstr("sentinel"))) << common << inside;
    EXPECT_FALSE(inside.says("lifted")) << inside;
  }
  // Laid out as a worktree of what lies around it.
  scene.tree().write("work/around/worktrees/p/.git", "gitdir: .\n");
  scene.tree().write("work/around/worktrees/p/gitdir", ".git\n");
  scene.tree().write("work/around/worktrees/p/commondir", "../..\n");
  scene.tree().write("work/around/secret", "sentinel-around\n");
  const Finished inside =
      scene.cordon({"run", "--", "cat", "../../secret"}).in(scene.in_work("around/worktrees/p")).run();
  EXPECT_THAT(inside.out, Not(HasSubstr("sentinel"))) << inside;
  EXPECT_THAT(project.outside(key).out, HasSubstr("sentinel-key"));
}

TEST_P(HostileProject, AFileOfTheHostIsNotReplacedByADirectory) {
  const Hostile project(scene);
  const Finished run =
      project.run("rm notes src/main.c; mkdir notes src/main.c; echo EVIL > notes/e; echo EVIL > src/main.c/e");
  EXPECT_EQ(project.read("notes"), "precious\n") << run;
  EXPECT_THAT(project.read("src/main.c"), HasSubstr("int main")) << run;
  EXPECT_TRUE(run.says("cordon changes")) << run;
  const std::string longest(250, 'a');
  const Finished named = project.run("echo evil > " + longest + ".py");
  EXPECT_FALSE(project.has(longest + ".py")) << "no template can have such a name" << named;
}

TEST_P(HostileProject, NoRunPlantsWhatTheNextWouldTakeForATemplateOrAMark) {
  const Hostile project(scene);
  scene.tree().write("work/project/configure", "#!/bin/sh\n", 0755);
  scene.tree().write("work/project/deploy.sh", "echo deploy\n");
  const Finished first = project.run(
      "cp /bin/true src/CMakeCache.txt; cp /bin/true deploy.sh.in; mkdir -p conftest.py.in newmod/meson-private; "
      "touch conftest.py.in/CMakeCache.txt; echo x > newmod/__init__.py");
  EXPECT_FALSE(project.has("src/CMakeCache.txt")) << first;
  EXPECT_FALSE(project.has("deploy.sh.in")) << first;
  EXPECT_FALSE(project.has("newmod")) << "no directory that a program would import" << first;
  const Finished second = project.run("echo EVIL > src/main.c; echo EVIL > deploy.sh; echo EVIL > conftest.py");
  EXPECT_EQ(project.read("deploy.sh"), "echo deploy\n") << second;
  EXPECT_THAT(project.read("src/main.c"), HasSubstr("int main")) << second;
  EXPECT_FALSE(project.has("conftest.py")) << second;
}

TEST_P(HostileProject, NoFileArrivesUnderANameThatATrackedOneReads) {
  const Hostile project(scene);
  scene.tree().write("work/project/tools/t.py", "import json\n");
  project.commit();
  const Finished run = project.run(
      "cp /bin/true GNUmakefile; cp /bin/true tools/json.so; cp /bin/true tools/json.py; "
      "printf '\\0asm\\nall:\\n\\techo x\\n' > makefile; echo 1 > x.so.test.js; mkdir tools/json; touch "
      "tools/json/CMakeCache.txt");
  for (const char* name : {"GNUmakefile", "makefile", "tools/json.so", "tools/json.py", "tools/json", "x.so.test.js"})
    EXPECT_FALSE(project.has(name)) << name << run;
  const Finished python = project.run("cp /bin/true tools/json.so", {"--profile", "python"});
  EXPECT_FALSE(project.has("tools/json.so")) << python;
}

TEST_P(HostileProject, WhatWasMovedToATemporaryNameIsNotLost) {
  const Hostile project(scene);
  const Finished run = project.run("mv notes notes.swp; mv src __pycache__", {"--profile", "python"});
  EXPECT_EQ(project.read("notes"), "precious\n") << run;
  const Finished applied = scene.cordon({"changes", "apply"}).in(project.path()).run();
  EXPECT_TRUE(project.has("notes") || project.has("notes.swp")) << applied;
  EXPECT_TRUE(project.has("src/main.c") || project.has("__pycache__/main.c")) << applied;
}

TEST_P(HostileProject, ARunThatWaitedSeesAndKeepsWhatTheOneBeforeMade) {
  const Hostile project(scene);
  scene.tree().write("work/project/dist/x", "old\n");
  const auto start = [&](const std::string& script) {
    return scene.cordon({"run", "--profile", "node", "--", "sh", "-c", script}).in(project.path()).pty().start();
  };
  Running first = start("echo up; read go; echo A > dist/x");
  ASSERT_TRUE(first.expect("up"));
  Running second = start("cat dist/x; echo B > dist/x");
  ASSERT_TRUE(second.expect("waiting for process"));
  first.type("go\n");
  EXPECT_EQ(first.wait().code, 0);
  const Finished last = second.wait();
  EXPECT_EQ(project.read("dist/x"), "B\n") << last;
}

TEST_P(HostileProject, ALiveRunChangesNoTrackedOutput) {
  const Hostile project(scene);
  scene.tree().write("work/project/dist/index.js", "tracked\n");
  project.commit();
  const Finished run =
      project.run("echo EVIL > dist/index.js; cat dist/index.js", {"--profile", "node", "--workspace", "live"});
  EXPECT_EQ(project.read("dist/index.js"), "tracked\n") << run;
}

TEST_P(HostileProject, ItsDenyDoesNotUndoTheUsersSettings) {
  const Hostile project(scene);
  scene.tree().write("home/.npmrc", "ignore-scripts=true\n");
  scene.tree().write("work/project/.cordon.yaml", "profiles:\n  node:\n    denyRead: [~/.npmrc]\n");
  const Finished run = project.run("cat " + scene.home() + "/.npmrc", {"--profile", "node"});
  EXPECT_EQ(run.out, "ignore-scripts=true\n") << run;
}

TEST_P(HostileProject, AFilledInEnvironmentFileIsHiddenAlsoWhereGitKnowsIt) {
  const Hostile project(scene);
  scene.tree().write("work/project/.env", "KEY=\n");
  project.commit();
  scene.tree().write("work/project/.env", "KEY=sentinel-env\n");
  EXPECT_THAT(project.run("cat .env", {"--profile", "node"}).out, Not(HasSubstr("sentinel")));
}

TEST_P(HostileProject, ASubmodulesSourcesAreNoOutputs) {
  const Hostile project(scene);
  scene.tree().write("work/project/sub/dist/index.js", "tracked\n");
  ASSERT_EQ(
      project.outside("cd sub && git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x")
          .code,
      0);
  project.commit();
  const Finished run = project.run(
      "echo EVIL > sub/dist/index.js; mkdir -p sub/node_modules; echo m > sub/node_modules/m", {"--profile", "node"});
  EXPECT_EQ(project.read("sub/dist/index.js"), "tracked\n") << run;
  EXPECT_EQ(project.read("sub/node_modules/m"), "m\n") << "what it does not track is an output there too" << run;
}

TEST_P(HostileProject, CargoHasItsSettingsWithoutWhatOpensAnything) {
  const Hostile project(scene);
  scene.tree().write(
      "home/.cargo/config.toml",
      "[source.crates-io]\nreplace-with = 'corp'\n[source.corp]\nregistry = 'sparse+https://c.example/'\n"
      "[registry]\ntoken = 'sentinel-token'\n");
  const Finished run = project.run("cat " + scene.home() + "/.cargo/config.toml", {"--profile", "rust"});
  EXPECT_THAT(run.out, HasSubstr("sparse+https://c.example/")) << run;
  EXPECT_THAT(run.out, Not(HasSubstr("sentinel"))) << run;
}

TEST_P(HostileProject, WhatStandsAsAnotherKindIsNotReplacedByAnOutput) {
  const Hostile project(scene);
  scene.tree().write("work/project/build", "#!/bin/sh\n", 0755);
  scene.tree().write("work/project/libtool/src.c", "precious\n");
  const Finished run = project.run("rm build; mkdir build; echo x > build/x; rm -rf libtool; echo x > libtool");
  EXPECT_EQ(project.read("build"), "#!/bin/sh\n") << run;
  EXPECT_EQ(project.read("libtool/src.c"), "precious\n") << run;
  EXPECT_TRUE(run.says("cordon changes")) << run;
}

TEST_P(HostileProject, ACheckoutInsideAnOutputIsNobodysOutput) {
  const Hostile project(scene);
  scene.tree().write("work/project/node_modules/foo/a.js", "good\n");
  scene.tree().write("work/project/.gitignore", "node_modules/\n");
  const std::string made = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x";
  ASSERT_EQ(project.outside("cd node_modules/foo && " + made).code, 0);
  project.commit();
  const Finished run = project.run("echo EVIL > node_modules/foo/a.js; echo m > node_modules/m", {"--profile", "node"});
  EXPECT_EQ(project.read("node_modules/foo/a.js"), "good\n") << run;
  EXPECT_EQ(project.read("node_modules/m"), "m\n") << run;
}

TEST_P(HostileProject, NoOutputTakesAModulesPlace) {
  const Hostile project(scene);
  scene.tree().write("work/project/tools/router.py", "print('good')\n");
  scene.tree().write("work/project/tools/build.py", "print('good')\n");
  scene.tree().write("work/project/pkg/__init__.py", "");
  scene.tree().write("work/project/pkg/utils.py", "good\n");
  project.commit();
  const std::string script =
      "mkdir -p tools/router tools/build venv build; touch tools/router/CMakeCache.txt tools/build/x venv/__init__.py "
      "build/__init__.py; cp /bin/true pkg/utils.so; cp /bin/true tools/lib.so; : > pkg/u.so; cp /bin/true Kbuild";
  for (const char* profile : {"c", "python"}) {
    const Finished run = project.run(script, {"--profile", profile});
    for (const char* name :
         {"tools/router", "tools/build", "venv", "build", "pkg/utils.so", "tools/lib.so", "pkg/u.so", "Kbuild"})
      EXPECT_FALSE(project.has(name)) << profile << " " << name << run;
  }
  const Finished fine = project.run("cp /bin/true pkg/native.so", {"--profile", "python"});
  EXPECT_TRUE(project.has("pkg/native.so")) << "an extension that a package holds" << fine;
}

TEST_P(HostileProject, AScriptThatCannotBeReadTakesNoProgramsPlace) {
  const Hostile project(scene);
  ASSERT_EQ(project.outside("cp /bin/true prog").code, 0);
  const std::string before = project.read("prog");
  const Finished run = project.run("rm prog; printf '#!/bin/sh\\necho EVIL\\n' > prog; chmod 0111 prog");
  EXPECT_EQ(project.read("prog"), before) << run;
}

TEST_P(HostileProject, ANewManifestArrivesOnlyWhereTheCommandStands) {
  const Hostile project(scene);
  scene.tree().write(
      "work/project/dep/package.json",
      "{\"name\":\"dep\",\"version\":\"1.0.0\",\"scripts\":{\"install\":\"mkdir -p $INIT_CWD/tools; echo "
      "'{\\\"dependencies\\\":{}}' > $INIT_CWD/tools/package.json\"}}\n");
  ASSERT_EQ(project.outside("cd dep && npm pack --silent && mv dep-1.0.0.tgz ..").code, 0);
  const Finished run =
      scene.cordon({"run", "--", "npm", "install", "--offline", "--no-audit", "--no-fund", "./dep-1.0.0.tgz"})
          .in(project.path())
          .timeout(60'000)
          .run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_TRUE(project.has("node_modules/dep/package.json")) << run;
  EXPECT_FALSE(project.has("tools/package.json")) << run;
}

TEST_P(HostileProject, RunsThatWriteIntoOnePipeWaitAndItsTwoEndsDoNot) {
  const Hostile project(scene);
  const std::string cordon = std::string(CORDON_BINARY) + " run --profile node -- ";
  const Finished beside = project.outside("{ " + cordon + "sh -c 'sleep 0.5; mkdir -p dist; echo a > dist/a' & " +
                                          cordon + "sh -c 'mkdir -p dist; echo b > dist/b' & wait; } | cat");
  EXPECT_EQ(project.read("dist/a"), "a\n") << beside;
  EXPECT_EQ(project.read("dist/b"), "b\n") << beside;
  EXPECT_FALSE(beside.says("another run of the same job")) << beside;
}

}  // namespace
}  // namespace cordon::test
