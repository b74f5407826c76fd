// A run whose launcher was started before its plan: the same run, and nothing is left of one that never came.
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <csignal>

#include "enforce/supervise/fixture_test.h"

namespace cordon::enforce::supervise {
namespace {

using namespace testing;  // NOLINT: the fixture of this room

const plan::step::EnterNamespaces& opening_of(const plan::Plan& plan) {
  return std::get<plan::step::EnterNamespaces>(plan.steps.front().act);
}

plan::Outcome end_of(base::Result<Run> run) {
  EXPECT_TRUE(run) << base::to_string(run.error());
  if (!run) return {};
  auto outcome = run->wait();
  EXPECT_TRUE(outcome) << base::to_string(outcome.error());
  return outcome ? std::move(*outcome) : plan::Outcome{};
}

TEST(Prepared, RunsThePlanThatComesLaterWithTheStreamsOfItsOptions) {
  as_root_and_as_a_user([] {
    Heard heard;
    bool dropped = false;
    const auto plan = shell("echo out; echo error >&2; exit 37", Exec::kNone);
    auto prepared = Prepared::begin(listening(heard), opening_of(plan));
    prepared.set_when_mounted([&] { dropped = true; });
    const auto outcome = end_of(Run::start(plan, std::move(prepared)));
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_EQ(outcome.exit_code, 37);
    EXPECT_EQ(heard.out, "out\n");
    EXPECT_EQ(heard.error, "error\n");
    EXPECT_TRUE(dropped);
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Prepared, RunsAPlanThatBeginsOtherwiseThanItGuessed) {
  as_root_and_as_a_user([] {
    Heard heard;
    const auto plan = shell("echo out");
    auto guess = opening_of(plan);
    guess.flags &= ~static_cast<std::uint64_t>(CLONE_NEWNET);
    const auto outcome = end_of(Run::start(plan, Prepared::begin(listening(heard), guess)));
    EXPECT_EQ(outcome.setup_error, std::nullopt);
    EXPECT_EQ(heard.out, "out\n");
    EXPECT_TRUE(std::ranges::all_of(outcome.verifications, &plan::Verification::held));
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Prepared, LeavesNothingWhereNoPlanComes) {
  as_root_and_as_a_user([] {
    Heard heard;
    const int before = open_descriptors();
    {
      const auto prepared = Prepared::begin(listening(heard), opening_of(shell("echo out")));
    }
    EXPECT_TRUE(has_no_children());
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(heard.out + heard.error, "");
  });
}

TEST(Prepared, SaysWhichStepFailedAsARunWithoutItDoes) {
  as_root_and_as_a_user([] {
    auto plan = shell("echo ran");
    for (auto& step : plan.steps) {
      if (auto* bind = std::get_if<plan::step::Bind>(&step.act)) bind->id.inode += 1;
    }
    Heard heard;
    const auto outcome = end_of(Run::start(plan, Prepared::begin(listening(heard), opening_of(plan))));
    ASSERT_TRUE(outcome.setup_error);
    EXPECT_TRUE(std::holds_alternative<plan::step::Bind>(plan.at(outcome.setup_error->step).act));
    EXPECT_FALSE(outcome.executed);
    EXPECT_EQ(heard.out, "");
    EXPECT_TRUE(has_no_children());
  });
}

TEST(Prepared, KeepsIgnoredWhatIsIgnoredWhenThePlanComes) {
  as_root_and_as_a_user([] {
    Heard heard;
    auto options = listening(heard);
    options.terminal = Terminal::kForeground;
    const auto plan = shell("grep SigIgn /proc/self/status");
    auto prepared = Prepared::begin(std::move(options), opening_of(plan));
    ::signal(SIGHUP, SIG_IGN);  // after the early launcher was started without it
    end_of(Run::start(plan, std::move(prepared)));
    EXPECT_EQ(heard.out.substr(heard.out.size() - 2), "1\n") << heard.out;
  });
}

}  // namespace
}  // namespace cordon::enforce::supervise
