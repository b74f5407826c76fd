#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/planner.h"

namespace cordon::planner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using testing::Node;
using ::testing::Not;
using testing::PolicyMaker;

struct Case {
  std::string code;
  std::function<void(FakeHost&, PolicyMaker&)> make;
  std::string says;
  std::uint32_t line = 2;
};

FakeHost ordinary() {
  FakeHost host = FakeHost::debian();
  host.program("/home/me/p/run", "#!/usr/bin/env python3\n", 1000);
  host.file("/home/me/p/run.manifest.yaml", "x", 1000);
  return host;
}

std::vector<std::string> codes(const std::vector<Callout>& callouts) {
  std::vector<std::string> out;
  for (const Callout& callout : callouts) out.push_back(callout.code);
  return out;
}

const std::vector<Case>& cases() {
  using H = FakeHost&;
  using P = PolicyMaker&;
  static const std::vector<Case> kCases = {
      {"interpreter-resolved", [](H, P) {}, "/usr/bin/python3.11", 1},
      {"interpreter-args",
       [](H, P p) {
         p.interpreter("python3").policy.interpreter_args = {{.value = "-c", .at = {{"m.yaml", 2, 1, 1}, ""}}};
       },
       "\"-c\""},
      {"env-not-set", [](H, P p) { p.env("TOKEN"); }, "TOKEN"},
      {"home-is-tmp", [](H, P) {}, "/tmp", 0},
      {"no-pin", [](H, P) {}, "pin", 1},
      {"published-port", [](H, P p) { p.policy.publish.push_back({"8080", {{"m.yaml", 2, 1, 1}, ""}}); },
       "every program and user of this host"},
      {"grant-in-tmp", [](H h, P p) { h.directory("/tmp/d", 1000), p.read("/tmp/d"); }, "/tmp/d"},
      {"grant-unresolvable",
       [](H h, P p) {
         h.link("/home/me/l", "l", 1000);
         p.read("/home/me/l");
       },
       "cannot be told"},
      {"read-missing", [](H, P p) { p.read("/home/me/none"); }, "does not exist"},
      {"read-broad", [](H, P p) { p.read("/home/me"); }, "your whole home directory"},
      {"read-broad", [](H, P p) { p.read("/"); }, "everything"},
      {"read-broad", [](H, P p) { p.read("/var"); }, "top-level"},
      {"grant-is-socket",
       [](H h, P p) {
         h.special("/run/docker.sock", Node::Kind::kSocket);
         p.read("/run/docker.sock");
       },
       "listens"},
      {"write-makes-directory", [](H, P p) { p.write("/home/me/out"); }, "/home/me/out"},
      {"write-looks-like-file", [](H, P p) { p.write("/home/me/out.json"); }, "its directory"},
      {"write-single-file",
       [](H h, P p) {
         h.file("/home/me/log", "x", 1000);
         p.write("/home/me/log");
       },
       "renaming"},
      {"write-system-tree",
       [](H h, P p) {
         h.directory("/var/lib/x", 1000);
         p.write("/var/lib/x");
       },
       "system"},
      {"write-broad",
       [](H h, P p) {
         h.at("/srv").uid = 1000;
         p.write("/srv");
       },
       "top-level"},
      {"write-covers-manifest", [](H, P p) { p.write("/home/me/p"); }, "stays read-only"},
      {"write-covers-entrypoint", [](H, P p) { p.write("/home/me/p"); }, "/home/me/p/run"},
      {"exec-all", [](H, P p) { p.exec(policy::ExecMode::kAll); }, "any program"},
      {"writes-execute", [](H, P p) { p.exec(policy::ExecMode::kAll).write("/home/me/out"); }, "executed"},
  };
  return kCases;
}

TEST(Callouts, EachIsMadeWithItsLine) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.code);
    FakeHost host = ordinary();
    PolicyMaker maker("/home/me/p/run");
    test.make(host, maker);
    EXPECT_THAT(callouts(maker.policy, host.know(maker.policy)),
                Contains(::testing::AllOf(
                    ::testing::Field(&Callout::code, test.code), ::testing::Field(&Callout::text, HasSubstr(test.says)),
                    ::testing::Field(&Callout::at, ::testing::Field(&base::Span::line, test.line)))));
  }
}

TEST(Callouts, AnOrdinaryManifestHasFew) {
  FakeHost host = ordinary();
  host.directory("/home/me/data", 1000);
  host.environment["HOME"] = "/home/me";
  PolicyMaker maker("/home/me/p/run");
  maker.interpreter("/usr/bin/python3.11").env("HOME").read("/home/me/data");
  maker.policy.pin.push_back(maker.policy.entrypoint);
  EXPECT_THAT(codes(callouts(maker.policy, host.know(maker.policy))), ElementsAre("interpreter-resolved"));
}

TEST(Callouts, AWriteGrantOverALinkToTheEntrypointIsCalledOutAsThat) {
  FakeHost host = ordinary();
  host.link("/home/me/w/start", "/home/me/p/run", 1000);
  PolicyMaker maker("/home/me/w/start");
  maker.write("/home/me/w");
  EXPECT_THAT(callouts(maker.policy, host.know(maker.policy)),
              Contains(::testing::AllOf(::testing::Field(&Callout::code, "write-covers-entrypoint"),
                                        ::testing::Field(&Callout::text, HasSubstr("lead elsewhere")))));
}

TEST(Callouts, AHiddenNameIsNoFileExtension) {
  FakeHost host = ordinary();
  for (const char* path : {"/home/me/.cache", "/home/me/v1.longerthanany", "/home/me/out"}) {
    PolicyMaker maker("/home/me/p/run");
    maker.write(path);
    EXPECT_THAT(codes(callouts(maker.policy, host.know(maker.policy))), Not(Contains("write-looks-like-file"))) << path;
  }
}

TEST(Callouts, WorkOnFactsThatNobodyAnswered) {
  const policy::Policy policy = PolicyMaker("/x").read("/y").write("/z").policy;
  EXPECT_THAT(codes(callouts(policy, plan::HostFacts{})), Contains("grant-unresolvable"));
  EXPECT_EQ(resolved_program(policy, plan::HostFacts{}), "");
}

}  // namespace
}  // namespace cordon::planner
