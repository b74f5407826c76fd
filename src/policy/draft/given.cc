#include "policy/draft/given.h"

#include <algorithm>
#include <array>

#include "planner/path_text.h"

namespace cordon::policy::draft {

using planner::parent_of;
using planner::within;

Given::Given(const plan::Plan& plan) {
  const auto file = [&](const std::string& target, const std::string& reason, bool writable) {
    const bool granted = reason.starts_with("read: ") || reason.starts_with("write: ");
    if (!granted)
      always_.insert(target);
    else
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
      file(link->target, step.reason, false);
    else if (const auto* own = std::get_if<plan::step::MountTmpfs>(&step.act))
      scratch_.insert(own->target);
  }
}

bool Given::holds(const Places& places, std::string_view path) {
  for (std::string_view at = path;; at = parent_of(at)) {
    if (places.contains(std::string(at))) return true;
    if (at == "/") return false;
  }
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
