// Promise: `allow: [nested-sandbox]` lets a program make a sandbox of its own, as Chromium does, and by nothing that it
// gains does it see or change more of the host; without it no program can.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

class NestedSandbox : public Promise {};
INSTANTIATE_TEST_SUITE_P(As, NestedSandbox, testing::Values(ordinary_user()), identity_name);
CORDON_ROOT_PROMISE(NestedSandboxOfRoot);

constexpr const char* kAllowed = "exec: all\nallow: [nested-sandbox]\n";

/// A shell as root of a user namespace of its own.
Finished nested(const Scene& scene, const std::string& text, const std::string& extra,
                std::vector<std::string> reads = {}) {
  scene.tree().write("work/inner.sh", text, 0755);
  reads.emplace_back("./inner.sh");
  scene.tree().write("work/run.sh", "#!/bin/sh\nexec unshare --user --map-root-user sh ./inner.sh\n", 0755);
  return scene.sandboxed("entrypoint: ./run.sh\n" + list("read", reads) + extra);
}

TEST_P(NestedSandbox, AProgramMakesOneWhereItIsAllowed) {
  // What Chromium does: namespaces of its own, and a root with nothing in it.
  const std::string text =
      "id -u; unshare --net --pid --ipc --uts --fork sh -c 'echo $$'; mkdir /tmp/e; cp /bin/busybox /tmp/e/b "
      "2>/dev/null;"
      "python3 -c 'import os; os.chroot(\"/tmp/e\"); os.chdir(\"/\"); print(os.path.exists(\"/usr\"))'\n";
  EXPECT_EQ(nested(scene, text, kAllowed).out, "0\n1\nFalse\n");
  const Finished closed = nested(scene, text, "exec: all\n");
  EXPECT_EQ(closed.out, "") << closed;
  EXPECT_NE(closed.code, 0) << closed;
}

/// With a mount namespace it could detach what it inherited, and a rename then takes every mask and pin below a
/// writable mount along; in a cgroup namespace it could mount the host's own hierarchy.
TEST_P(NestedSandbox, ItsNamespacesAreNoneThatUndoesWhatIsMounted) {
  const std::string text =
      "unshare --mount true && echo mounts; unshare --cgroup true && echo cgroups; mkdir -p /tmp/m; mount -t tmpfs t "
      "/tmp/m && echo mounted; umount /proc && echo unmounted; nsenter --mount=/proc/1/ns/mnt true && echo entered; "
      "echo "
      "ended\n";
  EXPECT_EQ(nested(scene, text, kAllowed).out, "ended\n");
  scene.tree().write("work/control.sh", text);
  const Finished bare =
      scene.bare({"unshare", "--user", "--map-root-user", "--mount", "sh", scene.in_work("control.sh")});
  for (const char* done : {"mounts\n", "cgroups\n", "mounted\n"}) EXPECT_THAT(bare.out, HasSubstr(done)) << bare;
}

TEST_P(NestedSandbox, BothAtOnceInOneCallAreNoneEither) {
  const std::string call =
      "import ctypes, os\nL = ctypes.CDLL(None, use_errno=True)\nfor flags in (0x10020000, 0x12000000):\n"
      "  print(L.unshare(flags), ctypes.get_errno())\nprint(L.unshare(0x10000000))\n";
  scene.tree().write("work/run.py", call);
  const Finished inside = scene.sandboxed("entrypoint: ./run.py\ninterpreter: python3\nallow: [nested-sandbox]\n");
  EXPECT_EQ(inside.out, "-1 1\n-1 1\n0\n") << inside;
}

TEST_P(NestedSandbox, WhatIsHiddenStaysHiddenAndWhatIsReadOnlyStaysSo) {
  scene.tree().write("home/.ssh/id_test", "SENTINEL\n", 0600);
  scene.tree().write("home/notes", "seen\n");
  scene.tree().write("work/project/private/secret", "SENTINEL\n");
  scene.tree().make_directory("work/project/.git/hooks");
  const std::string home = scene.home(), project = scene.in_work("project");
  const std::string acts = "cat " + home + "/.ssh/id_test; mv " + project + "/private " + project + "/p; cat " +
                           project + "/p/secret " + project + "/private/secret; mv " + project + "/.git/hooks " +
                           project + "/h; echo x > " + project + "/.git/hooks/pre-commit; echo x > " + home +
                           "/notes; cat " + home + "/notes; touch " + project + "/made; ls " + project + "\n";
  const Finished inside =
      nested(scene, acts, kAllowed + list("write", {project}) + list("deny", {project + "/private"}), {"~"});
  EXPECT_THAT(inside.out, Not(HasSubstr("SENTINEL"))) << inside;
  EXPECT_THAT(inside.out, HasSubstr("seen\n")) << inside;
  EXPECT_TRUE(scene.tree().exists("work/project/made")) << inside;
  EXPECT_FALSE(scene.tree().exists("work/project/.git/hooks/pre-commit"));
  EXPECT_TRUE(scene.tree().exists("work/project/.git/hooks"));
  scene.tree().write("work/control.sh", acts);
  const Finished bare = scene.bare({"sh", scene.in_work("control.sh")});
  EXPECT_THAT(bare.out, HasSubstr("SENTINEL\nSENTINEL\n")) << "the control" << bare;
}

TEST_P(NestedSandbox, TheRestOfTheKernelStaysClosed) {
  denied_inside({"unshare=user"}, "exec: all\n");
  allowed_inside({"unshare=user"}, kAllowed);
  const Finished inside = scene.acts({"setns", "bpf", "keyctl", "io-uring", "open-tree", "mount"}, kAllowed);
  for (const char* act : {"setns", "bpf", "keyctl", "io-uring", "open-tree", "mount"})
    EXPECT_THAT(verdict(inside, act), testing::StartsWith("DENIED")) << act << inside;
}

TEST_P(NestedSandboxOfRoot, IsRefusedBecauseTheKernelMapsNoRootThere) {
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  const Finished got =
      scene.cordon({"approve", "--yes", scene.manifest(std::string("entrypoint: ./run.sh\n") + kAllowed)}).run();
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
