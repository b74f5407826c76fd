#include "planner/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/abs_path.h"
#include "base/text.h"
#include "planner/named_path.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

/// Nothing of the host is granted at the second, so that it is there when a grant shows the host's /run.
constexpr std::array kPlaces = std::to_array<std::string_view>({"/run/cordon", "/.cordon"});

std::string socket_in(const Arranged& arranged) {
  const bool covered = arranged.showing(kPlaces.front()) != nullptr;
  return std::string(covered ? kPlaces.back() : kPlaces.front()) + "/ssh-agent.sock";
}

class Check {
 public:
  Check(Draft& draft, const Identity& identity, const policy::Text& line)
      : draft_(draft), identity_(identity), line_(line) {}

  void run() {
    const auto found = draft_.facts.environment.find(std::string(kAgentVariable));
    if (found == draft_.facts.environment.end() || found->second.empty())
      return missing(fmt::format("{} is not set, so there is no ssh agent to ask", kAgentVariable));
    const std::string path = agent_path(draft_.policy, draft_.facts);
    if (path.empty())
      return missing(fmt::format("{} says {}, which is no absolute path", kAgentVariable, base::shown(found->second)));
    const PathFact* fact = fact_of(draft_.facts, path);
    if (fact == nullptr || fact->state != PathState::kPresent)
      return missing(fmt::format("{} names {}, and nothing is there", kAgentVariable, base::shown(path)));
    look_at(*fact);
  }

 private:
  void look_at(const PathFact& fact) {
    const std::string name = base::shown(fact.real);
    if (is_planted(draft_, identity_, fact))
      return foreign(
          fmt::format("{} is reached over a link that another user could have made", base::shown(fact.asked)));
    if (!is_socket(fact)) return foreign(fmt::format("{} is no socket", name));
    const bool own = fact.uid == draft_.facts.uid || fact.uid == 0 || (identity_.run_as && fact.uid == identity_.uid);
    if (!own) return foreign(fmt::format("the ssh agent at {} belongs to uid {}", name, fact.uid));
    if (!fact.writable) return foreign(fmt::format("you may not connect to the ssh agent at {}", name));
  }

  void missing(const std::string& what) {
    refuse(Code::kAgentMissing, what,
           fmt::format("start one and add a key: eval $(ssh-agent) && ssh-add; or {}", without()));
  }
  void foreign(const std::string& what) {
    refuse(
        Code::kAgentForeign, what,
        fmt::format("name an agent of your own in {}: eval $(ssh-agent) && ssh-add; or {}", kAgentVariable, without()));
  }
  [[nodiscard]] std::string_view without() const {
    return line_.at.source == "--agent" ? "leave --agent away" : "remove the line";
  }
  void refuse(Code code, const std::string& what, std::string mend) {
    draft_.refuse(code, line_.at.span, fmt::format("{}: {}", label_of("agent", line_.value), what), std::move(mend));
    draft_.items.back().is_grant = true;
  }

  Draft& draft_;
  const Identity& identity_;
  const policy::Text& line_;
};

}  // namespace

bool uses_agent(const policy::Policy& policy) { return !policy.agent.empty(); }

std::string agent_path(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (!uses_agent(policy)) return {};
  const auto found = facts.environment.find(std::string(kAgentVariable));
  const auto path = found == facts.environment.end() ? std::nullopt : base::AbsPath::parse(found->second);
  return path ? path->str() : std::string();
}

void check_agent(Draft& draft, const Identity& identity) {
  if (uses_agent(draft.policy)) Check(draft, identity, draft.policy.agent.front()).run();
}

void pass_agent(const Draft& draft, const Arranged& arranged, Environment& environment) {
  if (!uses_agent(draft.policy)) return;
  const std::string begin = std::string(kAgentVariable) + "=";
  std::erase_if(environment.entries, [&](const std::string& entry) { return entry.starts_with(begin); });
  environment.entries.push_back(begin + socket_in(arranged));
  std::ranges::sort(environment.entries);
}

void make_agent_socket(Draft& draft, const Arranged& arranged) {
  if (!uses_agent(draft.policy)) return;
  const PathFact* fact = fact_of(draft.facts, agent_path(draft.policy, draft.facts));
  if (fact == nullptr) return;
  const policy::Text& line = draft.policy.agent.front();
  draft.step(
      plan::step::AgentSocket{.target = socket_in(arranged), .source = fact->real, .id = fact->id, .owner = fact->uid},
      plan::Layer::kNetwork, label_of("agent", line.value), line.at.span);
}

}  // namespace cordon::planner
