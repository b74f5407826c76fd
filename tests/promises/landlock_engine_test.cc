// Promise: without any namespace (--engine landlock) a program has what its manifest grants and nothing else of this
// host: files, processes, sockets, signals, modes. What that engine cannot hold refuses or is said by name. When a run
// ends, in whatever way, nothing of it is left.

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class LandlockEngine : public Promise {
 protected:
  [[nodiscard]] Finished inside(const std::vector<std::string>& acts, std::string_view extra = "") const {
    return scene.sandboxed(act_manifest(acts, extra), {"--engine", "landlock"});
  }
  /// Allowed bare, and denied inside.
  void denied(const std::vector<std::string>& acts, std::string_view extra = "") const {
    const Finished sandboxed = inside(acts, extra);  // first: bare they do what they say
    const Finished outside = scene.acts_bare(acts);
    for (const auto& act : acts) {
      EXPECT_EQ(verdict(outside, act), "ALLOWED") << "the control, bare: " << act << outside;
      EXPECT_THAT(verdict(sandboxed, act), StartsWith("DENIED")) << act << sandboxed;
    }
  }
  void allowed(const std::vector<std::string>& acts, std::string_view extra = "") const {
    const Finished sandboxed = inside(acts, extra);
    for (const auto& act : acts) EXPECT_EQ(verdict(sandboxed, act), "ALLOWED") << act << sandboxed;
  }
  [[nodiscard]] std::string work(std::string_view name) const { return scene.in_work(name); }
};
INSTANTIATE_TEST_SUITE_P(As, LandlockEngine, testing::ValuesIn(identities()), identity_name);

/// The run's own directory, as the target wrote it down: "/tmp/cordon-…".
std::string private_directory(const Scene& scene) {
  const std::string place = scene.tree().read("work/out/place").value_or("");
  return place.substr(0, place.rfind("/tmp"));
}

TEST_P(LandlockEngine, WhatIsGrantedIsThereAndNothingElse) {
  scene.tree().write("work/in/a.txt", "a");
  scene.tree().write("home/secret.txt", "s");
  scene.tree().make_directory("work/out");
  const std::string grants = list("read", {"./in"}) + list("write", {"./out"});
  allowed({"read=" + work("in/a.txt"), "create=" + work("out/new"), "mkdir=" + work("out/d"), "read=/etc/hosts"},
          grants);
  denied({"read=" + scene.tree().path("home/secret.txt"), "append=" + work("in/a.txt"), "create=" + work("in/new"),
          "create=" + scene.tree().path("home/new"), "unlink=" + scene.tree().path("home/secret.txt")},
         grants);
}

TEST_P(LandlockEngine, CredentialsBelowABroadReadGrantAreLeftOut) {
  scene.tree().write("home/.ssh/id_rsa", "key");
  scene.tree().write("home/.aws/credentials", "key");
  scene.tree().write("home/notes.txt", "n");
  const std::string grants = list("read", {"~"});
  allowed({"read=" + scene.tree().path("home/notes.txt")}, grants);
  denied({"read=" + scene.tree().path("home/.ssh/id_rsa"), "read=" + scene.tree().path("home/.aws/credentials")},
         grants);
}

TEST_P(LandlockEngine, ModesAndTimesAreChangedWhereWritingIsGrantedAndNowhereElse) {
  scene.tree().write("work/out/a", "a");
  scene.tree().write("work/in/b", "b");
  const std::string grants = list("read", {"./in"}) + list("write", {"./out"});
  allowed({"chmod=" + work("out/a"), "utime=" + work("out/a"), "setxattr=" + work("out/a")}, grants);
  denied({"chmod=" + work("in/b"), "utime=" + work("in/b"), "setxattr=" + work("in/b"), "chmod=" + scene.home()},
         grants);
}

TEST_P(LandlockEngine, ALinkOutOfTheGrantLeadsNoModeOutOfIt) {
  scene.tree().write("work/in/b", "b", 0644);
  scene.tree().make_directory("work/out");
  scene.tree().link("work/out/link", work("in/b"));
  const std::string script = "chmod 0600 " + work("out/link") + "; cd " + work("out") + "; chmod 0600 ../in/b; chmod " +
                             "0600 link; exec 3<" + work("in/b") + "; chmod 0600 /proc/self/fd/3; chmod 0600 /dev/fd/3";
  const std::string manifest = "entrypoint: /bin/sh\n" + list("args", {"-c", script}) + list("read", {"./in"}) +
                               list("write", {"./out"}) + "exec: all\n";
  static_cast<void>(scene.sandboxed(manifest, {"--engine", "landlock"}));
  const auto mode = [&] { return std::filesystem::status(work("in/b")).permissions(); };
  EXPECT_EQ(mode(), std::filesystem::perms(0644));
  static_cast<void>(scene.bare({"/bin/sh", "-c", script}));
  EXPECT_EQ(mode(), std::filesystem::perms(0600)) << "the control, bare";
}

TEST_P(LandlockEngine, ToolsThatChangeModesWorkInTheGrant) {
  scene.tree().write("work/src.sh", "#!/bin/sh\necho built\n", 0644);
  scene.tree().make_directory("work/out");
  const std::string script =
      "umask 022; cp src.sh out/x && chmod +x out/x && ./out/x && cp -p out/x out/y && " +
      std::string("tar -C out -cf out/a.tar x y && mkdir out/z && tar -C out/z -xf out/a.tar && ") +
      "ls -l out/z && touch -d @86400 out/z/x && stat -c %Y out/z/x";
  const Finished run =
      scene.sandboxed("entrypoint: /bin/sh\n" + list("args", {"-c", "cd " + scene.work() + "; " + script}) +
                          list("read", {"./src.sh"}) + list("write", {"./out"}) + "exec: all\n",
                      {"--engine", "landlock"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_TRUE(run.says("built")) << run;
  EXPECT_TRUE(run.says("86400")) << run;
}

TEST_P(LandlockEngine, NoSocketLeadsOut) {
  denied({"socket=2,1,0", "socket=10,1,0", "socket=1,1,0", "socket=2,2,0"});
  // A service of this user's by a path: Landlock alone would not keep it away.
  const std::string path = work("s.sock");
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof at.sun_path);
  path.copy(at.sun_path, path.size());
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(server, 4), 0);
  std::filesystem::permissions(path, std::filesystem::perms(0777));
  denied({"unix=" + path}, list("write", {"./s.sock.d"}));
  ::close(server);
}

TEST_P(LandlockEngine, OtherProcessesAreOutOfReach) {
  Running sleeper = scene.outside({work("act"), "read=/proc/self/status", "sleep=60"}).start();
  ASSERT_TRUE(sleeper.expect("ALLOWED"));
  const std::string pid = std::to_string(sleeper.pid());
  denied({"signal0=" + pid, "read=/proc/" + pid + "/environ", "renice=" + pid, "limit-files=" + pid});
  const Finished sandboxed = inside({"kill=" + pid, "ptrace=" + pid, "read-memory=" + pid, "take-descriptor=" + pid});
  for (const std::string& act : {"kill=" + pid, "ptrace=" + pid, "read-memory=" + pid, "take-descriptor=" + pid})
    EXPECT_THAT(verdict(sandboxed, act), StartsWith("DENIED")) << act << sandboxed;
  EXPECT_EQ(::kill(sleeper.pid(), 0), 0) << "it lives";
}

TEST_P(LandlockEngine, ADaemonThatForksTwiceIsGoneWithTheRun) {
  const std::string marker = "cordon-ll-daemon-" + std::to_string(::getpid());
  const Finished outside = scene.acts_bare({"daemon=" + marker});
  ASSERT_EQ(verdict(outside, "daemon=" + marker), "ALLOWED");
  ASSERT_THAT(processes_with(marker), Not(IsEmpty())) << "the control: outside it stays";
  for (const pid_t pid : processes_with(marker)) ::kill(pid, SIGKILL);
  ASSERT_TRUE(gone(marker));
  const Finished run = inside({"daemon=" + marker, "exit=4"});
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(processes_with(marker), IsEmpty());
}

TEST_P(LandlockEngine, KillNineOfCordonLeavesNoProcessAndNoDirectory) {
  const std::string marker = "cordon-ll-kill9-" + std::to_string(::getpid());
  scene.tree().make_directory("work/out");
  const std::string script =
      "cd " + scene.work() + "; echo $TMPDIR > out/place; ./act daemon=" + marker + "; echo > out/ready; sleep 300";
  const std::string manifest = scene.approved("entrypoint: /bin/sh\n" + list("args", {"-c", script}) +
                                              list("read", {"./act"}) + list("write", {"./out"}) + "exec: all\n");
  for (const bool whole_group : {false, true}) {
    Running run = scene.cordon({"run", "--engine", "landlock", manifest}).start();
    for (int i = 0; i < 500 && !scene.tree().exists("work/out/ready"); ++i) ::usleep(10'000);
    ASSERT_TRUE(scene.tree().exists("work/out/ready")) << run.wait();
    ASSERT_THAT(processes_with(marker), Not(IsEmpty()));
    const std::string own = private_directory(scene);
    EXPECT_TRUE(std::filesystem::exists(own)) << "the control: " << own;
    ASSERT_EQ(::kill(whole_group ? -run.pid() : run.pid(), SIGKILL), 0);
    EXPECT_EQ(run.wait().signal, SIGKILL);
    EXPECT_TRUE(gone(marker)) << (whole_group ? "of the whole group" : "of Cordon alone");
    for (int i = 0; i < 500 && std::filesystem::exists(own); ++i) ::usleep(10'000);
    EXPECT_FALSE(std::filesystem::exists(own)) << own;
    scene.tree().remove("work/out/ready");
  }
}

TEST_P(LandlockEngine, AWardenThatIsKilledLeavesNoProcessAndNoDirectory) {
  const std::string marker = "cordon-ll-warden-" + std::to_string(::getpid());
  scene.tree().make_directory("work/out");
  const std::string script =
      "cd " + scene.work() + "; echo $TMPDIR > out/place; ./act daemon=" + marker + "; echo > out/ready; sleep 300";
  const std::string manifest = scene.approved("entrypoint: /bin/sh\n" + list("args", {"-c", script}) +
                                              list("read", {"./act"}) + list("write", {"./out"}) + "exec: all\n");
  Running run = scene.cordon({"run", "--engine", "landlock", manifest}).start();
  for (int i = 0; i < 500 && !scene.tree().exists("work/out/ready"); ++i) ::usleep(10'000);
  ASSERT_TRUE(scene.tree().exists("work/out/ready")) << run.wait();
  ASSERT_THAT(processes_with(marker), Not(IsEmpty())) << "the control: in a session of its own";
  const std::string pid = std::to_string(run.pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  pid_t warden = 0;
  ASSERT_TRUE(children >> warden);
  ASSERT_EQ(::kill(warden, SIGKILL), 0);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 124) << ended;
  EXPECT_THAT(processes_with(marker), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(private_directory(scene))) << private_directory(scene);
}

TEST_P(LandlockEngine, WhateverIsLeftInThePrivateDirectoryGoes) {
  scene.tree().make_directory("work/out");
  const std::string script =
      "echo $TMPDIR > " + scene.in_work("out/place") +
      "; cd $TMPDIR; mkdir -p a/b/c/d; i=0; d=deep; while [ $i -lt 300 ]; do mkdir $d; cd $d; i=$((i+1)); done; "
      "cd $TMPDIR; ln -s / root; mkdir shut; touch shut/f; chmod 0 shut; echo $HOME > h; mkfifo p; exit 6";
  const Finished run =
      scene.sandboxed("entrypoint: /bin/sh\n" + list("args", {"-c", script}) + list("write", {"./out"}) + "exec: all\n",
                      {"--engine", "landlock"});
  EXPECT_EQ(run.code, 6) << run;
  EXPECT_THAT(private_directory(scene), StartsWith("/tmp/cordon-"));
  EXPECT_FALSE(std::filesystem::exists(private_directory(scene))) << private_directory(scene);
}

TEST_P(LandlockEngine, TheTimeLimitHolds) {
  const std::string marker = "cordon-ll-time-" + std::to_string(::getpid());
  const Finished run = inside({"daemon=" + marker, "sleep=300"}, "limits: {timeout: 1s}\n");
  EXPECT_EQ(run.code, 124) << run;
  EXPECT_THAT(processes_with(marker), IsEmpty());
}

TEST_P(LandlockEngine, WhatItDoesNotHoldIsSaidByName) {
  const Finished run = inside({"exit=0"});
  EXPECT_TRUE(run.says("engine landlock")) << run;
  EXPECT_TRUE(run.says("processes-visible")) << run;
  const Finished json = scene.sandboxed(act_manifest({"exit=0"}), {"--engine", "landlock", "--json"});
  EXPECT_THAT(json.out, HasSubstr(R"("engine":"landlock")")) << json;
  EXPECT_THAT(json.out, HasSubstr(R"("code":"metadata-visible")")) << json;
  EXPECT_THAT(json.out, HasSubstr("network-closed")) << "verified" << json;
}

TEST_P(LandlockEngine, WhatItCannotHoldRefuses) {
  const auto refused = [&](std::string_view extra, const std::vector<std::string>& flags, std::string_view says) {
    std::vector<std::string> all = {"--engine", "landlock"};
    all.insert(all.end(), flags.begin(), flags.end());
    const Finished run = scene.sandboxed(act_manifest({"exit=0"}, extra), all);
    EXPECT_EQ(run.code, 125) << extra << run;
    EXPECT_TRUE(run.says(says)) << says << run;
  };
  scene.tree().write("work/repo/.git/hooks/x", "x");
  refused("network: [{host: a.example, port: 443}]\n", {}, "network");
  refused(list("write", {"./repo"}), {}, "held-in-write");
  refused("limits: {tmp: 8M}\n", {}, "tmp-size");
  refused("", {"--strict"}, "--strict");
}

TEST_P(LandlockEngine, ShieldedNamesThatAreMadeAreReported) {
  scene.tree().make_directory("work/out");
  const std::string script =
      "mkdir out/.vscode; echo x > out/.vscode/tasks.json; echo x > out/.envrc; echo x > out/unremarkable";
  const Finished run =
      scene.sandboxed("entrypoint: /bin/sh\n" + list("args", {"-c", "cd " + scene.work() + "; " + script}) +
                          list("write", {"./out"}) + "exec: all\n",
                      {"--engine", "landlock"});
  EXPECT_TRUE(run.says("absent-names")) << run;
  EXPECT_TRUE(run.says(".envrc")) << run;
  EXPECT_TRUE(run.says("tasks.json")) << run;
  EXPECT_FALSE(run.says("unremarkable")) << run;
}

TEST_P(LandlockEngine, ExecAsAListRefusesAndAcceptedHoldsByExecve) {
  const std::string manifest = "entrypoint: /bin/sh\n" +
                               list("args", {"-c", "ls /etc/ssl/certs > /dev/null && echo listed; id || echo kept"}) +
                               "exec: [/bin/ls]\n";
  const Finished refused = scene.sandboxed(manifest, {"--engine", "landlock"});
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("loader-starts")) << refused;
  const Finished run = scene.sandboxed(manifest, {"--engine", "landlock", "--allow-degraded"});
  EXPECT_TRUE(run.says("listed")) << run;
  EXPECT_TRUE(run.says("kept")) << run;
  EXPECT_FALSE(run.says("uid=")) << run;
  EXPECT_TRUE(run.says("loader-starts")) << "it is said" << run;
}

TEST_P(LandlockEngine, ExecNoneIsClosed) {
  const Finished run = inside({"exec-self", "exec-memfd"});
  EXPECT_THAT(verdict(run, "exec-self"), AnyOf(StartsWith("DENIED"), HasSubstr("tried"))) << run;
  EXPECT_NE(verdict(run, "exec-memfd"), "ALLOWED") << run;
}

}  // namespace
}  // namespace cordon::test
