// draft: from what a watched run asked for to the permissions that it would need, each with its reason.
//
// Pure. What the target said (plan::Observations) is laid beside what this host has (HostFacts) and what the run was
// given anyway (its Plan). A path is proposed only where granting it would change something; what may not be proposed
// (another user's home, a whole tree of the system, a socket) is withheld with its reason and never dropped in silence.
// What a shield forbids is not judged here: the caller hands each proposal to the planner, and withholds what that
// refuses (withhold_refused).
//
// Nothing is allowed by a proposal: it is shown to a person and enforced like any other policy. Same input, same
// output, in one order, so that two drafts can be compared line by line.
//
// Called by cli/ for `profile`. Must not touch the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"
#include "plan/outcome.h"
#include "plan/plan.h"
#include "plan/refusal.h"
#include "policy/policy.h"

namespace cordon::policy::draft {

/// What a path is there for; the headings under which a person reads a draft.
enum class Purpose : std::uint8_t { kProject, kRuntime, kCache, kTemporary, kOther };
std::string_view purpose_name(Purpose purpose);  ///< "project"

enum class Access : std::uint8_t { kRead, kWrite };
std::string_view access_name(Access access);  ///< "read": the manifest's key

/// Who asked, how, and how often.
struct Evidence {
  std::uint32_t acts = 0;  ///< plan::PathAct
  std::uint64_t count = 0;
  std::vector<std::string> programs, calls;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// One line that the draft would have.
struct Want {
  Access access = Access::kRead;
  std::string path;                  ///< absolute, as it was named
  std::string real;                  ///< where it leads here
  std::vector<std::string> through;  ///< the links on the way, where they lie: each is there only where a line gives it
  Purpose purpose = Purpose::kOther;
  Evidence evidence;
  bool directory = true;
  bool was_given = false;  ///< the watched run had it; without it the program may have stopped early
  bool only_seen = false;  ///< a directory outside the project that was looked at and not entered: a person decides
  friend bool operator==(const Want&, const Want&) = default;
};

/// Not proposed although it was asked for, or proposed and worth a look. `code` is stable, kebab-case.
struct Remark {
  std::string kind;  ///< "read", "write", "network", "exec", "env"
  std::string path;
  std::string host;
  std::uint16_t port = 0;
  std::string code;
  std::string reason;  ///< one sentence without a full stop, bytes from outside quoted
  friend bool operator==(const Remark&, const Remark&) = default;
};

struct Proposal {
  std::vector<Want> wants;           ///< reads, then writes; each in the order of paths
  std::vector<NetworkRule> network;  ///< sorted, each once
  std::vector<std::string> env;      ///< names
  bool exec_all = false;
  std::vector<std::string> exec_programs;      ///< for the list under exec: that stands already
  std::vector<plan::ExecutedProgram> started;  ///< by the program itself; why `exec: all`
  std::vector<Remark> withheld, flagged;
  std::vector<std::string> blocked_hosts;  ///< "host:port": refused whatever a rule says
  std::uint64_t runtime = 0;               ///< paths that every run of this program has anyway
  std::uint64_t scratch = 0;               ///< paths in the run's own /tmp and home
  std::uint64_t unnamed = 0;               ///< connections whose destination has no name
  std::uint64_t lost = 0;                  ///< of the observations, and what could not be looked up here
  friend bool operator==(const Proposal&, const Proposal&) = default;
};

enum class Forwarding : std::uint8_t { kRefused, kAllowed };

/// What the launcher starts.
enum class Starter : std::uint8_t {
  kItself,   ///< the program
  kAnother,  ///< one that becomes the program: the second that was seen is no reason for exec: all
};

/// One watched run.
struct Watched {
  const Policy& policy;    ///< it ran under this one, resolved
  const plan::Plan& plan;  ///< and so had this
  const plan::Outcome& outcome;
  const plan::HostFacts& facts;         ///< with answers about paths_to_ask()
  std::string project;                  ///< real: the directory that the program belongs to
  std::string_view script;              ///< the entrypoint's text, or ""
  std::span<const PathGrant> standing;  ///< lines under write: that a person wrote, approved or not
  Starter starter = Starter::kItself;
  std::int64_t began_ns = 0;  ///< since the epoch: what is younger was made by the run
  Forwarding forwarding = Forwarding::kRefused;
};

/// What must be known of this host before propose().
std::vector<std::string> paths_to_ask(const plan::Observations& observations, const plan::Plan& plan);

Proposal propose(const Watched& run);

/// Of the addresses that the run named those that the broker heard nothing of: all where there is none; else datagrams,
/// and connections that no packet left for. Not the sandbox itself, and not the broker's own.
std::vector<plan::ReachedAddress> not_carried(const plan::Outcome& outcome);

/// Of the addresses of its own loopback those that the run connected to and whose port nothing in it was seen to bind:
/// nobody listens there, and a server of the host's does not. Not the ports that the kernel deals out.
std::vector<plan::ReachedAddress> unheard(const plan::Plan& plan, const plan::Outcome& outcome);

/// How a path is written so that the manifest can move: below the manifest's directory "./x", below home "~/x".
struct Anchors {
  std::string manifest_directory, home;
};
std::string relocatable(std::string_view path, const Anchors& anchors);

/// The proposal on top of `base` (the program with its arguments, or an existing manifest as written): every grant
/// of `base` stays. Grants of the proposal have `path` set, and an origin by which withhold_refused() knows them.
Policy compose(const Policy& base, const Proposal& proposal, const Anchors& anchors);

/// What the planner says of a composed policy: lines of the proposal that it refuses, or that would lift a shield, are
/// withheld in its own words. True where the proposal is another now, and should be composed and planned again.
bool withhold_refused(Proposal& proposal, const plan::Refusal& refusal);
bool withhold_lifted(Proposal& proposal, const plan::Plan& plan);

/// Whether the line gives what `want` asks for, and is another: the same path for writing, or a directory around it.
bool covers(const Want& other, const Want& want);
/// Whether a grant of a manifest does; `access` is that of its key.
bool covers(const PathGrant& grant, Access access, const Want& want);

/// Whether a rule of `base` lets a connection to this name or address through, as the broker would decide.
bool lets_through(const Policy& base, std::string_view host, std::uint16_t port);

/// Drops what a line of `base` gives already, and what its rules let through.
void drop_given(Proposal& proposal, const Policy& base);
/// And what another line of the proposal gives.
void drop_covered(Proposal& proposal, const Policy& base);

}  // namespace cordon::policy::draft
