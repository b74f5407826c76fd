// Every test here runs twice where root runs it: as an ordinary user, who needs a user namespace for the rest, and as
// root.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "egress/far.h"
#include "egress/sandbox.h"
#include "support/identity.h"
#include "support/require.h"

namespace {

using namespace cordon::test;

int run() {
  enter_host_network();
  make_far_machine();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return RUN_ALL_TESTS();
}

int run_as(const Identity& who) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  if (child == 0) {
    require(::setgroups(0, nullptr) == 0 && ::setresgid(who.gid, who.gid, who.gid) == 0, "setresgid");
    require(::setresuid(who.uid, who.uid, who.uid) == 0, "setresuid");
    require(::prctl(PR_SET_DUMPABLE, 1) == 0, "dumpable");  // or /proc/self/uid_map would be root's
    ::_exit(run());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool lists = std::any_of(argv, argv + argc, [](const char* one) {
    return std::string_view(one).find("list_tests") != std::string_view::npos;
  });
  testing::InitGoogleTest(&argc, argv);
  if (lists) return RUN_ALL_TESTS();
#if defined(__SANITIZE_THREAD__)
  return run();  // a process with a thread of the sanitizer's enters no user namespace
#endif
  const int as_user = running_as_root() ? run_as(ordinary_user()) : 0;
  return as_user != 0 ? as_user : run();
}
