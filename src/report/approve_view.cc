#include "report/approve_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/refused.h"

namespace cordon::report {
namespace {

std::string changes_text(const ApproveView& view, const Style& style) {
  if (!view.has_previous) return {};
  const std::string when = fmt::format("since the approval of {}, {}", view.previous_at,
                                       view.previous_by_human ? "given by a person" : "given with --yes");
  if (view.changes.empty()) return laid_out({"", "", Paint::kNone, "nothing changed " + when, 2}, style);
  std::string out = painted(Paint::kBold, "what changed " + when + ":", style) + "\n";
  for (const ChangeLine& change : view.changes) {
    const bool widens = change.effect == ChangeLine::Effect::kWidens;
    const char* mark = widens ? "+" : change.effect == ChangeLine::Effect::kNarrows ? "-" : "~";
    out += laid_out({"  ", mark, widens ? Paint::kRed : Paint::kGreen, change.sentence, 2}, style);
  }
  return out;
}

}  // namespace

std::string review_text(const ApproveView& view, const Style& style) {
  std::string out;
  if (const std::string changes = changes_text(view, style); !changes.empty()) out += "\n" + changes;
  if (!view.journal_note.empty()) out += "\n" + laid_out({"", "note:", Paint::kYellow, view.journal_note, 2}, style);
  if (!view.findings.empty()) out += "\n";
  for (const base::Diagnostic& finding : view.findings) out += text(finding, {}, style);
  return out;
}

std::string already_approved_text(const ApproveView& view, const Style& style) {
  return laid_out({"", "", Paint::kNone, fmt::format("{} is already approved as it is", base::shown(view.file)), 2},
                  style);
}

std::string approved_text(const ApproveView& view, bool clamped, const Style& style) {
  std::string prose = fmt::format("approved: {}", base::shown(view.file));
  if (clamped) prose += "; others may no longer write it (its group and world write bits are gone)";
  return laid_out({"", "approved:", Paint::kGreen, prose.substr(std::string_view("approved: ").size()), 2}, style);
}

std::string question_text() { return "\nApprove these permissions? [y/N] "; }

}  // namespace cordon::report
