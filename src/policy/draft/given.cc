#include "policy/draft/given.h"

#include <algorithm>
#include <array>

#include "planner/path_text.h"

namespace cordon::policy::draft {

using planner::parent_of;
using planner::within;

namespace {

/// What the planner says of a mount that no line asked for and that every run of the program has; else it is a
/// variable that says whom TLS clients trust.
bool is_of_every_run(std::string_view reason) {
  constexpr std::array kReasons = std::to_array<std::string_view>({"base", "entrypoint", "interpreter", "loader"});
  return std::ranges::find(kReasons, reason) != kReasons.end() ||
         (reason.contains('_') && reason.find_first_of(": ") == std::string_view::npos);
}

}  // namespace

Given::Given(const plan::Plan& plan) {
  const auto file = [&](const std::string& target, const std::string& reason, bool writable) {
    if (is_of_every_run(reason))
      always_.insert(target);
    else if (reason.starts_with("read: ") || reason.starts_with("write: "))
      (writable ? write_ : read_).insert(target);
  };
  for (const plan::Step& step : plan.steps) {
    if (const auto* bind = std::get_if<plan::step::Bind>(&step.act))
      file(bind->target, step.reason, !bind->attributes.read_only);
    else if (const auto* overlay = std::get_if<plan::step::StubOverlay>(&step.act))
      file(overlay->target, step.reason, true);
    else if (const auto* made = std::get_if<plan::step::MakeFile>(&step.act); made != nullptr && step.reason == "base")
      always_.insert(made->target);
    else if (const auto* link = std::get_if<plan::step::MakeSymlink>(&step.act))
      // /bin; what a link of a line leads to is a place of its own
      (step.reason == "base" ? always_ : links_).insert(link->target);
    else if (const auto* own = std::get_if<plan::step::MountTmpfs>(&step.act))
      scratch_.insert(own->target);
  }
  for (const Places* places : {&always_, &read_, &write_, &scratch_, &links_})
    for (const std::string& place : *places)
      for (std::string_view at = parent_of(place); ancestors_.emplace(at).second; at = parent_of(at)) {
      }
}

bool Given::holds(const Places& places, std::string_view path) {
  for (std::string_view at = path;; at = parent_of(at)) {
    if (places.contains(std::string(at))) return true;
    if (at == "/") return false;
  }
}

bool Given::led_to(std::string_view path, const plan::PathFact& fact) const {
  const auto there = [&](std::string_view at) { return for_reading(at) || always(at) || holds(links_, at); };
  return (path == fact.real || there(path)) && (for_reading(fact.real) || always(fact.real)) &&
         std::ranges::all_of(fact.hops, [&](const plan::LinkHop& hop) { return there(hop.at); });
}

bool Given::scratch(std::string_view path) const {
  for (std::string_view at = path;; at = parent_of(at)) {
    const std::string place(at);
    if (scratch_.contains(place)) return true;
    if (read_.contains(place) || write_.contains(place) || at == "/") return false;
  }
}

bool is_of_the_kernel(std::string_view path) {
  constexpr std::array kPlaces = std::to_array<std::string_view>({"/dev", "/proc", "/sys"});
  return std::ranges::any_of(kPlaces, [&](std::string_view place) { return within(path, place); });
}

}  // namespace cordon::policy::draft
