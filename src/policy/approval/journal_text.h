// The JSON of a journal entry, strictly. Private to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/approval/journal.h"

namespace cordon::policy::approval {

/// One object with exactly the known keys, each once and of its type; a well-formed fingerprint and time. Nothing else.
std::optional<JournalEntry> parse_entry(std::string_view text);

std::string entry_text(const JournalEntry& entry);

/// A path as JSON can carry it: each malformed byte becomes U+FFFD. The entry's name, a digest of the bytes, is exact.
std::string json_spelling(std::string_view path);

}  // namespace cordon::policy::approval
