#include "planner/own_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

class Guard {
 public:
  enum class Absence : std::uint8_t { kOpen, kHeld };
  Guard(Draft& draft, const plan::OwnPlace& place, const PathFact& fact, Absence absence)
      : draft_(draft), place_(place), fact_(fact), absence_(absence) {}

  /// False where the grant was refused.
  bool check_read(const Want& read) {
    if (!place_.hidden || !within(read.path, fact_.real)) return true;
    refuse(read, fmt::format("it is or lies in {}, {}", base::shown(fact_.real), place_.what), "remove it");
    return false;
  }
  bool check(const Want& write) {
    const std::string own = base::shown(fact_.real);
    const bool open = fact_.state != PathState::kPresent && absence_ == Absence::kOpen;
    if (within(write.path, fact_.real)) {
      refuse(write, fmt::format("it is or lies in {}, {}", own, place_.what), "remove it");
    } else if (exchangeable(write)) {
      refuse(write, fmt::format("{}, {}, is reached through a link in it", base::shown(fact_.asked), place_.what),
             "grant something narrower");
    } else if (open && within(fact_.real, write.path)) {
      refuse(write, fmt::format("{}, {}, does not exist, so the target could make it", own, place_.what),
             "grant something narrower, or make it first");
    } else {
      return true;
    }
    return false;
  }

  [[nodiscard]] Want want() const {
    return {.path = fact_.real,
            .id = fact_.id,
            .directory = is_directory(fact_),
            .access = place_.hidden ? Access::kHidden : Access::kReadOnly,
            .why = Why::kGuard,
            .create = {},
            .reason = place_.what,
            .at = {}};
  }

 private:
  void refuse(const Want& write, std::string_view message, std::string mend) {
    draft_.refuse(Code::kGrantManaged, write.at, fmt::format("{}: {}", write.reason, message), std::move(mend));
    draft_.items.back().is_grant = true;
  }

  [[nodiscard]] bool exchangeable(const Want& write) const {
    return std::ranges::any_of(fact_.hops, [&](const plan::LinkHop& hop) { return within(hop.at, write.path); });
  }

  Draft& draft_;
  const plan::OwnPlace& place_;
  const PathFact& fact_;
  Absence absence_;
};

bool can_be_bound(const PathFact& fact) { return is_directory(fact) || is_regular(fact); }

}  // namespace

void guard_own_places(Draft& draft, const Shields& shields, std::vector<Want>& wants) {
  std::vector<Want> guards;
  for (const plan::OwnPlace& place : draft.facts.own_places) {
    const PathFact* fact = fact_of(draft.facts, place.path);
    if (fact == nullptr || (fact->state != PathState::kPresent && fact->state != PathState::kAbsent)) continue;
    // Whatever shield that is: it is held, or the grant is refused.
    const bool shielded = shields.holding(fact->real) != nullptr;
    Guard guard(draft, place, *fact, shielded ? Guard::Absence::kHeld : Guard::Absence::kOpen);
    for (const Want& want : wants) {
      if (want.why == Why::kWrite && !guard.check(want)) break;
      if (want.why == Why::kRead && !guard.check_read(want)) break;
    }
    if (fact->state == PathState::kPresent && can_be_bound(*fact)) guards.push_back(guard.want());
  }
  std::ranges::move(guards, std::back_inserter(wants));
}

}  // namespace cordon::planner
