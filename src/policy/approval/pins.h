// Pinned files: what their content is now, so that the stamp can cover it, and which of them changed since.
//
// Each is opened by descriptor: O_PATH first, so that a FIFO or a device is named and never opened; then the same
// object for reading. The content is what counts, so links are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/manifest/manifest.h"
#include "policy/policy.h"

namespace cordon::policy::approval {

inline constexpr std::uint64_t kMostPinnedBytes = 64ULL << 20;  ///< of one file
inline constexpr std::uint64_t kMostPinnedBytesInAll = 256ULL << 20;

using manifest::PinnedContent;  // what was written, and the SHA-256 of what was found

/// The `pin:` entries of a resolved policy, in its order. All problems at once, each at the line that pins.
/// Codes: pin-missing, pin-not-regular, pin-too-large, pin-unreadable, pin-changing.
base::Result<std::vector<PinnedContent>, base::Diagnostics> read_pins(const Policy& resolved);

struct PinChange {
  enum class Kind : std::uint8_t { kChanged, kAdded, kRemoved };
  Kind kind = Kind::kChanged;
  std::string written;
  friend bool operator==(const PinChange&, const PinChange&) = default;
};

/// What differs between the pins that a stamp covered and those of now, in order of name.
std::vector<PinChange> changed_pins(const std::vector<PinnedContent>& recorded, const std::vector<PinnedContent>& now);

/// "the pinned file ./x.py changed since it was approved", quoted.
std::string to_sentence(const PinChange& change);

}  // namespace cordon::policy::approval
