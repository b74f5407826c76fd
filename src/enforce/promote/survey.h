// The first half of a promotion: everything below the upper is looked at, cleaned where it would arrive, and judged.
// Nothing at the destination is touched.
//
// Directories are taken from a stack and opened from the root each time, so that depth costs no descriptor and no
// recursion. What is found wrong spoils every directory above it: that one is then made anew at the destination and
// filled entry by entry, while a directory without fault moves whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "enforce/promote/clean.h"
#include "enforce/promote/links.h"
#include "enforce/promote/lists.h"
#include "enforce/promote/names.h"
#include "enforce/promote/promote.h"

namespace cordon::enforce::promote {

enum class Manner : std::uint8_t { kOutputs, kNewEntries };

/// What stands at the destination where a directory of the upper would.
enum class Counterpart : std::uint8_t { kMerged, kAbsent, kReplaced };

struct Directory {
  std::string path;
  std::uint32_t above = 0;
  Class wanted = Class::kOther;
  Counterpart counterpart = Counterpart::kMerged;
  bool whole = true;  ///< nothing in it has to stay behind
  bool drop = false;  ///< nothing of it is promoted
  Mark mark = Mark::kNone;
  mode_t mode = 0;  ///< arriving
  timespec modified{};
  std::uint64_t source = 0;  ///< inode in the upper
  std::uint64_t place = 0;   ///< inode at the destination; 0: nothing
  bool place_changed = false;
  std::uint32_t first = 0, last = 0;  ///< its items
};

/// New, and there only for outputs in it (Class::kLeads).
inline bool is_made_for_outputs(const Directory& directory) {
  return directory.wanted != Class::kOutput && directory.counterpart == Counterpart::kAbsent;
}

/// An entry that is no directory.
struct Item {
  enum class Act : std::uint8_t { kPlace, kRemove };
  std::uint32_t directory = 0;
  std::uint32_t name_at = 0;  ///< in Survey::names, up to its NUL
  Act act = Act::kPlace;
  Kind kind = Kind::kFile;
  Class wanted = Class::kOutput;
  mode_t mode = 0;
  std::uint64_t source = 0, place = 0;
  std::uint64_t size = 0;
};

struct Survey {
  std::vector<Directory> directories;  ///< the one above stands before those in it
  std::vector<Item> items;             ///< by directory
  std::string names;
  Outcome outcome;  ///< with what is not promoted
  [[nodiscard]] const char* name(const Item& item) const { return &names[item.name_at]; }
  [[nodiscard]] std::string path(const Item& item) const;
};

/// With the destination as it was found; files that the upper and something else would share are parted.
base::Result<Survey> survey(const Task& task, Manner manner);

/// Directories that had to be opened for the survey get the mode with which they arrive, but for those that are still
/// written to: what moves by itself, and what is emptied entry by entry.
void lock_again(const Task& task, const Survey& survey);

}  // namespace cordon::enforce::promote
