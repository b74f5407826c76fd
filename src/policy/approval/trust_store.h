// What somebody trusted a project's configuration to ask for, on this host: one small private file for each
// configuration, by its real path. It holds for the very text that was read: another text is not trusted, and the
// record only serves to say what changed.
//
// The directory is handed in by cli/ ($XDG_STATE_HOME/cordon/trust). Directory and record are used only when nobody but
// the caller and root can have written them (private_directory.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/approval/facts.h"

namespace cordon::policy::approval {

struct TrustRecord {
  std::string path;               ///< real path of the configuration
  std::string sha256;             ///< of its text, lower-case hex
  std::string trusted_at;         ///< RFC 3339, UTC
  std::vector<std::string> asks;  ///< UTF-8, as policy/config writes them; sorted, each once
  friend bool operator==(const TrustRecord&, const TrustRecord&) = default;
};

struct TrustReading {
  enum class State : std::uint8_t {
    kAbsent,     ///< none, or of another file
    kUntrusted,  ///< others could have written it, or it is not one of ours; `why` says which
    kRead,
  };
  State state = State::kAbsent;
  TrustRecord record;
  std::string why;
};

/// `directory`: absolute; "" holds nothing.
TrustReading read_trust(const std::string& directory, std::string_view real_path, Caller caller);

/// All that can be read, by path.
std::vector<TrustRecord> all_trust(const std::string& directory, Caller caller);

/// Atomically: a new private file, synced, renamed over the old one. Makes the directory (0700) where it is missing.
base::Result<void> write_trust(const std::string& directory, const TrustRecord& record, Caller caller);

/// False where there was none.
base::Result<bool> forget_trust(const std::string& directory, std::string_view real_path, Caller caller);

}  // namespace cordon::policy::approval
