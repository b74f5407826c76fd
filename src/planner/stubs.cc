#include "planner/stubs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "planner/host.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;

/// File systems that may be the upper layer of an overlay.
bool may_be_upper(std::string_view filesystem) {
  constexpr std::array kKnown =
      std::to_array<std::string_view>({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs", "zfs"});
  return std::ranges::find(kKnown, filesystem) != kKnown.end();
}

/// Cordon's own directory, if an overlay over this grant can work there.
const PathFact* work_for(const plan::HostFacts& facts, const Want& want) {
  if (facts.work_place.empty() || lacks(facts, plan::Feature::kOverlayMount)) return nullptr;
  if (facts.refused_overlays.contains(want.path) || want.fact == nullptr || !want.directory) return nullptr;
  const PathFact* work = fact_of(facts, facts.work_place);
  if (work == nullptr || work->state != plan::PathState::kPresent || !is_directory(*work)) return nullptr;
  const bool same_mount = want.fact->mount != 0 && want.fact->mount == work->mount;
  if (!same_mount || !may_be_upper(want.fact->filesystem)) return nullptr;
  return within(work->real, want.path) || within(want.path, work->real) ? nullptr : work;
}

plan::step::Shield shield_of(const Want& want) {
  return want.hidden_when_made ? plan::step::Shield::kHidden : plan::step::Shield::kReadOnly;
}

/// Once: of several repositories one says it.
void say_not_held(Draft& draft, const Want& want) {
  constexpr std::string_view kCode = "lock-not-held";
  if (std::ranges::find(draft.plan.notes, kCode, &plan::Note::code) != draft.plan.notes.end()) return;
  draft.note(std::string(kCode),
             fmt::format("{} is not held here, where no overlay can be mounted: while the target runs, let no git on "
                         "this host change its configuration",
                         base::shown(want.path)),
             want.at);
}

template <class Step>
void give_owner(Step& step, const Identity& identity) {
  if (step.create.empty() || !identity.run_as) return;
  step.create_owner_uid = identity.uid;
  step.create_owner_gid = identity.gid;
}

}  // namespace

Stubs::Stubs(const Draft& draft, const Identity& identity, const Arranged& arranged) : identity_(identity) {
  for (const Mount& mount : arranged.mounts) {
    if (mount.act != MountAct::kHold || work_for(draft.facts, *mount.outer) == nullptr) continue;
    below_[mount.outer].push_back(mount.want);
  }
}

bool Stubs::mount(Draft& draft, const Mount& mount) const {
  const auto found = below_.find(mount.want);
  if (found == below_.end()) return false;
  const Want& want = *mount.want;
  const PathFact* work = work_for(draft.facts, want);
  plan::step::StubOverlay overlay{.source = want.path,
                                  .id = want.id,
                                  .target = want.path,
                                  .attributes = {.read_only = false,
                                                 .noexec = !writes_execute(draft.policy) && !want.executes,
                                                 .nosuid = true,
                                                 .nodev = true},
                                  .create = want.create,
                                  .create_owner_uid = std::nullopt,
                                  .create_owner_gid = std::nullopt,
                                  .stubs = {},
                                  .work = work->real,
                                  .work_id = work->id};
  give_owner(overlay, identity_);
  for (const Want* absent : found->second) {
    overlay.stubs.push_back({.path = absent->path.substr(want.path.size() + 1),
                             .directory = absent->directory,
                             .shield = shield_of(*absent),
                             .text = absent->text});
  }
  draft.step(std::move(overlay), plan::Layer::kFilesystem, want.reason, want.at);
  return true;
}

void Stubs::hold(Draft& draft, const Mount& mount) const {
  const Want& want = *mount.want;
  if (below_.contains(mount.outer)) return;
  if (want.only_without_trace) return say_not_held(draft, want);
  plan::step::HoldPoint hold{.directory = std::string(parent_of(want.path)),
                             .id = want.id,
                             .create = want.create,
                             .create_owner_uid = std::nullopt,
                             .create_owner_gid = std::nullopt,
                             .name = std::string(name_of(want.path)),
                             .target = want.path,
                             .is_directory = want.directory,
                             .shield = shield_of(want),
                             .text = want.text};
  give_owner(hold, identity_);
  draft.step(std::move(hold), plan::Layer::kFilesystem, want.reason, want.at);
}

}  // namespace cordon::planner
