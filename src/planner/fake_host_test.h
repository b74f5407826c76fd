// A host made of a map, for tests of the planner: it answers its questions as host/ does, without a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"
#include "planner/planner.h"
#include "policy/policy.h"

namespace cordon::planner::testing {

struct Node {
  enum class Kind : std::uint8_t { kDirectory, kFile, kLink, kSocket, kDevice, kDeadMount };
  Kind kind = Kind::kDirectory;
  std::string content;  ///< of a file: "ELF", "ELF:/lib64/ld.so", "FOREIGN", or its text; of a link: where it leads
  std::uint32_t uid = 0, gid = 0, mode = 0755;
  std::uint64_t inode = 0;
  bool noexec = false, read_only = false;
  std::uint64_t links = 1;
};

class FakeHost {
 public:
  /// An empty root and a caller.
  explicit FakeHost(std::uint32_t uid);

  /// Debian with a merged /usr; python3, bash, dash, env, node; a home /home/me of uid 1000.
  static FakeHost debian(std::uint32_t uid = 1000);

  // Missing parents are made with the same owner. Answer the node, to change it.
  Node& directory(const std::string& path, std::uint32_t uid = 0, std::uint32_t mode = 0755);
  Node& file(const std::string& path, std::string content, std::uint32_t uid = 0, std::uint32_t mode = 0644);
  Node& program(const std::string& path, std::string content, std::uint32_t uid = 0);
  Node& link(const std::string& path, const std::string& text, std::uint32_t uid = 0);
  Node& special(const std::string& path, Node::Kind kind, std::uint32_t uid = 0);
  /// A directory on which this type of file system is mounted.
  Node& mount(const std::string& path, const std::string& type);
  Node& at(const std::string& path) { return nodes_.at(path); }
  void remove(const std::string& path) { nodes_.erase(path); }

  /// Known as an account with a home.
  void account(std::string name, std::uint32_t uid, std::string home, std::vector<std::uint32_t> groups = {});

  void forget_accounts() { known_.clear(); }

  std::map<std::string, std::string> environment;
  plan::HostFacts facts;  ///< filled by answer()
  /// By real path: what a program's loader maps. Spelled paths; one that does not stand here is missing.
  std::map<std::string, std::vector<std::string>> libraries;
  std::map<std::string, std::vector<std::string>> searched;  ///< the same: directories that are looked into
  std::set<std::string> untold;                              ///< the same: the answer is not whole
  /// What can be limited, where that is asked.
  plan::LimitsFact limits{.way = plan::CgroupWay::kScope, .memory = true, .cpu = true, .pids = true};
  /// What every scan for other names of credentials finds; `asked` is filled in.
  plan::AliasAnswer aliases;

  void answer(const plan::Questions& questions);
  /// Asks and answers until nothing is open. Fails the test after too many rounds.
  const plan::HostFacts& know(const policy::Policy& policy);
  Verdict plan(const policy::Policy& policy) { return planner::plan(policy, know(policy)); }

  [[nodiscard]] plan::PathFact resolve(const std::string& asked) const;

 private:
  Node& put(const std::string& path, Node node);
  void answer_names(const std::string& directory, const plan::NameList& names);
  [[nodiscard]] plan::ProgramHop hop(const std::string& path) const;
  [[nodiscard]] plan::ProgramFact follow(const std::string& asked) const;
  [[nodiscard]] std::string look_up(const std::string& name, std::vector<std::string>* passed_over) const;
  void describe(const Node& node, plan::PathFact& fact) const;
  [[nodiscard]] bool may(const Node& node, std::uint32_t bit) const;

  std::map<std::string, Node> nodes_;
  std::vector<plan::Account> known_;
  std::uint64_t next_inode_ = 100;
};

/// Debian with the program /home/me/p/run of "me", whose first line this is.
FakeHost with_script(const std::string& line, std::uint32_t uid = 1000);

/// A policy as the manifest room would hand it over: resolved, with a span for each line.
class PolicyMaker {
 public:
  explicit PolicyMaker(const std::string& entrypoint);
  PolicyMaker& interpreter(const std::string& written);
  PolicyMaker& read(const std::string& path);
  PolicyMaker& write(const std::string& path);
  PolicyMaker& deny(const std::string& path);
  PolicyMaker& exec(policy::ExecMode mode);
  PolicyMaker& exec(const std::vector<std::string>& programs);
  PolicyMaker& env(const std::string& name, std::optional<std::string> supplied = std::nullopt);
  PolicyMaker& args(const std::vector<std::string>& args);
  policy::Policy policy;

 private:
  policy::Origin next();
  policy::PathGrant grant(const std::string& path);
  std::uint32_t line_ = 0;
};

/// The plan, or a failed test that shows the refusal.
plan::Plan must_plan(const Verdict& verdict);
/// The refusal, or a failed test.
plan::Refusal must_refuse(const Verdict& verdict);

/// The steps of one kind, in order.
template <class T>
std::vector<T> steps_of(const plan::Plan& plan) {
  std::vector<T> out;
  for (const plan::Step& step : plan.steps) {
    if (const T* act = std::get_if<T>(&step.act)) out.push_back(*act);
  }
  return out;
}

/// The place of the first step that `is`, from 0; past the end if none.
template <class T, class Is>
std::size_t place_of(const plan::Plan& plan, Is is) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const T* act = std::get_if<T>(&plan.steps[i].act);
    if (act != nullptr && is(*act)) return i;
  }
  return plan.steps.size();
}

/// The place of the first step of this kind.
template <class T>
std::size_t first(const plan::Plan& plan) {
  return place_of<T>(plan, [](const T&) { return true; });
}

/// Where the steps of one kind act, in order.
template <class T>
std::vector<std::string> targets(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const T& act : steps_of<T>(plan)) out.push_back(act.target);
  return out;
}

std::vector<std::string> note_codes(const plan::Plan& plan);

/// The bind, mask or pin at this target, if there is one.
std::optional<plan::step::Bind> bind_at(const plan::Plan& plan, std::string_view target);
bool has_mask(const plan::Plan& plan, std::string_view target);
bool has_pin(const plan::Plan& plan, std::string_view target);
const plan::step::Execute& execute_of(const plan::Plan& plan);

}  // namespace cordon::planner::testing
