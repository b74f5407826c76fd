#include "rounds.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

extern char** environ;

namespace cordon::bench {
namespace {

/// -1 where it could not be started.
pid_t spawn(const std::vector<std::string>& argv, int out) {
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (out >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -1;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::wait4(pid, &status, 0, nullptr) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Measured summary(const std::string& name, std::vector<double> times, int failures) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  return {.name = name, .median_ms = at(0.5), .p95_ms = at(0.95), .min_ms = times.front(), .failures = failures};
}

}  // namespace

std::vector<Measured> compare(const std::vector<Contender>& contenders, int rounds, int warm_up) {
  std::vector<std::vector<double>> times(contenders.size());
  std::vector<int> failures(contenders.size(), 0);
  for (int round = 0; round < rounds + warm_up; ++round) {
    for (std::size_t place = 0; place < contenders.size(); ++place) {
      const std::size_t which = (place + static_cast<std::size_t>(round)) % contenders.size();
      const auto start = std::chrono::steady_clock::now();
      const pid_t pid = spawn(contenders[which].argv, -1);
      const int code = pid < 0 ? -1 : wait_for(pid);
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      if (round < warm_up) continue;
      times[which].push_back(took.count());
      if (code != 0) ++failures[which];
    }
  }
  std::vector<Measured> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) all.push_back(summary(contenders[i].name, times[i], failures[i]));
  return all;
}

void print_table(const std::string& title, const std::vector<Measured>& rows, const std::string& yardstick) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == yardstick; });
  fmt::print("\n{}\n{:<44} {:>9} {:>9} {:>9} {:>8} {:>8}\n", title, "", "median ms", "p95", "min", "x first",
             "x bwrap");
  for (const auto& row : rows) {
    const std::string beside = found == rows.end() ? "-" : fmt::format("{:.2f}", row.median_ms / found->median_ms);
    fmt::print("{:<44} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.1f} {:>8}{}\n", row.name, row.median_ms, row.p95_ms, row.min_ms,
               row.median_ms / rows.front().median_ms, beside,
               row.failures == 0 ? "" : fmt::format("  FAILED {} times", row.failures));
  }
}

Ran run_once(const std::vector<std::string>& argv) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const pid_t pid = spawn(argv, ends[1]);
  ::close(ends[1]);
  Ran ran;
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    ran.out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (pid >= 0) ran.code = wait_for(pid);
  return ran;
}

}  // namespace cordon::bench
