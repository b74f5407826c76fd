#include "enforce/promote/stage.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "enforce/promote/copy.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/inode.h"

namespace cordon::enforce::promote {
namespace {

class Filler {
 public:
  Filler(const Survey& survey, const Task& task, const Work& work, FdView stage)
      : survey_(survey), task_(task), work_(work), stage_(stage) {}

  Sys<void> fill() {
    for (std::size_t i = 0; i < work_.acts.size(); ++i) number_[work_.acts[i].path] = i;
    for (const Directory& directory : survey_.directories) CORDON_OK(fill_from(directory));
    for (auto at = made_.rbegin(); at != made_.rend(); ++at) CORDON_OK(finish(*at));
    return {};
  }

 private:
  struct Made {
    std::string path;  ///< below the stage
    mode_t mode = 0;
    timespec modified{};
  };

  Sys<void> fill_from(const Directory& directory) {
    if (directory.drop) return {};
    const auto way = way_of(directory);
    CORDON_OK(result_);
    if (directory.first == directory.last) return {};
    CORDON_TRY(const Fd upper, open_locked_directory(task_.upper, directory.path));
    Fd into;
    if (way) {
      CORDON_TRY(into, open_directory(stage_, *way));
    }
    for (std::uint32_t i = directory.first; i < directory.last; ++i) {
      const Item& item = survey_.items[i];
      if (item.act == Item::Act::kRemove) continue;
      const std::string alone = way ? std::string() : std::to_string(number_.at(survey_.path(item)));
      CORDON_OK(copy(item, upper, way ? FdView(into) : stage_, way ? survey_.name(item) : alone.c_str()));
    }
    return {};
  }

  /// Where a directory that moves whole, or with one that does, is made in the stage; nothing for the others.
  std::optional<std::string> way_of(const Directory& directory) {
    const auto act = number_.find(directory.path);
    std::string path;
    if (act != number_.end()) {
      if (work_.acts[act->second].does != Act::Does::kPlace) return std::nullopt;
      path = std::to_string(act->second);
    } else {
      const auto above = ways_.find(directory.above);
      const bool is_root = &directory == survey_.directories.data();
      if (is_root || above == ways_.end()) return std::nullopt;
      path = below(above->second, name_of(directory.path));
    }
    ways_[static_cast<std::uint32_t>(&directory - survey_.directories.data())] = path;
    made_.push_back({.path = path, .mode = directory.mode, .modified = directory.modified});
    result_ = make(path);
    return path;
  }

  Sys<void> make(const std::string& path) {
    CORDON_TRY(const Fd above, open_directory(stage_, directory_of(path)));
    const std::string name(name_of(path));
    CORDON_OK(kernel::mkdirat(above, name.c_str(), 0700));
    return give_to(above, name.c_str(), arrival(0700));
  }

  Sys<void> finish(const Made& made) {
    CORDON_TRY(const Fd directory, open_directory(stage_, made.path));
    CORDON_OK(kernel::set_times(directory, "", made.modified, made.modified));
    // What moves by itself stays writable until it has moved: its ".." changes.
    const bool moves = made.path.find('/') == std::string::npos;
    return kernel::fchmod(directory, moves ? made.mode | 0700U : made.mode);
  }

  Sys<void> copy(const Item& item, FdView from, FdView to, const char* name) {
    return item.kind == Kind::kLink ? copy_link(from, survey_.name(item), to, name, arrival(item.mode))
                                    : copy_file(from, survey_.name(item), to, name, arrival(item.mode));
  }

  [[nodiscard]] Arrival arrival(mode_t mode) const { return {.mode = mode, .uid = task_.uid, .gid = task_.gid}; }

  const Survey& survey_;
  const Task& task_;
  const Work& work_;
  FdView stage_;
  std::map<std::string, std::size_t, std::less<>> number_;  ///< acts by path
  std::map<std::uint32_t, std::string> ways_;               ///< by directory
  std::vector<Made> made_;
  Sys<void> result_{};
};

Sys<void> fill(const Survey& survey, const Task& task, const Work& work) {
  CORDON_OK(kernel::mkdirat(task.destination, work.stage.c_str(), 0700));
  CORDON_TRY(const Fd stage, open_stage(task.destination, work));
  CORDON_OK(Filler(survey, task, work, stage).fill());
  return kernel::syncfs(stage);
}

}  // namespace

Sys<std::string> name_stage() {
  std::array<std::byte, 8> random{};
  CORDON_OK(kernel::getrandom(random));
  std::string name = ".cordon-";
  for (const std::byte part : random) name += fmt::format("{:02x}", std::to_integer<unsigned>(part));
  return name;
}

Sys<Fd> open_stage(FdView destination, const Work& work) { return open_directory(destination, work.stage); }

base::Result<void> fill_stage(const Survey& survey, const Task& task, const Work& work) {
  const auto filled = fill(survey, task, work);
  if (filled) return {};
  static_cast<void>(remove_tree(task.destination, work.stage));
  return base::fail(kernel::error_at(filled.error(), "a copy of the outputs"));
}

}  // namespace cordon::enforce::promote
