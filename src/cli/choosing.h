// The questions of `profile`: each line that a draft would have, put to the person at the terminal once.
//
// A line is asked about before those that it gives as well: who takes it is not asked about them, and who declines it
// is. Where nobody is asked everything is taken, but what only a person can decide. What was declined is not asked
// again, and no line that would give it back is asked about or taken: that one is withheld.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "policy/draft/draft.h"
#include "report/profile_view.h"

namespace cordon::cli {

report::ProfileLine line_of(const policy::draft::Want& want, const policy::draft::Anchors& anchors);

/// An IPv6 address in brackets.
std::string host_and_port(const std::string& host, const std::string& port);

/// What the person said no to.
struct Declined {
  std::vector<policy::draft::Want> wants;
  std::set<std::string> hosts;  ///< "host:port"
  bool exec_all = false;
};

class Choosing {
 public:
  enum class Asks : std::uint8_t { kAtTerminal, kNobody };
  Choosing(Asks asks, policy::draft::Anchors anchors, const Invocation& invocation)
      : asks_(asks), anchors_(std::move(anchors)), invocation_(invocation) {}

  /// Takes over from this run's proposal what is wanted. True where something was, that the run did not have.
  bool take(const policy::draft::Proposal& proposal);

  [[nodiscard]] bool quit() const { return quit_; }
  /// What was taken so far; its other fields are of the last proposal, withheld and flagged remarks of all of them.
  [[nodiscard]] const policy::draft::Proposal& chosen() const { return chosen_; }
  [[nodiscard]] Declined all_declined() const {
    return {.wants = declined_, .hosts = declined_hosts_, .exec_all = exec_declined_};
  }
  /// How many lines: who declines a wide one and takes all of what it would have given has declined nothing that was
  /// asked for.
  [[nodiscard]] std::size_t declines() const;

 private:
  enum class Choice : std::uint8_t { kTake, kDecline };
  Choice ask(const report::ProfileLine& line);
  bool take_wants(const policy::draft::Proposal& proposal);
  [[nodiscard]] std::vector<policy::draft::Want> open_ones(const policy::draft::Proposal& proposal) const;
  bool take_want(const policy::draft::Want& want);
  bool withhold(const policy::draft::Want& want);
  void take_network(const policy::draft::Proposal& proposal);
  void take_exec(const policy::draft::Proposal& proposal);
  void take_programs(const policy::draft::Proposal& proposal);
  void take_remarks(const policy::draft::Proposal& proposal);

  Asks asks_;
  policy::draft::Anchors anchors_;
  const Invocation& invocation_;
  policy::draft::Proposal chosen_;
  std::vector<policy::draft::Want> declined_, withheld_;
  std::set<std::string> declined_hosts_, declined_programs_, groups_;
  bool all_ = false, quit_ = false, exec_asked_ = false, exec_declined_ = false;
};

}  // namespace cordon::cli
