// One manifest on this host, from its bytes to the planner's verdict: the one way that run, run --dry-run, validate,
// approve and inspect all take. There is no second opinion anywhere, so a grant that one of them accepts and another
// refuses on the same host is a bug (tests/cli holds them together).
//
//   open()     bytes -> Policy, as written and resolved; pinned content; fingerprint; state of the stamp. No host fact.
//   verdict()  asks the planner what it wants to know, the host for the answers, and the planner for its verdict.
//
// Whoever stops the way says why in a Stop, with the manifest's text for the caret.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/invocation.h"
#include "cli/parse.h"
#include "host/host.h"
#include "plan/host_facts.h"
#include "planner/planner.h"
#include "policy/approval/approve.h"
#include "policy/approval/location.h"
#include "policy/approval/manifest_file.h"
#include "policy/manifest/manifest.h"
#include "policy/policy.h"
#include "report/refused.h"

namespace cordon::cli {

struct Stop {
  report::Refused refused;
  std::string source;  ///< the manifest's text, as far as it was read
};
Stop stop(report::Refused refused, std::string source = {});
/// What a flag was given cannot be: without the usage, which would push the mend off the screen.
base::Result<void, Stop> refuse_value(std::string code, std::string message, std::string mend);

struct Request {
  std::string manifest;
  policy::Posture posture;
  std::vector<std::string> environment;  ///< NAME=VALUE of --env
};

/// --strict, --allow-degraded, --as-root, --accept-alias; the first two exclude each other.
base::Result<policy::Posture, Stop> posture_of(const Invocation& invocation, const Arguments& arguments);

/// The trees of --accept-alias, relative ones seen from the working directory.
base::Result<std::vector<policy::PathGrant>, Stop> accepted_aliases(const Invocation& invocation,
                                                                    const Arguments& arguments);

/// A manifest that was read, parsed and resolved. `policy` is resolved, `as_written` is what the stamp covers.
struct Opened {
  policy::approval::ManifestFile file;
  policy::Policy as_written;
  policy::Policy policy;
  base::Diagnostics notes;
  std::vector<policy::manifest::PinnedContent> pins;
  std::string fingerprint;
  policy::manifest::StampState stamp = policy::manifest::StampState::kUnapproved;
};

/// This host, for one command: what was asked of it so far.
struct Host {
  host::Session session;
  plan::HostFacts facts;
  base::Fd state = {};  ///< Cordon's state directory, where it stood; else invalid
};
/// Called as soon as the host has been introduced (who, where, which features), before anything of ours is looked at.
using WhenIntroduced = std::function<void(const plan::HostFacts& facts)>;
base::Result<Host, Stop> open_host(const Invocation& invocation, const WhenIntroduced& when_introduced = {});

base::Result<Opened, Stop> open(const Invocation& invocation, const plan::HostFacts& facts, const Request& request);

/// kAssume: a feature that nobody asked about is taken to be there (a run pays for no probe). kProbe: it is tried now
/// and remembered for this boot.
enum class Probing { kAssume, kProbe };

/// `when_begun` is told what the plan will probably begin with, once the first answers are there (planner::beginning).
using WhenBegun = std::function<void(std::vector<plan::Step>)>;
base::Result<planner::Verdict, Stop> verdict(const policy::Policy& policy, Host& host, Probing probing,
                                             const WhenBegun& when_begun = {});

/// Nothing where the stamp is current; else why the run is refused, with what changed since, if this host recorded it.
base::Result<void, Stop> require_stamp(const Invocation& invocation, const plan::HostFacts& facts,
                                       const Opened& opened);

/// Who else can rewrite the manifest or put another in its place; asked only where a stamp is at stake.
std::vector<policy::approval::Finding> findings(const Invocation& invocation, const Opened& opened);

/// "read it and stamp it: cordon approve m.yaml", or whose turn that is, or what must be mended first: where approve
/// would refuse it is not the next step.
std::string approving_mend(const Invocation& invocation, const Opened& opened, std::string_view act);

policy::approval::JournalPlaces journal_places(const host::Caller& caller, const std::string& home);
policy::approval::Caller approval_caller(const Invocation& invocation);
policy::approval::ApproveReview review(const Invocation& invocation, const plan::HostFacts& facts,
                                       const Opened& opened);

}  // namespace cordon::cli
