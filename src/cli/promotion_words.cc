#include "cli/promotion_words.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "report/layout.h"

namespace cordon::cli {
namespace {

using enforce::promote::List;
using enforce::promote::Outcome;
using enforce::promote::Reason;

constexpr std::size_t kMostNamed = 20;

constexpr std::array<std::pair<Reason, std::string_view>, 23> kWords{{
    {Reason::kPromoted, "is in place"},
    {Reason::kDeleted, "is deleted"},
    {Reason::kStripped, "is in place, without its set-id bits, attributes or access control list"},
    {Reason::kNotAnOutput, "is no output"},
    {Reason::kHeldLock, "is a lock file, and the run failed"},
    {Reason::kHeldManifest, "is a manifest"},
    {Reason::kDeletionOutsideOutputs, "is a deletion outside the outputs"},
    {Reason::kExists, "is there already"},
    {Reason::kHoldsRefused, "holds something that is refused"},
    {Reason::kHostFailed, "could not be read or moved"},
    {Reason::kChangedMeanwhile, "was changed on the host meanwhile"},
    {Reason::kParentChangedMeanwhile, "is in a directory that was changed on the host meanwhile"},
    {Reason::kAppearedMeanwhile, "is taken: something appeared there meanwhile"},
    {Reason::kSpecialFile, "is no file, directory or link"},
    {Reason::kForeignOwner, "belongs to another user"},
    {Reason::kGitRepository, "is a git repository, or leads into one"},
    {Reason::kShielded, "has a protected name, or leads to one"},
    {Reason::kLinkLeaves, "is a link that leaves the workspace"},
    {Reason::kLinkAtPlace, "would replace a link of yours"},
    {Reason::kMountAtPlace, "would replace a mount"},
    {Reason::kProtectedAtPlace, "would replace a directory with something protected in it"},
    {Reason::kUnknownOverlay, "is marked as being elsewhere"},
    {Reason::kOverBound, "is too deep, too long or too much; nothing was taken over"},
}};

std::string named(const List& list, std::string_view label) {
  std::string out;
  for (std::size_t i = 0; i < list.entries.size() && i < kMostNamed; ++i)
    out += fmt::format("  {}: {} {}\n", label, base::shown(list.entries[i].path), words_of(list.entries[i].reason));
  const std::size_t named_here = std::min(list.entries.size(), kMostNamed);
  if (list.total > named_here) out += fmt::format("  {}: and {} more\n", label, list.total - named_here);
  return out;
}

nlohmann::json as_json(const List& list) {
  nlohmann::json entries = nlohmann::json::array();
  for (const auto& entry : list.entries)
    entries.push_back({{"path", entry.path}, {"reason", enforce::promote::code_of(entry.reason)}});
  return {{"total", list.total}, {"entries", std::move(entries)}};
}

}  // namespace

std::string_view words_of(Reason reason) {
  for (const auto& [of, words] : kWords)
    if (of == reason) return words;
  return "";
}

std::string promotion_words(const Outcome& outcome) {
  std::string out = fmt::format("{}, {} and {} in place; {} deleted\n", report::counted(outcome.files, "file", "files"),
                                report::counted(outcome.directories, "directory", "directories"),
                                report::counted(outcome.links, "link", "links"), outcome.deletions);
  out += named(outcome.stripped, "note");
  out += named(outcome.conflicts, "conflict");
  out += named(outcome.refused, "refused");
  return out + named(outcome.kept, "kept");
}

nlohmann::json promotion_json(const Outcome& outcome) {
  return {{"files", outcome.files},
          {"directories", outcome.directories},
          {"links", outcome.links},
          {"deletions", outcome.deletions},
          {"bytes", outcome.bytes},
          {"over_bound", outcome.over_bound},
          {"promoted", as_json(outcome.promoted)},
          {"stripped", as_json(outcome.stripped)},
          {"conflicts", as_json(outcome.conflicts)},
          {"refused", as_json(outcome.refused)},
          {"kept", as_json(outcome.kept)}};
}

}  // namespace cordon::cli
