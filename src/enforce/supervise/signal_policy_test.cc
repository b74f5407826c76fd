#include "enforce/supervise/signal_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace cordon::enforce::supervise {
namespace {

using What = Reaction::What;
constexpr std::uint64_t kSecond = 1'000'000'000;

SignalPolicy running() {
  SignalPolicy policy;
  policy.executed();
  return policy;
}

TEST(SignalPolicy, AKeyIsNeitherPassedOnNorCounted) {
  SignalPolicy policy = running();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(policy.on_signal(SIGINT, Origin::kKernel, kSecond * static_cast<unsigned>(i)), Reaction{});
  }
  EXPECT_EQ(policy.on_signal(SIGTSTP, Origin::kKernel, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGQUIT, Origin::kKernel, kSecond), Reaction{});
  EXPECT_EQ(policy.next(), std::nullopt);
}

TEST(SignalPolicy, WhereItIsToTheSecondCtrlCEndsTheRun) {
  SignalPolicy policy(Keys::kSecondEnds);
  policy.executed();
  EXPECT_EQ(policy.on_signal(SIGTSTP, Origin::kKernel, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGINT, Origin::kKernel, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGQUIT, Origin::kKernel, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGINT, Origin::kKernel, kSecond + 1), (Reaction{What::kEnd, SIGINT}));
}

TEST(SignalPolicy, TheFirstRequestIsPassedOnAndTheSecondEndsTheRun) {
  SignalPolicy policy = running();
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kOutside, kSecond), (Reaction{What::kForward, SIGTERM}));
  EXPECT_EQ(policy.on_signal(SIGINT, Origin::kOutside, 2 * kSecond), (Reaction{What::kEnd, SIGINT}));
  EXPECT_EQ(policy.next(), std::nullopt);
}

TEST(SignalPolicy, TenSecondsAfterTheFirstRequestTheRunEnds) {
  SignalPolicy policy = running();
  static_cast<void>(policy.on_signal(SIGHUP, Origin::kOutside, kSecond));
  EXPECT_EQ(policy.next(), 11 * kSecond);
  EXPECT_EQ(policy.due(10 * kSecond), Reaction{});
  EXPECT_EQ(policy.due(11 * kSecond), (Reaction{What::kEnd, SIGHUP}));
  EXPECT_EQ(policy.due(12 * kSecond), Reaction{});
}

TEST(SignalPolicy, ASenderThatSignalsProcessAndGroupAsksOnce) {
  SignalPolicy policy = running();
  static_cast<void>(policy.on_signal(SIGTERM, Origin::kOutside, kSecond));
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kOutside, kSecond + 1'000'000), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGHUP, Origin::kOutside, kSecond + 2'000'000), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kOutside, kSecond + 60'000'000), (Reaction{What::kEnd, SIGTERM}));
}

TEST(SignalPolicy, WhatTheRunSendsToItsOwnGroupIsNotARequest) {
  SignalPolicy policy = running();
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kInside, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kInside, 2 * kSecond), Reaction{});
  EXPECT_EQ(policy.next(), std::nullopt);
}

TEST(SignalPolicy, OtherSignalsArePassedOnEachTime) {
  SignalPolicy policy = running();
  for (const int signal : {SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP}) {
    EXPECT_EQ(policy.on_signal(signal, Origin::kOutside, kSecond), (Reaction{What::kForward, signal}));
    EXPECT_EQ(policy.on_signal(signal, Origin::kOutside, 2 * kSecond), (Reaction{What::kForward, signal}));
  }
  EXPECT_EQ(policy.next(), std::nullopt);
}

TEST(SignalPolicy, AStopWhoseSenderIsGoneIsNotPassedOnLate) {
  SignalPolicy policy = running();
  EXPECT_EQ(policy.on_signal(SIGTTIN, Origin::kUnknown, kSecond), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGTERM, Origin::kUnknown, kSecond), (Reaction{What::kForward, SIGTERM}));
}

TEST(SignalPolicy, BeforeTheTargetIsExecutedARequestEndsTheRunAndAStopStopsUs) {
  SignalPolicy policy;
  EXPECT_EQ(policy.on_signal(SIGTSTP, Origin::kKernel, 0), (Reaction{What::kStop, SIGTSTP}));
  EXPECT_EQ(policy.on_signal(SIGUSR1, Origin::kOutside, 0), Reaction{});
  EXPECT_EQ(policy.on_signal(SIGINT, Origin::kKernel, 0), (Reaction{What::kEnd, SIGINT}));
  EXPECT_EQ(policy.on_signal(SIGQUIT, Origin::kKernel, 0), (Reaction{What::kEnd, SIGQUIT}));
}

TEST(SignalPolicy, LeavesTheKeysOfAFullScreenProgramToTheKernel) {
  EXPECT_EQ(std::ranges::count(SignalPolicy::handled(), SIGWINCH), 0);
}

}  // namespace
}  // namespace cordon::enforce::supervise
