#include "cli/manifest_keys.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string_view>
#include <vector>

namespace cordon::cli {
namespace {

using Json = nlohmann::json;

/// Deep enough for any manifest; the parser itself is bounded by the file's size.
constexpr int kMostDepth = 64;

/// A key that stands twice is one to us and another to the next reader.
Json parse(const std::string& text) {
  bool too_deep = false;
  std::vector<std::set<std::string>> open;
  Json out = Json::parse(
      text,
      [&](int depth, Json::parse_event_t event, Json& value) {
        too_deep = too_deep || depth > kMostDepth;
        if (event == Json::parse_event_t::object_start) open.emplace_back();
        if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
        if (event == Json::parse_event_t::key && !open.empty())
          too_deep = too_deep || !open.back().insert(value.get<std::string>()).second;
        return !too_deep;
      },
      false);
  return too_deep || out.is_discarded() ? Json() : out;
}

void take_out(Json& from, std::string_view key) {
  const std::size_t dot = key.find('.');
  const auto found = from.is_object() ? from.find(std::string(key.substr(0, dot))) : from.end();
  if (!from.is_object() || found == from.end()) return;
  if (dot == std::string_view::npos) {
    from.erase(found);
    return;
  }
  take_out(*found, key.substr(dot + 1));
  if (found->is_object() && found->empty()) from.erase(found);
}

}  // namespace

bool only_these_keys_changed(const std::string& before, const std::string& after, policy::ecosystem::Names keys) {
  Json one = parse(before.empty() ? "{}" : before), other = parse(after);
  if (!one.is_object() || !other.is_object()) return false;
  for (const std::string_view key : keys) {
    take_out(one, key);
    take_out(other, key);
  }
  return one == other;
}

}  // namespace cordon::cli
