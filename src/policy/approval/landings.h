// What an approved manifest led to on this host: the real places of its links, and the program that it starts. One
// small private file beside the journal's entry of the manifest, written by the approval, or by the first run of a
// manifest that came with its stamp. A later run that leads elsewhere is no longer what was approved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/approval/facts.h"

namespace cordon::policy::approval {

struct Landing {
  std::string what;  ///< what of the manifest: "read: ./data", "interpreter"
  std::string real;  ///< where it led
  friend bool operator==(const Landing&, const Landing&) = default;
};

struct LandingRecord {
  std::string fingerprint;    ///< of the approval
  std::string manifest_path;  ///< real path
  std::vector<Landing> landings;
  friend bool operator==(const LandingRecord&, const LandingRecord&) = default;
};

struct LandingReading {
  enum class State : std::uint8_t {
    kAbsent,     ///< none, or of another approval or manifest
    kUntrusted,  ///< others could have written it, or it is not one of ours; `why` says which
    kRead,
  };
  State state = State::kAbsent;
  LandingRecord record;
  std::string why;
};

/// `directory` is JournalPlaces::own; "" holds nothing.
LandingReading read_landings(const std::string& directory, std::string_view real_path, std::string_view fingerprint,
                             Caller caller);

/// Atomically, as write_journal().
base::Result<void> write_landings(const std::string& directory, const LandingRecord& record, Caller caller);

/// "'read: ./data' leads to /b (it led to /a)": one sentence for each difference.
std::vector<std::string> landing_changes(const std::vector<Landing>& before, const std::vector<Landing>& now);

}  // namespace cordon::policy::approval
