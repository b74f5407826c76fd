#include "enforce/promote/promote.h"

#include <array>

#include "enforce/promote/apply.h"
#include "enforce/promote/journal.h"
#include "enforce/promote/remove_tree.h"
#include "enforce/promote/stage.h"

namespace cordon::enforce::promote {
namespace {

/// What is moved is the copy: by its inode a replay knows what has arrived.
base::Result<void> note_staged(const Task& task, Work& work) {
  const auto stage = open_stage(task.destination, work);
  if (!stage) return base::fail(kernel::error_at(stage.error(), work.stage));
  for (std::size_t i = 0; i < work.acts.size(); ++i) {
    if (work.acts[i].does != Act::Does::kPlace) continue;
    const auto facts = look(*stage, std::to_string(i).c_str());
    if (!facts) return base::fail(kernel::error_at(facts.error(), work.acts[i].path));
    work.acts[i].source = facts->stx_ino;
  }
  return {};
}

base::Result<void> prepare(const Survey& survey, const Task& task, Work& work) {
  const auto facts = kernel::statx(task.destination);
  if (!facts) return base::fail(kernel::error_at(facts.error(), "the workspace"));
  work.device = kernel::device_of(*facts);
  work.inode = facts->stx_ino;
  if (work.way == Way::kCopy) {
    auto name = name_stage();
    if (!name) return base::fail(kernel::error_at(name.error(), "a name"));
    work.stage = std::move(*name);
    Work only_the_stage = work;
    only_the_stage.acts.clear();
    CORDON_OK(write_journal(task.scratch, only_the_stage));
    if (auto filled = fill_stage(survey, task, work); !filled) {
      static_cast<void>(remove_journal(task.scratch));
      return filled;
    }
    CORDON_OK(note_staged(task, work));
  }
  return write_journal(task.scratch, work);
}

/// Directories of the upper that only led to what has been promoted.
void prune(const Survey& survey, const Task& task) {
  for (std::size_t i = survey.directories.size(); i-- > 1;) {
    const Directory& directory = survey.directories[i];
    const bool only_led = directory.counterpart == Counterpart::kMerged && directory.mark == Mark::kNone;
    if (!only_led && !is_made_for_outputs(directory)) continue;
    if (const auto above = open_directory(task.upper, directory_of(directory.path)))
      static_cast<void>(kernel::unlinkat(*above, std::string(name_of(directory.path)).c_str(), AT_REMOVEDIR));
  }
}

base::Result<Outcome> promote_as(Task& task, Manner manner) {
  CORDON_TRY(const auto earlier, read_journal(task.scratch));
  if (earlier)
    return base::fail(base::Error{.operation = "promote",
                                  .subject = "the journal of a promotion",
                                  .detail = "an earlier one has not been finished"});
  CORDON_TRY(Survey found, survey(task, manner));
  if (found.outcome.over_bound) return std::move(found.outcome);
  const Way way = way_between(task.upper, task.destination);
  if (way == Way::kRename) lock_again(task, found);
  Work work = work_of(found, task, way);
  Outcome outcome = std::move(found.outcome);
  if (!work.acts.empty()) {
    CORDON_OK(prepare(found, task, work));
    const Ends ends{.upper = task.upper, .destination = task.destination, .scratch = task.scratch};
    CORDON_OK(apply(work, ends, Round::kFirst, task.bounds, outcome));
  }
  prune(found, task);
  return outcome;
}

constexpr std::array<std::string_view, 23> kCodes{
    "promoted",
    "deleted",
    "stripped",
    "not-an-output",
    "held-lock",
    "held-manifest",
    "deletion-outside-outputs",
    "exists",
    "holds-refused",
    "host-failed",
    "changed-meanwhile",
    "parent-changed-meanwhile",
    "appeared-meanwhile",
    "special-file",
    "foreign-owner",
    "git-repository",
    "shielded",
    "link-leaves",
    "link-at-place",
    "mount-at-place",
    "protected-at-place",
    "unknown-overlay",
    "over-bound",
};

}  // namespace

std::string_view code_of(Reason reason) { return kCodes.at(static_cast<std::size_t>(reason)); }

base::Result<Outcome> promote(Task& task) { return promote_as(task, Manner::kOutputs); }

base::Result<Outcome> promote_new_entries(Task& task) { return promote_as(task, Manner::kNewEntries); }

base::Result<Outcome> replay(base::FdView upper, base::FdView destination, base::FdView scratch) {
  Outcome outcome;
  CORDON_TRY(const auto work, read_journal(scratch));
  if (!work) return outcome;
  const auto facts = kernel::statx(destination);
  if (!facts) return base::fail(kernel::error_at(facts.error(), "the workspace"));
  if (facts->stx_ino != work->inode || kernel::device_of(*facts) != work->device)
    return base::fail(base::Error{
        .operation = "replay", .subject = "the journal of a promotion", .detail = "it is about another workspace"});
  if (work->way == Way::kCopy && work->acts.empty()) {  // nothing had been placed, or everything
    CORDON_OK(remove_tree(destination, work->stage));
    CORDON_OK(remove_journal(scratch));
    return outcome;
  }
  CORDON_OK(apply(*work, {.upper = upper, .destination = destination, .scratch = scratch}, Round::kReplay, Bounds{},
                  outcome));
  return outcome;
}

}  // namespace cordon::enforce::promote
