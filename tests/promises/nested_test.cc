// Promise: `allow: [nested-sandbox]` lets a program make a sandbox of its own, and with all that it gains by that it
// sees and changes nothing more of the host; without it no program can.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

class NestedSandbox : public Promise {};
INSTANTIATE_TEST_SUITE_P(As, NestedSandbox, testing::Values(ordinary_user()), identity_name);
CORDON_ROOT_PROMISE(NestedSandboxOfRoot);

/// What a reviewer is told of a manifest that cannot be approved.
Finished refused(const Scene& scene, const std::string& lines) {
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  return scene.cordon({"approve", "--yes", scene.manifest("entrypoint: ./run.sh\n" + lines)}).run();
}

constexpr const char* kAllowed = "exec: all\nallow: [nested-sandbox]\n";

/// A shell in a user namespace of its own, as its root, with mounts of its own.
Finished nested(const Scene& scene, const std::string& text, const std::string& extra,
                std::vector<std::string> reads = {}) {
  scene.tree().write("work/inner.sh", text, 0755);
  reads.emplace_back("./inner.sh");
  scene.tree().write("work/run.sh", "#!/bin/sh\nexec unshare --user --map-root-user --mount sh ./inner.sh\n", 0755);
  return scene.sandboxed("entrypoint: ./run.sh\n" + list("read", reads) + extra);
}

TEST_P(NestedSandbox, AProgramMakesOneWhereItIsAllowed) {
  const std::string text = "mount -t tmpfs none /tmp && echo inside > /tmp/x && cat /tmp/x\n";
  EXPECT_EQ(nested(scene, text, kAllowed).out, "inside\n");
  const Finished closed = nested(scene, text, "exec: all\n");
  EXPECT_EQ(closed.out, "") << closed;
  EXPECT_NE(closed.code, 0) << closed;
}

TEST_P(NestedSandbox, BubblewrapStartsInIt) {
  scene.tree().write(
      "work/run.sh",
      "#!/bin/sh\nexec bwrap --ro-bind / / --dev /dev --tmpfs /tmp --unshare-all sh -c 'echo in; ls /tmp'\n", 0755);
  EXPECT_EQ(scene.sandboxed(std::string("entrypoint: ./run.sh\n") + kAllowed).out, "in\n");
  EXPECT_EQ(scene.sandboxed("entrypoint: ./run.sh\nexec: all\n").out, "") << "control";
}

/// What hides in a mount namespace of the host's own shows by these very acts: they work.
TEST_P(NestedSandbox, WhatIsHiddenStaysHidden) {
  scene.tree().write("home/.ssh/id_test", "SENTINEL\n", 0600);
  scene.tree().write("home/notes", "seen\n");
  const std::string home = scene.home();
  const std::string acts = "umount " + home + "/.ssh\n" + "umount -l " + home + "/.ssh\n" +
                           "mkdir -p /tmp/a /tmp/b /tmp/c\n" + "mount --bind " + home +
                           " /tmp/a && cat /tmp/a/.ssh/id_test\n" + "mount --rbind " + home +
                           " /tmp/b && umount -l /tmp/b/.ssh; cat /tmp/b/.ssh/id_test\n" + "mount --bind " + home +
                           "/.ssh /tmp/c; umount -l " + home + "/.ssh; cat /tmp/c/id_test\n" + "mount --move " + home +
                           "/.ssh /tmp/c; cat " + home + "/.ssh/id_test\n" + "mount -t overlay o -o lowerdir=" + home +
                           ":/tmp/a /tmp/c; cat /tmp/c/.ssh/id_test\n" +
                           "cd /tmp && mkdir -p n && mount -t tmpfs none n && pivot_root n n; cat " + home +
                           "/.ssh/id_test\n" + "unshare --mount sh -c 'umount -l " + home + "/.ssh; cat " + home +
                           "/.ssh/id_test'\n" + "cat " + home + "/.ssh/id_test; cat " + home + "/notes\n";
  const Finished inside = nested(scene, acts, kAllowed, {"~"});
  EXPECT_THAT(inside.out, Not(HasSubstr("SENTINEL"))) << inside;
  EXPECT_THAT(inside.out, HasSubstr("seen")) << inside;
  const std::string control = "mount -t tmpfs none " + home + "/.ssh && cat " + home + "/.ssh/id_test; " + acts;
  scene.tree().write("work/control.sh", control);
  const Finished bare =
      scene.bare({"unshare", "--user", "--map-root-user", "--mount", "sh", scene.in_work("control.sh")});
  EXPECT_THAT(bare.out, HasSubstr("SENTINEL")) << "the control: a mask of one's own goes" << bare;
}

TEST_P(NestedSandbox, WhatIsReadOnlyStaysReadOnly) {
  scene.tree().write("home/data/file", "as it was\n");
  scene.tree().make_directory("work/project/.git/hooks");
  const std::string data = scene.home() + "/data", project = scene.in_work("project");
  const std::string acts = "mount -o remount,rw,bind " + data + "; echo changed > " + data + "/file\n" +
                           "mkdir -p /tmp/a && mount --bind " + data + " /tmp/a && mount -o remount,rw,bind /tmp/a; " +
                           "echo changed > /tmp/a/file\n" + "umount -l " + project + "/.git/hooks; echo x > " +
                           project + "/.git/hooks/pre-commit\n" + "mv " + project + "/.git " + project + "/.gone\n" +
                           "mount -o remount,rw,bind /; echo x > /planted; echo ended\n";
  const Finished inside = nested(scene, acts, kAllowed + list("write", {project}), {"~/data"});
  EXPECT_EQ(inside.out, "ended\n") << inside;
  EXPECT_EQ(scene.tree().read("home/data/file"), "as it was\n");
  EXPECT_FALSE(scene.tree().exists("work/project/.git/hooks/pre-commit"));
  EXPECT_TRUE(scene.tree().exists("work/project/.git"));
  const Finished outside =
      scene.bare({"sh", "-c", "echo changed > " + data + "/file; echo x > " + project + "/.git/hooks/pre-commit"});
  EXPECT_EQ(outside.code, 0) << "control" << outside;
  EXPECT_EQ(scene.tree().read("home/data/file"), "changed\n");
}

TEST_P(NestedSandbox, TheRestOfTheKernelStaysClosed) {
  denied_inside({"unshare=user"}, "exec: all\n");
  allowed_inside({"unshare=user"}, kAllowed);
  const Finished inside = scene.acts({"setns", "bpf", "keyctl", "io-uring", "open-tree", "tiocsti"}, kAllowed);
  for (const char* act : {"setns", "bpf", "keyctl", "io-uring", "open-tree"})
    EXPECT_THAT(verdict(inside, act), testing::StartsWith("DENIED")) << act << inside;
}

TEST_P(NestedSandbox, NothingThatItWouldUndoStandsBesideIt) {
  for (const char* exec : {"", "exec: ['true']\n", "exec: none-strict\n"}) {
    const Finished got = refused(scene, std::string(exec) + "allow: [nested-sandbox]\n");
    EXPECT_EQ(got.code, 125) << exec << got;
    EXPECT_TRUE(got.says("allow: nested-sandbox")) << got;
    EXPECT_TRUE(got.says("exec: all")) << got;
  }
}

TEST_P(NestedSandboxOfRoot, IsRefusedBecauseTheKernelMapsNoRootThere) {
  const Finished got = refused(scene, kAllowed);
  EXPECT_EQ(got.code, 125) << got;
  EXPECT_TRUE(got.says("ordinary user")) << got;
}

TEST_P(NestedSandbox, ACommandHasItByAFlag) {
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "unshare", "--user", "--map-root-user", "true"});
    return scene.cordon(flags).in(scene.in_work("project")).run();
  };
  EXPECT_EQ(run({"--allow", "nested-sandbox"}).code, 0);
  EXPECT_NE(run({}).code, 0);
  const Finished odd = run({"--allow", "everything"});
  EXPECT_EQ(odd.code, 125) << odd;
  EXPECT_TRUE(odd.says("nested-sandbox")) << odd;
}

}  // namespace
}  // namespace cordon::test
