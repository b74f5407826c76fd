// What shields add to what is mounted: masks, pins, links that stay, and what does not exist and must not be made.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "planner/path_text.h"
#include "planner/shields.h"

namespace cordon::planner {

using plan::PathFact;
using plan::PathState;

namespace {

/// The nearest want of any kind that shows `path`.
class Shown {
 public:
  explicit Shown(const std::vector<Want>& wants) {
    for (const Want& want : wants) {
      if (want.access == Access::kHidden) continue;
      const Want*& known = by_path_[want.path];
      if (known == nullptr || want.access == Access::kWritable) known = &want;
    }
  }
  [[nodiscard]] const Want* at(std::string_view path) const {
    for (std::string_view here = path;; here = parent_of(here)) {
      if (const auto found = by_path_.find(here); found != by_path_.end()) return found->second;
      if (here == "/") return nullptr;
    }
  }

 private:
  std::unordered_map<std::string_view, const Want*> by_path_;
};

bool holds_credentials(const Shield& shield) {
  return shield.hides() && shield.holds == policy::shield::Holds::kCredentials;
}

enum class Caller : std::uint8_t { kRoot, kUser };

/// Behind the mask of what is the machine's own a user meets the kernel's permissions; root meets Landlock.
Want want_of(const Shield& shield, Caller caller) {
  return {.path = shield.real,
          .id = shield.stands() ? shield.fact->id : plan::FileId{},
          .directory = shield.directory,
          .access = shield.hides() ? Access::kHidden : Access::kReadOnly,
          .why = shield.hides() ? Why::kShield : Why::kHeld,
          .create = {},
          .reason = fmt::format("shield: {}", words_of(shield)),
          .at = {},
          .credentials = holds_credentials(shield) && (caller == Caller::kRoot || !shield.of_system)};
}

class Holding {
 public:
  Holding(Draft& draft, const Shields& shields, std::vector<Want>& wants)
      : draft_(draft),
        shields_(shields),
        wants_(wants),
        shown_(wants),
        caller_(draft.facts.uid == 0 ? Caller::kRoot : Caller::kUser) {}

  void add(const Shield& shield) {
    links(shield);
    if (shield.only_links) return;
    const Want* outer = shown_.at(shield.real);
    // What a configuration leads to may lie in any write grant, wherever it stands itself.
    if (!shield.unknown_reach.empty() && !shield.hides()) {
      const auto grant = std::ranges::find(wants_, Why::kWrite, &Want::why);
      return grant == wants_.end() ? void() : cannot(shield, *grant, shield.unknown_reach);
    }
    // A grant of the shield's own name was judged.
    if (outer == nullptr || (outer->path == shield.real && outer->access == Access::kWritable)) return;
    const bool writable = outer->access == Access::kWritable;
    if (!shield.unknown_reach.empty()) return cannot(shield, *outer, shield.unknown_reach);
    if (shield.stands()) {
      if (shield.hides() || writable) added_.push_back(want_of(shield, caller_));
      return;
    }
    if (!writable && shield.fact == nullptr) return;
    const PathFact* fact = shield.fact != nullptr ? shield.fact : fact_of(draft_.facts, shield.path);
    if (fact == nullptr) return writable ? cannot(shield, *outer, "it was not looked up on this host") : void();
    switch (fact->state) {
      case PathState::kAbsent:
        if (writable) absent(shield, *fact, *outer);
        return;
      case PathState::kNotDirectory:
        if (writable) blocked(shield, *fact);
        return;
      case PathState::kDenied:
        // What the caller may not search the target does not reach either.
        return;
      case PathState::kPresent:
      case PathState::kLoop:
      case PathState::kTooLong:
      case PathState::kFailed:
        if (writable || fact->state == PathState::kFailed) cannot(shield, *outer, "it cannot be checked");
        return;
    }
  }

  void finish() {
    for (auto& [path, want] : absent_) added_.push_back(std::move(want));
    for (Want& want : added_) wants_.push_back(std::move(want));
  }

 private:
  void cannot(const Shield& shield, const Want& outer, std::string_view why) {
    draft_.refuse(Code::kShieldCannotBeHeld, outer.at,
                  fmt::format("{}: {} ({}) cannot be protected: {}", outer.reason, base::shown(shield.path),
                              words_of(shield), why),
                  "grant something narrower, which does not reach it");
    draft_.items.back().is_grant = true;
  }

  /// The links that lead there, where the target could replace them.
  void links(const Shield& shield) {
    if (shield.fact == nullptr) return;
    for (const plan::LinkHop& hop : shield.fact->hops) {
      const Want* outer = shown_.at(hop.at);
      if (outer == nullptr || outer->access != Access::kWritable) continue;
      // In a directory that is held or hidden nothing can be replaced.
      const std::string_view directory = parent_of(hop.at);
      if (shields_.holding(directory) != nullptr || shields_.hiding(directory, Access::kReadOnly) != nullptr) continue;
      if (!linked_.insert(hop.at).second) continue;
      Want want = want_of(shield, caller_);
      want.path = hop.at;
      want.id = {};
      want.directory = false;
      want.access = Access::kReadOnly;
      want.why = Why::kHeld;
      want.link = hop.target;
      added_.push_back(std::move(want));
    }
  }

  /// A file stands where the shield's directory would be: held, so that no directory takes its place.
  void blocked(const Shield& shield, const PathFact& fact) {
    Want want = want_of(shield, caller_);
    want.path = fact.real;
    want.directory = false;
    want.access = Access::kReadOnly;
    want.why = Why::kHeld;
    added_.push_back(std::move(want));
  }

  void absent(const Shield& shield, const PathFact& fact, const Want& outer) {
    std::string first = fact.first_absent;
    // What the grant itself makes is there when the rest is mounted.
    if (within(outer.path, first)) first = fmt::format("{}/{}", outer.path, first_component(shield.real, outer.path));
    for (const Want& want : wants_) {
      if (want.create.empty() || want.path == outer.path || !within(want.path, first)) continue;
      draft_.refuse(Code::kShieldCannotBeHeld, want.at,
                    fmt::format("{}: it does not exist yet, and {} ({}) beside it must be held first", want.reason,
                                base::shown(shield.path), words_of(shield)),
                    fmt::format("make it first: mkdir -p {}", base::shown(want.path)));
      draft_.items.back().is_grant = true;
      return;
    }
    Want want = want_of(shield, caller_);
    want.absent = true;
    want.hidden_when_made = shield.hides();
    want.only_without_trace = shield.only_without_trace;
    want.directory = shield.directory || first != shield.real;
    if (!want.directory) want.text = shield.text;
    want.id = outer.create.empty() ? fact.id : outer.id;
    want.create = outer.create;
    want.path = first;
    const auto [known, is_new] = absent_.try_emplace(first, want);
    if (!is_new) known->second.hidden_when_made = known->second.hidden_when_made && shield.hides();
  }

  static std::string_view first_component(std::string_view path, std::string_view directory) {
    const std::string_view rest = path.substr(directory.size() + 1);
    return rest.substr(0, rest.find('/'));
  }

  Draft& draft_;
  const Shields& shields_;
  std::vector<Want>& wants_;
  Shown shown_;
  Caller caller_;
  std::vector<Want> added_;
  std::map<std::string, Want> absent_;
  std::unordered_set<std::string> linked_;
};

/// The first few by name: whose program fails for one of them looks for that name.
std::string named(std::string_view what, std::vector<std::string_view> paths) {
  constexpr std::size_t kMost = 8;
  std::ranges::sort(paths, path_before);
  std::string out(what);
  for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) out += (i == 0 ? ": " : ", ") + base::shown(paths[i]);
  if (paths.size() > kMost) out += fmt::format(" and {} more (cordon inspect lists them)", paths.size() - kMost);
  return out;
}

bool is_ours(const plan::HostFacts& facts, const std::string& path) {
  return std::ranges::any_of(facts.own_places, [&](const plan::OwnPlace& own) { return within(own.path, path); });
}

void say_what_is_in_force(Draft& draft, const std::vector<Want>& wants) {
  std::vector<std::string_view> hidden, read_only;
  std::size_t absent = 0;
  for (const Want& want : wants) {
    if (want.why != Why::kShield && want.why != Why::kHeld) continue;
    if (is_ours(draft.facts, want.path)) continue;  // no program fails for want of it
    if (want.absent)
      absent += want.only_without_trace ? 0 : 1;
    else
      (want.why == Why::kShield ? hidden : read_only).push_back(want.path);
  }
  if (!hidden.empty()) draft.note("shields-hidden", named("hidden below what is granted", std::move(hidden)), {});
  if (!read_only.empty())
    draft.note("shields-read-only", named("read-only below what is granted", std::move(read_only)), {});
  // The other engine says itself that they can be made.
  if (absent > 0 && draft.plan.engine == plan::Engine::kNamespace)
    draft.note("shields-absent",
               fmt::format("shielded names that do not exist below what is granted, and cannot be made: {}", absent),
               {});
}

}  // namespace

void want_shields(Draft& draft, const Shields& shields, std::vector<Want>& wants) {
  Holding holding(draft, shields, wants);
  for (const Shield& shield : shields.all()) {
    if (!shields.is_lifted(shield)) holding.add(shield);
  }
  holding.finish();
  say_what_is_in_force(draft, wants);
  for (std::string& text : shields.told()) draft.note("git-program", std::move(text), {});
}

}  // namespace cordon::planner
