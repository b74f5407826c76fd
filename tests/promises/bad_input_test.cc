// Promise: a bad manifest or a grant that cannot be held gets a clear error with its place and its mend, exit 125, and
// nothing was run or changed on disk.

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The tree without what Cordon keeps for itself (its fact cache and journal).
Snapshot without_state(const Scene& scene) {
  Snapshot all = snapshot(scene.tree().root());
  std::erase_if(all, [](const auto& entry) {
    return entry.first.starts_with("/home/.local") || entry.first.starts_with("/home/.cache") || entry.first == "/home";
  });
  return all;
}

class BadInput : public Promise {
 protected:
  /// `run` and `approve` refuse: 125, every one of `says` is in the message, nothing ran, nothing changed.
  void refused(const std::string& manifest, const std::vector<std::string>& says,
               const std::vector<std::vector<std::string>>& commands = {{"run", "--allow-unapproved"},
                                                                        {"approve", "--yes"}}) const {
    const Snapshot before = without_state(scene);
    for (auto command : commands) {
      const std::string name = command[0];
      command.push_back(manifest);
      const Finished run = scene.cordon(command).timeout(20'000).run();
      EXPECT_EQ(run.code, 125) << name << run;
      EXPECT_FALSE(run.timed_out) << name;
      EXPECT_EQ(run.out.find("ALLOWED"), std::string::npos) << "it ran" << run;
      for (const auto& text : says) EXPECT_TRUE(run.says(text)) << name << " should say " << text << "\n" << run;
      clean(run);
    }
    EXPECT_EQ(difference(before, without_state(scene)), "");
  }

  /// The message cannot forge a terminal: no control bytes but newlines, no bidi or invisible characters.
  static void clean(const Finished& run) {
    for (const std::string& text : {run.out, run.err}) {
      for (const char c : text)
        EXPECT_FALSE((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) << int{c};
      for (const char* bidi : {"\u202e", "\u2066", "\u200b"}) EXPECT_THAT(text, Not(HasSubstr(bidi)));
    }
  }

  /// A manifest of `act` that would leave work/ran behind, with further lines.
  [[nodiscard]] std::string with(const std::string& lines) const {
    return scene.manifest(act_manifest({"fork"}, lines));
  }
};
INSTANTIATE_TEST_SUITE_P(As, BadInput, testing::ValuesIn(identities()), identity_name);

// ---- the text

TEST_P(BadInput, AMalformedManifest) { refused(scene.manifest("entrypoint: [\n"), {"m.yaml:"}); }
TEST_P(BadInput, ATimeThatNoClockCounts) {
  for (const char* time : {"18446744074s", "9000h", "99999999999999999999s"})
    refused(with(std::string("limits: {timeout: ") + time + "}\n"), {"is too long", "at most 8760h", ":3:", "^^^^"});
}
TEST_P(BadInput, AManifestThatIsNoMapping) { refused(scene.manifest("- a\n- b\n"), {"m.yaml:1"}); }
TEST_P(BadInput, AnEmptyManifest) { refused(scene.manifest(""), {"entrypoint"}); }
TEST_P(BadInput, AnOversizedManifest) {
  refused(scene.manifest("entrypoint: ./act\n#" + std::string(1U << 20U, 'x') + "\n"), {"1 MiB"});
}
TEST_P(BadInput, ADeeplyNestedManifest) {
  refused(scene.manifest("entrypoint: ./act\nread: " + std::string(40, '[') + std::string(40, ']') + "\n"),
          {"m.yaml:2", "32"});
}
TEST_P(BadInput, AVeryDeeplyNestedManifest) {
  refused(scene.manifest("entrypoint: " + std::string(200'000, '[')), {"m.yaml:1"});
}
TEST_P(BadInput, AManifestThatIsNotUtf8) {
  refused(scene.manifest("entrypoint: ./act\nread: [\"./\xff\xfe\"]\n"), {"m.yaml:2", "UTF-8"});
}
TEST_P(BadInput, ADuplicateKey) {
  refused(scene.manifest("entrypoint: ./act\nread: [./a]\nread: [./b]\n"), {"m.yaml:3", "read"});
}
TEST_P(BadInput, AnUnknownKeyGetsASuggestion) {
  refused(scene.manifest("entrypont: ./act\n"), {"m.yaml:1:1", "entrypont", "entrypoint"});
}
TEST_P(BadInput, AnUnknownExecModeGetsTheList) { refused(with("exec: nonne\n"), {"nonne", "none"}); }
TEST_P(BadInput, AnchorsTagsAndTwoDocuments) {
  refused(scene.manifest("entrypoint: &a ./act\n"), {"m.yaml:1", "anchor"});
  refused(scene.manifest("entrypoint: !!str ./act\n"), {"m.yaml:1", "tag"});
  refused(scene.manifest("entrypoint: ./act\n---\nentrypoint: ./act\n"), {"m.yaml:2", "document"});
}
TEST_P(BadInput, AllProblemsAreShownInOneGoEachWithItsCaret) {
  const std::string manifest = scene.manifest("entrypoint: ./act\nraed: [./a]\nexec: sometimes\nlimits: {pids: 0}\n");
  refused(manifest, {"m.yaml:2:1", "m.yaml:3:7", "m.yaml:4", "raed: [./a]", "^"});
}
TEST_P(BadInput, AnUnquotedTildeIsExplained) { refused(with("read: [~]\n"), {"~", "quote"}); }
TEST_P(BadInput, ABareHostAndPortIsExplained) { refused(with("network: ['example.com:443']\n"), {"host", "port"}); }
TEST_P(BadInput, AWildcardHostGetsThoseThatAreValid) {
  refused(with("network:\n  - {host: '*.com.*', port: '443'}\n"), {"*.com.*", "."});
}

// ---- the file

TEST_P(BadInput, AManifestThatIsAFifoIsNotWaitedFor) {
  require(::mkfifo(scene.in_work("fifo").c_str(), 0666) == 0, "mkfifo");
  refused(scene.in_work("fifo"), {"fifo", "regular file"});
}
TEST_P(BadInput, AManifestThatIsADirectory) {
  scene.tree().make_directory("work/dir");
  refused(scene.in_work("dir"), {"dir", "regular file"});
}
TEST_P(BadInput, AManifestThatIsADevice) { refused("/dev/zero", {"/dev/zero", "regular file"}); }
TEST_P(BadInput, AManifestThatIsMissing) { refused(scene.in_work("gone.yaml"), {"gone.yaml"}); }
TEST_P(BadInput, AManifestThatIsTheScriptItself) {
  scene.tree().write("work/script.py", "#!/usr/bin/python3\nprint(1)\n", 0755);
  scene.tree().write("work/script.py.manifest.yaml", "entrypoint: ./script.py\n");
  refused(scene.in_work("script.py"), {"script.py.manifest.yaml"});
}

CORDON_ROOT_PROMISE(ManifestOfOthers);

TEST_P(ManifestOfOthers, ALinkThatSomebodyElsePlantedIsNotApproved) {
  // A directory of root's that a group may write: the other user planted a link to a manifest of root's.
  Scene roots(GetParam());
  const std::string real = roots.manifest(act_manifest({"fork"}), "real.yaml");
  roots.tree().make_directory("work/shared", 01777);
  ASSERT_EQ(::symlink(real.c_str(), roots.in_work("shared/m.yaml").c_str()), 0);
  roots.tree().give("work/shared/m.yaml", other_user());
  const Finished refused = roots.cordon({"approve", "--yes", roots.in_work("shared/m.yaml")}).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("m.yaml")) << refused;
  EXPECT_EQ(roots.cordon({"approve", "--yes", real}).run().code, 0) << "the control";
}

TEST_P(ManifestOfOthers, AManifestThatSomebodyElseOwnsIsNotApproved) {
  Scene roots(GetParam());
  const std::string manifest = roots.manifest(act_manifest({"fork"}));
  roots.tree().give("work/m.yaml", other_user());
  const Finished refused = roots.cordon({"approve", "--yes", manifest}).as(ordinary_user()).run();
  EXPECT_EQ(refused.code, 125) << refused;
}

TEST_P(ManifestOfOthers, RootIsToldWhoseTurnItIsAndEachReasonOnce) {
  Scene theirs(ordinary_user());
  theirs.tree().write("work/fail.sh", "#!/bin/sh\nexit 3\n", 0755);
  const std::string manifest = theirs.manifest("entrypoint: ./fail.sh\n");
  const auto as_root = [&](std::vector<std::string> words) {
    return theirs.cordon(std::move(words)).as(GetParam()).env("HOME", scene.home()).run();
  };
  const Finished refused = as_root({"run", manifest});
  EXPECT_EQ(refused.code, 125);
  EXPECT_TRUE(refused.says("let user " + std::to_string(ordinary_user().uid))) << refused;
  const Finished approve = as_root({"approve", "--yes", manifest});
  EXPECT_EQ(approve.code, 125);
  const std::string all = approve.out + approve.err;
  EXPECT_EQ(all.find("rewrite it"), all.rfind("rewrite it")) << approve;
  EXPECT_EQ(all.find("of your own"), all.rfind("of your own")) << "one mend for all directories" << approve;
  ASSERT_EQ(theirs.approve(manifest).code, 0);
  const Finished failed = as_root({"run", manifest});
  EXPECT_EQ(failed.code, 3) << failed;
  EXPECT_EQ(failed.err.find("rewrite it"), failed.err.rfind("rewrite it")) << failed;
  EXPECT_EQ(failed.err.find("can replace"), failed.err.rfind("can replace")) << failed;
}

TEST_P(ManifestOfOthers, AnothersHomeCannotBeGranted) {
  // The caller is an ordinary user; the grant is a directory that only its owner may enter.
  Scene mine(ordinary_user());
  Scene theirs(other_user());
  const std::string manifest = mine.manifest(act_manifest({"fork"}, list("read", {theirs.home() + "/private"})));
  theirs.tree().make_directory("home/private");
  const Finished run = mine.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says(theirs.home())) << run;
}

// ---- what it names

TEST_P(BadInput, AMissingEntrypoint) { refused(scene.manifest("entrypoint: ./gone\n"), {"./gone", "m.yaml:1"}); }
TEST_P(BadInput, AnEntrypointThatIsADirectory) {
  scene.tree().make_directory("work/dir");
  refused(scene.manifest("entrypoint: ./dir\n"), {"dir", "m.yaml:1"});
}
TEST_P(BadInput, AnEntrypointThatIsNotExecutableIsTheUsersMistakeAndNotTheHosts) {
  scene.tree().write("work/r.py", "#!/usr/bin/python3\nprint(1)\n", 0644);
  const std::string manifest = scene.manifest("entrypoint: ./r.py\n");
  refused(manifest, {"r.py", "chmod"});
  const Finished run = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  for (const char* word : {"this host", "unavailable", "degraded", "seccomp"}) EXPECT_FALSE(run.says(word)) << run;
}
TEST_P(BadInput, AMissingInterpreter) {
  scene.tree().write("work/s", "x", 0755);
  refused(scene.manifest("entrypoint: ./s\ninterpreter: no-such-interpreter\n"), {"no-such-interpreter", "m.yaml:2"});
}
TEST_P(BadInput, AMissingShebangInterpreter) {
  scene.tree().write("work/s", "#!/usr/bin/no-such-interpreter\n", 0755);
  refused(scene.manifest("entrypoint: ./s\n"), {"no-such-interpreter"});
}
TEST_P(BadInput, AScriptWithoutAShebang) {
  scene.tree().write("work/s", "echo hello\n", 0755);
  refused(scene.manifest("entrypoint: ./s\n"), {"interpreter"});
}

TEST_P(BadInput, AGrantThatLoops) {
  scene.tree().link("work/loop", "loop");
  refused(with("read: [./loop]\n"), {"loop", "m.yaml:3"});
}
TEST_P(BadInput, AWriteGrantThatDangles) {
  scene.tree().link("work/dangling", scene.tree().path("nowhere/deep/place"));
  refused(with("write: [./dangling]\n"), {"dangling", "m.yaml:3"});
}
TEST_P(BadInput, AWriteGrantOfTheRoot) { refused(with("write: [/]\n"), {"m.yaml:3", "/"}); }
TEST_P(BadInput, AWriteGrantOfTheHome) { refused(with("write: ['~']\n"), {"m.yaml:3", "~"}); }
TEST_P(BadInput, AGrantOfProc) {
  refused(with("read: [/proc]\n"), {"m.yaml:3", "/proc"});
  refused(with("read: [/proc/self/root]\n"), {"m.yaml:3", "/proc"});
}
TEST_P(BadInput, AGrantOfDev) { refused(with("write: [/dev]\n"), {"m.yaml:3", "/dev"}); }
TEST_P(BadInput, AGrantSpelledWithAnotherUsersTilde) { refused(with("read: ['~root/x']\n"), {"m.yaml:3", "~root"}); }
TEST_P(BadInput, AFileWhereADirectoryIsNamed) {
  scene.tree().write("work/file", "x");
  refused(with("read: [./file/]\nwrite: [./file/below]\n"), {"file"});
}
TEST_P(BadInput, APathWithAnUnsafeCharacter) {
  for (const char* yaml : {"read: [\"./a\\nb\"]\n", "read: [\"./a\\e[31mb\"]\n", "read: [\"./a\\u202eb\"]\n",
                           "read: [\"./a\\0b\"]\n", "read: [\"./a\\u200bb\"]\n"}) {
    refused(with(yaml), {"m.yaml:3"});
  }
}
TEST_P(BadInput, AnInstanceOfEveryNameThatIsTooLong) {
  refused(with("read: ['./" + std::string(4'096, 'n') + "']\n"), {"m.yaml:3"});
  refused(with("write: ['./" + std::string(300, 'n') + "']\n"), {"m.yaml:3"});
}
TEST_P(BadInput, AnEmptyGrant) { refused(with("read: ['']\n"), {"m.yaml:3"}); }
TEST_P(BadInput, AMissingReadGrantIsOnlyNamed) {
  const std::string manifest = scene.approved(act_manifest({"exit=3"}, "read: [./missing]\n"));
  const Finished run = scene.cordon({"run", manifest}).run();
  EXPECT_EQ(run.code, 3) << "it may appear later, and what is missing gives nothing" << run;
  EXPECT_TRUE(run.says("missing")) << run;
}

// ---- hostile names are shown escaped, wherever they come from

TEST_P(BadInput, AHostileFileNameIsShownEscaped) {
  const std::string name = "evil\x1b[2J\xe2\x80\xae.yaml";
  scene.tree().write("work/" + name, "entrypont: ./act\n");
  refused(scene.in_work(name), {"evil"});
}

}  // namespace
}  // namespace cordon::test
