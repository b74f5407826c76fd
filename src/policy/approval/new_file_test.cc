#include "policy/approval/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "kernel/file.h"

namespace cordon::policy::approval {
namespace {

enum class Wait { kKept, kUndone };

/// What lies in the directory after a child was ended by SIGTERM in the middle of writing a file there.
std::vector<std::string> left_by_one_that_is_ended(Wait wait) {
  std::string directory = "/tmp/new-file-XXXXXX";
  EXPECT_NE(::mkdtemp(directory.data()), nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = kernel::openat(kernel::kHere, directory.c_str(), O_PATH | O_DIRECTORY);
    {
      auto file = NewFile::create(*held, ".new-");
      if (wait == Wait::kUndone) {
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
      }
      ::raise(SIGTERM);
      if (!file->write("whole") || !file->place("out")) ::_exit(2);
    }
    ::_exit(3);  // it was to be ended
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::filesystem::remove_all(directory);
  return names;
}

TEST(NewFile, WhoIsEndedInTheMiddleLeavesItWholeAndNothingElse) {
  EXPECT_EQ(left_by_one_that_is_ended(Wait::kKept), std::vector<std::string>{"out"});
  const auto without = left_by_one_that_is_ended(Wait::kUndone);
  ASSERT_EQ(without.size(), 1U) << "the control";
  EXPECT_TRUE(without.front().starts_with(".new-"));
}

}  // namespace
}  // namespace cordon::policy::approval
