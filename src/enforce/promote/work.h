// What a promotion is going to do: a list of acts, made from the survey, written to the journal, carried out by apply.
// Every act knows the inodes that it was decided about, and does nothing to any other.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "enforce/promote/survey.h"

namespace cordon::enforce::promote {

/// Whether the upper and the destination are reached by one mount. EXDEV comes between two mounts of one device too.
enum class Way : std::uint8_t { kRename, kCopy };
Way way_between(FdView upper, FdView destination);

struct Act {
  enum class Does : std::uint8_t {
    kMake,    ///< a directory of which something stays behind, filled by the acts that follow
    kPlace,   ///< a file, a link, or a directory with all that is in it
    kRemove,  ///< what the run deleted
  };
  Does does = Does::kPlace;
  Kind kind = Kind::kFile;
  Class wanted = Class::kOutput;
  mode_t mode = 0;
  timespec modified{};       ///< of kMake
  std::uint64_t parent = 0;  ///< inode of the directory at the destination; 0: an act before makes it
  std::uint64_t source = 0;  ///< inode of what is moved: in the upper, or its copy in the stage
  std::uint64_t place = 0;   ///< inode at the destination; 0: nothing is there
  std::uint64_t files = 0, directories = 0, links = 0, bytes = 0;
  std::string path;
};

struct Work {
  Way way = Way::kRename;
  /// Of kCopy: a directory in the destination's root where copies wait, named by their act's number.
  std::string stage;
  std::uint64_t device = 0, inode = 0;  ///< of the destination
  timespec since{};
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<Act> acts;  ///< outputs, then lock files, then manifests; a directory before what is in it
};

Work work_of(const Survey& survey, const Task& task, Way way);

}  // namespace cordon::enforce::promote
