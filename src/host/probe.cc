#include <csignal>
#include <cstring>
#include <optional>

#include "host/attempt.h"
#include "host/host.h"
#include "host/identity.h"
#include "host/probe_cause.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/socket.h"
#include "kernel/system.h"
#include "kernel/terminal.h"

namespace cordon::host {

using plan::Availability;
using plan::Feature;

namespace {

/// All probes together; they take some 10 ms.
constexpr std::uint64_t kBoundNs = 10'000'000'000;

using Outcomes = std::array<std::optional<Attempt>, kFeatureCount>;

/// One record; nothing at the end or when the time is over.
std::optional<Attempt> next_attempt(base::FdView pipe, std::uint64_t deadline_ns) {
  const std::uint64_t now = kernel::monotonic_ns();
  if (now >= deadline_ns) return std::nullopt;
  std::array<pollfd, 1> ready{{{.fd = pipe.get(), .events = POLLIN, .revents = 0}}};
  const auto count = kernel::poll(ready, static_cast<int>((deadline_ns - now) / 1'000'000) + 1);
  if (!count && count.error().code == EINTR) return next_attempt(pipe, deadline_ns);
  if (!count || *count == 0) return std::nullopt;
  Attempt attempt;
  const auto n = kernel::read(pipe, std::as_writable_bytes(std::span(&attempt, 1)));
  if (!n || *n != sizeof attempt || attempt.feature >= Feature::kCount) return std::nullopt;
  attempt.operation.back() = '\0';
  return attempt;
}

/// A refusal counts even where the same thing went well before: it was tried in two ways.
void note(Outcomes& outcomes, const Attempt& attempt) {
  auto& slot = outcomes[static_cast<std::size_t>(attempt.feature)];
  if (!slot || slot->works) slot = attempt;
}

kernel::Sys<Outcomes> run_attempts(FeatureSet wanted) {
  CORDON_TRY(auto pipe, kernel::pipe());
  CORDON_TRY(const pid_t pid, kernel::fork());
  if (pid == 0) {
    (void)kernel::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Whoever ignores it (and some hosts do) would have its children reaped before they can be asked how they ended.
    (void)kernel::handle_signal(SIGCHLD, SIG_DFL);
    pipe.read_end.reset();
    try_features(wanted, Reporter(pipe.write_end));
    ::_exit(0);
  }
  pipe.write_end.reset();
  Outcomes outcomes;
  const std::uint64_t deadline = kernel::monotonic_ns() + kBoundNs;
  while (const auto attempt = next_attempt(pipe.read_end, deadline)) note(outcomes, *attempt);
  // Only where it still runs: a host that reaps every child may have given the number away otherwise.
  if (kernel::monotonic_ns() >= deadline) (void)kernel::kill(pid, SIGKILL);
  (void)kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED);
  return outcomes;
}

Failure failure_of(Feature feature, const std::optional<Attempt>& attempt) {
  if (!attempt) return {.feature = feature, .code = 0, .operation = "probe"};
  return {.feature = feature, .code = attempt->code, .operation = attempt->operation.data()};
}

void query_landlock(plan::HostFacts& facts) {
  facts.landlock_abi = kernel::landlock_query(kernel::kLandlockCreateRulesetVersion).value_or(0);
  if (facts.landlock_abi == 0) return;
  facts.landlock_errata = kernel::landlock_query(kernel::kLandlockCreateRulesetErrata).value_or(0);
}

}  // namespace

void Reporter::works(Feature feature) const { tell(feature, {}); }

void Reporter::fails(Feature feature, int code, std::string_view operation) const {
  Attempt attempt{.feature = feature, .works = false, .code = code};
  operation.copy(attempt.operation.data(), attempt.operation.size() - 1);
  (void)kernel::write_all(pipe_, std::as_bytes(std::span(&attempt, 1)));
}

void Reporter::tell(Feature feature, const kernel::Sys<void>& outcome) const {
  if (!outcome) return fails(feature, outcome.error().code, outcome.error().call);
  const Attempt attempt{.feature = feature, .works = true};
  (void)kernel::write_all(pipe_, std::as_bytes(std::span(&attempt, 1)));
}

void try_features(FeatureSet wanted, const Reporter& out) {
  try_system_calls(wanted, out);
  try_filters(wanted, out);
  try_namespaces(wanted, out);
}

std::vector<Feature> all_features() {
  std::vector<Feature> all;
  for (std::size_t i = 0; i < kFeatureCount; ++i) all.push_back(static_cast<Feature>(i));
  return all;
}

plan::HostFacts probe(const Caller& caller, std::span<const Feature> features) {
  plan::HostFacts facts;
  fill_kernel(facts);
  FeatureSet wanted;
  for (const Feature feature : features) wanted.add(feature);
  if (wanted.empty()) return facts;
  if (wanted.has(Feature::kLandlock)) query_landlock(facts);
  const auto outcomes = run_attempts(wanted);
  std::optional<HostClues> clues;
  for (const Feature feature : features) {
    const auto attempt = outcomes ? (*outcomes)[static_cast<std::size_t>(feature)] : std::nullopt;
    if (attempt && attempt->works) {
      facts.feature(feature).state = Availability::kYes;
      continue;
    }
    if (!clues) clues = read_clues(caller.uid);
    Failure failure = failure_of(feature, attempt);
    if (!outcomes) failure = {.feature = feature, .code = outcomes.error().code, .operation = outcomes.error().call};
    facts.feature(feature) = explain(failure, *clues);
  }
  return facts;
}

}  // namespace cordon::host
