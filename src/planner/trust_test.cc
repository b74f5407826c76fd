#include "planner/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using testing::FakeHost;
using testing::must_plan;
using testing::PolicyMaker;
using testing::with_script;

using ::testing::Not;

policy::Policy with_trust(std::string name, std::string path) {
  policy::Policy policy = PolicyMaker("/home/me/p/run").policy;
  policy.network.push_back({"a.example", "443", "", {}});
  policy.posture.trust.push_back({.name = std::move(name), .value = path, .paths = {path}});
  return policy;
}

std::vector<std::string> environment_in(const plan::Plan& plan) { return testing::execute_of(plan).environment; }

bool has_note(const plan::Plan& plan, std::string_view code) {
  return std::ranges::any_of(plan.notes, [&](const plan::Note& note) { return note.code == code; });
}

TEST(Trust, WhatTheCallersEnvironmentTrustsPassesAndCanBeRead) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.file("/opt/company/ca.pem", "CA");
  const plan::Plan plan = must_plan(host.plan(with_trust("SSL_CERT_FILE", "/opt/company/ca.pem")));
  EXPECT_THAT(environment_in(plan), Contains("SSL_CERT_FILE=/opt/company/ca.pem"));
  const auto bind = bind_at(plan, "/opt/company/ca.pem");
  ASSERT_TRUE(bind);
  EXPECT_TRUE(bind->attributes.read_only);
}

TEST(Trust, DoesNotPassWithoutAWayOut) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.file("/opt/company/ca.pem", "CA");
  policy::Policy policy = with_trust("SSL_CERT_FILE", "/opt/company/ca.pem");
  policy.network.clear();
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(environment_in(plan), Not(Contains("SSL_CERT_FILE=/opt/company/ca.pem")));
  EXPECT_FALSE(bind_at(plan, "/opt/company/ca.pem"));
}

TEST(Trust, OpensNoShieldNoDeniedFileAndNoHome) {
  const auto passes = [](const std::string& path, auto change) {
    FakeHost host = with_script("#!/usr/bin/env python3");
    host.directory("/home/me/.ssh", 1000);
    host.file("/home/me/.ssh/ca.pem", "CA", 1000);
    host.file("/home/me/certs/ca.pem", "CA", 1000);
    policy::Policy policy = with_trust("SSL_CERT_FILE", path);
    change(policy);
    const plan::Plan plan = must_plan(host.plan(policy));
    const bool shown = bind_at(plan, path).has_value();
    EXPECT_NE(shown, has_note(plan, "trust-not-passed")) << path;
    EXPECT_EQ(shown, std::ranges::any_of(environment_in(plan),
                                         [](const std::string& entry) { return entry.starts_with("SSL_CERT_FILE="); }));
    return shown;
  };
  const auto as_it_is = [](policy::Policy&) {};
  EXPECT_TRUE(passes("/home/me/certs/ca.pem", as_it_is)) << "the control";
  EXPECT_TRUE(passes("/home/me/certs", as_it_is));
  EXPECT_FALSE(passes("/home/me/.ssh/ca.pem", as_it_is));
  EXPECT_FALSE(passes("/home/me/.ssh", as_it_is));
  EXPECT_FALSE(passes("/home/me", as_it_is));
  EXPECT_FALSE(passes("/home", as_it_is));
  EXPECT_FALSE(passes("/", as_it_is));
  EXPECT_FALSE(passes("/home/me/absent.pem", as_it_is));
  EXPECT_FALSE(passes("/home/me/certs/ca.pem", [](policy::Policy& policy) {
    policy.deny = PolicyMaker("/x").deny("/home/me/certs").policy.deny;
  }));
}

TEST(Trust, ThePolicysOwnWordOnAVariableIsTheLast) {
  FakeHost host = with_script("#!/usr/bin/env python3");
  host.file("/opt/company/ca.pem", "CA");
  policy::Policy policy = with_trust("SSL_CERT_FILE", "/opt/company/ca.pem");
  policy.env = PolicyMaker("/x").env("SSL_CERT_FILE", "/own").policy.env;
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(environment_in(plan), Contains("SSL_CERT_FILE=/own"));
  EXPECT_FALSE(bind_at(plan, "/opt/company/ca.pem"));
}

}  // namespace
}  // namespace cordon::planner
