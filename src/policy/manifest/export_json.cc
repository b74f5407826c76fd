#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"

namespace cordon::policy::manifest {
namespace {

using Json = nlohmann::ordered_json;

/// JSON is UTF-8; what is not was never parsed from a manifest, and is shown escaped.
std::string json_text(const std::string& text) { return base::is_valid_utf8(text) ? text : base::escape(text); }

std::string destination(const NetworkRule& rule) {
  const bool literal = rule.host.find(':') != std::string::npos;
  return json_text(literal ? "[" + rule.host + "]:" + rule.port : rule.host + ":" + rule.port);
}

class Exporter {
 public:
  explicit Exporter(const Policy& policy) : policy_(policy) {}

  Json write() {
    for (const Key& key : keys())
      std::visit([&](auto target) { value(std::string(key.name), policy_.*target); }, key.target);
    return std::move(out_);
  }

 private:
  void value(const std::string& name, const PathGrant& grant) { out_[name] = json_text(grant.written); }
  void value(const std::string& name, const Text& text) {
    if (!text.empty()) out_[name] = json_text(text.value);
  }
  void value(const std::string& name, const std::vector<PathGrant>& grants) {
    for (const PathGrant& grant : grants) out_[name].push_back(json_text(grant.written));
  }
  void value(const std::string& name, const std::vector<Text>& values) {
    for (const Text& text : values) out_[name].push_back(json_text(text.value));
  }
  void value(const std::string& name, const std::vector<EnvGrant>& grants) {
    for (const EnvGrant& grant : grants) out_[name].push_back(json_text(grant.name));
  }
  void value(const std::string& name, const std::vector<NetworkRule>& rules) {
    for (const NetworkRule& rule : rules) out_[name].push_back(destination(rule));
    for (const NetworkRule& rule : rules)
      if (!rule.reason.empty()) out_["network_reasons"][destination(rule)] = json_text(rule.reason);
  }
  void value(const std::string& name, const Exec& exec) {
    out_[name] = std::string(exec_mode_name(exec.mode));
    value(name + "_programs", exec.programs);
  }
  void value(const std::string& name, const Limits& limits) {
    for (const Member& row : limits_members()) {
      const std::string text = limit_as_written(limits, row);
      if (text.empty()) continue;
      Json& out = out_[name][std::string(row.name)];
      if (const auto* count = std::get_if<LimitCount>(&row.target))
        out = *(limits.*(count->value));
      else
        out = json_text(text);
    }
  }
  void value(const std::string&, const std::optional<Provenance>& provenance) {
    if (!provenance) return;
    for (const std::string& host : provenance->blocked_hosts) out_["network_blocked"].push_back(json_text(host));
  }

  const Policy& policy_;
  Json out_ = Json::object();
};

}  // namespace

nlohmann::ordered_json to_json(const Policy& policy) { return Exporter(policy).write(); }

}  // namespace cordon::policy::manifest
