#include "enforce/supervise/process_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/process.h"

namespace cordon::enforce::supervise {
namespace {

TEST(ProcessStatus, IsReadPerPidNamespace) {
  const auto status =
      parse_status("Name:\tx\nUid:\t1000\t0\t0\t0\nNSpid:\t812\t3\nNSpgid:\t99\t0\nVmSize:\t 100 kB\nSigQ:\t0/1\n");
  EXPECT_EQ(status, (ProcessStatus{.uid = 1000, .ids = {812, 3}, .groups = {99, 0}, .kernel_thread = false}));
}

TEST(ProcessStatus, ToldByWhatLacksMemoryIsAKernelThread) {
  EXPECT_TRUE(parse_status("Name:\tkthreadd\nUid:\t0\t0\t0\t0\nNSpid:\t2\n")->kernel_thread);
}

TEST(ProcessStatus, IsNothingWhereALineIsMissing) {
  EXPECT_EQ(parse_status(""), std::nullopt);
  EXPECT_EQ(parse_status("Name:\tx\nNSpid:\t2\n"), std::nullopt);
  EXPECT_EQ(parse_status("Name:\tx\nUid:\t0\t0\t0\t0\n"), std::nullopt);
}

TEST(ThreadState, IsReadWithHowOftenItLeftAProcessor) {
  EXPECT_EQ(parse_thread(7,
                         "Name:\tx\nState:\tT (stopped)\nvoluntary_ctxt_switches:\t5\n"
                         "nonvoluntary_ctxt_switches:\t2\n"),
            (ThreadState{.id = 7, .state = 'T', .switches = 7}));
  EXPECT_EQ(parse_thread(7, "Name:\tx\nState:\tT (stopped)\n"), (ThreadState{.id = 7})) << "half of it is nothing";
  EXPECT_EQ(parse_thread(7, ""), (ThreadState{.id = 7}));
}

TEST(ProcessFile, CountsWhatWasStartedOnTheMachine) {
  const auto before = starts_so_far();
  ASSERT_TRUE(before);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(starts_so_far(), before);
}

TEST(ProcessFile, TellsWhichProcessAPidfdStandsFor) {
  const auto self = kernel::pidfd_open(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(pid_of(*self), getpid());
  EXPECT_EQ(pid_of(base::FdView(0)), std::nullopt) << "not a pidfd";
}

TEST(ProcessFile, ReadsTheStateAndGroupOfAProcess) {
  const auto self = process_stat(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->state, 'R');
  EXPECT_EQ(self->group, getpgrp());
  const auto status = process_status(getpid());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->ids.front(), getpid());
  EXPECT_EQ(status->uid, getuid());
  EXPECT_FALSE(status->kernel_thread);
  EXPECT_EQ(process_stat(-1), std::nullopt);
}

TEST(OriginOfSender, IsOutsideForAProcessThatCanHaveSentIt) {
  EXPECT_EQ(origin_of_sender(getpid(), getuid()), Origin::kOutside);
  EXPECT_EQ(origin_of_sender(0, 0), Origin::kOutside) << "from a namespace above";
}

TEST(OriginOfSender, IsUnknownWhereTheUserIsAnotherOrNobodyHasTheNumber) {
  EXPECT_EQ(origin_of_sender(getpid(), getuid() + 1), Origin::kUnknown);
  EXPECT_EQ(origin_of_sender(0x3fffffff, getuid()), Origin::kUnknown);
}

}  // namespace
}  // namespace cordon::enforce::supervise
