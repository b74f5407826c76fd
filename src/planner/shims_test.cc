#include "planner/shims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using testing::bind_at;
using testing::execute_of;
using testing::FakeHost;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::must_refuse;
using testing::PolicyMaker;
using testing::with_script;

constexpr const char* kElf = "ELF:/lib64/ld-linux-x86-64.so.2";
constexpr const char* kPyenv = "/home/me/.pyenv";

/// pyenv with these versions, its shims first on PATH, for a script that asks env for python3.
FakeHost with_pyenv(const std::vector<std::string>& versions) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  const std::string root = kPyenv;
  host.program(root + "/shims/python3",
               "#!/usr/bin/env bash\nset -e\nexec \"" + root + "/libexec/pyenv\" exec \"$program\" \"$@\"\n", 1000);
  for (const std::string& version : versions) {
    host.program(root + "/versions/" + version + "/bin/python3.x", kElf, 1000);
    host.link(root + "/versions/" + version + "/bin/python3", "python3.x", 1000);
  }
  host.facts.search_path = root + "/shims:/usr/bin";
  return host;
}

std::string started(FakeHost& host) {
  return execute_of(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy))).argv.at(0);
}

std::string refused(FakeHost& host) {
  const plan::Refusal refusal = must_refuse(host.plan(PolicyMaker("/home/me/p/run").policy));
  return refusal.items.empty() ? "" : refusal.items.front().code;
}

TEST(Shims, PyenvStartsTheGlobalVersion) {
  FakeHost host = with_pyenv({"3.11.7", "3.12.1"});
  host.file("/home/me/.pyenv/version", "3.11.7\n", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_EQ(execute_of(plan).argv.at(0), "/home/me/.pyenv/versions/3.11.7/bin/python3");
  EXPECT_EQ(execute_of(plan).path, "/home/me/.pyenv/versions/3.11.7/bin/python3.x");
  EXPECT_TRUE(bind_at(plan, "/home/me/.pyenv/versions/3.11.7")) << "its installation";
  EXPECT_FALSE(bind_at(plan, "/home/me/.pyenv/shims/python3"));
}

TEST(Shims, TheProjectsVersionFileComesBeforeTheGlobalOne) {
  FakeHost host = with_pyenv({"3.11.7", "3.12.1"});
  host.file("/home/me/.pyenv/version", "3.11.7\n", 1000);
  host.file("/home/me/.python-version", "3.12\r\n# not this one\n", 1000);
  EXPECT_EQ(started(host), "/home/me/.pyenv/versions/3.12.1/bin/python3");
}

TEST(Shims, AnUnfinishedVersionIsTheNewestOfItsLine) {
  FakeHost host = with_pyenv({"3.9.2", "3.9.10", "3.9.1", "3.90.0"});
  host.file("/home/me/.pyenv/version", "3.9", 1000);
  EXPECT_EQ(started(host), "/home/me/.pyenv/versions/3.9.10/bin/python3");
}

TEST(Shims, TheOnlyVersionNeedsNoFile) {
  FakeHost host = with_pyenv({"3.11.7"});
  EXPECT_EQ(started(host), "/home/me/.pyenv/versions/3.11.7/bin/python3");
}

TEST(Shims, WhatTheFilesDoNotSayIsRefusedAndNotGuessed) {
  FakeHost several = with_pyenv({"3.11.7", "3.12.1"});
  EXPECT_EQ(refused(several), "program-needs-exec");
  FakeHost absent = with_pyenv({"3.11.7"});
  absent.file("/home/me/.pyenv/version", "3.13.0\n", 1000);
  EXPECT_EQ(refused(absent), "program-needs-exec");
  FakeHost system = with_pyenv({"3.11.7"});
  system.file("/home/me/p/.python-version", "system\n", 1000);
  EXPECT_EQ(refused(system), "program-needs-exec");
}

TEST(Shims, AVersionFileCannotLeadOutOfTheVersions) {
  for (const char* version : {"../../evil", "/etc", "..", ".", "a/b"}) {
    FakeHost host = with_pyenv({"3.11.7", "3.12.1"});
    host.program("/home/me/evil/bin/python3", kElf, 1000);
    host.file("/home/me/p/.python-version", version, 1000);
    EXPECT_EQ(refused(host), "program-needs-exec") << version;
  }
}

TEST(Shims, AnInterpreterThatThePolicyNamesIsResolvedAsWell) {
  FakeHost host = with_pyenv({"3.11.7"});
  for (const char* written : {"python3", "/home/me/.pyenv/shims/python3"}) {
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").interpreter(written).policy));
    EXPECT_EQ(execute_of(plan).argv.at(0), "/home/me/.pyenv/versions/3.11.7/bin/python3");
    EXPECT_EQ(execute_of(plan).argv.at(1), "/home/me/p/run");
  }
}

TEST(Shims, UnderExecAllTheRealProgramIsStartedToo) {
  FakeHost host = with_pyenv({"3.11.7"});
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").exec(policy::ExecMode::kAll).policy));
  EXPECT_EQ(execute_of(plan).argv.at(0), "/home/me/.pyenv/versions/3.11.7/bin/python3");
}

TEST(Shims, AsdfStartsWhatToolVersionsSays) {
  FakeHost host = with_script("#!/usr/bin/env node");
  host.program("/home/me/.asdf/shims/node",
               "#!/usr/bin/env bash\n# asdf-plugin: nodejs 20.1.0\n# asdf-plugin: nodejs 18.0.0\nexec asdf exec node\n",
               1000);
  for (const char* version : {"18.0.0", "20.1.0"}) {
    host.program("/home/me/.asdf/installs/nodejs/" + std::string(version) + "/bin/node", kElf, 1000);
  }
  host.file("/home/me/.tool-versions", "python 3.11.7\nnodejs 18.0.0\n", 1000);
  host.facts.search_path = "/home/me/.asdf/shims:/usr/bin";
  EXPECT_EQ(started(host), "/home/me/.asdf/installs/nodejs/18.0.0/bin/node");
}

TEST(Shims, MiseStartsWhatItsTomlSays) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.program("/usr/local/bin/mise", kElf);
  host.link("/home/me/.local/share/mise/shims/python3", "/usr/local/bin/mise", 1000);
  for (const char* version : {"3.11.7", "3.12.1"}) {
    host.program("/home/me/.local/share/mise/installs/python/" + std::string(version) + "/bin/python3", kElf, 1000);
  }
  host.link("/home/me/.local/share/mise/installs/python/latest", "3.12.1", 1000);
  host.file("/home/me/p/mise.toml", "[tools]\nnode = \"20\"\npython = \"3.11\"\n", 1000);
  host.facts.search_path = "/home/me/.local/share/mise/shims:/usr/bin";
  EXPECT_EQ(started(host), "/home/me/.local/share/mise/installs/python/3.11.7/bin/python3");
}

TEST(Shims, VoltaStartsItsDefaultNode) {
  FakeHost host = with_script("#!/usr/bin/env node");
  host.program("/home/me/.volta/bin/volta-shim", kElf, 1000);
  host.link("/home/me/.volta/bin/node", "volta-shim", 1000);
  for (const char* version : {"18.0.0", "20.1.0"}) {
    host.program("/home/me/.volta/tools/image/node/" + std::string(version) + "/bin/node", kElf, 1000);
  }
  host.file("/home/me/.volta/tools/user/platform.json",
            "{\n  \"node\": {\n    \"runtime\": \"20.1.0\",\n    \"npm\": null\n  }\n}\n", 1000);
  host.facts.search_path = "/home/me/.volta/bin:/usr/bin";
  EXPECT_EQ(started(host), "/home/me/.volta/tools/image/node/20.1.0/bin/node");
}

TEST(Shims, ASomebodysScriptInADirectoryOfThatNameIsNoKnownShim) {
  FakeHost host = with_pyenv({"3.11.7"});
  host.program("/home/me/.pyenv/shims/python3", "#!/bin/sh\nexec /elsewhere/python3 \"$@\"\n", 1000);
  EXPECT_EQ(refused(host), "program-needs-exec");
}

TEST(Shims, AnInterpreterBehindALinkThatARunCouldHaveMadeIsRefused) {
  FakeHost host = with_script("#!/home/me/p/venv/bin/python");
  host.program("/home/me/private/bin/tool", kElf, 1000);
  host.link("/home/me/p/venv/bin/python", "/home/me/private/bin/tool", 1000);
  must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  const plan::Refusal refusal = must_refuse(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  ASSERT_EQ(refusal.items.size(), 1U);
  EXPECT_EQ(refusal.items[0].code, "path-planted");
  EXPECT_THAT(refusal.items[0].mend, HasSubstr("read: /home/me/private/bin/tool"));
  must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").read("/home/me/private/bin/tool").policy));
}

}  // namespace
}  // namespace cordon::planner
