// Plans as a person and a machine see them. Each golden file is one policy on one host; a change of what Cordon does
// is a change of one of these files, and is read in review.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "report/plan_view.h"

namespace cordon {
namespace {

using planner::testing::FakeHost;
using planner::testing::must_plan;
using planner::testing::Node;
using planner::testing::PolicyMaker;
using planner::testing::with_script;

struct Golden {
  std::string name;
  std::function<plan::Plan()> make;
};

plan::Plan planned(FakeHost host, const PolicyMaker& maker) { return must_plan(host.plan(maker.policy)); }

FakeHost unmerged() {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* path : {"/bin", "/lib", "/lib64", "/sbin"}) host.remove(path);
  host.program("/bin/sh", "ELF:/lib64/ld-linux-x86-64.so.2");
  host.file("/lib64/ld-linux-x86-64.so.2", "ELF", 0, 0755);
  host.directory("/lib");
  return host;
}

FakeHost symlinked_home() {
  FakeHost host = FakeHost::debian();
  host.remove("/home/me");
  host.directory("/data/me", 1000, 0700);
  host.link("/home/me", "/data/me");
  host.program("/data/me/run", "#!/bin/sh\n", 1000);
  host.directory("/data/me/v2", 1000);
  host.link("/data/me/current", "v2", 1000);
  return host;
}

FakeHost nix() {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.program("/nix/store/abc-python/bin/python3", "ELF:/nix/store/def-glibc/lib/ld.so");
  host.file("/nix/store/def-glibc/lib/ld.so", "ELF", 0, 0755);
  host.facts.search_path = "/nix/store/abc-python/bin:/usr/bin";
  return host;
}

FakeHost venv() {
  FakeHost host = with_script("#!/home/me/p/venv/bin/python");
  host.link("/home/me/p/venv/bin/python", "/usr/bin/python3", 1000);
  host.file("/home/me/p/venv/pyvenv.cfg", "home = /usr/bin", 1000);
  return host;
}

FakeHost with_secrets() {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/p/run.manifest.yaml", "x", 1000);
  host.file("/home/me/p/conf/prod/.env", "x", 1000);
  host.directory("/home/me/p/keys", 1000);
  host.directory("/home/me/p/vendor/lib", 1000);
  return host;
}

FakeHost old_kernel() {
  FakeHost host = with_script("#!/bin/sh");
  host.facts.kernel_release = "5.15.0-100-generic";
  host.facts.landlock_abi = 1;
  return host;
}

std::vector<Golden> goldens() {
  using policy::ExecMode;
  return {
      {"user",
       [] { return planned(with_script("#!/bin/sh -e"), PolicyMaker("/home/me/p/run").args({"-v", "two words"})); }},
      {"root",
       [] {
         FakeHost host = FakeHost::debian(0);
         host.program("/srv/run", "#!/bin/sh\n");
         return planned(std::move(host), PolicyMaker("/srv/run").read("/var/lib"));
       }},
      {"reaching",
       [] {
         PolicyMaker maker("/home/me/p/run");
         maker.policy.network = {{"a.example", "443", "", {{"m.yaml", 3, 3, 3}, ""}},
                                 {".b.example", "8000-8010", "", {{"m.yaml", 4, 3, 3}, ""}},
                                 {"10.1.0.0/16", "*", "", {{"m.yaml", 5, 3, 3}, ""}}};
         return planned(with_script("#!/bin/sh"), maker);
       }},
      {"root-for-owner",
       [] { return planned(with_script("#!/bin/sh", 0), PolicyMaker("/home/me/p/run").write("/home/me/p/out")); }},
      {"unmerged-usr", [] { return planned(unmerged(), PolicyMaker("/home/me/p/run")); }},
      {"symlinked-home",
       [] {
         return planned(symlinked_home(), PolicyMaker("/home/me/run").read("/home/me/current").write("/home/me/out"));
       }},
      {"nix-interpreter", [] { return planned(nix(), PolicyMaker("/home/me/p/run")); }},
      {"venv-python", [] { return planned(venv(), PolicyMaker("/home/me/p/run").write("/home/me/p")); }},
      {"node-by-env",
       [] { return planned(with_script("#!/usr/bin/env node"), PolicyMaker("/home/me/p/run").exec(ExecMode::kNone)); }},
      {"exec-all",
       [] {
         FakeHost host = with_script("#!/usr/bin/env node");
         host.directory("/home/me/build", 1000);
         return planned(std::move(host), PolicyMaker("/home/me/p/run").exec(ExecMode::kAll).write("/home/me/build"));
       }},
      {"exec-list",
       [] {
         FakeHost host = with_script("#!/usr/bin/env python3");
         host.directory("/usr/lib/python3.11");
         host.program("/home/me/p/tools/sign", "#!/bin/bash\n", 1000);
         host.program("/usr/bin/git", "ELF:/lib64/ld-linux-x86-64.so.2");
         host.file("/usr/share/git/libgit.so", "ELF");
         host.libraries["/usr/bin/git"] = {"/usr/share/git/libgit.so"};
         PolicyMaker maker("/home/me/p/run");
         maker.write("/home/me/p").exec({"git", "/home/me/p/tools/sign"});
         return planned(std::move(host), maker);
       }},
      {"deny-inside-write",
       [] {
         return planned(with_secrets(), PolicyMaker("/home/me/p/run")
                                            .write("/home/me/p")
                                            .deny("/home/me/p/conf/prod/.env")
                                            .deny("/home/me/p/keys")
                                            .deny("/srv"));
       }},
      {"read-below-write",
       [] {
         return planned(with_secrets(),
                        PolicyMaker("/home/me/p/run").write("/home/me/p").read("/home/me/p/vendor/lib"));
       }},
      {"missing-write-directory",
       [] {
         return planned(with_script("#!/bin/sh"),
                        PolicyMaker("/home/me/p/run").write("/home/me/a/b").read("/home/me/none"));
       }},
      {"read-home",
       [] {
         return planned(with_script("#!/bin/sh"), PolicyMaker("/home/me/p/run").read("/home/me").write("/home/me/p"));
       }},
      {"publishing",
       [] {
         PolicyMaker maker("/home/me/p/run");
         maker.policy.publish.push_back({"5173", {{"m.yaml", 2, 11, 4}, ""}});
         return planned(with_script("#!/bin/sh"), maker);
       }},
      {"signing",
       [] {
         FakeHost host = with_script("#!/bin/sh");
         host.special("/run/user/1000/agent", Node::Kind::kSocket, 1000);
         host.environment = {{"SSH_AUTH_SOCK", "/run/user/1000/agent"}};
         PolicyMaker maker("/home/me/p/run");
         maker.policy.agent.push_back({"ssh", {{"m.yaml", 2, 9, 3}, ""}});
         return planned(std::move(host), maker);
       }},
      {"read-root", [] { return planned(with_script("#!/bin/sh"), PolicyMaker("/home/me/p/run").read("/")); }},
      {"single-file-and-environment",
       [] {
         FakeHost host = with_script("#!/bin/sh");
         host.file("/home/me/log", "x", 1000);
         host.environment = {{"LANG", "C.UTF-8"}, {"TOKEN", "secret-value"}};
         PolicyMaker maker("/home/me/p/run");
         maker.write("/home/me/log").env("LANG").env("TOKEN").env("UNSET").env("GIVEN", "secret-too");
         maker.policy.limits.timeout_ms = 90'000;
         return planned(std::move(host), maker);
       }},
      {"limits",
       [] {
         PolicyMaker maker("/home/me/p/run");
         policy::Limits& limits = maker.policy.limits;
         limits.memory = "512M";
         limits.memory_bytes = 512ULL << 20U;
         limits.memory_at = {{"m.yaml", 2, 18, 4}, ""};
         limits.cpu = "12.5%";
         limits.cpu_hundredths = 1'250;
         limits.pids = 64;
         return planned(with_script("#!/bin/sh"), maker);
       }},
      {"old-kernel", [] { return planned(old_kernel(), PolicyMaker("/home/me/p/run").exec(ExecMode::kNoneStrict)); }},
      {"hostile-names",
       [] {
         FakeHost host = with_script("#!/bin/sh");
         host.directory("/home/me/a\n  1  bind /etc\x1b[2J", 1000);
         return planned(
             std::move(host),
             PolicyMaker("/home/me/p/run").read("/home/me/a\n  1  bind /etc\x1b[2J").args({"\xe2\x80\xaegpj"}));
       }},
  };
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void compare(const std::string& name, const std::string& actual) {
  const std::string golden = std::string(CORDON_GOLDEN_DIR) + "/" + name;
  if (file_text(golden) == actual) return;
  const std::string written = std::string(CORDON_ACTUAL_DIR) + "/" + name;
  std::ofstream(written, std::ios::binary) << actual;
  ADD_FAILURE() << "diff " << golden << " " << written;
}

TEST(PlanText, ReadsAsInTheGoldenFile) {
  for (const Golden& golden : goldens()) compare(golden.name + ".txt", report::plan_text(golden.make()));
}

TEST(PlanJson, ReadsAsInTheGoldenFile) {
  for (const Golden& golden : goldens()) {
    if (golden.name != "deny-inside-write" && golden.name != "single-file-and-environment") continue;
    compare(golden.name + ".json", report::plan_json(golden.make()).dump(2) + "\n");
  }
}

TEST(PlanViews, ShowNoValueOfTheEnvironment) {
  for (const Golden& golden : goldens()) {
    const plan::Plan plan = golden.make();
    for (const std::string& view : {report::plan_text(plan), report::plan_json(plan).dump()}) {
      EXPECT_THAT(view, ::testing::Not(::testing::HasSubstr("secret-"))) << golden.name;
    }
  }
}

TEST(PlanViews, LetNoNameForgeALine) {
  for (const Golden& golden : goldens()) {
    const std::string text = report::plan_text(golden.make());
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      EXPECT_TRUE(c == '\n' || (byte >= 0x20 && byte < 0x7f)) << golden.name << ": byte " << int{byte};
    }
  }
}

TEST(PlanViews, NameEveryStep) {
  for (const Golden& golden : goldens()) {
    const plan::Plan plan = golden.make();
    const auto json = report::plan_json(plan);
    ASSERT_EQ(json.at("steps").size(), plan.steps.size());
    EXPECT_EQ(json.at("steps").back().at("id"), plan.steps.size());
    EXPECT_EQ(json.at("schema_version"), 1);
  }
}

}  // namespace
}  // namespace cordon
