#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "planner/draft.h"
#include "planner/path_text.h"
#include "policy/draft/draft.h"
#include "policy/draft/given.h"
#include "policy/draft/paths.h"
#include "policy/network/address.h"
#include "policy/network/synthetic.h"

namespace cordon::policy::draft {
namespace {

using plan::Destination;
using plan::Reach;

constexpr std::size_t kMostAsked = std::size_t{1} << 15;

/// What the launcher started.
std::string first_program(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps)
    if (const auto* execute = std::get_if<plan::step::Execute>(&step.act)) return execute->path;
  return {};
}

/// Everything that was started but the program itself, which the launcher starts once, itself or by another.
std::vector<plan::ExecutedProgram> started_by_it(const Watched& run) {
  std::vector<plan::ExecutedProgram> out;
  const std::string program = first_program(run.plan);
  std::size_t launched = 0;
  const std::size_t most = run.starter == Starter::kAnother ? 2 : 1;
  for (const plan::ExecutedProgram& one : run.outcome.observations.programs) {
    plan::ExecutedProgram rest = one;
    if (launched < most && (launched > 0 || one.path == program)) {
      ++launched;
      --rest.count;
    }
    if (rest.count > 0) out.push_back(std::move(rest));
  }
  return out;
}

/// Which programs, in one line.
std::string names_of(const std::vector<plan::ExecutedProgram>& started) {
  std::set<std::string> names;
  for (const plan::ExecutedProgram& one : started) names.insert(base::shown(one.path));
  const std::vector<std::string> all(names.begin(), names.end());
  constexpr std::size_t kMost = 6;
  if (all.size() <= kMost) return base::join(all, ", ");
  return fmt::format("{} and {} more", base::join(std::span(all).first(kMost), ", "), all.size() - kMost);
}

/// Inside, what is reached there is the program's own.
bool is_the_sandbox_itself(const network::Address& address) {
  static const std::array kBlocks{network::Block{network::Address::v4(127, 0, 0, 0), 8},
                                  network::Block{network::Address::v4(0, 0, 0, 0), 8},
                                  network::Block{{network::Family::kIpv6, {}}, 127}};
  return std::ranges::any_of(kBlocks, [&](const network::Block& block) { return block.contains(address); });
}

bool only_binds(const plan::ReachedAddress& one) {
  return std::ranges::all_of(one.calls, [](const std::string& call) { return call == "bind"; });
}

bool stands_for_a_name(std::string_view text) {
  const auto address = network::read_address(text);
  return address && (network::kSyntheticIpv4.contains(*address) || network::kSyntheticIpv6.contains(*address));
}

class Destinations {
 public:
  Destinations(const Watched& run, Proposal& out) : run_(run), out_(out) {}

  void take() {
    for (const Destination& one : run_.outcome.destinations)
      if (one.port != 0 && !one.host.empty()) connected_.insert(one.host);
    for (const Destination& one : run_.outcome.destinations) take(one);
    for (const plan::ReachedAddress& one : not_carried(run_.outcome)) take(one);
    out_.network.clear();
    for (const auto& [host, port] : rules_)
      out_.network.push_back({.host = host, .port = std::to_string(port), .reason = {}, .at = {}});
    out_.blocked_hosts.assign(blocked_.begin(), blocked_.end());
  }

 private:
  void withhold(const Destination& one, std::string code, std::string reason) {
    if (!said_.emplace(one.host, one.port, code).second) return;
    out_.withheld.push_back({.kind = "network",
                             .path = {},
                             .host = one.host,
                             .port = one.port,
                             .code = std::move(code),
                             .reason = std::move(reason)});
  }

  void take(const Destination& one) {
    if (one.reach == Reach::kOverBound) {
      out_.lost += one.count;
    } else if (one.host.empty()) {
      out_.unnamed += one.count;
    } else if (one.reach == Reach::kMalformed) {
      withhold(one, "not-tunneled", "the request asked the proxy for no tunnel, so no rule could let it pass");
    } else if (one.port == 0) {
      if (!connected_.contains(one.host))
        withhold(one, "looked-up-only", "its name was looked up and nothing was connected, so the port is not known");
    } else if (one.reach == Reach::kGuardBlocked) {
      blocked_.insert(fmt::format("{}:{}", one.host, one.port));
      withhold(one, "guard-blocked",
               fmt::format("it leads to an address that is not dialled ({})", one.why.empty() ? "special" : one.why));
    } else if (one.reach == Reach::kUnreachable && run_.forwarding == Forwarding::kAllowed) {
      withhold(one, "unreachable", "it could not be reached, so nothing shows that it is needed");
    } else {
      rules_.emplace(one.host, one.port);
    }
  }

  void take(const plan::ReachedAddress& one) {
    out_.withheld.push_back(
        {.kind = "network",
         .path = {},
         .host = one.address,
         .port = one.port,
         .code = "not-carried",
         .reason = fmt::format("{} named it{}, and no connection came of it, as with UDP, which no rule carries",
                               base::join(one.calls, ", "),
                               stands_for_a_name(one.address) ? " (it stands for a name)" : "")});
  }

  const Watched& run_;
  Proposal& out_;
  std::set<std::string> connected_, blocked_;
  std::set<std::pair<std::string, std::uint16_t>> rules_;
  std::set<std::tuple<std::string, std::uint16_t, std::string>> said_;
};

bool names_variable(std::string_view script, std::string_view name) {
  const auto is_word = [](char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; };
  for (std::size_t at = script.find(name); at != std::string_view::npos; at = script.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_word(script[at - 1])) && (end == script.size() || !is_word(script[end]))) return true;
  }
  return false;
}

/// Of the variables that the run had those that something shows to be used: a line that only they lead to, or their
/// name in the script.
std::vector<std::string> env_of(const Watched& run, const Proposal& out, bool needs_home) {
  std::vector<std::string> names;
  for (const EnvGrant& grant : run.policy.env) {
    const auto value = run.facts.environment.find(grant.name);
    if (value == run.facts.environment.end()) continue;
    bool used = false;
    if (grant.name == "HOME") {
      used = needs_home;
    } else if (grant.name.starts_with("XDG_")) {
      used = std::ranges::any_of(out.wants, [&](const Want& want) {
        return value->second.starts_with('/') && planner::within(want.path, value->second);
      });
    } else {
      used = names_variable(run.script, grant.name);
    }
    if (used) names.push_back(grant.name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string_view purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::kProject:
      return "project";
    case Purpose::kRuntime:
      return "runtime";
    case Purpose::kCache:
      return "cache";
    case Purpose::kTemporary:
      return "temporary";
    case Purpose::kOther:
      return "other";
  }
  return "other";
}

std::string_view access_name(Access access) { return access == Access::kWrite ? "write" : "read"; }

std::vector<std::string> paths_to_ask(const plan::Observations& observations, const plan::Plan& plan) {
  const Given given(plan);
  std::set<std::string> out;
  for (const plan::ObservedPath& one : observations.paths) {
    if (out.size() >= kMostAsked) break;
    const bool writes = (one.acts & plan::kActWrite) != 0;
    if (!is_representable(one.path) || is_of_the_kernel(one.path)) continue;
    if (given.always(one.path) && !writes) continue;
    out.insert(one.path);
    if (writes) out.insert(std::string(planner::parent_of(one.path)));
  }
  return {out.begin(), out.end()};
}

std::vector<plan::ReachedAddress> unheard(const plan::Plan& plan, const plan::Outcome& outcome) {
  constexpr std::uint16_t kDns = 53, kDealtOut = 32'768;
  if (plan.engine == plan::Engine::kLandlock) return {};  // its loopback is the host's
  std::set<std::uint16_t> heard{kDns};
  for (const plan::ReachedAddress& one : outcome.reached)
    if (std::ranges::find(one.calls, "bind") != one.calls.end()) heard.insert(one.port);
  for (const plan::Step& step : plan.steps)
    if (const auto* listen = std::get_if<plan::step::Listen>(&step.act)) heard.insert(listen->port);
  if (plan.egress) heard.insert(plan.egress->host_services.begin(), plan.egress->host_services.end());
  std::vector<plan::ReachedAddress> out;
  for (const plan::ReachedAddress& one : outcome.reached) {
    const auto address = network::read_address(one.address);
    const bool connects = std::ranges::find(one.calls, "connect") != one.calls.end();
    if (!address || !is_the_sandbox_itself(*address) || !connects) continue;
    if (one.port < kDealtOut && !heard.contains(one.port)) out.push_back(one);
  }
  return out;
}

std::vector<plan::ReachedAddress> not_carried(const plan::Outcome& outcome) {
  constexpr std::uint16_t kDns = 53;
  std::vector<plan::ReachedAddress> out;
  for (const plan::ReachedAddress& one : outcome.reached) {
    const auto address = network::read_address(one.address);
    if (!address || is_the_sandbox_itself(*address) || only_binds(one)) continue;
    const bool sent =
        std::ranges::any_of(one.calls, [](const std::string& call) { return call != "connect" && call != "bind"; });
    // connect(2) with such an address is a connection to a name, or a question for the route.
    if (stands_for_a_name(one.address) && (!sent || one.port == kDns)) continue;
    const bool carried = std::ranges::any_of(outcome.destinations, [&](const Destination& other) {
      return other.host == one.address && other.port == one.port;
    });
    if (!carried || sent) out.push_back(one);
  }
  return out;
}

Proposal propose(const Watched& run) {
  Proposal out;
  Paths paths(run);
  for (const plan::ObservedPath& one : run.outcome.observations.paths) paths.take(one);
  paths.finish(out);
  out.lost += run.outcome.observations.lost;
  if (!run.outcome.observations.complete && out.lost == 0) out.lost = 1;
  out.started = started_by_it(run);
  out.exec_all = !out.started.empty();
  if (out.exec_all)
    out.flagged.push_back({.kind = "exec",
                           .path = {},
                           .host = {},
                           .port = 0,
                           .code = "exec-all",
                           .reason = fmt::format("it started {}; a list of programs under exec: allows no others",
                                                 names_of(out.started))});
  Destinations(run, out).take();
  for (const plan::ReachedAddress& one : unheard(run.plan, run.outcome))
    out.flagged.push_back(
        {.kind = "network",
         .path = {},
         .host = one.address,
         .port = one.port,
         .code = "own-loopback",
         .reason =
             fmt::format("nobody in the run listens there, and its loopback is its own; to reach a server of this "
                         "host's: host_services: [{}]",
                         one.port)});
  out.env = env_of(run, out, paths.needs_home());
  return out;
}

}  // namespace cordon::policy::draft
