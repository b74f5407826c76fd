// What an overlay over stubs writes into the real directory, and its removal.
//
// Where a directory is moved to stand beside a stub (cargo makes `target` so), the kernel must remember that no stub is
// to show through it, and writes `user.overlay.opaque` on it; without extended attributes it says EXDEV instead. It
// writes `origin` and `impure` on directories that lead to stubs. They mean nothing once the overlay is gone, and are
// taken away then. Nothing follows a link. Only what is younger than the run is removed: another tool's layers (a
// container store) use the same names. After the death of this process they stay; no later run believes one without
// noticing: its stub would be missing, the run is refused, and planted_mark() says which mark to remove. None is
// removed for the user: what another tool left means something to it.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "plan/plan.h"

namespace cordon::enforce::hold {

class OverlayMarks {
 public:
  /// Before the run starts.
  explicit OverlayMarks(const plan::Plan& plan);
  /// Once the mounts stand: those on directories that lead to stubs. They do not come back, for a mount on each keeps
  /// the kernel from looking it up again. Who kills us from here on finds nothing there.
  void remove_from_ways() const;
  /// After the end: those on what the target moved beside a stub as well.
  void remove() const;

 private:
  struct Place {
    std::string path;  ///< real
    plan::FileId id;   ///< of `path`; unknown where the run made it
    bool made = false;
    std::vector<std::string> merged;  ///< below `path`; "" is itself
  };
  void unmark(base::FdView directory, const char* mark) const;
  enum class Depth : std::uint8_t { kItself, kAndDirectoriesIn };
  void remove(Depth depth) const;
  void unmark_below(base::FdView directory) const;

  timespec since_;
  std::vector<Place> places_;
};

/// A mark that hides a stub from view, be it another tool's, a killed run's or a target's: why the overlay of this step
/// could not be built.
struct PlantedMark {
  std::string directory, attribute;
};
std::optional<PlantedMark> planted_mark(const plan::Step& step);

}  // namespace cordon::enforce::hold
