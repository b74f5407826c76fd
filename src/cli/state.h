// The record that every run leaves for `explain`: one small JSON file in $XDG_STATE_HOME/cordon/runs (0700, files 0600,
// the newest 50). No values, no output, nothing that the environment held.
//
// A record that cannot be written never fails a run: write_record() says why and the caller decides whether to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "policy/approval/facts.h"

namespace cordon::cli {

inline constexpr std::size_t kMostRecords = 50;

/// RFC 3339, UTC, now.
std::string now_rfc3339();

/// Sorts by time, and is unique on this host: "20260102T030405.123456789Z-4711".
std::string new_run_id();

/// What becomes of a directory of records that is not there.
enum class Missing : std::uint8_t { kMake, kLeave };

/// The directory of the records, opened, with room for one more: the oldest are gone. Apart from writing, so that it
/// can be done while the target starts; a run that is killed then leaves nothing that was not there, so it makes
/// nothing. `state` is that directory where it is open already.
base::Result<base::Fd> open_records(const std::string& state_directory, base::FdView state,
                                    policy::approval::Caller caller, Missing missing);

/// A record as it stands.
struct StoredRecord {
  std::string id;
  std::string document;
};
/// The newest, or that of the one run whose ID begins like this. Nothing where there is none, or more than one. Makes
/// and removes nothing.
base::Result<std::optional<StoredRecord>> find_record(const std::string& state_directory,
                                                      policy::approval::Caller caller, std::string_view id);

base::Result<void> write_record(base::FdView records, const std::string& id, std::string_view document);

}  // namespace cordon::cli
