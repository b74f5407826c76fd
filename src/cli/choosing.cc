#include "cli/choosing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text.h"
#include "cli/question.h"

namespace cordon::cli {

namespace draft = policy::draft;

report::ProfileLine line_of(const draft::Want& want, const draft::Anchors& anchors) {
  return {.key = std::string(draft::access_name(want.access)),
          .written = draft::relocatable(want.path, anchors),
          .group = std::string(draft::purpose_name(want.purpose)),
          .leads_to = want.real == want.path ? std::string() : draft::relocatable(want.real, anchors),
          .programs = want.evidence.programs,
          .calls = want.evidence.calls,
          .count = want.evidence.count};
}

std::string host_and_port(const std::string& host, const std::string& port) {
  const bool ipv6 = host.contains(':');
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

Choosing::Choice Choosing::ask(const report::ProfileLine& line) {
  if (asks_ == Asks::kNobody || all_ || groups_.contains(line.group)) return Choice::kTake;
  if (quit_) return Choice::kDecline;
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<std::string> word = ask_for_word(invocation_, report::grant_question(line));
    if (!word || *word == "q" || *word == "quit") break;
    if (*word == "y" || *word == "yes") return Choice::kTake;
    if (*word == "n" || *word == "no") return Choice::kDecline;
    if (*word == "a" || *word == "all") all_ = true;
    if (*word == "g" || *word == "group") groups_.insert(line.group);
    if (all_ || groups_.contains(line.group)) return Choice::kTake;
  }
  quit_ = true;
  return Choice::kDecline;
}

/// What nothing was said about yet, and nothing that was taken gives.
std::vector<draft::Want> Choosing::open_ones(const draft::Proposal& proposal) const {
  std::vector<draft::Want> out;
  for (const draft::Want& want : proposal.wants) {
    const auto same = [&](const draft::Want& other) { return other.access == want.access && other.path == want.path; };
    const auto gives = [&](const draft::Want& other) { return same(other) || draft::covers(other, want); };
    if (std::ranges::any_of(chosen_.wants, gives) || std::ranges::any_of(declined_, same)) continue;
    if (std::ranges::any_of(withheld_, same)) continue;
    // In one pass nobody is there to say that looking at a directory meant to read it.
    if (want.only_seen && asks_ == Asks::kNobody) continue;
    out.push_back(want);
  }
  return out;
}

/// Where it would give back what was declined.
bool Choosing::withhold(const draft::Want& want) {
  const auto back = std::ranges::find_if(declined_, [&](const draft::Want& one) { return draft::covers(want, one); });
  if (back == declined_.end()) return false;
  withheld_.push_back(want);
  chosen_.withheld.push_back({.kind = std::string(draft::access_name(want.access)),
                              .path = want.path,
                              .host = {},
                              .port = 0,
                              .code = "gives-what-was-declined",
                              .reason = fmt::format("it would also give {}, which you declined",
                                                    base::shown(draft::relocatable(back->path, anchors_)))});
  return true;
}

/// True where the run did not have it.
bool Choosing::take_want(const draft::Want& want) {
  if (withhold(want)) return false;
  if (ask(line_of(want, anchors_)) == Choice::kTake) {
    chosen_.wants.push_back(want);
    return !want.was_given;
  }
  if (!quit_) declined_.push_back(want);
  return false;
}

bool Choosing::take_wants(const draft::Proposal& proposal) {
  bool missed = false;
  for (std::vector<draft::Want> open = open_ones(proposal); !open.empty() && !quit_; open = open_ones(proposal)) {
    std::vector<draft::Want> widest;
    std::ranges::copy_if(open, std::back_inserter(widest), [&](const draft::Want& want) {
      return std::ranges::none_of(open, [&](const draft::Want& other) { return draft::covers(other, want); });
    });
    if (widest.empty()) widest.push_back(open.front());  // two names of one directory
    for (const draft::Want& want : widest) missed = take_want(want) || missed;
  }
  std::ranges::sort(chosen_.wants, {}, [](const draft::Want& want) { return std::tie(want.access, want.path); });
  return missed;
}

/// One that was refused is no reason to run again: it is refused in every round.
void Choosing::take_network(const draft::Proposal& proposal) {
  for (const policy::NetworkRule& rule : proposal.network) {
    const std::string name = rule.host + ":" + rule.port;
    const auto same = [&](const policy::NetworkRule& other) { return other.host + ":" + other.port == name; };
    if (std::ranges::any_of(chosen_.network, same) || declined_hosts_.contains(name)) continue;
    if (ask({.key = "network",
             .written = host_and_port(rule.host, rule.port),
             .group = "network",
             .programs = {},
             .calls = {"connect"},
             .count = 1}) == Choice::kTake) {
      chosen_.network.push_back(rule);
    } else if (!quit_) {
      declined_hosts_.insert(name);
    }
  }
  std::ranges::sort(chosen_.network, {},
                    [](const policy::NetworkRule& rule) { return std::tie(rule.host, rule.port); });
}

/// Its own question: the most that one line can give.
void Choosing::take_exec(const draft::Proposal& proposal) {
  chosen_.started = proposal.started;
  if (!proposal.exec_all || chosen_.exec_all || exec_asked_ || quit_) return;
  exec_asked_ = true;
  if (asks_ == Asks::kAtTerminal) {
    std::vector<std::string> names;
    for (const plan::ExecutedProgram& one : proposal.started) names.push_back(base::shown(one.path));
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    const std::optional<std::string> word = ask_for_word(
        invocation_,
        fmt::format("cordon: grant exec: all? it started {}\ncordon: [y]es [n]o [q]uit ", base::join(names, ", ")));
    quit_ = !word || *word == "q" || *word == "quit";
    exec_declined_ = !quit_ && *word != "y" && *word != "yes";
    if (quit_ || (*word != "y" && *word != "yes")) return;
  }
  chosen_.exec_all = true;
}

/// For the list under exec: each by its name.
void Choosing::take_programs(const draft::Proposal& proposal) {
  for (const std::string& path : proposal.exec_programs) {
    if (std::ranges::find(chosen_.exec_programs, path) != chosen_.exec_programs.end()) continue;
    if (declined_programs_.contains(path)) continue;
    if (ask({.key = "exec",
             .written = draft::relocatable(path, anchors_),
             .group = "exec",
             .programs = {},
             .calls = {"execve"},
             .count = 1}) == Choice::kTake) {
      chosen_.exec_programs.push_back(path);
    } else if (!quit_) {
      declined_programs_.insert(path);
    }
  }
  std::ranges::sort(chosen_.exec_programs);
}

std::size_t Choosing::declines() const {
  const auto stands = [&](const draft::Want& want) {
    return std::ranges::none_of(
        chosen_.wants, [&](const draft::Want& one) { return draft::covers(one, want) || draft::covers(want, one); });
  };
  return static_cast<std::size_t>(std::ranges::count_if(declined_, stands)) + declined_hosts_.size() +
         declined_programs_.size() + (exec_declined_ ? 1 : 0);
}

void Choosing::take_remarks(const draft::Proposal& proposal) {
  const auto add = [](std::vector<draft::Remark>& to, const std::vector<draft::Remark>& from) {
    for (const draft::Remark& one : from)
      if (std::ranges::find(to, one) == to.end()) to.push_back(one);
  };
  add(chosen_.withheld, proposal.withheld);
  chosen_.flagged.clear();
  add(chosen_.flagged, proposal.flagged);
  for (const std::string& host : proposal.blocked_hosts)
    if (std::ranges::find(chosen_.blocked_hosts, host) == chosen_.blocked_hosts.end())
      chosen_.blocked_hosts.push_back(host);
  chosen_.runtime = proposal.runtime;
  chosen_.scratch = proposal.scratch;
  chosen_.unnamed = proposal.unnamed;
  chosen_.lost = std::max(chosen_.lost, proposal.lost);
  for (const std::string& name : proposal.env)
    if (std::ranges::find(chosen_.env, name) == chosen_.env.end()) chosen_.env.push_back(name);
}

bool Choosing::take(const draft::Proposal& proposal) {
  const bool paths = take_wants(proposal);
  take_network(proposal);
  take_exec(proposal);
  take_programs(proposal);
  take_remarks(proposal);
  return paths;
}

}  // namespace cordon::cli
