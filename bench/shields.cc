// What the corpus of shields costs a run before anything is asked of the disk: rules for one and two homes, with and
// without variables that move them, and a look-up. Prints times; asserts nothing.
#include <benchmark/benchmark.h>

#include "policy/shield/rules.h"

namespace cordon::bench {
namespace {

using policy::shield::Rules;
using policy::shield::rules_for;
using policy::shield::Situation;

Situation homes(int count) {
  Situation situation;
  for (int i = 0; i < count; ++i) situation.anchors.push_back("/home/user-" + std::to_string(i));
  return situation;
}

void rules_of_homes(benchmark::State& state) {
  const Situation situation = homes(static_cast<int>(state.range(0)));
  std::size_t rules = 0;
  for (auto _ : state) {
    const Rules made = rules_for(situation);
    benchmark::DoNotOptimize(made.list.data());
    rules = made.list.size();
  }
  state.counters["rules"] = static_cast<double>(rules);
}
BENCHMARK(rules_of_homes)->Arg(1)->Arg(2)->Arg(50)->Unit(benchmark::kMicrosecond);

void rules_that_variables_move(benchmark::State& state) {
  Situation situation = homes(2);
  for (const auto variable : policy::shield::relocation_variables())
    situation.environment[std::string(variable)] = "/srv/" + std::string(variable);
  for (auto _ : state) benchmark::DoNotOptimize(rules_for(situation).list.data());
}
BENCHMARK(rules_that_variables_move)->Unit(benchmark::kMicrosecond);

void look_up(benchmark::State& state) {
  const Rules rules = rules_for(homes(2));
  for (auto _ : state) benchmark::DoNotOptimize(rules.covering("/home/user-1/project/src/deep/below/file.cc"));
}
BENCHMARK(look_up)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace cordon::bench

BENCHMARK_MAIN();
