#include "planner/identity.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/text.h"
#include "planner/host.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

// All 32-bit ids but the last, which means "no id".
constexpr std::uint32_t kAllIds = 0xffffffff;

bool spans_hold(const std::vector<plan::IdSpan>& spans, std::uint32_t id) {
  return spans.empty() || std::ranges::any_of(spans, [id](const plan::IdSpan& span) {
           return id >= span.first && id - span.first < span.count;
         });
}

std::vector<plan::IdRange> identity_map(const std::vector<plan::IdSpan>& spans) {
  if (spans.empty()) return {{.inside = 0, .outside = 0, .count = kAllIds}};
  std::vector<plan::IdRange> ranges;
  for (const plan::IdSpan& span : spans) {
    ranges.push_back({.inside = span.first, .outside = span.first, .count = span.count});
  }
  return ranges;
}

const plan::PathFact* directory_fact(const policy::Policy& policy, const plan::HostFacts& facts) {
  const std::string directory = entrypoint_directory(policy, facts);
  const plan::PathFact* fact = directory.empty() ? nullptr : fact_of(facts, directory);
  return fact != nullptr && fact->state == plan::PathState::kPresent ? fact : nullptr;
}

bool belongs_to_another(const policy::Policy& policy, const plan::HostFacts& facts, const plan::PathFact& directory) {
  return facts.uid == 0 && !policy.posture.as_root && directory.uid != 0 && spans_hold(facts.uid_spans, directory.uid);
}

}  // namespace

std::string entrypoint_directory(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (policy.command) return policy.command->workspace;
  const plan::PathFact* fact = fact_of(facts, policy.entrypoint.path);
  if (fact == nullptr || fact->state != plan::PathState::kPresent) return {};
  return std::string(parent_of(fact->real));
}

std::vector<std::uint32_t> identity_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  const plan::PathFact* directory = directory_fact(policy, facts);
  if (directory == nullptr || !belongs_to_another(policy, facts, *directory)) return {};
  return {directory->uid};
}

Identity decide_identity(const policy::Policy& policy, const plan::HostFacts& facts) {
  Identity identity{.uid = facts.uid, .gid = facts.gid, .groups = facts.groups, .name = {}, .run_as = false};
  const plan::PathFact* directory = directory_fact(policy, facts);
  if (directory != nullptr && belongs_to_another(policy, facts, *directory)) {
    identity = {.uid = directory->uid, .gid = directory->gid, .groups = {}, .name = {}, .run_as = true};
    if (!spans_hold(facts.gid_spans, identity.gid)) identity.gid = 65534;
  }
  const plan::Account* account = account_of(facts, identity.uid);
  if (account == nullptr || account->name.empty()) return identity;
  identity.name = account->name;
  if (identity.run_as && spans_hold(facts.gid_spans, account->gid)) {
    identity.gid = account->gid;
    std::ranges::copy_if(account->groups, std::back_inserter(identity.groups),
                         [&](std::uint32_t group) { return spans_hold(facts.gid_spans, group); });
  }
  return identity;
}

void note_run_as(Draft& draft, const Identity& identity) {
  const std::string who = identity.name.empty() ? fmt::format("user {}", identity.uid) : base::shown(identity.name);
  draft.note("runs-as-owner",
             fmt::format("the target runs as {}, who owns the entrypoint's directory; --as-root keeps root", who),
             draft.policy.entrypoint.at.span);
}

void enter_namespaces(Draft& draft, const Identity& identity) {
  const plan::HostFacts& facts = draft.facts;
  std::uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
  const auto add = [&](plan::Feature feature, std::uint64_t flag) {
    if (!lacks(facts, feature)) flags |= flag;
  };
  add(plan::Feature::kIpcNamespace, CLONE_NEWIPC);
  add(plan::Feature::kUtsNamespace, CLONE_NEWUTS);
  add(plan::Feature::kCgroupNamespace, CLONE_NEWCGROUP);
  if (!draft.policy.posture.host_network) add(plan::Feature::kNetNamespace, CLONE_NEWNET);
  // setgroups(2) stays denied inside: nobody could otherwise drop a group that a file denies (user_namespaces(7)).
  plan::step::EnterNamespaces enter{.flags = flags,
                                    .uids = {{.inside = facts.uid, .outside = facts.uid, .count = 1}},
                                    .gids = {{.inside = facts.gid, .outside = facts.gid, .count = 1}},
                                    .deny_setgroups = true,
                                    .groups = {},
                                    .set_groups = false};
  if (facts.uid == 0) {
    enter.uids = identity_map(facts.uid_spans);
    enter.gids = identity_map(facts.gid_spans);
  }
  if (identity.run_as) {
    enter.set_groups = true;
    enter.groups = identity.groups;
    note_run_as(draft, identity);
  }
  draft.step(std::move(enter), plan::Layer::kProcesses, "namespaces of its own");
}

bool mode_allows(const Identity& identity, const plan::PathFact& fact, std::uint32_t bits) {
  if (identity.uid == fact.uid) return (fact.mode >> 6U & bits) == bits;
  const bool in_group =
      identity.gid == fact.gid || std::ranges::find(identity.groups, fact.gid) != identity.groups.end();
  return (fact.mode >> (in_group ? 3U : 0U) & bits) == bits;
}

}  // namespace cordon::planner
