// Promise: in a stock container (no user namespaces, mounts refused, clone3 unknown, /proc partly masked) a manifest
// and a command run all the same, held by Landlock alone, and say so. Nothing is silently weaker, and --strict refuses.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Container : public Promise {
 protected:
  /// `cordon ARGS…` as in such a container: `act container` has the filter, and where the suite is root /proc is masked
  /// as a runtime does it.
  [[nodiscard]] Command contained(std::vector<std::string> args) const {
    args.insert(args.begin(), {scene.in_work("act"), "container", programs().cordon});
    Command command = scene.outside(std::move(args));
    // Facts of the machine itself must not come in, nor these go out.
    command.env("XDG_CACHE_HOME", scene.tree().path("home/cache-container"));
    command.before([] {
      if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0) return;
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
      ::mount("tmpfs", "/proc/scsi", "tmpfs", MS_RDONLY, nullptr);
      ::mount("/dev/null", "/proc/kcore", nullptr, MS_BIND, nullptr);
      ::mount("/proc/sys", "/proc/sys", nullptr, MS_BIND, nullptr);
    });
    return command;
  }
  [[nodiscard]] Finished in_container(const std::vector<std::string>& acts, std::string_view extra = "",
                                      std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), "run");
    flags.push_back(scene.approved(act_manifest(acts, extra)));
    return contained(flags).run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, Container, testing::ValuesIn(identities()), identity_name);

TEST_P(Container, AManifestRunsAndIsHeld) {
  scene.tree().write("home/secret.txt", "s");
  scene.tree().make_directory("work/out");
  const std::string secret = scene.tree().path("home/secret.txt");
  const std::vector<std::string> denied = {"read=" + secret, "append=" + secret, "chmod=" + secret, "socket=2,1,0",
                                           "signal0=1"};
  std::vector<std::string> acts = denied;
  acts.push_back("create=" + scene.in_work("out/new"));
  acts.push_back("chmod=" + scene.in_work("out/new"));
  const Finished run = in_container(acts, list("write", {"./out"}));
  EXPECT_EQ(run.code, 0) << run;
  for (const std::string& act : denied) EXPECT_THAT(verdict(run, act), StartsWith("DENIED")) << act << run;
  EXPECT_EQ(verdict(run, "create=" + scene.in_work("out/new")), "ALLOWED") << run;
  EXPECT_EQ(verdict(run, "chmod=" + scene.in_work("out/new")), "ALLOWED") << run;
  EXPECT_TRUE(run.says("so Landlock alone holds this run")) << run;
  EXPECT_TRUE(run.says("metadata-visible")) << "what is not held is named" << run;
  EXPECT_EQ(verdict(scene.acts_bare({"read=" + secret}), "read=" + secret), "ALLOWED") << "the control, bare";
}

TEST_P(Container, StrictAndTheOtherEngineRefuseWithTheReason) {
  const Finished strict = in_container({"exit=0"}, "", {"--strict"});
  EXPECT_EQ(strict.code, 125) << strict;
  EXPECT_TRUE(strict.says("clone")) << strict;
  const Finished named = in_container({"exit=0"}, "", {"--engine", "namespace"});
  EXPECT_EQ(named.code, 125) << named;
}

TEST_P(Container, WhatNeitherEngineHoldsIsRefusedWithBothReasons) {
  const Finished run = in_container({"exit=0"}, "network: [{host: a.example, port: 443}]\n");
  EXPECT_EQ(run.code, 125) << run;
  EXPECT_TRUE(run.says("does not let it be held that")) << "of the namespace engine" << run;
  EXPECT_TRUE(run.says("the landlock engine does not hold (network)")) << run;
}

TEST_P(Container, ACommandBuildsInItsOutputsAndNowhereElse) {
  scene.tree().write("work/proj/Makefile",
                     "build/hello: hello.c\n\tmkdir -p build && cc -o build/hello hello.c && ./build/hello\n"
                     "spoil:\n\techo x >> hello.c\n");
  scene.tree().write("work/proj/hello.c",
                     "#include <stdio.h>\nint main(void) { puts(\"hello from make\"); return 0; }\n");
  scene.tree().write("home/.ssh/id_rsa", "key");
  const auto make = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "--"});
    return contained(words).in(scene.in_work("proj")).run();
  };
  const Finished built = make({"make"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_TRUE(built.says("hello from make")) << built;
  EXPECT_TRUE(built.says("so Landlock alone holds this run")) << built;
  EXPECT_TRUE(built.says("no-views")) << built;
  EXPECT_TRUE(scene.tree().exists("work/proj/build/hello"));
  const Finished spoilt = make({"make", "spoil"});
  EXPECT_NE(spoilt.code, 0) << spoilt;
  EXPECT_THAT(scene.tree().read("work/proj/hello.c").value_or(""), Not(HasSubstr("x\n"))) << spoilt;
}

TEST_P(Container, ACommandRunsTheProjectsTests) {
  scene.tree().write("work/js/package.json",
                     R"({"name": "a", "version": "1.0.0", "scripts": {"test": "node test.js"}})");
  scene.tree().write("work/js/test.js",
                     "const fs = require('fs');\n"
                     "fs.writeFileSync(require('os').tmpdir() + '/t', 'x');\n"
                     "try { fs.readFileSync(process.env.REAL + '/.ssh/id_rsa'); console.log('LEAK'); }\n"
                     "catch (e) { console.log('kept: ' + e.code); }\n"
                     "console.log('tests passed');\n");
  scene.tree().write("home/.ssh/id_rsa", "key");
  const Finished run = contained({"run", "--env", "REAL=" + scene.home(), "--", "npm", "test"})
                           .in(scene.in_work("js"))
                           .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                           .run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_TRUE(run.says("tests passed")) << run;
  EXPECT_TRUE(run.says("kept: EACCES")) << run;
  const Finished review =
      contained({"run", "--workspace", "review", "--", "npm", "test"}).in(scene.in_work("js")).run();
  EXPECT_EQ(review.code, 125) << review;
  EXPECT_TRUE(review.says("has no views")) << review;
}

TEST_P(Container, DoctorSaysWhyAndWhatIsNotHeld) {
  const Finished doctor = contained({"doctor"}).run();
  EXPECT_TRUE(doctor.says("engine namespace: not ready")) << doctor;
  EXPECT_TRUE(doctor.says("engine landlock: ready")) << doctor;
  EXPECT_TRUE(doctor.says("clone3(CLONE_NEWUSER) answered ENOSYS")) << doctor;
  EXPECT_TRUE(doctor.says("processes-visible")) << doctor;
  const Finished json = contained({"doctor", "--json"}).run();
  EXPECT_THAT(json.out, HasSubstr("landlock_engine_does_not_hold")) << json;
}

// By the kernel's own switch, in a namespace of the test's.
TEST_P(Container, WhereUserNamespacesAreSwitchedOffARunIsHeldToo) {
  scene.tree().write("home/secret.txt", "s");
  const std::string secret = "read=" + scene.tree().path("home/secret.txt");
  const std::string manifest = scene.approved(act_manifest({secret, "socket=2,1,0", "show-ids"}));
  const auto switched_off = [&](const std::string& command) {
    return scene
        .outside({"unshare", "-U", "--map-root-user", "sh", "-c",
                  "echo 0 > /proc/sys/user/max_user_namespaces && exec " + command})
        .env("XDG_CACHE_HOME", scene.tree().path("home/cache-off"))
        .run();
  };
  const Finished run = switched_off(programs().cordon + " run --allow-unapproved " + manifest);
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(verdict(run, secret), "DENIED EACCES") << run;
  EXPECT_EQ(verdict(run, "socket=2,1,0"), "DENIED EAFNOSUPPORT") << run;
  EXPECT_TRUE(run.says("so Landlock alone holds this run")) << run;
  const Finished bare = switched_off(scene.in_work("act") + " " + secret);
  EXPECT_EQ(verdict(bare, secret), "ALLOWED") << "the control, bare" << bare;
}

TEST_P(Container, InspectAndValidateReachTheSameVerdict) {
  const std::string manifest = scene.approved(act_manifest({"exit=0"}));
  const Finished inspect = contained({"inspect", manifest}).run();
  EXPECT_EQ(inspect.code, 0) << inspect;
  EXPECT_TRUE(inspect.says("engine landlock")) << inspect;
  const Finished validate = contained({"validate", "--json", manifest}).run();
  EXPECT_THAT(validate.out, HasSubstr(R"("runnable": true)")) << validate;
}

}  // namespace
}  // namespace cordon::test
