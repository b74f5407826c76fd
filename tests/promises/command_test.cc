// Promises of `cordon run -- CMD`: a command sees and uses its whole project, and of all that it does there only its
// outputs arrive; nothing of the home enters; what is kept is named and comes when it is called.
#include <csignal>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(CommandMode);

/// A checkout with sources, a secret and a hook, in work/project; a home with keys.
struct Project {
  explicit Project(const Scene& scene) : scene_(scene) {
    const Tree& tree = scene.tree();
    tree.write("work/project/package.json", "{\"name\":\"p\"}\n");
    tree.write("work/project/src/a.js", "old\n");
    tree.write("work/project/.gitignore", "build/\nnode_modules/\n");
    tree.write("work/project/.env", "TOKEN=sentinel-env\n");
    tree.write("work/project/.git/HEAD", "ref: refs/heads/main\n");
    tree.write("work/project/.git/config", "[core]\n\tbare = false\n");
    tree.make_directory("work/project/.git/objects");
    tree.make_directory("work/project/.git/refs");
    tree.make_directory("work/project/.git/hooks");
    tree.write("home/.ssh/id_ed25519", "sentinel-key\n", 0600);
    tree.write("home/notes.txt", "sentinel-notes\n");
  }
  [[nodiscard]] std::string path(const std::string& name = "") const {
    return scene_.in_work("project") + (name.empty() ? "" : "/" + name);
  }
  [[nodiscard]] Command cordon(const std::vector<std::string>& flags, const std::string& script) const {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return scene_.cordon(words).in(path());
  }
  [[nodiscard]] Finished run(const std::vector<std::string>& flags, const std::string& script) const {
    return cordon(flags, script).run();
  }
  [[nodiscard]] Finished outside(const std::string& script) const {
    return scene_.outside({"/bin/sh", "-c", script}).in(path()).run();
  }

 private:
  const Scene& scene_;
};

constexpr const char* kHostile =
    "echo evil > src/a.js; echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; "
    "printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/config; mkdir -p .vscode .github/workflows; "
    "echo evil > .vscode/tasks.json; echo evil > .envrc; echo evil > Makefile; echo evil > package.json; "
    "mkdir -p node_modules/p build; echo code > node_modules/p/index.js; echo out > build/out; "
    "ln -s /etc/passwd node_modules/leak; mkfifo node_modules/fifo; mkdir -p node_modules/x/.git/hooks; "
    "echo evil > node_modules/x/.git/hooks/post-checkout; cp /bin/true node_modules/suid; "
    "chmod 6755 node_modules/suid; true";

TEST_P(CommandMode, OfAllThatACommandChangesOnlyItsOutputsArrive) {
  const Project project(scene);
  const Snapshot before = snapshot(project.path());
  const Finished inside = project.run({"--profile", "node"}, std::string(kHostile) + "; cat src/a.js");
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_THAT(inside.out, HasSubstr("evil")) << "it sees what it wrote" << inside;
  EXPECT_EQ(scene.tree().read("work/project/node_modules/p/index.js"), "code\n") << inside;
  EXPECT_EQ(scene.tree().read("work/project/build/out"), "out\n") << "git ignores it as a whole" << inside;
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules/leak"));
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules/fifo"));
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules/x/.git"));
  EXPECT_TRUE(inside.says("cordon changes")) << "the rest is kept, and said" << inside;
  scene.tree().remove("work/project/node_modules");
  scene.tree().remove("work/project/build");
  const Snapshot after = snapshot(project.path());
  EXPECT_EQ(before, after) << difference(before, after);

  const Finished outside = project.outside(kHostile);
  EXPECT_EQ(scene.tree().read("work/project/.envrc"), "evil\n") << outside;
}

TEST_P(CommandMode, TwoViewsOfAWorkspaceComeOneAfterTheOther) {
  const Project project(scene);
  Running first = project.cordon({"--profile", "node"}, "echo up; read go; mkdir node_modules; echo 1 > node_modules/a")
                      .pty()
                      .start();
  ASSERT_TRUE(first.expect("up"));
  Running second = project.cordon({"--profile", "node"}, "cat node_modules/a; echo 2 > node_modules/b").pty().start();
  ASSERT_TRUE(second.expect("waiting for process")) << second.seen();
  first.type("go\n");
  EXPECT_EQ(first.wait().code, 0);
  const Finished last = second.wait();
  EXPECT_EQ(last.code, 0) << last;
  EXPECT_EQ(scene.tree().read("work/project/node_modules/a"), "1\n");
  EXPECT_EQ(scene.tree().read("work/project/node_modules/b"), "2\n") << "it saw the first one's outputs" << last;
}

TEST_P(CommandMode, TwoRunsOfOneJobDoNotWaitForEachOther) {
  const Project project(scene);
  const std::string cordon = std::string(CORDON_BINARY) + " run --profile node -- ";
  const Finished both = project.outside("mkfifo ../back; " + cordon + "cat < ../back | " + cordon +
                                        "sh -c 'echo done; echo end >&2' > ../back");
  EXPECT_FALSE(both.timed_out) << both;
  EXPECT_THAT(both.err, AllOf(HasSubstr("end"), HasSubstr("another run of the same job"))) << both;
}

TEST_P(CommandMode, InALiveProjectAProgramsDirectoryIsTheRunsOwn) {
  const Project project(scene);
  scene.tree().write("work/project/node_modules/p/index.js", "code\n");
  const std::string script =
      "mkdir -p node_modules/.vite/deps && cp /bin/true node_modules/.vite/deps/t && node_modules/.vite/deps/t && "
      "echo evil > node_modules/p/index.js && cat node_modules/p/index.js && ! touch src/new 2>/dev/null";
  const Finished inside = project.run({"--profile", "node", "--workspace", "live"}, script);
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_EQ(inside.out, "evil\n") << inside;
  EXPECT_EQ(scene.tree().read("work/project/node_modules/p/index.js"), "code\n");
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules/.vite"));
}

TEST_P(CommandMode, ALinkedWorktreeHasItsRepositoryAndAHostileOneNoOther) {
  const Project project(scene);
  const std::string git = "git -c user.email=a@b.example -c user.name=n ";
  const Finished made = scene
                            .outside({"/bin/sh", "-c",
                                      "mkdir main && cd main && git init -q . && echo x > a && git add a && " + git +
                                          "commit -qm one && git worktree add -q ../linked"})
                            .run();
  ASSERT_EQ(made.code, 0) << made;
  const auto log_in = [&](const std::string& where) {
    return scene.cordon({"run", "--", "git", "log", "--oneline"}).in(scene.in_work(where)).run();
  };
  EXPECT_THAT(log_in("linked").out, HasSubstr("one"));
  // Of a repository that does not know it nothing is shown, whatever its file says.
  scene.tree().write("work/hostile/.git", "gitdir: " + scene.in_work("main/.git/worktrees/linked") + "\n");
  const Finished hostile = log_in("hostile");
  EXPECT_NE(hostile.code, 0) << hostile;
  EXPECT_THAT(hostile.out, Not(HasSubstr("one"))) << hostile;
}

TEST_P(CommandMode, APersonsOwnCommitArrives) {
  const Project project(scene);
  const auto git = [&](const std::string& words) {
    return project.outside("git -c user.email=a@b.example -c user.name=n " + words);
  };
  ASSERT_EQ(git("add -f .env src").code, 0);
  ASSERT_EQ(git("commit -qm one").code, 0);
  const Finished status = scene.cordon({"run", "--", "git", "status", "--short"}).in(project.path()).run();
  EXPECT_THAT(status.out, Not(HasSubstr(".env"))) << "what git tracks is not hidden from it" << status;
  scene.tree().write("work/project/src/a.js", "new\n");
  const Finished commit = scene
                              .cordon({"run", "--env", "GIT_AUTHOR_NAME=n", "--env", "GIT_AUTHOR_EMAIL=a@b.example",
                                       "--env", "GIT_COMMITTER_NAME=n", "--env", "GIT_COMMITTER_EMAIL=a@b.example",
                                       "--", "git", "commit", "-qam", "two"})
                              .in(project.path())
                              .run();
  EXPECT_EQ(commit.code, 0) << commit;
  EXPECT_THAT(git("log --oneline").out, HasSubstr("two")) << commit;
}

TEST_P(CommandMode, ItsCachesAreTheProjectsOwnUntilAFlagSharesThem) {
  const Project project(scene);
  scene.tree().make_directory("home/.cache/go-build");
  const std::string write = "cp /usr/bin/true ~/.cache/go-build/t && ~/.cache/go-build/t && echo started";
  const Finished own = project.run({"--profile", "go"}, write);
  EXPECT_EQ(own.out, "started\n") << own;
  EXPECT_FALSE(scene.tree().exists("home/.cache/go-build/t"));
  const Finished shared = project.run({"--profile", "go", "--cache", "shared"}, write);
  EXPECT_EQ(shared.out, "") << "no place of the host is written and started from" << shared;
  EXPECT_TRUE(scene.tree().exists("home/.cache/go-build/t")) << shared;
  const Finished odd = project.run({"--cache", "mine"}, "true");
  EXPECT_EQ(odd.code, 125) << odd;
  EXPECT_TRUE(odd.says("--cache shared")) << odd;
}

TEST_P(CommandMode, AToolchainWithoutItsCachesRefusesNothing) {
  const Project project(scene);
  scene.tree().write("home/.local/share/pnpm/tool", "#!/bin/sh\necho tool\n", 0755);
  const std::string store = scene.home() + "/.local/share/pnpm/store";
  const Finished inside = project.run({"--profile", "node"},
                                      scene.home() + "/.local/share/pnpm/tool; touch " + store + "/x && echo written");
  EXPECT_EQ(inside.out, "tool\nwritten\n") << inside;
  EXPECT_FALSE(scene.tree().exists("home/.local/share/pnpm/store"));
}

TEST_P(CommandMode, AToolsPackageComesWithItsEntryFile) {
  const Project project(scene);
  scene.tree().write("home/tools/lib/node_modules/foo/foo",
                     "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")\"/part\n", 0755);
  scene.tree().write("home/tools/lib/node_modules/foo/part", "part\n");
  scene.tree().write("home/tools/lib/node_modules/other/part", "sentinel\n");
  const std::string path = scene.home() + "/tools/lib/node_modules/";
  const Finished inside = scene.cordon({"run", "--", path + "foo/foo"}).in(project.path()).run();
  EXPECT_EQ(inside.out, "part\n") << inside;
  EXPECT_NE(project.run({}, "cat " + path + "other/part").code, 0);
}

TEST_P(CommandMode, NoSetIdBitComesWithAnOutput) {
  const Project project(scene);
  const Finished run =
      project.run({"--profile", "node"}, "mkdir node_modules; cp /bin/true node_modules/x; chmod 6755 node_modules/x");
  const Finished mode = project.outside("stat -c %a node_modules/x");
  EXPECT_EQ(mode.out, "755\n") << run << mode;
}

TEST_P(CommandMode, NothingOfTheHomeEnters) {
  const Project project(scene);
  const std::string look = "cat " + scene.home() + "/.ssh/id_ed25519 " + scene.home() + "/notes.txt; ls -A " +
                           scene.home() + "; echo own > " + scene.home() + "/mine && cat " + scene.home() + "/mine";
  const Finished inside = project.run({}, look);
  EXPECT_THAT(inside.out, AllOf(HasSubstr("own"), Not(HasSubstr("sentinel")), Not(HasSubstr("notes.txt")))) << inside;
  EXPECT_FALSE(scene.tree().exists("home/mine"));
  EXPECT_THAT(project.outside(look).out, HasSubstr("sentinel-key"));
}

TEST_P(CommandMode, ARegistrysPlaceEntersAndItsTokenDoesNot) {
  const Project project(scene);
  scene.tree().write("home/.npmrc",
                     "registry=https://mirror.example/npm/\n//mirror.example/npm/:_authToken=sentinel-token\n", 0600);
  const std::string look = "cat " + scene.home() + "/.npmrc";
  const Finished inside = project.run({"--profile", "node"}, look);
  EXPECT_EQ(inside.out, "registry=https://mirror.example/npm/\n") << inside;
  EXPECT_THAT(project.outside(look).out, HasSubstr("sentinel-token"));
  const Finished plan = scene.cordon({"inspect", "--profile", "node", "--", "sh"}).in(project.path()).run();
  EXPECT_THAT(plan.out, AllOf(HasSubstr("mirror.example:443"), Not(HasSubstr("sentinel")))) << plan;
}

TEST_P(CommandMode, EnvironmentFilesAreHiddenUntilTheyAreNamed) {
  const Project project(scene);
  EXPECT_THAT(project.run({}, "cat .env").out, Not(HasSubstr("sentinel")));
  EXPECT_THAT(project.run({"--allow-read", ".env"}, "cat .env").out, HasSubstr("sentinel-env"));
}

TEST_P(CommandMode, OnlyKnownVariablesAndNamedOnesPass) {
  const Project project(scene);
  const std::string show = "echo $CORDON_TEST_TOKEN/$CFLAGS/$GIVEN";
  const auto with = [&](const std::vector<std::string>& flags) {
    return project.cordon(flags, show)
        .env("CORDON_TEST_TOKEN", "secret")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("CFLAGS", "-O2")
        .run();
  };
  EXPECT_EQ(with({"--profile", "c"}).out, "/-O2/\n");
  EXPECT_EQ(with({"--profile", "c", "--env", "GIVEN=x"}).out, "/-O2/x\n");
  EXPECT_EQ(project.cordon({"--keep-env", "AWS_SECRET_ACCESS_KEY"}, "echo $AWS_SECRET_ACCESS_KEY")
                .env("AWS_SECRET_ACCESS_KEY", "asked for")
                .run()
                .out,
            "asked for\n");
}

TEST_P(CommandMode, WhatWasKeptCanBeSeenAppliedAndDiscarded) {
  const Project project(scene);
  ASSERT_EQ(project.run({}, "echo new > src/a.js; echo b > src/b.js").code, 0);
  const Finished listed = scene.cordon({"changes", "--json"}).run();
  EXPECT_THAT(listed.out, HasSubstr(project.path())) << listed;
  EXPECT_EQ(scene.tree().read("work/project/src/a.js"), "old\n");
  const std::string id = listed.out.substr(listed.out.find("\"id\"") + 4);
  const std::string word = id.substr(id.find('"') + 1, id.find('"', id.find('"') + 1) - id.find('"') - 1);
  const Finished shown = scene.cordon({"changes", word}).run();
  EXPECT_THAT(shown.out, AllOf(HasSubstr("src/a.js"), HasSubstr("src/b.js"))) << shown;
  const Finished applied = scene.cordon({"changes", word, "apply"}).run();
  EXPECT_EQ(applied.code, 0) << applied;
  EXPECT_EQ(scene.tree().read("work/project/src/a.js"), "new\n") << applied;
  EXPECT_EQ(scene.tree().read("work/project/src/b.js"), "b\n");
}

TEST_P(CommandMode, AReviewPromotesNothingUnasked) {
  const Project project(scene);
  const Finished run =
      project.run({"--profile", "node", "--workspace", "review"}, "mkdir node_modules; echo x > node_modules/x");
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules"));
  EXPECT_TRUE(run.says("none is made: cordon changes")) << run;
}

TEST_P(CommandMode, AFailedRunsLockFileWaits) {
  const Project project(scene);
  const Finished failed = project.run(
      {"--profile", "node"}, "mkdir node_modules; echo x > node_modules/x; echo l > package-lock.json; exit 3");
  EXPECT_EQ(failed.code, 3);
  EXPECT_TRUE(scene.tree().exists("work/project/node_modules/x")) << failed;
  EXPECT_FALSE(scene.tree().exists("work/project/package-lock.json")) << failed;
  EXPECT_EQ(project.run({"--profile", "node"}, "echo l > package-lock.json").code, 0);
  EXPECT_EQ(scene.tree().read("work/project/package-lock.json"), "l\n");
}

TEST_P(CommandMode, OfAManifestOnlyTheKeysOfTheCommandMayChange) {
  const Project project(scene);
  // The words decide what the command is about: a tool of the test's own stands for npm.
  scene.tree().write("home/bin/npm", "#!/bin/sh\nprintf '%s' \"$MANIFEST\" > package.json\n", 0755);
  const auto install = [&](const std::string& manifest) {
    return scene
        .cordon({"run", "--allow-read", "~/bin", "--env", "MANIFEST=" + manifest, "--", scene.home() + "/bin/npm",
                 "install", "x"})
        .in(project.path())
        .run();
  };
  const std::string more = "{\"name\":\"p\",\"dependencies\":{\"x\":\"1\"}}";
  const std::string evil = "{\"name\":\"p\",\"scripts\":{\"postinstall\":\"evil\"}}";
  const Finished held = install(evil);
  EXPECT_EQ(held.code, 0) << held;
  EXPECT_EQ(scene.tree().read("work/project/package.json"), "{\"name\":\"p\"}\n") << held;
  const Finished let = install(more);
  EXPECT_EQ(scene.tree().read("work/project/package.json"), more) << let;
}

TEST_P(CommandMode, WhatIsLiveIsReadOnlyAndWhatIsWrittenDirectlyIsNotExecuted) {
  const Project project(scene);
  const Finished live = project.run({"--workspace", "live"}, "cat src/a.js; echo x > src/a.js || echo refused");
  EXPECT_THAT(live.out, AllOf(HasSubstr("old"), HasSubstr("refused"))) << live;
  const std::string script =
      "printf '#!/bin/sh\\necho ran\\n' > src/x.sh; chmod +x src/x.sh; ./src/x.sh; "
      "echo evil > .git/hooks/pre-commit && echo hooked";
  const Finished written = project.run({"--workspace", "write"}, script);
  EXPECT_THAT(written.out, AllOf(Not(HasSubstr("ran")), Not(HasSubstr("hooked")))) << written;
  EXPECT_TRUE(scene.tree().exists("work/project/src/x.sh")) << written;
  EXPECT_THAT(project.run({}, script).out, HasSubstr("ran")) << "a view is private, and may execute";
  EXPECT_THAT(project.outside(script).out, AllOf(HasSubstr("ran"), HasSubstr("hooked")));
}

TEST_P(CommandMode, CodesAreTheCommandsOwnAndOfAShell) {
  const Project project(scene);
  EXPECT_EQ(project.run({}, "exit 7").code, 7);
  const Finished missing = scene.cordon({"run", "--", "no-such-command"}).in(project.path()).run();
  EXPECT_EQ(missing.code, 127) << missing;
  EXPECT_THAT(missing.err, HasSubstr("no-such-command: command not found"));
  const Finished inspected = scene.cordon({"inspect", "--", "no-such-command"}).in(project.path()).run();
  EXPECT_EQ(inspected.code, 125) << inspected;
  EXPECT_THAT(inspected.err, HasSubstr("no-such-command: command not found"));
  scene.tree().write("work/project/plain", "text", 0644);
  const Finished plain = scene.cordon({"run", "--", "./plain"}).in(project.path()).run();
  EXPECT_EQ(plain.code, 126) << plain;
}

TEST_P(CommandMode, ATimeLimitEndsTheRunAndNothingArrives) {
  const Project project(scene);
  const Finished run =
      project.run({"--profile", "node", "--timeout", "1s"}, "mkdir node_modules; echo x > node_modules/x; sleep 60");
  EXPECT_EQ(run.code, 124) << run;
  EXPECT_FALSE(scene.tree().exists("work/project/node_modules")) << run;
  EXPECT_TRUE(run.says("cordon changes")) << "it is kept" << run;
  EXPECT_EQ(project.run({"--timeout", "soon"}, "true").code, 125);
}

TEST_P(CommandMode, TheHomeItselfIsNoWorkspace) {
  const Finished run = scene.cordon({"run", "--", "true"}).in(scene.home()).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("go into the project first: cd")) << run;
}

TEST_P(CommandMode, ARunThatIsKilledLeavesTheProjectAsItWas) {
  const Project project(scene);
  const Snapshot before = snapshot(project.path());
  Command command =
      project.cordon({"--profile", "node"}, "echo evil > src/a.js; mkdir node_modules; echo started; exec sleep 60");
  Running running = command.start();
  ASSERT_TRUE(running.expect("started"));
  running.signal(SIGKILL);
  static_cast<void>(running.wait());
  const Snapshot after = snapshot(project.path());
  EXPECT_EQ(before, after) << difference(before, after);
  const Finished next = scene.cordon({"version"}).run();
  static_cast<void>(scene.cordon({"run", "--", "true"}).in(project.path()).run());
  EXPECT_EQ(snapshot(scene.home() + "/.local/state/cordon/private").size(), 1U) << "itself alone" << next;
}

TEST_P(CommandMode, WhatAKilledRunWroteIsKept) {
  const Project project(scene);
  Running running =
      project.cordon({"--profile", "node"}, "echo mine > src/new.js; echo started; exec sleep 60").start();
  ASSERT_TRUE(running.expect("started"));
  running.signal(SIGKILL);
  static_cast<void>(running.wait());
  const Finished diff = scene.cordon({"changes", "--diff"}).run();
  EXPECT_THAT(diff.out, AllOf(HasSubstr("src/new.js"), HasSubstr("+mine"))) << diff;
  EXPECT_FALSE(scene.tree().exists("work/project/src/new.js"));
}

TEST_P(CommandMode, ALinkInALiveProjectOpensNothingElse) {
  const Project project(scene);
  scene.tree().write("work/other/secret", "sentinel-other\n");
  for (const char* name : {"dist", "node_modules", "coverage"}) {
    scene.tree().link(std::string("work/project/") + name, "../other");
    const std::string script =
        std::string("cat ") + name + "/secret; echo evil > " + name + "/written; ls " + name + "/";
    const Finished inside = project.run({"--profile", "node", "--workspace", "live"}, script);
    EXPECT_THAT(inside.out, Not(HasSubstr("sentinel"))) << name << inside;
    EXPECT_FALSE(scene.tree().exists("work/other/written")) << name << inside;
    scene.tree().remove(std::string("work/project/") + name);
  }
}

TEST_P(CommandMode, AWorkspaceThatIsExchangedMeanwhileGetsNothing) {
  const Project project(scene);
  scene.tree().write("work/other/node_modules/x", "untouched\n");
  Running running =
      project.cordon({"--profile", "node"}, "mkdir node_modules; echo evil > node_modules/x; echo started; sleep 1")
          .start();
  ASSERT_TRUE(running.expect("started"));
  const Finished moved = scene.bare({"/bin/sh", "-c", "mv project project.old && ln -s other project"});
  EXPECT_EQ(moved.code, 0) << moved;
  const Finished ended = running.wait();
  EXPECT_EQ(scene.tree().read("work/other/node_modules/x"), "untouched\n") << ended;
  EXPECT_EQ(scene.tree().read("work/project.old/node_modules/x"), "evil\n") << "it arrives where it was" << ended;
}

TEST_P(CommandMode, WhatGitTracksIsNoOutputWhateverItIsCalled) {
  const Project project(scene);
  scene.tree().remove("work/project/.git");
  scene.tree().write("work/project/dist/index.js", "source\n");
  scene.tree().write("work/project/scripts/release.sh", "source\n");
  scene.tree().write("work/project/pkg/a.js", "source\n");
  scene.tree().write("work/project/.gitignore", "scripts/\nnode_modules/\n");
  ASSERT_EQ(project.outside("git init -q . && git add -f . && git -c user.name=a -c user.email=a@b commit -qm x").code,
            0);
  const std::string script =
      "echo evil > dist/index.js; echo evil > scripts/release.sh; mkdir -p pkg/dist; echo out > pkg/dist/x";
  const Finished inside = project.run({"--profile", "node"}, script);
  EXPECT_EQ(scene.tree().read("work/project/dist/index.js"), "source\n") << inside;
  EXPECT_EQ(scene.tree().read("work/project/scripts/release.sh"), "source\n") << inside;
  EXPECT_EQ(scene.tree().read("work/project/pkg/dist/x"), "out\n") << "untracked, an output" << inside;
}

TEST_P(CommandMode, EnvironmentFilesAreHiddenBelowTheRootToo) {
  const Project project(scene);
  for (const char* name : {"packages/api/.env", "packages/api/prod.env", ".Env", "a/.envrc"})
    scene.tree().write(std::string("work/project/") + name, "sentinel\n");
  const std::string look = "cat packages/api/.env packages/api/prod.env .Env a/.envrc";
  EXPECT_THAT(project.run({}, look).out, Not(HasSubstr("sentinel")));
  EXPECT_THAT(project.outside(look).out, HasSubstr("sentinel"));
}

TEST_P(CommandMode, AShutWorkspaceLosesNothing) {
  const Project project(scene);
  EXPECT_EQ(project.run({}, "echo work > important; chmod 0 .").code, 0);
  EXPECT_THAT(scene.cordon({"changes", "--diff"}).run().out, HasSubstr("+work"));
  EXPECT_EQ(project.outside("ls").code, 0) << "the workspace itself is as it was";
}

TEST_P(CommandMode, ADryRunMakesNothing) {
  const Project project(scene);
  const Snapshot before = snapshot(project.path());
  const Finished dry = scene.cordon({"run", "--dry-run", "--", "sh", "-c", "echo ran > x"}).in(project.path()).run();
  EXPECT_EQ(dry.code, 0) << dry;
  EXPECT_THAT(dry.out, AllOf(HasSubstr("private-overlay"), Not(HasSubstr("ran\n"))));
  const Snapshot after = snapshot(project.path());
  EXPECT_EQ(before, after) << difference(before, after);
  EXPECT_EQ(snapshot(scene.home() + "/.local/state/cordon/private").size(), 1U) << "itself alone";
}

}  // namespace
}  // namespace cordon::test
