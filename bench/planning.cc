// What a verdict costs, phase by phase: introducing the host, each round of questions and answers, and the plan. For
// the caller's own home, or the one that HOME names. Prints medians of processor time; asserts nothing.
//
//   planning MANIFEST [ROUNDS]
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "host/host.h"
#include "planner/planner.h"
#include "policy/manifest/manifest.h"

extern char** environ;

namespace cordon::bench {
namespace {

host::Caller caller() {
  host::Caller out{.uid = ::geteuid(), .gid = ::getegid(), .groups = {}, .environment = {}, .working_directory = {}};
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) out.environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  out.working_directory = std::filesystem::current_path();
  return out;
}

/// Microseconds of processor time: what else the machine does does not count.
double now() {
  timespec at{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) / 1e3;
}

class Phases {
 public:
  void mark(const std::string& phase) {
    const double at = now();
    if (!times_.contains(phase)) order_.push_back(phase);
    times_[phase].push_back(at - last_);
    last_ = now();
  }
  void start() { first_ = last_ = now(); }
  void finish() {
    last_ = first_;
    mark("all of it");
  }
  void print() {
    for (const std::string& phase : order_) {
      std::vector<double>& times = times_[phase];
      std::sort(times.begin(), times.end());
      fmt::print("{:<40} {:>9.0f} us\n", phase, times[times.size() / 2]);
    }
  }

 private:
  double first_ = 0, last_ = 0;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<double>> times_;
};

bool once(const std::string& text, const std::string& manifest, Phases& phases) {
  phases.start();
  const host::Caller who = caller();
  host::Session session(who, host::cache_location(who, "bench"));
  plan::HostFacts facts;
  if (!session.answer({}, facts)) return false;
  phases.mark("the host, its accounts and mounts");
  auto loaded = policy::manifest::parse(text, manifest);
  if (!loaded) return false;
  const std::string directory = std::filesystem::path(manifest).parent_path();
  auto policy = policy::manifest::resolve(loaded->policy, {directory, facts.home, manifest});
  if (!policy) return false;
  phases.mark("the manifest");
  planner::Memory memory;
  for (int round = 1;; ++round) {
    const plan::Questions questions = planner::next_questions(*policy, facts, memory);
    phases.mark(fmt::format("round {}: questions", round));
    if (planner::empty(questions)) break;
    if (!session.answer(questions, facts)) return false;
    phases.mark(fmt::format("round {}: answers", round));
  }
  const planner::Verdict verdict = planner::plan(*policy, facts, memory);
  phases.mark("the plan");
  phases.finish();
  return std::holds_alternative<plan::Plan>(verdict);
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  using namespace cordon::bench;
  if (argc < 2) {
    fmt::print(stderr, "usage: planning MANIFEST [ROUNDS]\n");
    return 2;
  }
  const std::string manifest = std::filesystem::absolute(argv[1]);
  std::ifstream in(manifest);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 200;
  Phases phases;
  for (int i = 0; i < rounds; ++i) {
    if (!once(text, manifest, phases)) {
      fmt::print(stderr, "{}: no plan for it here; see `cordon validate`\n", manifest);
      return 1;
    }
  }
  phases.print();
  return 0;
}
