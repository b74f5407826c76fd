#include "cli/view.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"

namespace cordon::cli {
namespace {

using policy::PathGrant;

/// Where a grant leads on this host: its real path, or where it would be made.
void look_up(const plan::HostFacts& facts, const PathGrant& grant, report::GrantView& view) {
  const auto found = facts.paths.find(grant.path);
  if (found == facts.paths.end()) return;
  view.on_host = found->second.real;
  view.missing = found->second.state == plan::PathState::kAbsent;
}

/// What was refused, by the place of the grant that it is about: a hostile manifest may hold thousands of either.
class RefusedGrants {
 public:
  /// What belongs to no grant stays in `problems`.
  explicit RefusedGrants(std::vector<plan::RefusedItem>& problems) {
    std::vector<plan::RefusedItem> others;
    for (plan::RefusedItem& item : problems) {
      if (item.is_grant && item.at.line != 0)
        by_place_[{item.at.line, item.at.column}].push_back(std::move(item));
      else
        others.push_back(std::move(item));
    }
    problems = std::move(others);
  }

  std::vector<plan::RefusedItem> take(const PathGrant& grant) {
    const auto found = by_place_.find({grant.at.span.line, grant.at.span.column});
    return found == by_place_.end() ? std::vector<plan::RefusedItem>() : std::exchange(found->second, {});
  }

  /// Of a grant that the view does not list.
  void put_back(std::vector<plan::RefusedItem>& problems) {
    for (auto& [place, items] : by_place_) std::ranges::move(items, std::back_inserter(problems));
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<plan::RefusedItem>> by_place_;
};

void add_grants(const std::vector<PathGrant>& grants, std::string_view key, const plan::HostFacts& facts,
                RefusedGrants& refused, report::ManifestView& view) {
  for (const PathGrant& grant : grants) {
    report::GrantView one;
    one.key = key;
    one.written = grant.written;
    one.at = grant.at.span;
    look_up(facts, grant, one);
    one.refused = refused.take(grant);
    view.grants.push_back(std::move(one));
  }
}

std::vector<std::string> values_of(const std::vector<policy::Text>& texts) {
  std::vector<std::string> out;
  for (const policy::Text& text : texts) out.push_back(text.value);
  return out;
}

std::vector<std::string> written(const std::vector<PathGrant>& grants) {
  std::vector<std::string> out;
  for (const PathGrant& grant : grants) out.push_back(grant.written);
  return out;
}

std::string exec_name(policy::ExecMode mode) {
  switch (mode) {
    case policy::ExecMode::kNone:
      return "none";
    case policy::ExecMode::kNoneStrict:
      return "none-strict";
    case policy::ExecMode::kAll:
      return "all";
    case policy::ExecMode::kList:
      return "list";
  }
  return "none";
}

void add_limits(const policy::Limits& limits, report::ManifestView& view) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) view.limits.emplace_back(name, value);
  };
  add("memory", limits.memory);
  add("cpu", limits.cpu);
  if (limits.pids) add("pids", std::to_string(*limits.pids));
  add("timeout", limits.timeout);
  add("tmp", limits.tmp);
}

void add_others(const policy::Policy& policy, report::ManifestView& view) {
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    std::string words;
    for (const std::string& value : values) words += (words.empty() ? "" : ", ") + base::shown(value);
    if (!words.empty()) view.others.emplace_back(name, words);
  };
  add("publishes ports", values_of(policy.publish));
  add("reaches host ports", values_of(policy.host_services));
  add("uses agent", values_of(policy.agent));
  add("is allowed", values_of(policy.allow));
  add("sees devices", values_of(policy.devices));
}

bool ties(const std::string& text) { return text.starts_with('/') || text.starts_with('~'); }

/// Absolute and home-relative paths mean something else on another host. An absolute interpreter is the usual thing.
void judge_relocatable(const policy::Policy& policy, report::ManifestView& view) {
  std::vector<std::string>& pinned = view.pinned_paths;
  if (ties(policy.entrypoint.written)) pinned.push_back(policy.entrypoint.written);
  if (policy.interpreter.value.starts_with('~')) pinned.push_back(policy.interpreter.value);
  for (const auto* grants : {&policy.read, &policy.write, &policy.wx})
    for (const PathGrant& grant : *grants)
      if (ties(grant.written)) pinned.push_back(grant.written);
  view.relocatable = pinned.empty();
}

}  // namespace

report::ApprovalState approval_state(policy::manifest::StampState state) {
  switch (state) {
    case policy::manifest::StampState::kUnapproved:
      return report::ApprovalState::kUnapproved;
    case policy::manifest::StampState::kCurrent:
      return report::ApprovalState::kCurrent;
    case policy::manifest::StampState::kStale:
      return report::ApprovalState::kStale;
  }
  return report::ApprovalState::kUnapproved;
}

report::ManifestView view_of(const Opened& opened, const Host& host, const planner::Verdict& verdict,
                             AskRelocatable relocatable) {
  const policy::Policy& policy = opened.policy;
  report::ManifestView view;
  view.file = opened.file.written_path;
  view.entrypoint = policy.entrypoint.written;
  view.interpreter = policy.interpreter.value;
  view.interpreter_args = values_of(policy.interpreter_args);
  view.args = values_of(policy.args);
  view.program = planner::resolved_program(policy, host.facts);
  view.working_directory = planner::working_directory(policy, host.facts);
  for (const policy::EnvGrant& grant : policy.env) {
    view.environment.push_back(grant.name);
    if (!grant.supplied && !host.facts.environment.contains(grant.name)) view.unset_environment.push_back(grant.name);
  }
  if (const auto* refusal = std::get_if<plan::Refusal>(&verdict)) {
    view.problems = refusal->items;
  } else {
    const auto& plan = std::get<plan::Plan>(verdict);
    view.notes = plan.notes;
    view.layers = report::planned_layers(plan);
  }
  RefusedGrants refused(view.problems);
  add_grants(policy.read, "read", host.facts, refused, view);
  add_grants(policy.write, "write", host.facts, refused, view);
  add_grants(policy.wx, "wx", host.facts, refused, view);
  add_grants(policy.deny, "deny", host.facts, refused, view);
  refused.put_back(view.problems);
  for (const policy::NetworkRule& rule : policy.network) view.network.emplace_back(rule.host, rule.port);
  if (policy.provenance) view.network_blocked = policy.provenance->blocked_hosts;
  view.exec = exec_name(policy.exec.mode);
  view.exec_programs = written(policy.exec.programs);
  add_limits(policy.limits, view);
  add_others(policy, view);
  view.pins = written(policy.pin);
  for (const planner::Callout& callout : planner::callouts(policy, host.facts))
    view.callouts.push_back({callout.code, callout.text, callout.at});
  if (const auto& aliases = host.facts.aliases) {
    view.credential_aliases = aliases->found;
    view.credential_aliases_partial = aliases->end == plan::AliasScanEnd::kPartial;
  }
  view.approval = approval_state(opened.stamp);
  if (relocatable == AskRelocatable::kYes) judge_relocatable(policy, view);
  return view;
}

}  // namespace cordon::cli
