// What must be known before a plan can be made. Each round asks what follows from the answers so far.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "planner/agent.h"
#include "planner/aliases.h"
#include "planner/base.h"
#include "planner/command.h"
#include "planner/devices.h"
#include "planner/draft.h"
#include "planner/exec_list.h"
#include "planner/grants.h"
#include "planner/identity.h"
#include "planner/kernel_files.h"
#include "planner/known_hosts.h"
#include "planner/landlock_engine.h"
#include "planner/limits.h"
#include "planner/planner.h"
#include "planner/program.h"
#include "planner/shields.h"
#include "planner/shims.h"
#include "planner/sockets.h"
#include "planner/trust.h"
#include "planner/wx.h"

namespace cordon::planner {
namespace {

class Asking {
 public:
  explicit Asking(const plan::HostFacts& facts) : facts_(facts) {}

  enum class Pin { kAsUsual, kFirst };
  void path(std::string_view path, Pin pin = Pin::kAsUsual) {
    if (!path.starts_with('/') || fact_of(facts_, path) != nullptr) return;
    out_.paths.emplace_back(path);
    if (pin == Pin::kFirst) out_.pin_first.emplace_back(path);
  }
  void paths(const std::vector<policy::PathGrant>& grants, Pin pin = Pin::kAsUsual) {
    for (const policy::PathGrant& grant : grants) path(grant.path, pin);
  }
  void program(const std::string& name) {
    if (!name.empty() && program_of(facts_, name) == nullptr) out_.programs.push_back(name);
  }
  void directory(const std::string& path) {
    if (!facts_.children.contains(path)) out_.directories.push_back(path);
  }
  void text(const std::string& path) {
    if (path.starts_with('/') && !facts_.texts.contains(path)) out_.texts.push_back(path);
  }
  void account(std::uint32_t uid) {
    if (account_of(facts_, uid) == nullptr) out_.accounts.push_back(uid);
  }
  void names(const std::string& directory, plan::NameList names) {
    if (!facts_.names.contains(directory)) out_.names.insert_or_assign(directory, std::move(names));
  }
  void links(const std::string& directory) {
    if (!facts_.links.contains(directory)) out_.links.push_back(directory);
  }
  void near_links(const std::string& directory, std::size_t levels) {
    if (!facts_.near_links.contains(directory)) out_.near_links[directory] = levels;
  }
  void entries(const std::string& directory) {
    if (!facts_.entries.contains(directory)) out_.entries.push_back(directory);
  }
  void shields(ShieldQuestions questions) {
    for (const std::string& each : questions.paths) path(each, Pin::kFirst);
    for (const std::string& each : questions.directories) directory(each);
    for (const std::string& each : questions.texts) text(each);
    for (const std::string& each : questions.links) links(each);
    for (const auto& [each, levels] : questions.near_links) near_links(each, levels);
    for (const std::string& each : questions.entries) entries(each);
    for (auto& [directory, names_below] : questions.names) names(directory, std::move(names_below));
  }
  void listed(ExecQuestions questions) {
    for (const std::string& each : questions.paths) path(each);
    for (const std::string& each : questions.programs) program(each);
    for (std::string& each : questions.libraries) out_.libraries.push_back(std::move(each));
    out_.library_path = std::move(questions.library_path);
  }
  void variable(std::string_view name) { out_.environment.emplace_back(name); }
  void relocations() {
    const auto names = policy::shield::relocation_variables();
    out_.relocations.assign(names.begin(), names.end());
  }
  void environment(const std::vector<policy::EnvGrant>& grants) {
    for (const policy::EnvGrant& grant : grants) {
      if (!grant.supplied) out_.environment.push_back(grant.name);
    }
  }

  plan::Questions take() {
    for (auto* list : {&out_.paths, &out_.pin_first, &out_.programs, &out_.directories, &out_.environment, &out_.texts,
                       &out_.links, &out_.entries, &out_.libraries})
      once(*list);
    once(out_.accounts);
    return std::move(out_);
  }

 private:
  template <class T>
  static void once(std::vector<T>& list) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
  const plan::HostFacts& facts_;
  plan::Questions out_;
};

void ask_what_the_policy_names(Asking& asking, const policy::Policy& policy) {
  asking.path(policy.entrypoint.path);
  asking.path(policy.interpreter_path);
  asking.path(policy.manifest.path);
  asking.paths(policy.read);
  asking.paths(policy.write, Asking::Pin::kFirst);
  asking.paths(policy.deny, Asking::Pin::kFirst);
  asking.paths(policy.posture.accept_alias);
  asking.program(program_key(policy));
  for (const std::string& path : command_questions(policy)) asking.path(path);
  for (const std::string& path : device_questions(policy)) asking.path(path);
}

/// Last, when what the target is shown is known: a scan may walk trees, and is made once.
void ask_for_aliases(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory,
                     plan::Questions& questions) {
  Draft draft{.policy = policy, .facts = facts, .plan = {}, .items = {}};
  const Identity identity = decide_identity(policy, facts);
  const Program program = find_program(draft, identity);
  std::vector<Want> wants;
  std::vector<Link> links;
  want_grants(draft, identity, wants, links);
  want_command(draft, wants, links);
  want_program(draft, program, wants, links);
  const policy::shield::Rules& rules = shield_rules(facts, memory);
  if (!trust_questions(policy).empty()) want_trust(draft, Shields(policy, facts, rules), wants, links);
  auto question = alias_question(draft, rules, wants);
  if (question && (!facts.aliases || facts.aliases->asked != *question)) questions.aliases = std::move(question);
}

plan::Questions questions_of(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory) {
  // Everything else was known before: only the alias scan was still to be made.
  if (memory.only_aliases_left && facts.aliases) return {};
  Asking asking(facts);
  ask_what_the_policy_names(asking, policy);
  for (std::string_view path : base_paths()) asking.path(path);
  for (std::string_view path : hidden_base_paths()) asking.path(path);
  asking.path("/usr/local/etc");
  // Names that are not set have no answer, so they are asked once: as long as the first round is unanswered.
  if (fact_of(facts, base_paths().front()) == nullptr) {
    asking.environment(policy.env);
    if (uses_agent(policy)) asking.variable(kAgentVariable);
    asking.relocations();
  } else {
    asking.shields(shield_questions(policy, facts, shield_rules(facts, memory)));
    asking.path(facts.work_place);
    asking.listed(exec_list_questions(policy, facts));
  }
  asking.account(facts.uid);
  if (facts.sudo_uid) asking.account(*facts.sudo_uid);
  asking.path(facts.home);
  for (const plan::Account& account : facts.accounts) asking.path(account.home);
  for (const plan::OwnPlace& place : facts.own_places) asking.path(place.path);
  asking.path(entrypoint_directory(policy, facts));
  for (const std::uint32_t uid : identity_questions(policy, facts)) asking.account(uid);
  const ShimQuestions shims = shim_questions(policy, facts);
  for (const std::string& path : shims.paths) asking.path(path);
  for (const std::string& path : shims.directories) asking.directory(path);
  for (const std::string& path : shims.texts) asking.text(path);
  for (const std::string& path : known_hosts_questions(policy, facts)) asking.text(path);
  for (const std::string& path : shims.programs) asking.program(path);
  for (const std::string& path : program_questions(policy, facts)) asking.path(path);
  for (const std::string& path : trust_questions(policy)) asking.path(path);
  asking.path(agent_path(policy, facts));
  for (const std::string& path : socket_questions(policy, facts)) asking.path(path);
  for (const std::string& path : kernel_file_questions(facts)) asking.path(path);
  for (const std::string& path : base_listings(policy, facts)) asking.directory(path);
  for (const std::string& path : grant_listings(policy, facts)) asking.directory(path);
  for (const std::string& path : engine_questions(policy)) asking.path(path);
  plan::Questions questions = asking.take();
  questions.working_directory = facts.working_directory;
  questions.limits = wants_limits(policy) && !facts.limits;
  if (empty(questions)) questions.entries = engine_listings(policy, facts, memory);
  if (empty(questions)) {
    ask_for_aliases(policy, facts, memory, questions);
    memory.only_aliases_left = questions.aliases.has_value();
  }
  return questions;
}

}  // namespace

plan::Questions next_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  Memory memory;
  return next_questions(policy, facts, memory);
}

plan::Questions next_questions(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory) {
  const auto widened = with_wx(policy);
  return questions_of(widened ? *widened : policy, facts, memory);
}

bool empty(const plan::Questions& questions) {
  return questions.paths.empty() && questions.programs.empty() && questions.directories.empty() &&
         questions.environment.empty() && questions.accounts.empty() && questions.texts.empty() &&
         questions.relocations.empty() && questions.names.empty() && questions.links.empty() &&
         questions.near_links.empty() && questions.entries.empty() && questions.libraries.empty() &&
         !questions.limits && !questions.aliases;
}

}  // namespace cordon::planner
