// PinStore: the descriptors behind Pins. Each has a slot; where RLIMIT_NOFILE is short, what may be given up is.
//
// Directories on the way and Questions::pin_first are kept first (Keep::kFirst); a slot that was given up answers with
// an invalid view, and whoever needs the object again opens it anew and compares.
//
// Locked, because a question that hangs on a dead mount leaves its thread behind with the store in hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "plan/host_facts.h"

namespace cordon::host {

enum class Keep : std::uint8_t { kFirst, kIfRoom };

class PinStore {
 public:
  static constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();

  /// Reads RLIMIT_NOFILE; `most` lowers what may be held (tests).
  explicit PinStore(std::size_t most = kNoSlot);

  /// Takes the descriptor. The slot is kNoSlot, and the descriptor closed, where there is no room.
  std::size_t keep(base::Fd fd, Keep how);
  /// A slot that must not be given up any more.
  void promote(std::size_t slot);

  [[nodiscard]] base::FdView at(std::size_t slot) const;
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] bool complete() const;
  [[nodiscard]] std::optional<plan::DescriptorLimit> limit_before() const;
  /// Closes everything; slots that were handed out are void, and nothing is kept any more.
  void release();
  [[nodiscard]] bool released() const;

 private:
  struct Slot {
    base::Fd fd;
    Keep how = Keep::kFirst;
  };
  bool make_room(Keep how);
  void raise_soft_limit();

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> may_go_;  ///< slots of kIfRoom; the last goes first
  std::size_t held_ = 0;
  std::size_t room_ = 0;
  std::size_t most_;
  bool complete_ = true;
  bool raised_ = false;
  bool released_ = false;
  std::optional<plan::DescriptorLimit> limit_before_;
};

}  // namespace cordon::host
