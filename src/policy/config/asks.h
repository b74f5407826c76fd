// Asks: what a project's file says beyond narrowing. Each is listed, ignored, and offered for trust; what is trusted is
// exactly these, by their canonical text.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "policy/config/config.h"
#include "policy/config/keys.h"

namespace cordon::policy::config {

struct Ask {
  std::string profile;  ///< whose block it stands in; "" for what stands beside the blocks
  std::string key;      ///< "allowDomains"; "profiles" for a profile of the file's own, to be chosen by its name
  std::string value;    ///< as written, but hosts as they go over the wire; "NAME=VALUE" of a variable
  Origin at;
  friend bool operator==(const Ask&, const Ask&) = default;
};

/// One line, the same for the same ask and no other; without control characters.
std::string canonical(const Ask& ask);

/// "may reach npm.example", for people; bytes of the file quoted. kCut: a long value in part, for a line that is read
/// in passing; what somebody is to trust is shown whole.
enum class Length : unsigned char { kCut, kWhole };
std::string in_words(const Ask& ask, Length length = Length::kCut);

/// Of one file, from its beginning to its end.
void sort_by_place(std::vector<Ask>& asks);

/// All of a file, in its order. `built_in`: profiles that are no file's own.
std::vector<Ask> asks_of(const Config& config, std::span<const std::string_view> built_in);

/// The ask that one entry is; the same as asks_of() makes.
Ask ask_of(const Block& block, const BlockKey& key, std::string value, Origin at);
bool asks_for_more(Effect effect, bool value);

/// What of `now` was not there and what of `before` no longer is, each sorted.
struct AskChanges {
  std::vector<std::string> more, fewer;
};
AskChanges compare(const std::vector<std::string>& before, const std::vector<std::string>& now);

}  // namespace cordon::policy::config
