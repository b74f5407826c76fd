// `run --record-exec` and `run --explain`: what a watched run started, and what it asked for and did not get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/promise.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WatchedRun : public testing::TestWithParam<Identity> {
 protected:
  void script(const std::string& lines) const { scene.tree().write("work/s.sh", "#!/bin/sh\n" + lines + "\n", 0755); }
  [[nodiscard]] Finished ran(const std::vector<std::string>& flags, const std::string& lines = {}) const {
    return scene.sandboxed("entrypoint: ./s.sh\nexec: all\n" + lines, flags);
  }
  Scene scene{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(As, WatchedRun, testing::ValuesIn(identities()), identity_name);

TEST_P(WatchedRun, EveryProgramIsRecordedWhereThatIsAskedFor) {
  script("/usr/bin/id > /dev/null; /usr/bin/id > /dev/null; exec /usr/bin/env true");
  const Finished told = ran({"--record-exec"});
  EXPECT_EQ(told.code, 0) << told;
  EXPECT_TRUE(told.says("programs: 5 started:")) << told;
  EXPECT_TRUE(told.says("/usr/bin/id (2 times)")) << told;
  EXPECT_EQ(told.out, "");
  const Finished json = ran({"--record-exec", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"exec_record\":{\"watched\":true,\"complete\":true"),
                              HasSubstr("\"argv\":[\"/usr/bin/env\",\"true\"]"), HasSubstr("ld-linux")));
  EXPECT_EQ(ran({}).err, "") << "nobody asked";
  EXPECT_THAT(ran({"--json"}).out, Not(HasSubstr("exec_record")));
}

TEST_P(WatchedRun, ItsRecordKeepsNoArguments) {
  script("/usr/bin/env SECRET-WORD=1 true");
  EXPECT_EQ(ran({"--record-exec"}).code, 0);
  const Finished record = scene.cordon({"explain", "--json"}).run();
  EXPECT_THAT(record.out, AllOf(HasSubstr("exec_record"), HasSubstr("/usr/bin/env"), Not(HasSubstr("SECRET-WORD"))));
  EXPECT_THAT(scene.cordon({"explain"}).run().out, HasSubstr("programs: 3 started"));
}

TEST_P(WatchedRun, AClosedExecIsClosedAndRecordedAllTheSame) {
  script("/usr/bin/id");
  const Finished closed = scene.sandboxed("entrypoint: ./s.sh\n", {"--record-exec"});
  EXPECT_EQ(closed.code, 126) << closed;
  EXPECT_TRUE(closed.says("denied: starting /usr/bin/id")) << closed;
  EXPECT_TRUE(closed.says("programs: 1 started:")) << closed;
  EXPECT_EQ(scene.sandboxed("entrypoint: ./s.sh\n", {"--explain"}).code, 126);
}

TEST_P(WatchedRun, WhatIsNotGrantedIsToldWithTheLineThatGrantsItAndThatLineHolds) {
  const std::string data = scene.tree().write("home/data/file.txt", "found it\n");
  script("cat " + data);
  const Finished blind = ran({});
  EXPECT_NE(blind.code, 0);
  EXPECT_FALSE(blind.says("write in the manifest")) << "not watched";
  const Finished told = ran({"--explain"});
  EXPECT_EQ(told.code, blind.code) << told;
  EXPECT_TRUE(told.says("denied: reading " + data)) << told;
  EXPECT_TRUE(told.says("write in the manifest: read: [" + data + "]")) << told;
  EXPECT_THAT(scene.cordon({"explain"}).run().out, HasSubstr("file.txt"));
  const Finished granted = ran({"--explain"}, "read: [" + data + "]\n");
  EXPECT_EQ(granted.out, "found it\n") << granted;
  EXPECT_FALSE(granted.says("denied:")) << granted;
}

TEST_P(WatchedRun, WhatMayOnlyBeReadIsToldWhereItIsWritten) {
  scene.tree().write("home/proj/.cache/old", "");
  const std::string proj = scene.home() + "/proj";
  script("echo x > " + proj + "/.cache/new");
  const Finished told = ran({"--explain"}, "read: [" + proj + "]\n");
  EXPECT_NE(told.code, 0);
  EXPECT_TRUE(told.says("a cache, and it is granted for reading only")) << told;
  EXPECT_TRUE(told.says("write: [" + proj + "/.cache]")) << told;
  const Finished granted = ran({"--explain"}, "read: [" + proj + "]\nwrite: [" + proj + "/.cache]\n");
  EXPECT_EQ(granted.code, 0) << granted;
  EXPECT_TRUE(fs::exists(proj + "/.cache/new"));
}

TEST_P(WatchedRun, AnAddressThatWasDeniedIsToldWithTheRuleThatGrantsItWhereNoNetworkIsListed) {
  scene.tree().write(
      "work/dial.py",
      "import socket\n"
      "for family, kind, to in ((socket.AF_INET, socket.SOCK_STREAM, ('192.0.2.7', 8443)),\n"
      "                         (socket.AF_INET6, socket.SOCK_STREAM, ('2001:db8::7', 443))):\n"
      "  try: socket.socket(family, kind).connect(to)\n"
      "  except OSError: pass\n"
      "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.9', 123))\n"
      "except OSError: pass\n"
      "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.10', 123))\n"
      "except OSError: pass\n"
      "own = socket.create_server(('127.0.0.1', 0))\n"
      "socket.create_connection(own.getsockname())\n"
      "raise SystemExit(3)\n");
  const std::string manifest = "entrypoint: ./dial.py\ninterpreter: /usr/bin/python3\nexec: all\n";
  EXPECT_FALSE(scene.sandboxed(manifest).says("192.0.2.7")) << "not watched";
  const Finished told = scene.sandboxed(manifest, {"--explain"});
  EXPECT_EQ(told.code, 3) << told;
  EXPECT_TRUE(told.says("192.0.2.7:8443")) << told;
  EXPECT_TRUE(told.says("[2001:db8::7]:443")) << told;
  EXPECT_TRUE(told.says("write in the manifest: network: [{host: 192.0.2.7, port: '8443'}]")) << told;
  EXPECT_TRUE(told.says("192.0.2.9:123")) << told;
  EXPECT_TRUE(told.says("192.0.2.10:123")) << told;
  EXPECT_TRUE(told.says("UDP")) << told;
  EXPECT_FALSE(told.says("host: 192.0.2.9")) << "no rule would carry it" << told;
  EXPECT_FALSE(told.says("127.0.0.1")) << "its own" << told;
}

TEST_P(WatchedRun, AConnectionToItsOwnLoopbackThatNobodyHearsIsTold) {
  const auto program = [&](const std::string& text) {
    scene.tree().write("work/s.sh", "#!/usr/bin/python3\nfrom socket import socket\n" + text, 0755);
  };
  program("try: socket().connect(('127.0.0.1', 9999))\nexcept OSError: pass\n");
  const Finished told = ran({"--explain"});
  EXPECT_TRUE(told.says("reaching 127.0.0.1:9999: nobody in the run listens there")) << told;
  EXPECT_TRUE(told.says("host_services: [9999]")) << told;
  program("l = socket()\nl.bind(('', 9999))\nl.listen()\nsocket().connect(('127.0.0.1', 9999))\n");
  const Finished heard = ran({"--explain"});
  EXPECT_FALSE(heard.says("9999")) << "the control" << heard;
}

/// Where the host's link of that name leads to what no run has, Python finds none and goes on.
TEST_P(WatchedRun, WhatTheInterpreterLooksForInItsOwnLibrariesIsNotSuggested) {
  scene.tree().write("work/s.sh", "#!/usr/bin/python3\nopen('missing.txt')\n", 0755);
  scene.tree().write("home/missing.txt", "x");
  scene.tree().link("work/missing.txt", scene.tree().path("home/missing.txt"));
  const Finished told = scene.sandboxed("entrypoint: ./s.sh\nexec: [/usr/bin/python3]\n", {"--explain"});
  EXPECT_TRUE(told.says("missing.txt")) << "the control" << told;
  EXPECT_FALSE(told.says("sitecustomize")) << told;
}

TEST_P(WatchedRun, ANameThatWasLookedUpWithoutANetworkIsHintedAt) {
  scene.tree().write("work/look.py",
                     "import socket, sys\n"
                     "try: socket.getaddrinfo('api.example', 443)\n"
                     "except OSError: sys.exit(4)\n");
  const Finished told =
      scene.sandboxed("entrypoint: ./look.py\ninterpreter: /usr/bin/python3\nexec: all\n", {"--explain"});
  EXPECT_EQ(told.code, 4) << told;
  EXPECT_TRUE(told.says("looked up names")) << told;
}

TEST_P(WatchedRun, ManyFilesOfOneDirectoryAreOneLineOnlyWhereThatGivesNothingElseInKind) {
  std::string reads, there;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    scene.tree().write(std::string("home/data/") + name, "x");
    scene.tree().write(std::string("home/") + name + ".txt", "x");
    scene.tree().write(std::string("home/proj/") + name, "x");
    reads += "cat " + scene.home() + "/data/" + name + " " + scene.home() + "/" + name + ".txt " + scene.home() +
             "/proj/" + name + "\n";
  }
  scene.tree().write("home/proj/.git/hooks/pre-commit", "x");
  scene.tree().write("home/proj/.ssh/id_ed25519", "x");
  script(reads + "exit 1");
  const Finished told = ran({"--explain"});
  EXPECT_TRUE(told.says(scene.home() + "/data]") || told.says(scene.home() + "/data,")) << told;
  EXPECT_FALSE(told.says("[" + scene.home() + "]") || told.says("[" + scene.home() + ",")) << "never the home" << told;
  EXPECT_TRUE(told.says(scene.home() + "/a.txt")) << told;
}

TEST_P(WatchedRun, WhatIsShieldedIsNeverSuggested) {
  const std::string key = scene.tree().write("home/.ssh/id_ed25519", "PLANTED");
  const std::string netrc = scene.tree().write("home/.netrc", "PLANTED");
  script("cat " + key + "; cat " + netrc);
  for (const std::string& grant : {std::string(), "read: [" + scene.home() + "]\n"}) {
    const Finished told = ran({"--explain"}, grant);
    EXPECT_THAT(told.out, Not(HasSubstr("PLANTED")));
    EXPECT_TRUE(told.says("id_ed25519")) << told;
    EXPECT_TRUE(told.says("shield") || told.says("credentials")) << told;
    EXPECT_FALSE(told.says("write in the manifest: read:")) << told;
  }
}

TEST_P(WatchedRun, ACleanRunSaysNothing) {
  script("test -e /nowhere/at/all; ls / > /dev/null");
  const Finished clean = ran({"--explain"});
  EXPECT_EQ(clean.code, 0);
  EXPECT_EQ(clean.err, "");
}

/// Waiting for its calls must not keep us from what ends any run.
TEST_P(WatchedRun, AMaskThatTheHostTakesAwayEndsItAsAnyRun) {
  scene.tree().write("work/data/secret", "old");
  script("echo ready; sleep 30");
  const std::string manifest = scene.approved("entrypoint: ./s.sh\nexec: all\nread: [./data]\ndeny: [./data/secret]\n");
  Running run = scene.cordon({"run", "--explain", manifest}).start();
  ASSERT_TRUE(run.expect("ready")) << run.seen();
  scene.tree().write("work/data/.new", "new");
  fs::rename(scene.in_work("data/.new"), scene.in_work("data/secret"));
  EXPECT_EQ(run.wait().code, 124);
}

TEST_P(WatchedRun, NamesOfAnyBytesAreQuoted) {
  script("cat \"$(printf '/tmp/\\033[31mred\\n')\" 2> /dev/null; cat /proc/self/fd/99 2> /dev/null; true");
  const Finished told = ran({"--explain"});
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(told.err, Not(HasSubstr("\x1b[31m")));
}

}  // namespace
}  // namespace cordon::test
