#include "policy/ecosystem/manifest_keys.h"

#include <nlohmann/json.hpp>

#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "policy/ecosystem/registry_lines.h"
#include "policy/ecosystem/toml_document.h"

namespace cordon::policy::ecosystem {
namespace {

using Json = nlohmann::ordered_json;  // of conditional exports the first that fits counts

/// Deep enough for any manifest; the parser itself is bounded by the file's size.
constexpr int kMostDepth = 64;

/// A key that stands twice is one to us and another to the next reader.
Json parse_json(const std::string& text) {
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

/// Directives of go.mod and go.work: each word and its lines in order, of "require (" … ")" as if each stood alone.
/// Comments belong to the line: "//go:debug" and "// indirect" mean something.
Json parse_go(std::string_view text) {
  Json out = Json::object();
  std::string block;
  for (const std::string_view raw : base::split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line.empty()) continue;
    if (!block.empty() && line.starts_with(')')) {
      const std::string_view rest = trimmed(line.substr(1));
      if (!rest.empty() && !rest.starts_with("//")) return Json();
      block.clear();
      continue;
    }
    if (!block.empty()) {
      out[block].push_back(line);
      continue;
    }
    const std::size_t space = line.find_first_of(" \t(");
    const std::string word(line.substr(0, space));
    const std::string_view rest = space == std::string_view::npos ? std::string_view() : trimmed(line.substr(space));
    if (rest == "(")
      block = word;
    else
      out[word].push_back(rest);
  }
  return block.empty() ? out : Json();
}

/// Of tables the order says nothing, and a table of TOML is sorted.
Json of_toml(const std::string& text) {
  const auto tree = toml_as_json(text);
  return tree ? Json(*tree) : Json();
}

Json read(std::string_view path, const std::string& text) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "go.mod" || name == "go.work") return parse_go(text);
  if (name.ends_with(".toml") || name == "Pipfile") return of_toml(text);
  return parse_json(text);
}

}  // namespace

bool only_these_keys_changed(std::string_view name, const std::string& before, const std::string& after, Names keys) {
  if (after.empty() || after.contains('\0') || before.contains('\0')) return false;
  Json one = before.empty() ? Json::object() : read(name, before);
  Json other = read(name, after);
  if (!one.is_object() || !other.is_object()) return false;
  for (const std::string_view key : keys) {
    take_out(one, key);
    take_out(other, key);
  }
  return one == other;
}

}  // namespace cordon::policy::ecosystem
