#include "policy/ecosystem/toml_document.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "policy/ecosystem/tool_settings.h"

namespace cordon::policy::ecosystem {
namespace {

using Json = nlohmann::json;

Json as_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, value] : *table) out[std::string(key.str())] = as_json(value);
    return out;
  }
  if (const auto* list = node.as_array()) {
    Json out = Json::array();
    for (const auto& value : *list) out.push_back(as_json(value));
    return out;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  std::ostringstream moment;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_date<decltype(value)> || toml::is_time<decltype(value)> ||
                  toml::is_date_time<decltype(value)>)
      moment << value.get();
  });
  return Json{{"\n moment", moment.str()}};  // no bare key of TOML has a line break
}

/// What says how a build is made and where its sources are. Not [env], [credential-alias] or [registry] with a token:
/// what they hold is handed to builds or opens something.
constexpr std::array kCargoTables = std::to_array<std::string_view>(
    {"build", "cargo-new", "future-incompat-report", "http", "net", "patch", "paths", "profile", "registries",
     "registry", "resolver", "source", "target", "term", "unstable"});
constexpr std::array kSecretKeys =
    std::to_array<std::string_view>({"token", "secret-key", "password", "credential-provider",
                                     "global-credential-providers", "proxy", "runner", "user-agent"});

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool passes(toml::node& node);

void strip(toml::table& table) {
  std::vector<std::string> gone;
  for (auto&& [key, value] : table)
    if (is_one_of(kSecretKeys, key.str()) || !passes(value)) gone.emplace_back(key.str());
  for (const std::string& key : gone) table.erase(key);
}

/// What of it may not pass goes; false where it must go as a whole.
bool passes(toml::node& node) {
  if (auto* table = node.as_table()) {
    strip(*table);
    return true;
  }
  if (auto* list = node.as_array()) return std::ranges::all_of(*list, [](toml::node& each) { return passes(each); });
  if (auto* text = node.as_string()) {
    auto bare = without_users(text->get());
    if (!bare) return false;
    *text = *bare;
  }
  return true;
}

}  // namespace

std::optional<Json> toml_as_json(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) return std::nullopt;
  return as_json(parsed.table());
}

std::string cargo_settings(std::string_view text) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) return {};
  toml::table table = std::move(parsed).table();
  std::vector<std::string> gone;
  for (auto&& [key, value] : table)
    if (!is_one_of(kCargoTables, key.str())) gone.emplace_back(key.str());
  for (const std::string& key : gone) table.erase(key);
  strip(table);
  if (table.empty()) return {};
  std::ostringstream out;
  out << table << "\n";
  return out.str();
}

}  // namespace cordon::policy::ecosystem
