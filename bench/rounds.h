// rounds: how commands are compared. Each round runs every command once, in an order that rotates, so that a slow
// second of the machine hits all of them alike; the first rounds warm up and are dropped. Only ratios of one table mean
// anything.
#pragma once

#include <string>
#include <vector>

namespace cordon::bench {

struct Contender {
  std::string name;
  std::vector<std::string> argv;
};

struct Measured {
  std::string name;
  double median_ms = 0, p95_ms = 0, min_ms = 0;
  int failures = 0;  ///< runs whose exit code was not 0: such a row means nothing
};

/// posix_spawn and wait4 with stdio on /dev/null; wall time of the whole process.
std::vector<Measured> compare(const std::vector<Contender>& contenders, int rounds, int warm_up);

/// One line per row, with the ratio to the first row and to `yardstick` where a row has that name.
void print_table(const std::string& title, const std::vector<Measured>& rows, const std::string& yardstick);

/// Runs once; exit code, stdout.
struct Ran {
  int code = -1;
  std::string out;
};
Ran run_once(const std::vector<std::string>& argv);

}  // namespace cordon::bench
