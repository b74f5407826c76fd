#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/provenance.h"
#include "policy/manifest/yaml_text.h"

namespace cordon::policy::manifest {
namespace {

class Writer {
 public:
  Writer(const Policy& policy, ProvenanceBlock provenance) : policy_(policy), provenance_(provenance) {}

  std::string write() {
    for (const Key& key : keys()) std::visit([&](auto target) { value(key, policy_.*target); }, key.target);
    return std::move(out_);
  }

 private:
  void line(std::string_view indent, std::string_view name, std::string_view text) {
    out_.append(indent).append(name).append(": ").append(text) += '\n';
  }
  void list(const Key& key, std::vector<std::string> entries) {
    if (entries.empty()) return;
    if (key.order == Order::kFree) std::ranges::sort(entries, by_number_then_text);
    out_.append(key.name) += ":\n";
    for (const std::string& entry : entries)
      out_.append("  - ").append(key.rule == Rule::kPlainPort ? entry : yaml_scalar(entry)) += '\n';
  }
  // Ports in the order of numbers, before everything else; that bytewise.
  static bool by_number_then_text(const std::string& left, const std::string& right) {
    const auto a = base::parse_decimal(left);
    const auto b = base::parse_decimal(right);
    if (a && b) return *a < *b;
    return a.has_value() != b.has_value() ? a.has_value() : left < right;
  }

  void value(const Key& key, const PathGrant& grant) { line("", key.name, yaml_scalar(grant.written)); }
  void value(const Key& key, const Text& text) {
    if (!text.empty()) line("", key.name, yaml_scalar(text.value));
  }
  void value(const Key& key, const std::vector<PathGrant>& grants) {
    std::vector<std::string> entries;
    for (const PathGrant& grant : grants) entries.push_back(grant.written);
    list(key, std::move(entries));
  }
  void value(const Key& key, const std::vector<Text>& values) {
    std::vector<std::string> entries;
    for (const Text& text : values) entries.push_back(text.value);
    list(key, std::move(entries));
  }
  void value(const Key& key, const std::vector<EnvGrant>& grants) {
    std::vector<std::string> entries;
    for (const EnvGrant& grant : grants) entries.push_back(grant.name);
    list(key, std::move(entries));
  }
  void value(const Key& key, const std::vector<NetworkRule>& rules) {
    if (rules.empty()) return;
    std::vector<const NetworkRule*> sorted;
    for (const NetworkRule& rule : rules) sorted.push_back(&rule);
    std::ranges::sort(sorted, {},
                      [](const NetworkRule* rule) { return std::tie(rule->host, rule->port, rule->reason); });
    out_.append(key.name) += ":\n";
    for (const NetworkRule* rule : sorted) {
      line("  - ", "host", yaml_scalar(rule->host));
      line("    ", "port", yaml_quoted(rule->port));
      if (!rule->reason.empty()) line("    ", "reason", yaml_scalar(rule->reason));
    }
  }
  void value(const Key& key, const Exec& exec) {
    if (exec.mode != ExecMode::kList) return line("", key.name, exec_mode_name(exec.mode));
    value(key, exec.programs);
  }
  void value(const Key& key, const Limits& limits) {
    bool first = true;
    for (const Member& row : limits_members()) {
      const std::string text = limit_as_written(limits, row);
      if (text.empty()) continue;
      if (std::exchange(first, false)) out_.append(key.name) += ":\n";
      line("  ", row.name, row.rule == Rule::kCount ? text : yaml_scalar(text));
    }
  }
  void value(const Key&, const std::optional<Provenance>& provenance) {
    if (provenance && provenance_ == ProvenanceBlock::kInclude) out_ += provenance_block(*provenance, "", "\n") + "\n";
  }

  const Policy& policy_;
  ProvenanceBlock provenance_;
  std::string out_;
};

}  // namespace

std::string canonical_yaml(const Policy& policy, ProvenanceBlock provenance) {
  return Writer(policy, provenance).write();
}

}  // namespace cordon::policy::manifest
