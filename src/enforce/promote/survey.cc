#include "enforce/promote/survey.h"

#include <algorithm>

#include "enforce/promote/copy.h"
#include "enforce/promote/remove_tree.h"
#include "enforce/promote/surveyor.h"
#include "kernel/inode.h"

namespace cordon::enforce::promote {

std::string Survey::path(const Item& item) const { return below(directories[item.directory].path, name(item)); }

base::Result<Survey> survey(const Task& task, Manner manner) { return Surveyor(task, manner).run(); }

List& list_of(Outcome& outcome, Reason reason) {
  if (reason >= Reason::kSpecialFile) return outcome.refused;
  return reason >= Reason::kChangedMeanwhile ? outcome.conflicts : outcome.kept;
}

base::Result<Survey> Surveyor::run() {
  const auto facts = kernel::statx(task_.destination);
  if (!facts) return base::fail(kernel::error_at(facts.error(), "the workspace"));
  Directory root{.wanted = manner_ == Manner::kNewEntries ? Class::kOutput : Class::kOther};
  root.place = facts->stx_ino;
  root.place_changed = is_since(*facts, task_.since);
  out_.directories.push_back(std::move(root));
  pending_.push_back(0);
  if (const auto walked = walk(); !walked) return base::fail(kernel::error_at(walked.error(), "the run's writes"));
  if (out_.outcome.over_bound) return std::move(out_);
  drop_all();
  settle();
  const auto parted = part_shared_files();
  if (!parted) return base::fail(kernel::error_at(parted.error(), "a file with several names"));
  return std::move(out_);
}

Sys<void> Surveyor::walk() {
  while (!pending_.empty() && !out_.outcome.over_bound) {
    const std::uint32_t index = pending_.back();
    pending_.pop_back();
    const auto walked = walk_directory(index);
    if (walked) continue;
    if (index == 0) return walked;
    leave(Here{.index = out_.directories[index].above}, out_.directories[index].path, Reason::kHostFailed);
    out_.directories[index].drop = true;
  }
  return {};
}

Sys<void> Surveyor::walk_directory(std::uint32_t index) {
  const std::string path = out_.directories[index].path;
  CORDON_TRY(const Fd upper, open_directory(task_.upper, path));
  Fd place;
  if (out_.directories[index].counterpart == Counterpart::kMerged) {
    CORDON_TRY(place, open_directory(task_.destination, path));
    CORDON_TRY(const Facts facts, kernel::statx(place));
    if (facts.stx_ino != out_.directories[index].place) return base::fail(kernel::Errno{ESTALE, "openat2"});
  }
  Here here{.index = index, .upper = upper, .place = place};
  here.mark = out_.directories[index].mark;
  out_.directories[index].first = static_cast<std::uint32_t>(out_.items.size());
  const auto listed = list_entries(here);
  out_.directories[index].last = static_cast<std::uint32_t>(out_.items.size());
  return listed;
}

Sys<void> Surveyor::list_entries(Here& here) {
  BareRepository repository;
  CORDON_OK(each_entry(here.upper, [&](const char* name, unsigned char) {
    visit(here, name, repository);
    return !out_.outcome.over_bound;
  }));
  if (!repository.is_suspected() || at(here).wanted != Class::kOutput) return {};
  if (here.merged()) {
    CORDON_OK(each_entry(here.place, [&](const char* name, unsigned char) {
      repository.add(name);
      return true;
    }));
  }
  if (repository.is_one()) drop_repository(here);
  return {};
}

/// What has been judged good in it by now is not promoted after all.
void Surveyor::drop_repository(const Here& here) {
  Directory& directory = at(here);
  leave(Here{.index = directory.above}, directory.path, Reason::kGitRepository);
  directory.drop = true;
  while (!pending_.empty() && pending_.back() > here.index) pending_.pop_back();
}

void Surveyor::visit(const Here& here, const char* name, BareRepository& repository) {
  Found found{.name = name, .path = below(at(here).path, name), .facts = {}, .place = {}};
  const auto levels = static_cast<std::size_t>(std::ranges::count(found.path, '/'));
  if (++entries_ > task_.bounds.entries || levels >= task_.bounds.levels || found.path.size() > task_.bounds.path)
    return over(std::move(found.path));
  const auto facts = look(here.upper, name);
  if (!facts) return leave(here, std::move(found.path), Reason::kHostFailed);
  found.facts = *facts;
  if (here.merged()) {
    if (auto place = look(here.place, name)) found.place = *place;
  }
  const auto left = [&] { return out_.outcome.kept.total + out_.outcome.conflicts.total + out_.outcome.refused.total; };
  const std::uint64_t before = left();
  const bool merges = found.place && is_directory(*found.place) && S_ISDIR(found.facts.stx_mode);
  judge(here, found, repository);
  touched_ = touched_ || (found.place && !merges && left() != before);
}

void Surveyor::judge(const Here& here, const Found& found, BareRepository& repository) {
  if (is_whiteout(found.facts)) return on_whiteout(here, found);
  repository.add(found.name);
  if (const auto why = names_.why_not(found.path)) return leave(here, found.path, *why);
  if (S_ISDIR(found.facts.stx_mode)) return on_directory(here, found);
  if (S_ISREG(found.facts.stx_mode)) return on_file(here, found);
  if (S_ISLNK(found.facts.stx_mode)) return on_link(here, found);
  leave(here, found.path, Reason::kSpecialFile);
}

void Surveyor::leave(const Here& here, std::string path, Reason reason) {
  add(list_of(out_.outcome, reason), std::move(path), reason, task_.bounds);
  spoil(here.index);
}

void Surveyor::spoil(std::uint32_t index) {
  while (out_.directories[index].whole) {
    out_.directories[index].whole = false;
    index = out_.directories[index].above;
  }
}

/// It must not stand among what is kept either; but where something of the host's was changed, deleted or moved, that
/// may be where it went.
void Surveyor::drop_all() {
  for (const Dropped& one : dropped_) {
    const auto slash = one.path.rfind('/');
    const auto directory = open_directory(task_.upper, slash == std::string::npos ? "" : one.path.substr(0, slash));
    const bool goes =
        !touched_ && directory && remove_tree(*directory, one.path.substr(slash == std::string::npos ? 0 : slash + 1));
    if (!goes) leave(Here{.index = one.directory}, one.path, Reason::kNotAnOutput);
  }
}

void Surveyor::settle() {
  for (Directory& directory : out_.directories) {
    const bool in_part = directory.counterpart == Counterpart::kAbsent && !directory.whole;
    if (manner_ == Manner::kNewEntries && in_part && !directory.drop) {
      if (!out_.directories[directory.above].drop) leave(Here{}, directory.path, Reason::kHoldsRefused);
      directory.drop = true;
    }
    directory.drop = directory.drop || out_.directories[directory.above].drop;
  }
  drop_what_leads_nowhere();
}

void Surveyor::drop_what_leads_nowhere() {
  std::vector<bool> is_filled(out_.directories.size());
  for (std::size_t i = out_.directories.size(); i-- > 1;) {
    Directory& directory = out_.directories[i];
    if (directory.drop) continue;
    if (is_made_for_outputs(directory) && !is_filled[i] && directory.first == directory.last) {
      leave(Here{.index = directory.above}, directory.path, Reason::kNotAnOutput);
      directory.drop = true;
    } else {
      is_filled[directory.above] = true;
    }
  }
}

/// A file with a name that is not promoted too could be written through that one later, by the next run perhaps: it
/// arrives as a copy of its own.
Sys<void> Surveyor::part_shared_files() {
  for (auto& [inode, file] : shared_) {
    std::erase_if(file.items, [&](std::uint32_t item) { return out_.directories[out_.items[item].directory].drop; });
    if (file.items.size() == file.links) continue;
    for (const std::uint32_t item : file.items) CORDON_OK(part(out_.items[item]));
  }
  return {};
}

Sys<void> Surveyor::part(Item& item) {
  static constexpr const char* kCopy = "copy";
  const std::string path = out_.path(item);
  CORDON_TRY(const Fd directory, open_directory(task_.upper, directory_of(path)));
  CORDON_OK(remove_name(task_.scratch, kCopy));
  CORDON_OK(copy_file(directory, out_.name(item), task_.scratch, kCopy,
                      {.mode = item.mode, .uid = task_.uid, .gid = task_.gid}));
  CORDON_OK(make_writable(directory));
  CORDON_OK(kernel::renameat2(task_.scratch, kCopy, directory, out_.name(item), 0));
  CORDON_TRY(const Facts facts, look(directory, out_.name(item)));
  item.source = facts.stx_ino;
  return {};
}

void lock_again(const Task& task, const Survey& survey) {
  for (std::size_t i = survey.directories.size(); i-- > 0;) {
    const Directory& directory = survey.directories[i];
    const Directory& above = survey.directories[directory.above];
    const bool is_moved_with_it = directory.whole && above.whole && above.counterpart != Counterpart::kMerged;
    if (!is_moved_with_it || directory.drop || (directory.mode & 0700U) == 0700) continue;
    const auto object = open_beneath(task.upper, directory.path, O_PATH | O_DIRECTORY);
    if (object) static_cast<void>(kernel::chmod_object(*object, directory.mode));
  }
}

}  // namespace cordon::enforce::promote
