#include "report/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "plan/not_held.h"
#include "report/json.h"

namespace cordon::report {
namespace {

using plan::Feature;

plan::HostFacts everything() {
  plan::HostFacts facts;
  facts.kernel_release = "6.18.44";
  facts.machine = "x86_64";
  facts.landlock_abi = 7;
  for (plan::FeatureFact& fact : facts.features) fact.state = plan::Availability::kYes;
  return facts;
}

void take_away(plan::HostFacts& facts, Feature feature, int code, std::string cause, std::string mend) {
  facts.feature(feature) = {plan::Availability::kNo, code, "clone(CLONE_NEWUSER)", std::move(cause), std::move(mend)};
}

LauncherState installed() {
  return {.found = true, .same_build = true, .usable = true, .path = "/usr/libexec/cordon/cordon-launch", .detail = ""};
}

TEST(Doctor, AHostThatHasEverythingIsReady) {
  const Doctor doctor = make_doctor(everything(), installed());
  EXPECT_TRUE(doctor.ready);
  const std::string said = text(doctor, Style{});
  EXPECT_THAT(said, testing::StartsWith("Linux 6.18.44 on x86_64, Landlock ABI 7\n"
                                        "\n"
                                        "  layer         tier        state         detail\n"
                                        "  filesystem    core        enforced\n"
                                        "  processes     core        enforced\n"
                                        "  network       core        enforced\n"
                                        "  exec          core        enforced\n"
                                        "  privileges    core        enforced\n"
                                        "  system-calls  hardening   enforced\n"
                                        "  landlock      hardening   enforced\n"
                                        "\n"
                                        "launcher: /usr/libexec/cordon/cordon-launch, of this build\n"
                                        "engine namespace: ready\n"
                                        "engine landlock: ready\n"
                                        "  not held by the landlock engine (--json explains): metadata-visible,\n"));
  EXPECT_THAT(said, testing::EndsWith("ready: this host holds every layer\n"));
}

TEST(Doctor, WhereOnlyLandlockIsLeftWhatThatDoesNotHoldIsExplained) {
  plan::HostFacts facts = everything();
  take_away(facts, Feature::kUserNamespace, EPERM, "", "");
  const Doctor doctor = make_doctor(facts, installed());
  EXPECT_FALSE(doctor.ready);
  const std::string said = text(doctor, Style{});
  EXPECT_THAT(said, testing::HasSubstr("engine namespace: not ready: filesystem lacks user-namespace\n"));
  for (const plan::NotHeld& one : plan::not_held())
    EXPECT_THAT(said, testing::HasSubstr("  " + std::string(one.code) + ": ")) << one.code;
  EXPECT_THAT(said, testing::HasSubstr("weaker: runs are held by Landlock alone here"));
  facts.landlock_abi = 2;
  EXPECT_THAT(text(make_doctor(facts, installed()), Style{}),
              testing::HasSubstr("engine landlock: not ready: Landlock ABI 3 is needed (Linux 6.2)\n"));
}

TEST(Doctor, SaysHowLimitsAreHeldOrWhyNot) {
  plan::HostFacts facts = everything();
  facts.limits = plan::LimitsFact{.way = plan::CgroupWay::kScope, .memory = true, .cpu = true, .pids = true};
  Doctor doctor = make_doctor(facts, installed());
  EXPECT_THAT(text(doctor, Style{}),
              testing::HasSubstr("limits        hardening   enforced      by a scope of systemd's\n"));
  facts.limits = plan::LimitsFact{.way = plan::CgroupWay::kScope,
                                  .memory = true,
                                  .pids = true,
                                  .cause = "cpu is not delegated",
                                  .mend = "delegate"};
  doctor = make_doctor(facts, installed());
  EXPECT_EQ(doctor.layers.back().line.state, plan::LayerState::kDegraded);
  EXPECT_THAT(text(doctor, Style{}), testing::HasSubstr("limits: cpu is not delegated\n  mend: delegate\n"));
  facts.limits = plan::LimitsFact{.cause = "cgroup v1"};
  doctor = make_doctor(facts, installed());
  EXPECT_EQ(doctor.layers.back().line.state, plan::LayerState::kUnavailable);
  EXPECT_TRUE(doctor.ready) << "limits are asked for by few";
  EXPECT_THAT(text(doctor, Style{}), testing::HasSubstr("cannot limit memory, cpu, pids"));
}

TEST(Doctor, APartOfALayerThatIsNotHeldIsSaid) {
  plan::HostFacts facts = everything();
  facts.landlock_abi = 5;
  EXPECT_EQ(make_doctor(facts, installed()).layers.at(1).line.state, plan::LayerState::kEnforced)
      << "the filter keeps them inside";
  take_away(facts, Feature::kSeccompFilter, EINVAL, "", "");
  const Doctor doctor = make_doctor(facts, installed());
  EXPECT_EQ(doctor.layers.at(1).line.state, plan::LayerState::kDegraded);
  EXPECT_THAT(text(doctor, Style{}), testing::HasSubstr("signals to the process group leave"));
}

TEST(Doctor, ACoreLayerThatIsMissingIsNamedWithItsCauseAndItsExactMend) {
  plan::HostFacts facts = everything();
  take_away(facts, Feature::kUserNamespace, EPERM, "AppArmor restricts user namespaces",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
  const Doctor doctor = make_doctor(facts, installed());
  EXPECT_FALSE(doctor.ready);
  const std::string said = text(doctor, Style{});
  EXPECT_THAT(said, testing::HasSubstr("  filesystem    core        unavailable   lacks user-namespace\n"));
  EXPECT_THAT(said, testing::HasSubstr("user-namespace: clone(CLONE_NEWUSER) answered EPERM: AppArmor restricts user\n"
                                       "  namespaces\n"
                                       "  mend: sysctl kernel.apparmor_restrict_unprivileged_userns=0\n"));
  take_away(facts, Feature::kLandlock, ENOSYS, "", "");
  EXPECT_THAT(text(make_doctor(facts, installed()), Style{}),
              testing::HasSubstr("not ready: runs are refused here; missing: filesystem, processes, network,\n"));
  EXPECT_EQ(said.find("user-namespace: clone"), said.rfind("user-namespace: clone")) << "told once";
}

TEST(Doctor, AHardeningLayerThatIsMissingDoesNotGate) {
  plan::HostFacts facts = everything();
  take_away(facts, Feature::kLandlock, ENOSYS, "", "");
  const Doctor doctor = make_doctor(facts, installed());
  EXPECT_TRUE(doctor.ready);
  EXPECT_THAT(text(doctor, Style{}), testing::HasSubstr("holds every core promise"));
}

TEST(Doctor, SaysWhatALauncherThatIsNotInstalledCosts) {
  const Doctor doctor = make_doctor(everything(), {});
  EXPECT_TRUE(doctor.ready) << "the copy inside cordon holds as much";
  EXPECT_THAT(text(doctor, Style{}), testing::HasSubstr("launcher: is not installed"));
  LauncherState other = installed();
  other.usable = other.same_build = false;
  EXPECT_THAT(text(make_doctor(everything(), other), Style{}), testing::HasSubstr("is of another build"));
}

TEST(Doctor, TheJsonHasEveryLayerAndWhatItLacks) {
  plan::HostFacts facts = everything();
  take_away(facts, Feature::kProcMount, EPERM, "masked", "run without --masked");
  const auto document = nlohmann::json::parse(doctor_document(make_doctor(facts, installed())));
  EXPECT_EQ(document["ready"], false);
  EXPECT_EQ(document["fully_enforced"], false);
  EXPECT_EQ(document["platform"], "linux/x86_64");
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["layers"][0]["missing"][0]["feature"], "proc-mount");
  EXPECT_EQ(document["layers"][0]["missing"][0]["code"], "EPERM");
  EXPECT_EQ(document["layers"][0]["mend"], "run without --masked");
  EXPECT_EQ(document["launcher"]["usable"], true);
}

}  // namespace
}  // namespace cordon::report
