#include "planner/known_hosts.h"

#include <algorithm>

#include "base/text.h"
#include "planner/host.h"
#include "policy/network/rule.h"
#include "policy/ssh/known_hosts.h"

namespace cordon::planner {
namespace {

namespace network = policy::network;

constexpr std::size_t kMostBytes = 256U << 10;  // some 2,000 keys; the root has a bound

std::vector<network::Rule> rules_of(const policy::Policy& policy) {
  std::vector<network::Rule> out;
  for (const policy::NetworkRule& rule : policy.network) {
    auto parsed = network::parse_rule(rule.host, rule.port, network::SuffixMeaning::kBelowOnly);
    if (parsed) out.push_back(std::move(*parsed));
  }
  return out;
}

bool reaches_ssh(const std::vector<network::Rule>& rules) {
  return std::ranges::any_of(rules, [](const network::Rule& rule) { return rule.ports.contains(policy::ssh::kPort); });
}

/// As root, another user's home (sudo that keeps $HOME) is not asked whom to trust.
std::string home_of(const plan::HostFacts& facts) {
  const plan::PathFact* home = fact_of(facts, facts.home);
  const bool own = home != nullptr && (home->uid == facts.uid || home->uid == 0);
  if (own || facts.uid != 0) return facts.home;
  const auto account = std::ranges::find(facts.accounts, facts.uid, &plan::Account::uid);
  return account != facts.accounts.end() ? account->home : std::string();
}

}  // namespace

std::vector<std::string> known_hosts_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (!reaches_ssh(rules_of(policy))) return {};
  std::vector<std::string> out = {std::string(kKnownHostsFile), std::string(kKnownHostsFile) + "2"};
  const std::string home = home_of(facts);
  if (!home.starts_with('/')) return out;
  out.push_back(home + "/.ssh/known_hosts");
  out.push_back(home + "/.ssh/known_hosts2");
  return out;
}

std::string known_hosts_text(const policy::Policy& policy, const plan::HostFacts& facts) {
  const std::vector<network::Rule> rules = rules_of(policy);
  std::string out;
  for (const std::string& file : known_hosts_questions(policy, facts)) {
    const auto text = facts.texts.find(file);
    if (text == facts.texts.end()) continue;
    for (const std::string& line : policy::ssh::known_hosts(text->second, rules)) {
      if (out.size() + line.size() < kMostBytes) out += line + "\n";
    }
  }
  return out;
}

void make_known_hosts(Draft& draft, const Arranged& arranged) {
  if (arranged.showing(kKnownHostsFile) != nullptr) return;
  std::string text = known_hosts_text(draft.policy, draft.facts);
  if (text.empty()) return;
  draft.step(plan::step::MakeFile{.target = std::string(kKnownHostsFile), .content = std::move(text), .mode = 0444},
             plan::Layer::kFilesystem, "ssh's keys of granted hosts");
}

bool made_known_hosts(const Draft& draft) {
  return std::ranges::any_of(draft.plan.steps, [](const plan::Step& step) {
    const auto* file = std::get_if<plan::step::MakeFile>(&step.act);
    return file != nullptr && file->target == kKnownHostsFile;
  });
}

}  // namespace cordon::planner
