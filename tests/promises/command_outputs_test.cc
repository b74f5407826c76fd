// Promises of what arrives of a command's writes beyond declared names: what a compiler made, build directories, files
// of templates; and that none of it takes the place of a source. What a tool makes again is neither made nor kept.
#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(CommandOutputs);

constexpr const char* kElf = "cat /bin/true";

/// A directory of C sources without a repository, in work/project.
struct Sources {
  explicit Sources(const Scene& scene) : scene_(scene) {
    scene.tree().write("work/project/CMakeLists.txt", "# sources\n");
    scene.tree().write("work/project/main.c", "int main(void) { return 0; }\n");
    scene.tree().write("work/project/Makefile.in", "all:\n");
    scene.tree().write("work/project/configure.ac", "AC_INIT\n");
    scene.tree().make_directory("work/project/src");
  }
  [[nodiscard]] Finished run(const std::string& script, const std::string& profile = "c") const {
    return scene_.cordon({"run", "--profile", profile, "--", "sh", "-c", script}).in(scene_.in_work("project")).run();
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return scene_.tree().read("work/project/" + name).value_or("");
  }
  [[nodiscard]] bool has(const std::string& name) const { return scene_.tree().exists("work/project/" + name); }

 private:
  const Scene& scene_;
};

TEST_P(CommandOutputs, AProgramThatWasBuiltArrivesAndIsBuiltAnew) {
  const Sources sources(scene);
  const Finished first = sources.run(std::string(kElf) + " > prog; chmod +x prog");
  EXPECT_THAT(sources.read("prog"), HasSubstr("ELF")) << first;
  EXPECT_EQ(first.err, "") << first;
  const Finished second = sources.run(std::string(kElf) + " > prog; printf ' again' >> prog");
  EXPECT_THAT(sources.read("prog"), HasSubstr(" again")) << second;
  const Finished cleaned = sources.run("rm prog");
  EXPECT_FALSE(sources.has("prog")) << cleaned;
}

TEST_P(CommandOutputs, MachineCodeTakesThePlaceOfNoSource) {
  const Sources sources(scene);
  const Finished run = sources.run(std::string(kElf) + " > main.c; echo text > notes; mkdir -p .vscode; " + kElf +
                                   " > .vscode/x; rm Makefile.in");
  EXPECT_THAT(sources.read("main.c"), HasSubstr("int main")) << run;
  EXPECT_FALSE(sources.has("notes")) << "text is no machine code";
  EXPECT_FALSE(sources.has(".vscode/x"));
  EXPECT_TRUE(sources.has("Makefile.in"));
  EXPECT_TRUE(run.says("cordon changes")) << run;
  const Finished other = sources.run(std::string(kElf) + " > prog", "ruby");
  EXPECT_FALSE(sources.has("prog")) << "no profile of a compiler" << other;
}

TEST_P(CommandOutputs, WhatGitTracksIsNotBuiltWhateverItHolds) {
  const Sources sources(scene);
  ASSERT_EQ(scene.outside({"/bin/sh", "-c", "cp /bin/false tool"}).in(scene.in_work("project")).run().code, 0);
  const std::string before = sources.read("tool");
  ASSERT_EQ(scene.outside({"/bin/sh", "-c", "git init -q . && git add tool"}).in(scene.in_work("project")).run().code,
            0);
  const Finished run = sources.run(std::string(kElf) + " > tool");
  EXPECT_EQ(sources.read("tool"), before) << run;
}

TEST_P(CommandOutputs, ABuildDirectoryIsKnownByItsMark) {
  const Sources sources(scene);
  const Finished run = sources.run("mkdir out2 && touch out2/CMakeCache.txt && echo x > out2/rules.ninja");
  EXPECT_EQ(sources.read("out2/rules.ninja"), "x\n") << run;
  const Finished again = sources.run("echo y > out2/rules.ninja");
  EXPECT_EQ(sources.read("out2/rules.ninja"), "y\n") << again;
  // A folder of sources does not become one.
  const Finished hostile = sources.run("touch src/CMakeCache.txt; echo evil > src/conftest.py");
  EXPECT_FALSE(sources.has("src/conftest.py")) << hostile;
  const Finished twice = sources.run("echo evil > src/conftest.py");
  EXPECT_FALSE(sources.has("src/conftest.py")) << twice;
}

TEST_P(CommandOutputs, AFileOfATemplateArrives) {
  const Sources sources(scene);
  const Finished run = sources.run("echo made > Makefile; echo made > GNUmakefile; echo made > config.h");
  EXPECT_EQ(sources.read("Makefile"), "made\n") << run;
  EXPECT_FALSE(sources.has("GNUmakefile")) << "no template of it";
  EXPECT_FALSE(sources.has("config.h"));
  const Finished inside = sources.run("echo x > src/a.in; echo made > src/a");
  EXPECT_FALSE(sources.has("src/a")) << "the template is the run's own" << inside;
}

TEST_P(CommandOutputs, WhatAToolMakesAgainIsNeitherMadeNorKept) {
  const Sources sources(scene);
  const Finished run = sources.run(
      "mkdir -p src/__pycache__ .pytest_cache; echo x > src/__pycache__/a.pyc; "
      "echo x > .pytest_cache/README.md",
      "python");
  EXPECT_EQ(run.err, "") << run;
  EXPECT_FALSE(sources.has("src/__pycache__"));
  EXPECT_FALSE(sources.has(".pytest_cache"));
  const Finished changes = scene.cordon({"changes"}).run();
  EXPECT_THAT(changes.out, Not(HasSubstr("project"))) << changes;
  const Finished beside =
      sources.run("mkdir src/__pycache__; echo x > src/__pycache__/a.pyc; echo x > src/b.py", "python");
  EXPECT_TRUE(beside.says("kept 1 other change (src/b.py)")) << beside;
}

TEST_P(CommandOutputs, AProgramForAPersonIsAddedWhenThePersonSaysSo) {
  const Sources sources(scene);
  scene.tree().write("home/.cargo/bin/old", "old\n", 0755);
  const std::string script = "cd " + scene.home() + "/.cargo/bin && echo evil > old; echo new > tool; chmod +x tool";
  // What the profile's words mean is decided by the first of them: `cargo install` is one that puts programs there.
  scene.tree().write("work/bin/cargo", "#!/bin/sh\n" + script + "\n", 0755);
  const auto install = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--allow-read", scene.in_work("bin"), "--", scene.in_work("bin/cargo"), "install"});
    return scene.cordon(words).in(scene.in_work("project"));
  };
  const Finished nobody = install({}).run();
  EXPECT_EQ(nobody.code, 0) << nobody;
  EXPECT_TRUE(nobody.says("since nobody was asked: tool; --allow-write")) << nobody;
  EXPECT_FALSE(scene.tree().exists("home/.cargo/bin/tool"));
  for (const char* answer : {"n\n", "y\n"}) {
    Running running = install({}).pty().start();
    EXPECT_TRUE(running.expect("be added to")) << running.seen();
    running.type(answer);
    const Finished done = running.wait();
    EXPECT_EQ(scene.tree().exists("home/.cargo/bin/tool"), answer[0] == 'y') << done;
  }
  EXPECT_EQ(scene.tree().read("home/.cargo/bin/old"), "old\n") << "what stood there is nobody's to change";
}

TEST_P(CommandOutputs, WhatWasFetchedByItsDigestIsThereForTheNextProject) {
  const Sources sources(scene);
  scene.tree().write("work/other/package.json", "{}\n");
  const std::string store = scene.home() + "/.npm/_cacache/content-v2";
  const Finished first =
      sources.run("mkdir -p " + store + "/sha512/aa && echo content > " + store + "/sha512/aa/bb", "node");
  EXPECT_EQ(scene.tree().read("home/.npm/_cacache/content-v2/sha512/aa/bb"), "content\n") << first;
  const auto in_other = [&](const std::string& script) {
    return scene.cordon({"run", "--profile", "node", "--", "sh", "-c", script}).in(scene.in_work("other")).run();
  };
  EXPECT_EQ(in_other("cat " + store + "/sha512/aa/bb").out, "content\n");
  const Finished poison = in_other("echo evil > " + store + "/sha512/aa/bb; echo new > " + store + "/sha512/cc");
  EXPECT_EQ(scene.tree().read("home/.npm/_cacache/content-v2/sha512/aa/bb"), "content\n") << poison;
}

}  // namespace
}  // namespace cordon::test
