#include "planner/limits.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace cordon::planner {
namespace {

using plan::Layer;

/// One kind of limit: as it is written, and whether this host holds it.
struct Kind {
  std::string_view name;
  std::string written;  ///< "" where it is not asked for
  const policy::Origin& at;
  bool held;
  std::string_view what;
};

std::array<Kind, 3> kinds_of(const policy::Limits& limits, const plan::LimitsFact& fact) {
  return {{{"memory", limits.memory, limits.memory_at, fact.memory, "memory"},
           {"cpu", limits.cpu, limits.cpu_at, fact.cpu, "CPU time"},
           {"pids", limits.pids ? fmt::format("{}", *limits.pids) : std::string(), limits.pids_at, fact.pids,
            "the number of processes"}}};
}

bool is_flag(const policy::Origin& at) { return at.source.starts_with("--"); }

/// As whoever asked for it wrote it: "--memory", "limits.memory".
std::string name_of(std::string_view name, const policy::Origin& at) {
  return is_flag(at) ? at.source : fmt::format("limits.{}", name);
}
std::string line_of(std::string_view name, const policy::Origin& at, std::string_view value) {
  return is_flag(at) ? fmt::format("{} {}", at.source, value) : fmt::format("limits: {{{}: {}}}", name, value);
}

plan::LimitsFact fact_of(const Draft& draft) {
  plan::LimitsFact unasked;
  unasked.cause = "nobody looked whether limits can be held here";
  return draft.facts.limits.value_or(unasked);
}

/// The host's first, then what works without it.
std::string mend_of(const plan::LimitsFact& fact, bool by_flags) {
  return fmt::format("{}; {} holds everywhere, and --allow-degraded runs without the limit",
                     fact.mend.empty() ? "cordon doctor says what this host lacks" : fact.mend,
                     by_flags ? "--timeout" : "limits.timeout");
}

std::string why(const plan::LimitsFact& fact) { return fact.cause.empty() ? std::string() : "; " + fact.cause; }

void refuse_out_of_range(Draft& draft) {
  constexpr std::uint64_t kLeastMemory = 4ULL << 20U;
  constexpr std::uint64_t kLeastCpu = 10;  // a millisecond of each second: the kernel takes no less
  constexpr std::int64_t kLeastPids = 2;   // Cordon's own init is one
  const policy::Limits& limits = draft.policy.limits;
  constexpr std::int64_t kMostPids = 4'194'304;  // PID_MAX_LIMIT
  const auto refuse = [&](const policy::Origin& at, std::string what, std::string mend,
                          Code code = Code::kLimitTooSmall) {
    draft.refuse(code, at.span, std::move(what), std::move(mend));
    draft.items.back().is_grant = true;
  };
  if (limits.memory_bytes != 0 && limits.memory_bytes < kLeastMemory)
    refuse(limits.memory_at, fmt::format("nothing starts in {} of memory", base::shown(limits.memory)),
           line_of("memory", limits.memory_at, "4M") + " or more");
  if (limits.cpu_hundredths != 0 && limits.cpu_hundredths < kLeastCpu)
    refuse(limits.cpu_at, fmt::format("the kernel gives no share as small as {}", base::shown(limits.cpu)),
           line_of("cpu", limits.cpu_at, "0.1%") + " or more");
  if (limits.pids && *limits.pids < kLeastPids)
    refuse(limits.pids_at, "the program needs a process beside the one that holds its sandbox",
           line_of("pids", limits.pids_at, "2") + " or more");
  if (limits.pids && *limits.pids > kMostPids)
    refuse(limits.pids_at, fmt::format("no kernel has {} processes", *limits.pids),
           line_of("pids", limits.pids_at, fmt::format("{}", kMostPids)) + " or less", Code::kLimitTooLarge);
}

}  // namespace

bool wants_limits(const policy::Policy& policy) {
  const policy::Limits& limits = policy.limits;
  return limits.memory_bytes != 0 || limits.cpu_hundredths != 0 || limits.pids.has_value();
}

void check_limits(Draft& draft) {
  if (!wants_limits(draft.policy)) return;
  refuse_out_of_range(draft);
  const plan::LimitsFact fact = fact_of(draft);
  bool told = false;  // the cause and the mend are the same of each
  for (const Kind& kind : kinds_of(draft.policy.limits, fact)) {
    if (kind.written.empty() || kind.held) continue;
    const std::string which =
        fmt::format("{} to {} ({})", kind.what, base::shown(kind.written), name_of(kind.name, kind.at));
    const bool is_first = !std::exchange(told, true);
    const std::string cause = is_first ? why(fact) : " either";
    if (draft.policy.posture.allow_degraded) {
      draft.plan.degradations.push_back({.layer = Layer::kLimits,
                                         .state = plan::LayerState::kUnavailable,
                                         .what = fmt::format("nothing limits {}{}", which, cause),
                                         .mend = is_first ? fact.mend : std::string()});
      continue;
    }
    draft.refuse(Code::kLimitNotHeld, kind.at.span, fmt::format("this host cannot limit {}{}", which, cause),
                 is_first ? mend_of(fact, is_flag(kind.at)) : std::string());
    draft.items.back().is_grant = true;
  }
}

void add_cgroup(Draft& draft) {
  if (!wants_limits(draft.policy)) return;
  const policy::Limits& limits = draft.policy.limits;
  const plan::LimitsFact fact = fact_of(draft);
  plan::step::Cgroup group{.way = fact.way};
  if (fact.memory) group.memory_bytes = limits.memory_bytes;
  if (fact.cpu) group.cpu_hundredths = limits.cpu_hundredths;
  if (fact.pids) group.pids = static_cast<std::uint64_t>(limits.pids.value_or(0));
  std::string reason;
  base::Span at;
  for (const Kind& kind : kinds_of(limits, fact)) {
    if (kind.written.empty() || !kind.held) continue;
    reason += fmt::format("{}limits.{}: {}", reason.empty() ? "" : ", ", kind.name, base::shown(kind.written));
    if (at.line == 0) at = kind.at.span;
  }
  if (reason.empty()) return;
  draft.step(group, Layer::kLimits, std::move(reason), at);
}

}  // namespace cordon::planner
