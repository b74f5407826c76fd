// What `approve` says around the permissions: what changed since the last approval, who else could rewrite the
// manifest, and what became of the stamp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "report/layout.h"

namespace cordon::report {

/// One difference from what was approved last. A widening is what a reader must not miss.
struct ChangeLine {
  enum class Effect : std::uint8_t { kWidens, kNarrows, kDiffers };
  Effect effect = Effect::kDiffers;
  std::string sentence;  ///< bytes from outside quoted
  friend bool operator==(const ChangeLine&, const ChangeLine&) = default;
};

struct ApproveView {
  std::string file;
  bool has_previous = false;
  std::string previous_at;  ///< RFC 3339
  bool previous_by_human = false;
  std::vector<ChangeLine> changes;
  std::string journal_note;    ///< why there is nothing to compare with; "" where there is
  base::Diagnostics findings;  ///< about the manifest's location
  bool will_clamp = false;     ///< group and world lose their write bits
  bool pins_nothing = false;   ///< the stamp covers no file's content
  friend bool operator==(const ApproveView&, const ApproveView&) = default;
};

/// What stands between the permissions and the question.
std::string review_text(const ApproveView& view, const Style& style);
std::string already_approved_text(const ApproveView& view, const Style& style);
std::string approved_text(const ApproveView& view, bool clamped, const Style& style);

/// "Approve these permissions? [y/N] "
std::string question_text();

}  // namespace cordon::report
