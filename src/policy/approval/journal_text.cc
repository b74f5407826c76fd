#include "policy/approval/journal_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace cordon::policy::approval {
namespace {

using nlohmann::json;

constexpr int kDeepest = 3;  // the entry, its pins, a pin

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_time(std::string_view text) {
  return text.size() >= 20 && text.size() <= 40 && text.find_first_not_of("0123456789-:.+TZ") == std::string_view::npos;
}

/// Parses into a value, refusing a duplicate key at any level and what is nested deeper than an entry ever is.
std::optional<json> parse_strictly(std::string_view text) {
  bool sound = true;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kDeepest) sound = false;
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto* key = value.get_ptr<const std::string*>();
      if (keys.empty() || key == nullptr || !keys.back().insert(*key).second) sound = false;
    }
    return sound;
  };
  json value = json::parse(text, watch, /*allow_exceptions=*/false);
  if (!sound || value.is_discarded()) return std::nullopt;
  return value;
}

/// The string at `key`; nothing where it is missing or of another type.
std::optional<std::string> string_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get_ref<const std::string&>();
}

std::optional<std::vector<PinnedContent>> pins_of(const json& object) {
  std::vector<PinnedContent> pins;
  const auto found = object.find("pins");
  if (found == object.end()) return pins;
  if (!found->is_array()) return std::nullopt;
  for (const json& item : *found) {
    if (!item.is_object() || item.size() != 2) return std::nullopt;
    auto written = string_at(item, "written");
    auto sha256 = string_at(item, "sha256");
    if (!written || !sha256 || !is_digest(*sha256)) return std::nullopt;
    pins.push_back({.written = std::move(*written), .sha256 = std::move(*sha256)});
  }
  return pins;
}

}  // namespace

std::optional<JournalEntry> parse_entry(std::string_view text) {
  const auto object = parse_strictly(text);
  if (!object || !object->is_object()) return std::nullopt;
  const auto reviewed = object->find("reviewed");
  auto fingerprint = string_at(*object, "fingerprint");
  auto policy = string_at(*object, "policy");
  auto manifest_path = string_at(*object, "manifest_path");
  auto stamped_at = string_at(*object, "stamped_at");
  auto pins = pins_of(*object);
  if (!fingerprint || !policy || !manifest_path || !stamped_at || !pins) return std::nullopt;
  if (reviewed == object->end() || !reviewed->is_boolean()) return std::nullopt;
  const std::size_t known = object->contains("pins") ? 6 : 5;
  if (object->size() != known || !is_digest(*fingerprint) || !is_time(*stamped_at)) return std::nullopt;
  return JournalEntry{.fingerprint = std::move(*fingerprint),
                      .policy = std::move(*policy),
                      .manifest_path = std::move(*manifest_path),
                      .stamped_at = std::move(*stamped_at),
                      .reviewed = reviewed->get<bool>() ? Reviewed::kByHuman : Reviewed::kWithoutAsking,
                      .pins = std::move(*pins)};
}

std::string entry_text(const JournalEntry& entry) {
  nlohmann::ordered_json object = {{"fingerprint", entry.fingerprint},
                                   {"policy", entry.policy},
                                   {"manifest_path", json_spelling(entry.manifest_path)},
                                   {"stamped_at", entry.stamped_at},
                                   {"reviewed", entry.reviewed == Reviewed::kByHuman}};
  if (!entry.pins.empty()) {
    auto& pins = object["pins"] = nlohmann::ordered_json::array();
    for (const PinnedContent& pin : entry.pins) pins.push_back({{"written", pin.written}, {"sha256", pin.sha256}});
  }
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string json_spelling(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const base::Rune rune = base::decode_rune(path);
    if (rune.valid) {
      out += path.substr(0, rune.length);
    } else {
      out += "\xef\xbf\xbd";
    }
    path.remove_prefix(rune.length);
  }
  return out;
}

}  // namespace cordon::policy::approval
