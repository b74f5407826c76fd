#include "planner/draft.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

namespace cordon::planner {

void Draft::refuse(Code code, const base::Span& at, std::string message, std::string mend) {
  items.push_back(refused(code, at, std::move(message), std::move(mend)));
}

void Draft::note(std::string code, std::string text, const base::Span& at) {
  plan.notes.push_back({.code = std::move(code), .text = std::move(text), .at = at});
}

void Draft::step(plan::step::Any act, plan::Layer layer, std::string reason, const base::Span& at) {
  plan.steps.push_back({.act = std::move(act), .layer = layer, .reason = std::move(reason), .at = at});
}

bool exec_closed(const policy::Policy& policy) {
  return policy.exec.mode == policy::ExecMode::kNone || policy.exec.mode == policy::ExecMode::kNoneStrict;
}

bool starts_anything(const policy::Policy& policy) { return policy.exec.mode == policy::ExecMode::kAll; }

bool writes_execute(const policy::Policy& policy) { return starts_anything(policy) && !policy.command; }

bool exec_listed(const policy::Policy& policy) { return policy.exec.mode == policy::ExecMode::kList; }

const plan::PathFact* fact_of(const plan::HostFacts& facts, std::string_view path) {
  const auto found = facts.paths.find(path);
  return found == facts.paths.end() ? nullptr : &found->second;
}

const plan::ProgramFact* program_of(const plan::HostFacts& facts, const std::string& name) {
  const auto found = facts.programs.find(name);
  return found == facts.programs.end() ? nullptr : &found->second;
}

const plan::Account* account_of(const plan::HostFacts& facts, std::uint32_t uid) {
  const auto found = std::ranges::find(facts.accounts, uid, &plan::Account::uid);
  return found == facts.accounts.end() ? nullptr : &*found;
}

bool is_directory(const plan::PathFact& fact) { return S_ISDIR(fact.id.type); }
bool is_regular(const plan::PathFact& fact) { return S_ISREG(fact.id.type); }
bool is_socket(const plan::PathFact& fact) { return S_ISSOCK(fact.id.type); }

std::string program_key(const policy::Policy& policy) {
  if (policy.interpreter.empty()) return policy.entrypoint.path;
  return policy.interpreter_path.empty() ? policy.interpreter.value : policy.interpreter_path;
}

bool is_home_container(std::string_view path) {
  constexpr std::array<std::string_view, 4> kContainers = {"/home", "/var/home", "/export/home", "/Users"};
  return std::ranges::find(kContainers, path) != kContainers.end();
}

std::vector<std::string> own_homes(const plan::HostFacts& facts) {
  std::vector<std::string> homes;
  const auto add = [&](const std::string& home) {
    if (home.empty() || home == "/") return;
    homes.push_back(home);
    const plan::PathFact* fact = fact_of(facts, home);
    if (fact != nullptr && fact->state == plan::PathState::kPresent && fact->real != "/") homes.push_back(fact->real);
  };
  add(facts.home);
  for (const plan::Account& account : facts.accounts) add(account.home);
  std::ranges::sort(homes);
  homes.erase(std::ranges::unique(homes).begin(), homes.end());
  return homes;
}

}  // namespace cordon::planner
