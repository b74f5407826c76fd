#include "policy/config/schema.h"

#include <nlohmann/json.hpp>

#include "policy/config/keys.h"
#include "policy/manifest/values.h"

namespace cordon::policy::config {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestPath = 4'095;
constexpr std::size_t kLongestHost = 253 + 6;  // with a port

Json list_of(Json item) { return {{"type", "array"}, {"maxItems", kMostItems}, {"items", std::move(item)}}; }

Json key_schema(const BlockKey& key) {
  switch (key.holds) {
    case Holds::kPaths:
      return list_of({{"type", "string"},
                      {"maxLength", kLongestPath},
                      {"pattern", std::string(manifest::rule_pattern(manifest::Rule::kPath))},
                      {"not", {{"pattern", "(^|/)\\.\\.(/|$)"}}}});
    case Holds::kHosts:
    case Holds::kHostsOnly:
      return list_of({{"type", "string"}, {"minLength", 1}, {"maxLength", kLongestHost}});
    case Holds::kSwitch:
      if (key.effect == Effect::kRefusedWhereTrue) return {{"const", false}};
      return {{"type", "boolean"}};
    case Holds::kVariables:
      return {{"type", "object"},
              {"maxProperties", kMostVariables},
              {"propertyNames", {{"pattern", std::string(manifest::rule_pattern(manifest::Rule::kEnvName))}}},
              {"additionalProperties",
               {{"type", Json::array({"string", "number", "boolean"})}, {"maxLength", kLongestVariable}}}};
    case Holds::kProfile:
      return {{"type", "string"}, {"minLength", 1}, {"maxLength", kLongestProfileName}};
  }
  return Json::object();
}

std::string holds_name(Holds holds) {
  switch (holds) {
    case Holds::kPaths:
      return "a list of paths";
    case Holds::kHosts:
      return "a list of hosts, each with `:PORT` or without";
    case Holds::kHostsOnly:
      return "a list of hosts";
    case Holds::kSwitch:
      return "`true` or `false`";
    case Holds::kVariables:
      return "a map";
    case Holds::kProfile:
      return "a profile's name";
  }
  return {};
}

std::string_view unasked(Effect effect) {
  switch (effect) {
    case Effect::kWidens:
      return "no";
    case Effect::kNarrows:
      return "yes";
    case Effect::kWidensWhereTrue:
      return "`false`";
    case Effect::kWidensWhereFalse:
      return "`true`";
    case Effect::kRefusedWhereTrue:
      return "`false`";
  }
  return "no";
}

}  // namespace

std::string json_schema() {
  Json keys = Json::object();
  for (const BlockKey& key : block_keys()) {
    Json one = {{"description", std::string(key.summary)}};
    one.update(key_schema(key));
    keys[std::string(key.name)] = std::move(one);
  }
  const Json block = {
      {"type", Json::array({"object", "null"})}, {"properties", std::move(keys)}, {"additionalProperties", false}};
  const Json properties = {{std::string(kAllowAddress.name),
                            {{"description", std::string(kAllowAddress.summary)},
                             {"type", "array"},
                             {"maxItems", kMostItems},
                             {"items", {{"type", "string"}, {"pattern", "^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"}}}}},
                           {std::string(kProfiles.name),
                            {{"description", std::string(kProfiles.summary)},
                             {"type", Json::array({"object", "null"})},
                             {"maxProperties", kMostProfiles},
                             {"propertyNames", {{"minLength", 1}, {"maxLength", kLongestProfileName}}},
                             {"additionalProperties", block}}}};
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "Cordon configuration"},
                       {"description", "config.yaml and .cordon.yaml. Generated; see docs/configuration.md"},
                       {"type", Json::array({"object", "null"})},
                       {"properties", properties},
                       {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

std::string key_reference() {
  std::string out = "| key | takes | a project may, unasked | flag | meaning |\n|---|---|---|---|---|\n";
  for (const BlockKey& key : block_keys())
    out += "| `" + std::string(key.name) + "` | " + holds_name(key.holds) + " | " + std::string(unasked(key.effect)) +
           " | " + (key.flag.empty() ? "" : "`" + std::string(key.flag) + "`") + " | " + std::string(key.summary) +
           " |\n";
  out +=
      "\nBeside `profiles`: `" + std::string(kAllowAddress.name) + "`, " + std::string(kAllowAddress.summary) + ".\n";
  return out;
}

}  // namespace cordon::policy::config
