#include "enforce/promote/work.h"

#include <algorithm>

namespace cordon::enforce::promote {
namespace {

class Maker {
 public:
  Maker(const Survey& survey, std::vector<Act>& acts) : survey_(survey), acts_(acts) {}

  void make() {
    moved_by_.resize(survey_.directories.size(), kByNothing);
    for (std::size_t i = 0; i < survey_.directories.size(); ++i) add_directory(i);
    for (std::size_t i = 0; i < survey_.directories.size(); ++i) add_items(i);
    std::ranges::stable_sort(acts_, {}, [](const Act& act) { return act.wanted; });
  }

 private:
  static constexpr std::size_t kByNothing = SIZE_MAX;

  static bool is_made(const Directory& directory) { return directory.counterpart != Counterpart::kMerged; }

  void add_directory(std::size_t index) {
    const Directory& directory = survey_.directories[index];
    if (directory.drop || (directory.wanted != Class::kOutput && !is_made_for_outputs(directory))) return;
    const std::size_t above = index == 0 ? kByNothing : moved_by_[directory.above];
    if (above != kByNothing) {
      moved_by_[index] = above;
      ++acts_[above].directories;
      return;
    }
    if (!is_made(directory)) return;
    const Directory& parent = survey_.directories[directory.above];
    Act act{.does = directory.whole ? Act::Does::kPlace : Act::Does::kMake, .kind = Kind::kDirectory};
    act.mode = directory.mode;
    act.modified = directory.modified;
    act.parent = is_made(parent) ? 0 : parent.place;
    act.source = directory.source;
    act.place = directory.counterpart == Counterpart::kReplaced ? directory.place : 0;
    act.directories = 1;
    act.path = directory.path;
    if (directory.whole) moved_by_[index] = acts_.size();
    acts_.push_back(std::move(act));
  }

  void add_items(std::size_t index) {
    const Directory& directory = survey_.directories[index];
    for (std::uint32_t i = directory.first; i < directory.last && !directory.drop; ++i) {
      const Item& item = survey_.items[i];
      if (moved_by_[index] != kByNothing) {
        count(acts_[moved_by_[index]], item);
        continue;
      }
      Act act{.does = item.act == Item::Act::kRemove ? Act::Does::kRemove : Act::Does::kPlace, .kind = item.kind};
      act.wanted = item.wanted;
      act.mode = item.mode;
      act.parent = is_made(directory) ? 0 : directory.place;
      act.source = item.source;
      act.place = item.place;
      act.path = survey_.path(item);
      if (act.does == Act::Does::kPlace) count(act, item);
      acts_.push_back(std::move(act));
    }
  }

  static void count(Act& act, const Item& item) {
    act.files += item.kind == Kind::kFile ? 1U : 0U;
    act.links += item.kind == Kind::kLink ? 1U : 0U;
    act.bytes += item.size;
  }

  const Survey& survey_;
  std::vector<Act>& acts_;
  std::vector<std::size_t> moved_by_;  ///< the act, by directory
};

}  // namespace

Way way_between(FdView upper, FdView destination) {
  // The kernel compares the mounts before it looks for the name, which is too long to be there.
  static const std::string kNoName(255, '.');
  const auto tried = kernel::renameat2(upper, kNoName.c_str(), destination, kNoName.c_str(), 1 /* RENAME_NOREPLACE */);
  return !tried && tried.error().code == EXDEV ? Way::kCopy : Way::kRename;
}

Work work_of(const Survey& survey, const Task& task, Way way) {
  Work out{.way = way, .stage = {}, .since = task.since, .uid = task.uid, .gid = task.gid, .acts = {}};
  Maker(survey, out.acts).make();
  return out;
}

}  // namespace cordon::enforce::promote
