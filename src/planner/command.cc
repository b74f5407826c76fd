#include "planner/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "planner/base.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::Layer;
using plan::PathFact;
using plan::PathState;

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kHomeBytes = 2 * kGiB;  // a bound, not a reservation: caches have places of their own

const PathFact* directory_of_ours(Draft& draft, const std::string& path) {
  const PathFact* fact = fact_of(draft.facts, path);
  if (fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact) && fact->hops.empty()) return fact;
  draft.refuse(Code::kPathCannotBeChecked, {},
               fmt::format("{}, a directory of Cordon's own for this run, cannot be used", base::shown(path)),
               "look at what is there, and run the command again");
  return nullptr;
}

void want_place(Draft& draft, const policy::PrivatePlace& place, std::vector<Want>& wants) {
  const PathFact* fact = directory_of_ours(draft, place.source);
  if (fact == nullptr) return;
  wants.push_back({.path = place.target,
                   .id = fact->id,
                   .directory = true,
                   .access = Access::kWritable,
                   .why = Why::kPlace,
                   .create = {},
                   .reason = place.reason,
                   .at = {},
                   .source = fact->real});
}

/// The tool's own settings of the machine, where anybody may read them.
void want_settings(const Draft& draft, const std::string& path, std::vector<Want>& wants, std::vector<Link>& links) {
  const PathFact* fact = fact_of(draft.facts, path);
  const bool shown = fact != nullptr && fact->state == PathState::kPresent && fact->planted_by.empty() &&
                     (fact->mode & 04U) != 0 && (is_directory(*fact) || is_regular(*fact));
  if (!shown || in_base(draft.facts, fact->real)) return;
  wants.push_back({.path = fact->real,
                   .id = fact->id,
                   .directory = is_directory(*fact),
                   .access = Access::kReadOnly,
                   .why = Why::kPrefix,
                   .create = {},
                   .reason = "settings",
                   .at = {}});
  for (const plan::LinkHop& hop : fact->hops) {
    links.push_back({.at = hop.at, .text = hop.target, .reason = "settings", .span = {}});
  }
}

void mark_view(Draft& draft, const policy::PrivateView& view, std::vector<Want>& wants) {
  const PathFact* place = directory_of_ours(draft, view.place);
  const PathFact* fact = fact_of(draft.facts, view.path);
  if (place == nullptr || fact == nullptr) return;
  for (Want& want : wants) {
    if (want.why != Why::kRead || want.path != fact->real || !want.directory) continue;
    want.view = &view;
    want.source = place->real;
  }
}

}  // namespace

std::vector<std::string> command_questions(const policy::Policy& policy) {
  std::vector<std::string> out;
  if (!policy.command) return out;
  const policy::Command& command = *policy.command;
  out = command.base;
  out.push_back(command.workspace);
  out.push_back(command.home);
  if (!command.temporary.empty()) out.push_back(command.temporary);
  for (const policy::PrivatePlace& place : command.places) out.push_back(place.source);
  for (const policy::PrivateView& view : command.views) out.push_back(view.place);
  std::erase(out, std::string());
  return out;
}

void want_command(Draft& draft, std::vector<Want>& wants, std::vector<Link>& links) {
  if (!draft.policy.command) return;
  const policy::Command& command = *draft.policy.command;
  for (const policy::PrivatePlace& place : command.places) want_place(draft, place, wants);
  for (const std::string& path : command.base) want_settings(draft, path, wants, links);
  for (const policy::PrivateView& view : command.views) mark_view(draft, view, wants);
  if (!command.temporary.empty()) static_cast<void>(directory_of_ours(draft, command.temporary));
}

bool mount_command_places(Draft& draft, const Identity& identity, const Arranged& arranged) {
  if (!draft.policy.command) return false;
  const policy::Command& command = *draft.policy.command;
  // It belongs to init's user: where root runs the target as somebody else, that somebody has a home all the same.
  const std::uint32_t mode = identity.run_as ? 0777 : 0700;
  if (!command.home.empty() && !within("/tmp", command.home)) {
    draft.step(plan::step::MakeDirectory{.target = command.home, .mode = 0755}, Layer::kFilesystem, "private home");
    draft.step(
        plan::step::MountTmpfs{
            .target = command.home, .size_bytes = kHomeBytes, .mode = mode, .attributes = {.noexec = false}},
        Layer::kFilesystem, "private home");
  }
  // Mount points are made in memory only: where something lands below /tmp, that is in memory too.
  const bool lands_in_it = within(command.home, "/tmp") || std::ranges::any_of(arranged.mounts, [](const Mount& mount) {
                             return within(mount.path, "/tmp");
                           });
  const PathFact* own = command.temporary.empty() ? nullptr : fact_of(draft.facts, command.temporary);
  if (lands_in_it || own == nullptr || draft.policy.limits.tmp_bytes != 0) return false;
  draft.step(plan::step::MakeDirectory{.target = "/tmp", .mode = 0755}, Layer::kFilesystem, "base");
  draft.step(plan::step::Bind{.source = own->real,
                              .id = own->id,
                              .target = "/tmp",
                              .attributes = {},
                              .create = {},
                              .create_owner_uid = std::nullopt,
                              .create_owner_gid = std::nullopt},
             Layer::kFilesystem, "private /tmp");
  return true;
}

void make_command_files(Draft& draft, const Arranged& arranged) {
  if (!draft.policy.command) return;
  for (const policy::PrivateFile& file : draft.policy.command->files) {
    if (arranged.showing(file.path) != nullptr) continue;
    draft.step(plan::step::MakeFile{.target = file.path, .content = file.content, .mode = 0444}, Layer::kFilesystem,
               file.reason);
  }
}

std::vector<std::string> command_files(const Draft& draft) {
  std::vector<std::string> out;
  for (const plan::Step& step : draft.plan.steps) {
    const auto* make = std::get_if<plan::step::MakeFile>(&step.act);
    const auto is_it = [&](const policy::PrivateFile& file) { return make != nullptr && file.path == make->target; };
    if (draft.policy.command && std::ranges::any_of(draft.policy.command->files, is_it)) out.push_back(make->target);
  }
  return out;
}

void mount_view(Draft& draft, const Mount& mount) {
  const Want& want = *mount.want;
  const PathFact* place = fact_of(draft.facts, want.view->place);
  draft.step(plan::step::PrivateOverlay{.source = want.path,
                                        .id = want.id,
                                        .target = want.path,
                                        .attributes = {},
                                        .place = place->real,
                                        .place_id = place->id},
             Layer::kFilesystem, want.reason, want.at);
}

}  // namespace cordon::planner
