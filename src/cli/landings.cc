#include "cli/landings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/own_places.h"
#include "planner/landings.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

std::string directory(const Invocation& invocation, const plan::HostFacts& facts) {
  return journal_places(invocation.caller, own_home(facts)).own;
}

}  // namespace

LandingCheck check_landings(const Invocation& invocation, const plan::HostFacts& facts, const Opened& opened,
                            const plan::Plan& plan) {
  LandingCheck out;
  for (planner::Landing& landing : planner::landings(opened.policy, facts, plan))
    out.now.push_back({std::move(landing.what), std::move(landing.real)});
  const approval::LandingReading reading = approval::read_landings(directory(invocation, facts), opened.file.real_path,
                                                                   opened.fingerprint, approval_caller(invocation));
  out.recorded = reading.state == approval::LandingReading::State::kRead;
  out.unusable = reading.why;
  if (out.recorded) out.changes = approval::landing_changes(reading.record.landings, out.now);
  return out;
}

base::Result<void> record_landings(const Invocation& invocation, const plan::HostFacts& facts, const Opened& opened,
                                   const std::string& fingerprint, const LandingCheck& check) {
  return approval::write_landings(
      directory(invocation, facts),
      {.fingerprint = fingerprint, .manifest_path = opened.file.real_path, .landings = check.now},
      approval_caller(invocation));
}

base::Result<void, Stop> require_landings(const Invocation& invocation, const Opened& opened,
                                          const LandingCheck& check) {
  if (check.changes.empty()) return {};
  plan::RefusedItem item;
  item.code = "approval-stale";
  item.at.file = opened.file.written_path;
  item.message = "since it was approved, " + base::join(check.changes, "; ");
  item.mend = approving_mend(invocation, opened, "look at it and approve it again");
  report::Refused refused;
  refused.items.push_back(std::move(item));
  return base::fail(stop(std::move(refused), opened.file.text));
}

}  // namespace cordon::cli
