// The filter of a run that is watched, alone and together with a closed exec.
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <variant>

#include "plan/path_calls.h"
#include "planner/evaluate_test.h"
#include "planner/fake_host_test.h"
#include "planner/filters.h"

namespace cordon::planner {
namespace {

class WatchFilters : public ::testing::TestWithParam<Machine> {
 protected:
  std::uint32_t call(const std::vector<std::uint8_t>& program, int number,
                     std::initializer_list<std::uint64_t> args = {}) {
    seccomp_data data{.nr = number, .arch = GetParam().audit, .instruction_pointer = 0, .args = {}};
    std::copy(args.begin(), args.end(), std::begin(data.args));
    return evaluate(program, data);
  }
  std::uint32_t call(const std::vector<std::uint8_t>& program, const char* name,
                     std::initializer_list<std::uint64_t> args = {}) {
    return call(program, number(name), args);
  }
  int number(const char* name) { return seccomp_syscall_resolve_name_rewrite(GetParam().scmp, name); }
  bool exists(const char* name) { return number(name) >= 0; }
};

INSTANTIATE_TEST_SUITE_P(OnEachMachine, WatchFilters, ::testing::ValuesIn(kMachines),
                         [](const auto& machine) { return std::string(machine.param.name); });

TEST_P(WatchFilters, WatchingHandsOverEveryCallOfTheTable) {
  for (const plan::Watching watching : {plan::Watching::kPrograms, plan::Watching::kPaths}) {
    const auto watched = watched_calls(GetParam().name, watching);
    for (const ExecFilter kind : {ExecFilter::kOpen, ExecFilter::kNone, ExecFilter::kNoneStrict}) {
      const auto program = exec_filter(GetParam().name, kind, watched);
      std::set<int> notified;
      for (const plan::WatchedCall& one : watched) notified.insert(static_cast<int>(one.number));
      for (const plan::PathCall& row : plan::calls_of(watching)) {
        const int known = exists(row.name) ? number(row.name) : row.number;
        if (known < 0) continue;
        EXPECT_EQ(call(program, known, {0, 0, 0, 0, 1}), kNotify) << row.name;
        EXPECT_TRUE(notified.contains(known)) << row.name;
      }
      for (const char* name : {"close", "read", "fstat", "fchdir", "exit", "mmap", "dup", "fsetxattr"})
        EXPECT_EQ(call(program, name), kAllow) << name;
      EXPECT_EQ(call(program, "openat"), watching == plan::Watching::kPaths ? kNotify : kAllow);
      EXPECT_EQ(call(program, "clone", {SIGCHLD}), kind == ExecFilter::kNoneStrict ? error(EPERM) : kAllow);
    }
  }
}

TEST_P(WatchFilters, WhatCanNameNoAddressAndTheLaunchersOwnMessagesAreLetBy) {
  const auto program =
      exec_filter(GetParam().name, ExecFilter::kNone, watched_calls(GetParam().name, plan::Watching::kPaths));
  EXPECT_EQ(call(program, "sendto", {3, 1, 1, 0, 0, 0}), kAllow) << "send(2)";
  EXPECT_EQ(call(program, "sendto", {3, 1, 1, 0, std::uint64_t{1} << 40U, 16}), kNotify);
  EXPECT_EQ(call(program, "sendmsg", {3, 1, plan::kOwnMessage | MSG_NOSIGNAL}), kAllow);
  EXPECT_EQ(call(program, "sendmsg", {3, 1, MSG_NOSIGNAL}), kNotify);
}

TEST_P(WatchFilters, WatchingKillsForeignCallsToo) {
  const auto program =
      exec_filter(GetParam().name, ExecFilter::kOpen, watched_calls(GetParam().name, plan::Watching::kPaths));
  seccomp_data data{.nr = 463, .arch = AUDIT_ARCH_I386, .instruction_pointer = 0, .args = {}};
  EXPECT_EQ(evaluate(program, data), kKill) << "setxattrat, which is compared by its number";
  if (GetParam().audit != AUDIT_ARCH_X86_64) return;
  data = {.nr = 463 | 0x40000000, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = 0, .args = {}};
  EXPECT_EQ(evaluate(program, data), kKill);
}

TEST(WatchedCalls, AreSortedAndNoneWhereNothingIsWatched) {
  EXPECT_TRUE(watched_calls("x86_64", plan::Watching::kNothing).empty());
  EXPECT_TRUE(watched_calls("riscv64", plan::Watching::kPaths).empty());
  EXPECT_EQ(watched_calls("aarch64", plan::Watching::kPrograms).size(), plan::kProgramCalls);
  const auto all = watched_calls("x86_64", plan::Watching::kPaths);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &plan::WatchedCall::number));
  EXPECT_EQ(all.size(), plan::kPathCalls.size()) << "x86-64 has the old calls as well";
}

using testing::FakeHost;
using testing::must_plan;
using testing::PolicyMaker;
using testing::steps_of;

std::vector<plan::step::Filter> watched_filters(FakeHost& host, policy::ExecMode mode, plan::Plan* whole = nullptr) {
  host.program("/home/me/run", "ELF", 1000);
  policy::Policy policy = PolicyMaker("/home/me/run").exec(mode).policy;
  policy.posture.watch = policy::Watch::kPaths;
  plan::Plan plan = must_plan(host.plan(policy));
  if (whole != nullptr) *whole = plan;
  return steps_of<plan::step::Filter>(plan);
}

TEST(FilterSteps, WatchingIsOneFilterWithAClosedExec) {
  FakeHost host = FakeHost::debian();
  plan::Plan plan;
  const auto open = watched_filters(host, policy::ExecMode::kAll, &plan);
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[1].name, "watch");
  EXPECT_TRUE(open[1].notify);
  EXPECT_EQ(plan.watching, plan::Watching::kPaths);
  EXPECT_FALSE(plan.exec_closed);
  EXPECT_FALSE(plan.watched.empty());
  const auto closed = watched_filters(host, policy::ExecMode::kNone, &plan);
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(closed[1].name, "exec");
  EXPECT_TRUE(plan.exec_closed);
  EXPECT_EQ(plan.watching, plan::Watching::kPaths);
}

TEST(FilterSteps, WatchingWaitsKillablyUnlessTheKernelIsTooOld) {
  FakeHost host = FakeHost::debian();
  host.facts.kernel_release = "6.1.0-50-amd64";
  constexpr std::uint32_t kKillable = SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  EXPECT_NE(watched_filters(host, policy::ExecMode::kAll)[1].flags & kKillable, 0U);
  host.facts.kernel_release = "5.18.0";
  EXPECT_EQ(watched_filters(host, policy::ExecMode::kAll)[1].flags & kKillable, 0U);
  host.facts.kernel_release = "6.1.0-50-amd64";
  host.facts.feature(plan::Feature::kNotificationKillable).state = plan::Availability::kNo;
  EXPECT_EQ(watched_filters(host, policy::ExecMode::kAll)[1].flags & kKillable, 0U);
}

TEST(FilterSteps, AHostThatCannotNotifyRefusesToWatch) {
  FakeHost host = FakeHost::debian();
  host.program("/home/me/run", "ELF", 1000);
  host.facts.feature(plan::Feature::kUserNotification).state = plan::Availability::kNo;
  policy::Policy policy = PolicyMaker("/home/me/run").exec(policy::ExecMode::kAll).policy;
  EXPECT_TRUE(std::holds_alternative<plan::Plan>(host.plan(policy)));
  policy.posture.watch = policy::Watch::kPrograms;
  EXPECT_TRUE(std::holds_alternative<plan::Refusal>(host.plan(policy)));
  policy.posture.allow_degraded = true;
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_EQ(plan.watching, plan::Watching::kNothing);
  EXPECT_FALSE(plan.degradations.empty());
}

}  // namespace
}  // namespace cordon::planner
