#include "planner/landings.h"

#include <algorithm>
#include <string_view>

#include "planner/base.h"
#include "planner/draft.h"
#include "planner/exec_closure.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

class Collect {
 public:
  explicit Collect(const plan::HostFacts& facts) : facts_(facts) {}

  void grants(std::string_view key, const std::vector<policy::PathGrant>& grants) {
    for (const policy::PathGrant& grant : grants) path(label_of(key, grant.written), grant.path);
  }

  void path(std::string what, const std::string& path) {
    const plan::PathFact* fact = fact_of(facts_, path);
    if (fact != nullptr && !fact->hops.empty()) out_.push_back({std::move(what), fact->real});
  }

  /// What is mounted for the program's sake: its file where that is not in the base, its prefix, its loader.
  void program(const plan::Plan& plan) {
    for (const plan::Step& step : plan.steps) {
      const auto* bind = std::get_if<plan::step::Bind>(&step.act);
      if (bind != nullptr && (step.reason == "interpreter" || step.reason == "loader"))
        out_.push_back({step.reason, bind->source});
    }
  }

  /// What each line of the list starts: where PATH found it, and its interpreters. Of the system's own by the name that
  /// was asked for: a new release behind it widens nothing.
  void exec(const policy::Policy& policy) {
    if (!exec_listed(policy)) return;
    for (const ExecFile& file : ExecClosure(policy, facts_).files) {
      if (file.kind != ExecKind::kProgram || file.asked_by == "entrypoint") continue;
      const bool of_system = in_base(facts_, file.fact.real);
      if (of_system && !file.named && name_of(file.fact.real).starts_with("ld-")) continue;
      out_.push_back({file.asked_by, of_system ? file.fact.asked : file.fact.real});
    }
  }

  std::vector<Landing> take() {
    std::ranges::sort(out_);
    const auto rest = std::ranges::unique(out_);
    out_.erase(rest.begin(), rest.end());
    return std::move(out_);
  }

 private:
  const plan::HostFacts& facts_;
  std::vector<Landing> out_;
};

}  // namespace

std::vector<Landing> landings(const policy::Policy& policy, const plan::HostFacts& facts, const plan::Plan& plan) {
  Collect collect(facts);
  collect.path(label_of("entrypoint", policy.entrypoint.written), policy.entrypoint.path);
  collect.grants("read", policy.read);
  collect.grants("write", policy.write);
  collect.grants("wx", policy.wx);
  collect.grants("deny", policy.deny);
  collect.program(plan);
  collect.exec(policy);
  return collect.take();
}

}  // namespace cordon::planner
