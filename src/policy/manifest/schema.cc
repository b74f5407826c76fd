#include "policy/manifest/schema.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/manifest/keys.h"

namespace cordon::policy::manifest {
namespace {

using Json = nlohmann::ordered_json;

/// One value under a rule. YAML scalars stay text, so that a bare number or word is as good as a quoted one.
Json value_schema(Rule rule) {
  const Json pattern = std::string(rule_pattern(rule));
  const Json whole = Json::array({"integer", "string"});
  switch (rule) {
    case Rule::kPlainPort:
    case Rule::kPort:
      return {{"type", whole}, {"minimum", 1}, {"maximum", 65535}, {"pattern", pattern}};
    case Rule::kCount:
    case Rule::kMemory:
      return {{"type", whole}, {"minimum", 1}, {"pattern", pattern}};
    case Rule::kAgent:
      return {{"enum", Json::array({"ssh"})}};
    case Rule::kAllowance:
      return {{"enum", Json::array({"nested-sandbox"})}};
    case Rule::kPath:
    case Rule::kWritePath:
    case Rule::kDenyPath:
    case Rule::kProgram:
    case Rule::kArgument:
    case Rule::kProse:
      return {{"type", Json::array({"string", "number", "boolean"})}, {"pattern", pattern}};
    case Rule::kEnvName:
    case Rule::kHost:
    case Rule::kDevice:
    case Rule::kPercent:
    case Rule::kDuration:
      return {{"type", "string"}, {"pattern", pattern}};
  }
  return Json::object();
}

Json described(std::string_view summary, const Json& schema) {
  Json out = {{"description", std::string(summary)}};
  out.update(schema);
  return out;
}

Json map_schema(std::span<const Member> members) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Member& row : members) {
    Json value = value_schema(row.rule);
    if (std::holds_alternative<std::vector<std::string> Provenance::*>(row.target))
      value = Json{{"type", "array"}, {"items", value_schema(row.rule)}};
    properties[std::string(row.name)] = described(row.summary, value);
    if (row.need == Need::kRequired) required.push_back(std::string(row.name));
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

Json exec_schema(const Key& key) {
  Json modes = Json::array();
  for (const ExecModeName& one : exec_modes()) modes.push_back(std::string(one.name));
  const Json word = {{"enum", std::move(modes)}};
  const Json list = {{"type", "array"}, {"minItems", 1}, {"items", value_schema(key.rule)}};
  return {{"oneOf", Json::array({word, list})}};
}

Json key_schema(const Key& key) {
  if (std::holds_alternative<ExecTarget>(key.target)) return exec_schema(key);
  const auto members = members_of(key);
  const Json value = members.empty() ? value_schema(key.rule) : map_schema(members);
  if (!takes_list(key)) return value;
  return {{"type", "array"}, {"items", value}};
}

std::string generation(Since since) { return since == Since::kCordon ? "yes" : ""; }

std::string takes(const Key& key) {
  if (std::holds_alternative<ExecTarget>(key.target)) return "a word, or a list of programs";
  if (std::holds_alternative<NetworkTarget>(key.target)) return "a list of rules";
  if (!members_of(key).empty()) return "a map";
  return (takes_list(key) ? "a list; each entry is " : "") + std::string(rule_name(key.rule));
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += cell.empty() ? " |" : " " + cell + " |";
  return out + "\n";
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + std::string(text) + "`"; }

std::string name_cell(std::string_view name, Need need) {
  return code(name) + (need == Need::kRequired ? " (required)" : "");
}

std::string member_table(std::string_view title, std::span<const Member> members) {
  std::string out =
      "\n**" + std::string(title) + "**\n\n" + row({"key", "takes", "new", "meaning"}) + "|---|---|---|---|\n";
  for (const Member& member : members) {
    const bool list = std::holds_alternative<std::vector<std::string> Provenance::*>(member.target);
    out += row({name_cell(member.name, member.need),
                (list ? "a list; each entry is " : "") + std::string(rule_name(member.rule)), generation(member.since),
                std::string(member.summary)});
  }
  return out;
}

}  // namespace

std::string json_schema() {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : keys()) {
    properties[std::string(key.name)] = described(key.summary, key_schema(key));
    if (key.need == Need::kRequired) required.push_back(std::string(key.name));
  }
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "Cordon manifest"},
                       {"description", "What a program may do when cordon runs it. Generated; see docs/manifest.md"},
                       {"type", "object"},
                       {"properties", std::move(properties)},
                       {"required", std::move(required)},
                       {"additionalProperties", false},
                       {"dependentRequired", {{"interpreter_args", Json::array({"interpreter"})}}}};
  return schema.dump(2) + "\n";
}

std::string key_reference() {
  std::string out = row({"key", "takes", "new", "meaning", "example"}) + "|---|---|---|---|---|\n";
  for (const Key& key : keys())
    out += row({name_cell(key.name, key.need), takes(key), generation(key.since), std::string(key.summary),
                code(key.example)});
  out += member_table("Each rule of `network`", network_members());
  out += member_table("`limits`", limits_members());
  out += member_table("`provenance`", provenance_members());
  out += "\n**Words for `exec`**\n\n" + row({"word", "what can be started"}) + "|---|---|\n";
  for (const ExecModeName& one : exec_modes()) out += row({code(one.name), std::string(one.summary)});
  return out;
}

}  // namespace cordon::policy::manifest
