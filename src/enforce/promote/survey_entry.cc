#include <array>

#include "enforce/promote/surveyor.h"
#include "kernel/inode.h"

namespace cordon::enforce::promote {
namespace {

constexpr std::size_t kLongestTarget = 4096;

Kind kind_of(const Facts& facts) {
  if (is_directory(facts)) return Kind::kDirectory;
  return S_ISLNK(facts.stx_mode) ? Kind::kLink : Kind::kFile;
}

timespec modified(const Facts& facts) {
  return {.tv_sec = facts.stx_mtime.tv_sec, .tv_nsec = static_cast<long>(facts.stx_mtime.tv_nsec)};
}

Sys<Fd> open_file(FdView directory, const char* name) {
  auto file = open_beneath(directory, name, O_RDONLY);
  if (file || file.error().code != EACCES) return file;
  CORDON_TRY(const Fd object, open_beneath(directory, name, O_PATH));
  CORDON_OK(kernel::chmod_object(object, 0600));
  return open_beneath(directory, name, O_RDONLY);
}

}  // namespace

Class Surveyor::class_of(const Here& here, std::string_view path, Kind kind) const {
  const Directory& directory = at(here);
  if (directory.wanted == Class::kOutput) return Class::kOutput;
  const Class wanted = task_.classify(path, kind);
  if (!is_made_for_outputs(directory) || wanted == Class::kOutput || wanted == Class::kLeads) return wanted;
  return wanted == Class::kDropped ? wanted : Class::kOther;
}

void Surveyor::on_directory(const Here& here, const Found& found) {
  const Class wanted = class_of(here, found.path, Kind::kDirectory);
  if (wanted == Class::kOutput) return on_output_directory(here, found);
  if (wanted == Class::kDropped) return drop(here, found);
  if (wanted == Class::kLeads && !found.place) return on_leading_directory(here, found);
  if (wanted == Class::kNever || !found.place || !is_directory(*found.place))
    return leave(here, found.path, Reason::kNotAnOutput);
  if (is_mount(*found.place)) return leave(here, found.path, Reason::kMountAtPlace);
  const auto opened = open_locked_directory(here.upper, found.name);
  const auto mark = opened ? overlay_mark(*opened) : Sys<Mark>(base::fail(opened.error()));
  if (!mark) return leave(here, found.path, Reason::kHostFailed);
  if (*mark == Mark::kUnknown) return leave(here, found.path, Reason::kUnknownOverlay);
  if (*mark == Mark::kOpaque) {
    leave(here, found.path, Reason::kDeletionOutsideOutputs);
    touched_ = true;
  }
  enter(here, found, {.wanted = Class::kOther, .counterpart = Counterpart::kMerged, .mark = *mark});
}

/// It does not move: another is made in its place, for what of it arrives.
void Surveyor::on_leading_directory(const Here& here, const Found& found) {
  if (found.facts.stx_uid != task_.uid) return leave(here, found.path, Reason::kForeignOwner);
  const auto opened = open_locked_directory(here.upper, found.name);
  const auto mark = opened ? overlay_mark(*opened) : Sys<Mark>(base::fail(opened.error()));
  if (!mark) return leave(here, found.path, Reason::kHostFailed);
  if (*mark != Mark::kNone && *mark != Mark::kOpaque) return leave(here, found.path, Reason::kUnknownOverlay);
  enter(here, found, {.wanted = Class::kOther, .counterpart = Counterpart::kAbsent, .whole = false, .mark = *mark});
}

std::optional<Reason> Surveyor::counterpart_of(const Here& here, const Found& found, Mark mark,
                                               Counterpart& out) const {
  out = Counterpart::kAbsent;
  if (!here.merged() || !found.place) return std::nullopt;
  if (is_mount(*found.place)) return Reason::kMountAtPlace;
  if (S_ISLNK(found.place->stx_mode)) return Reason::kLinkAtPlace;
  const bool new_entries = manner_ == Manner::kNewEntries;
  out = Counterpart::kMerged;
  if (is_directory(*found.place) && (mark != Mark::kOpaque || new_entries)) return std::nullopt;
  if (new_entries) return Reason::kExists;
  out = Counterpart::kReplaced;
  return why_not_replaced(task_.destination, found.path, *found.place, task_.since, names_, task_.bounds);
}

void Surveyor::on_output_directory(const Here& here, const Found& found) {
  const auto opened = open_locked_directory(here.upper, found.name);
  const auto mark = opened ? overlay_mark(*opened) : Sys<Mark>(base::fail(opened.error()));
  if (!mark) return leave(here, found.path, Reason::kHostFailed);
  if (*mark == Mark::kUnknown) return leave(here, found.path, Reason::kUnknownOverlay);
  if (manner_ != Manner::kNewEntries && here.merged() && found.place && is_directory(*found.place) &&
      look(here.place, (std::string(found.name) + "/.git").c_str()))
    return leave(here, found.path, Reason::kGitRepository);
  Counterpart counterpart{};
  if (const auto why = counterpart_of(here, found, *mark, counterpart)) return leave(here, found.path, *why);
  if (counterpart != Counterpart::kMerged) {
    if (found.facts.stx_uid != task_.uid) return leave(here, found.path, Reason::kForeignOwner);
    if (*mark == Mark::kOpaqueWithMarkedFiles) return leave(here, found.path, Reason::kUnknownOverlay);
    if (const auto why = clean_directory(here, *opened, found)) return leave(here, found.path, *why);
  }
  enter(here, found, {.wanted = Class::kOutput, .counterpart = counterpart, .mark = *mark});
}

std::optional<Reason> Surveyor::clean_directory(const Here& here, FdView directory, const Found& found) {
  const mode_t mode = found.facts.stx_mode & 07777U;
  const mode_t open_for_us = arriving_mode(mode, task_.umask) | 0500U;
  if (mode != open_for_us && !kernel::fchmod(directory, open_for_us)) return Reason::kHostFailed;
  const Spare spare = here.merged() ? Spare::kMarks : Spare::kNothing;
  auto stripped = strip_attributes(directory, spare);
  if (!stripped && make_writable(directory)) stripped = strip_attributes(directory, spare);
  if (!stripped) return Reason::kHostFailed;
  if (*stripped == Stripped::kSomething || (mode & 07000U) != 0)
    add(out_.outcome.stripped, found.path, Reason::kStripped, task_.bounds);
  return std::nullopt;
}

void Surveyor::enter(const Here& here, const Found& found, Directory directory) {
  directory.path = found.path;
  directory.above = here.index;
  directory.mode = arriving_mode(found.facts.stx_mode, task_.umask);
  directory.modified = modified(found.facts);
  directory.source = found.facts.stx_ino;
  if (found.place) {
    directory.place = found.place->stx_ino;
    directory.place_changed = is_since(*found.place, task_.since);
  }
  pending_.push_back(static_cast<std::uint32_t>(out_.directories.size()));
  out_.directories.push_back(std::move(directory));
}

bool Surveyor::is_marked_file(const Here& here, const Found& found) const {
  if (here.mark != Mark::kOpaqueWithMarkedFiles || found.facts.stx_size != 0) return false;
  const auto file = open_file(here.upper, found.name);
  return file && is_marked_as_whiteout(*file);
}

void Surveyor::on_file(const Here& here, const Found& found) {
  if (is_marked_file(here, found)) return on_whiteout(here, found);
  const Class wanted = class_of(here, found.path, Kind::kFile);
  if (wanted == Class::kDropped) return drop(here, found);
  if (wanted == Class::kOther || wanted == Class::kNever) return leave(here, found.path, Reason::kNotAnOutput);
  if (wanted == Class::kLock && task_.locks == Handling::kKeep) return leave(here, found.path, Reason::kHeldLock);
  if (wanted == Class::kManifest && task_.manifests == Handling::kKeep)
    return leave(here, found.path, Reason::kHeldManifest);
  if (found.facts.stx_uid != task_.uid) return leave(here, found.path, Reason::kForeignOwner);
  if (found.facts.stx_size > task_.bounds.bytes - bytes_) return over(found.path);
  bytes_ += found.facts.stx_size;
  if (const auto why = why_not_placed(here, found, wanted)) return leave(here, found.path, *why);
  Item item{.kind = Kind::kFile, .wanted = wanted, .size = found.facts.stx_size};
  if (const auto why = clean_file(here, found, item.mode)) return leave(here, found.path, *why);
  if (found.facts.stx_nlink > 1) {
    Shared& shared = shared_[found.facts.stx_ino];
    shared.links = found.facts.stx_nlink;
    shared.items.push_back(static_cast<std::uint32_t>(out_.items.size()));
  }
  take(here, found, item);
}

std::optional<Reason> Surveyor::clean_file(const Here& here, const Found& found, mode_t& mode) {
  const auto file = open_file(here.upper, found.name);
  if (!file) return Reason::kHostFailed;
  const auto facts = kernel::statx(*file);
  if (!facts || facts->stx_ino != found.facts.stx_ino || !S_ISREG(facts->stx_mode)) return Reason::kHostFailed;
  return clean_opened(found, *file, mode);
}

std::optional<Reason> Surveyor::clean_opened(const Found& found, FdView file, mode_t& mode) {
  const auto mark = overlay_mark(file);
  if (!mark) return Reason::kHostFailed;
  if (*mark == Mark::kUnknown) return Reason::kUnknownOverlay;
  const mode_t before = found.facts.stx_mode & 07777U;
  mode = arriving_mode(before, task_.umask);
  bool is_opened = (before & 0400U) == 0;  // for us, to read it
  auto stripped = strip_attributes(file, Spare::kNothing);
  if (!stripped && kernel::fchmod(file, 0600)) {  // they are taken from what can be written
    is_opened = true;
    stripped = strip_attributes(file, Spare::kNothing);
  }
  if (!stripped) return Reason::kHostFailed;
  if (*stripped == Stripped::kSomething || (before & 07000U) != 0)
    add(out_.outcome.stripped, found.path, Reason::kStripped, task_.bounds);
  // An access control list changed the mode; what else did is not asked.
  const bool is_as_it_was = before == mode && !is_opened && *stripped == Stripped::kNothing;
  if (!is_as_it_was && !kernel::fchmod(file, mode)) return Reason::kHostFailed;
  return std::nullopt;
}

void Surveyor::on_link(const Here& here, const Found& found) {
  if (class_of(here, found.path, Kind::kLink) != Class::kOutput) return leave(here, found.path, Reason::kNotAnOutput);
  if (found.facts.stx_uid != task_.uid) return leave(here, found.path, Reason::kForeignOwner);
  std::array<char, kLongestTarget> target{};
  const auto size = kernel::readlinkat(here.upper, found.name, target);
  if (!size) return leave(here, found.path, Reason::kHostFailed);
  if (*size == target.size()) return leave(here, found.path, Reason::kLinkLeaves);
  if (const auto why = why_not_link(found.path, {target.data(), *size}, links_, names_))
    return leave(here, found.path, *why);
  if (const auto why = why_not_placed(here, found, Class::kOutput)) return leave(here, found.path, *why);
  take(here, found, {.kind = Kind::kLink, .mode = 0777, .size = 0});
}

std::optional<Reason> Surveyor::why_not_placed(const Here& here, const Found& found, Class wanted) const {
  const bool is_output = wanted == Class::kOutput;
  if (!found.place) {
    const bool counts = !is_output && here.merged() && task_.siblings == Siblings::kCount;
    return counts && at(here).place_changed ? std::optional(Reason::kParentChangedMeanwhile) : std::nullopt;
  }
  if (manner_ == Manner::kNewEntries) return Reason::kExists;
  if (!is_output && S_ISLNK(found.place->stx_mode)) return Reason::kLinkAtPlace;
  if (!is_output && !S_ISREG(found.place->stx_mode)) return Reason::kAppearedMeanwhile;
  return why_not_replaced(task_.destination, found.path, *found.place, task_.since, names_, task_.bounds);
}

void Surveyor::on_whiteout(const Here& here, const Found& found) {
  if (!here.merged() || !found.place) {  // it hides nothing
    if (at(here).wanted != Class::kOutput || kernel::unlinkat(here.upper, found.name, 0)) return;
    // It must not arrive as the device that it is.
    if (!make_writable(here.upper) || !kernel::unlinkat(here.upper, found.name, 0))
      leave(here, found.path, Reason::kSpecialFile);
    return;
  }
  if (const auto why = names_.why_not(found.path)) return leave(here, found.path, *why);
  if (manner_ == Manner::kNewEntries) return leave(here, found.path, Reason::kExists);
  const Kind kind = kind_of(*found.place);
  const Class wanted = class_of(here, found.path, kind);
  if (wanted == Class::kDropped) return drop(here, found);
  if (wanted != Class::kOutput) return leave(here, found.path, Reason::kDeletionOutsideOutputs);
  if (task_.siblings == Siblings::kCount && at(here).place_changed)
    return leave(here, found.path, Reason::kParentChangedMeanwhile);
  if (const auto why = why_not_replaced(task_.destination, found.path, *found.place, task_.since, names_, task_.bounds))
    return leave(here, found.path, *why);
  take(here, found, {.act = Item::Act::kRemove, .kind = kind, .size = 0});
}

void Surveyor::drop(const Here& here, const Found& found) { dropped_.push_back({here.index, found.path}); }

void Surveyor::take(const Here& here, const Found& found, Item item) {
  item.directory = here.index;
  item.name_at = static_cast<std::uint32_t>(out_.names.size());
  item.source = found.facts.stx_ino;
  item.place = found.place ? found.place->stx_ino : 0;
  out_.names.append(found.name);
  out_.names += '\0';
  out_.items.push_back(item);
}

}  // namespace cordon::enforce::promote
