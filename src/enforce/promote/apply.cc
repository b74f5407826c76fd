#include "enforce/promote/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/path_order.h"
#include "enforce/promote/copy.h"
#include "enforce/promote/journal.h"
#include "enforce/promote/lists.h"
#include "enforce/promote/remove_tree.h"
#include "enforce/promote/stage.h"
#include "kernel/inode.h"

namespace cordon::enforce::promote {
namespace {

constexpr unsigned kNoReplace = 1;  // renameat2(2)
constexpr unsigned kExchange = 2;
constexpr const char* kTrash = "old";

using Why = std::optional<Reason>;

class Applier {
 public:
  Applier(const Work& work, const Ends& ends, Round round, const Bounds& bounds, Outcome& outcome)
      : work_(work), ends_(ends), round_(round), bounds_(bounds), outcome_(outcome) {}

  base::Result<void> run() {
    if (const auto opened = open_trash(); !opened) {
      // Without its stage everything had been done, and the sources were gone before it.
      if (opened.error().code == ENOENT && round_ == Round::kReplay) return remove_journal(ends_.scratch);
      return base::fail(kernel::error_at(opened.error(), "the promotion's own directory"));
    }
    for (std::size_t i = 0; i < work_.acts.size(); ++i) carry_out(i);
    finish_made();
    if (const auto synced = kernel::syncfs(root_); !synced)
      return base::fail(kernel::error_at(synced.error(), "the workspace"));
    return clear();
  }

 private:
  /// Where an act begins and ends; opened for each directory once.
  struct Place {
    bool known = false;
    std::string path;
    Fd upper, destination;
    std::uint64_t inode = 0;
  };

  Sys<void> open_trash() {
    CORDON_TRY(root_, open_directory(ends_.destination, ""));
    if (work_.way == Way::kCopy) {
      CORDON_TRY(trash_, open_stage(ends_.destination, work_));
      return {};
    }
    const auto made = kernel::mkdirat(ends_.scratch, kTrash, 0700);
    if (!made && made.error().code != EEXIST) return made;
    CORDON_TRY(trash_, open_directory(ends_.scratch, kTrash));
    return {};
  }

  void carry_out(std::size_t number) {
    const Act& act = work_.acts[number];
    const auto holds = [&](const std::string& path) { return base::path_within(act.path, path); };
    if (std::ranges::any_of(blocked_, holds)) return;
    Why why = enter(act);
    if (!why && act.does == Act::Does::kMake) why = make(act);
    if (!why && act.does == Act::Does::kPlace) why = place(act, number);
    if (!why && act.does == Act::Does::kRemove) why = remove(act);
    if (!why) return record(act, number);
    add(list_of(outcome_, *why), act.path, *why, bounds_);
    if (act.does == Act::Does::kMake) blocked_.push_back(act.path);
  }

  void record(const Act& act, std::size_t number) {
    outcome_.files += act.files;
    outcome_.links += act.links;
    outcome_.directories += act.directories;
    outcome_.bytes += act.bytes;
    outcome_.deletions += act.does == Act::Does::kRemove ? 1U : 0U;
    if (act.does == Act::Does::kPlace) placed_.push_back(number);
    if (act.does == Act::Does::kMake) return;
    const bool gone = act.does == Act::Does::kRemove;
    add(outcome_.promoted, act.path, gone ? Reason::kDeleted : Reason::kPromoted, bounds_);
  }

  /// A directory that was replaced since the survey, by a link above all, is not entered.
  Why enter(const Act& act) {
    const std::string path(directory_of(act.path));
    if (!at_.known || at_.path != path) {
      at_ = Place{.known = false, .path = path, .upper = {}, .destination = {}};
      auto destination = open_directory(ends_.destination, path);
      if (!destination) return Reason::kAppearedMeanwhile;
      const auto facts = kernel::statx(*destination);
      if (!facts) return Reason::kHostFailed;
      at_.inode = facts->stx_ino;
      at_.destination = std::move(*destination);
      if (auto upper = open_locked_directory(ends_.upper, path)) {
        at_.upper = std::move(*upper);
        if (!path.empty()) static_cast<void>(make_writable(at_.upper));
      }
      at_.known = true;
    }
    const auto made = made_.find(path);
    const std::uint64_t wanted = act.parent != 0 || made == made_.end() ? act.parent : made->second;
    return wanted == 0 || wanted == at_.inode ? Why() : Reason::kAppearedMeanwhile;
  }

  Why place(const Act& act, std::size_t number) {
    const std::string name(name_of(act.path));
    const bool staged = work_.way == Way::kCopy;
    const FdView from = staged ? FdView(trash_) : FdView(at_.upper);
    const std::string old_name = staged ? std::to_string(number) : name;
    const auto facts = from.valid() ? look(from, old_name.c_str()) : Sys<Facts>(base::fail(kernel::Errno{ENOENT, ""}));
    if (!facts) {
      if (facts.error().code != ENOENT || round_ == Round::kFirst) return Reason::kHostFailed;
      return finish_moved(act, name, act.source);
    }
    if (act.place != 0 && facts->stx_ino == act.place) {  // died between the exchange and this
      throw_away(from, old_name);
      return finish_moved(act, name, act.source);
    }
    if (facts->stx_ino != act.source) return Reason::kHostFailed;
    if (act.kind == Kind::kDirectory && (act.mode & 0200U) == 0) {  // its ".." changes with its move
      if (const auto directory = open_locked_directory(from, old_name)) static_cast<void>(make_writable(*directory));
    }
    const Why why = act.place == 0 ? move(from, old_name, name) : exchange(from, old_name, name, act);
    return why ? why : finish_moved(act, name, facts->stx_ino);
  }

  Why move(FdView from, const std::string& old_name, const std::string& name) const {
    const auto moved = kernel::renameat2(from, old_name.c_str(), at_.destination, name.c_str(), kNoReplace);
    if (moved) return std::nullopt;
    return moved.error().code == EEXIST ? Reason::kAppearedMeanwhile : Reason::kHostFailed;
  }

  [[nodiscard]] Why why_not_gone(const Act& act, const std::string& name) const {
    const auto facts = look(at_.destination, name.c_str());
    const bool same = facts && facts->stx_ino == act.place && !is_since(*facts, work_.since);
    return same ? Why() : Reason::kChangedMeanwhile;
  }

  Why exchange(FdView from, const std::string& old_name, const std::string& name, const Act& act) {
    if (const Why why = why_not_gone(act, name)) return why;
    const auto swap = [&] {
      return kernel::renameat2(from, old_name.c_str(), at_.destination, name.c_str(), kExchange);
    };
    if (!swap()) return Reason::kHostFailed;
    const auto back = look(from, old_name.c_str());
    if (!back || back->stx_ino != act.place) {
      static_cast<void>(swap());
      return Reason::kChangedMeanwhile;
    }
    throw_away(from, old_name);
    return std::nullopt;
  }

  Why remove(const Act& act) {
    const std::string name(name_of(act.path));
    const auto facts = look(at_.destination, name.c_str());
    if (!facts && facts.error().code != ENOENT) return Reason::kHostFailed;
    if (facts) {
      if (const Why why = why_not_gone(act, name)) return why;
      const std::string free = into_trash(at_.destination, name);
      if (free.empty()) return Reason::kHostFailed;
      const auto there = look(trash_, free.c_str());
      if (!there || there->stx_ino != act.place) {
        static_cast<void>(kernel::renameat2(trash_, free.c_str(), at_.destination, name.c_str(), kNoReplace));
        return Reason::kChangedMeanwhile;
      }
    }
    const auto mark = at_.upper.valid() ? look(at_.upper, name.c_str()) : Sys<Facts>();
    if (mark && mark->stx_ino == act.source) static_cast<void>(kernel::unlinkat(at_.upper, name.c_str(), 0));
    return std::nullopt;
  }

  Why make(const Act& act) {
    const std::string name(name_of(act.path));
    const auto there = look(at_.destination, name.c_str());
    const bool old = there && act.place != 0 && there->stx_ino == act.place;
    const bool done = round_ == Round::kReplay && there && is_directory(*there) && !old;
    if (!done) {
      if (const Why why = make_new(act, name)) return why;
    }
    const auto made = look(at_.destination, name.c_str());
    if (!made || !is_directory(*made)) return Reason::kAppearedMeanwhile;
    made_[act.path] = made->stx_ino;
    return std::nullopt;
  }

  Why make_new(const Act& act, const std::string& name) {
    const Arrival arrival{.mode = 0700, .uid = work_.uid, .gid = work_.gid};
    const std::string fresh = fmt::format("new{}", counter_++);
    static_cast<void>(remove_tree(trash_, fresh));
    if (!kernel::mkdirat(trash_, fresh.c_str(), 0700)) return Reason::kHostFailed;
    if (!give_to(trash_, fresh.c_str(), arrival)) return Reason::kHostFailed;
    return act.place == 0 ? move(trash_, fresh, name) : exchange(trash_, fresh, name, act);
  }

  /// A directory keeps the overlay's marks until it has moved, and had to be writable for that.
  Why finish_moved(const Act& act, const std::string& name, std::uint64_t inode) const {
    if (act.kind != Kind::kDirectory) return std::nullopt;
    const auto directory = open_directory(at_.destination, name);
    const auto facts = directory ? kernel::statx(*directory) : Sys<Facts>(base::fail(directory.error()));
    if (!facts || facts->stx_ino != inode) return std::nullopt;
    static_cast<void>(strip_attributes(*directory, Spare::kNothing));
    if ((act.mode & 0700U) != 0700) static_cast<void>(kernel::fchmod(*directory, act.mode));
    return std::nullopt;
  }

  void finish_made() {
    for (auto act = work_.acts.rbegin(); act != work_.acts.rend(); ++act) {
      const auto made = made_.find(act->path);
      if (act->does != Act::Does::kMake || made == made_.end()) continue;
      const auto directory = open_directory(ends_.destination, act->path);
      const auto facts = directory ? kernel::statx(*directory) : Sys<Facts>(base::fail(directory.error()));
      if (!facts || facts->stx_ino != made->second) continue;
      static_cast<void>(kernel::set_times(*directory, "", act->modified, act->modified));
      static_cast<void>(kernel::fchmod(*directory, act->mode));
    }
  }

  void throw_away(FdView from, const std::string& name) { static_cast<void>(into_trash(from, name)); }

  /// Its name there; "" where it could not be moved.
  std::string into_trash(FdView from, const std::string& name) {
    while (true) {
      const std::string free = fmt::format("old{}", counter_++);
      const auto moved = kernel::renameat2(from, name.c_str(), trash_, free.c_str(), kNoReplace);
      if (moved) return free;
      if (moved.error().code != EEXIST) return {};
    }
  }

  base::Result<void> clear() {
    if (work_.way == Way::kRename) {
      trash_.reset();
      CORDON_OK(remove_tree(ends_.scratch, kTrash));
      return remove_journal(ends_.scratch);
    }
    for (const std::size_t number : placed_) {
      const std::string& path = work_.acts[number].path;
      if (const auto directory = open_locked_directory(ends_.upper, directory_of(path)))
        CORDON_OK(remove_tree(*directory, std::string(name_of(path))));
    }
    // A copy that is still in the stage was not placed; when the stage is half gone, that cannot be told any more.
    Work rest = work_;
    rest.acts.clear();
    CORDON_OK(write_journal(ends_.scratch, rest));
    CORDON_OK(remove_tree(ends_.destination, work_.stage));
    return remove_journal(ends_.scratch);
  }

  const Work& work_;
  const Ends& ends_;
  Round round_;
  const Bounds& bounds_;
  Outcome& outcome_;
  Fd root_, trash_;
  Place at_;
  std::map<std::string, std::uint64_t, std::less<>> made_;  ///< inodes of the directories of kMake, by path
  std::vector<std::string> blocked_;
  std::vector<std::size_t> placed_;
  std::uint64_t counter_ = 0;
};

}  // namespace

base::Result<void> apply(const Work& work, const Ends& ends, Round round, const Bounds& bounds, Outcome& outcome) {
  return Applier(work, ends, round, bounds, outcome).run();
}

}  // namespace cordon::enforce::promote
