#include "cli/command_places.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/kept_place.h"
#include "cli/surroundings.h"
#include "enforce/promote/promote.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/file.h"
#include "kernel/inode.h"
#include "policy/approval/private_directory.h"
#include "policy/manifest/digest.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace promote = enforce::promote;

constexpr std::string_view kLockEnd = ".lock";

template <class T>
base::Result<T> named(kernel::Sys<T> result, const std::string& subject) {
  if (!result) return base::fail(kernel::error_at(result.error(), subject));
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return std::move(*result);
}

/// A lock file of ours that nobody else holds. One that a sweep took away between our making and our holding it is no
/// lock: made again.
base::Result<base::Fd> lock_of(base::FdView directory, const std::string& name) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    CORDON_TRY(base::Fd file,
               named(kernel::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600), name));
    if (auto held = kernel::flock(file, LOCK_EX | LOCK_NB); !held)
      return base::fail(kernel::error_at(held.error(), name));
    const auto facts = kernel::statx(file);
    if (facts && facts->stx_nlink != 0) return file;
  }
  return base::fail(base::Error{.operation = "flock", .subject = name, .code = EAGAIN});
}

base::Result<base::Fd> make_directory(base::FdView parent, const std::string& name, const Owner* owner) {
  const auto made = kernel::mkdirat(parent, name.c_str(), 0700);
  if (!made && made.error().code != EEXIST) return base::fail(kernel::error_at(made.error(), name));
  auto opened = kernel::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened && opened.error().code == EACCES) {  // a target shut its own directory: no reason to fail the next run
    CORDON_TRY(const base::Fd shut,
               named(kernel::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW), name));
    static_cast<void>(kernel::chmod_object(shut, 0700));
    opened = kernel::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  }
  CORDON_TRY(base::Fd fd, named(std::move(opened), name));
  if (owner != nullptr && made) {
    if (auto given = kernel::fchown(fd, owner->uid, owner->gid); !given)
      return base::fail(kernel::error_at(given.error(), name));
  }
  return fd;
}

/// The lock goes last: while it stands, another sweep waits for what is in the directory.
void remove_run(base::FdView directory, const std::string& id) {
  if (!enforce::promote::remove_tree(directory, id)) return;
  static_cast<void>(kernel::unlinkat(directory, (id + std::string(kLockEnd)).c_str(), 0));
}

}  // namespace

base::Result<CommandPlaces> CommandPlaces::make(const std::string& state_directory, approval::Caller caller,
                                                const std::string& run_id, Owner owner) {
  if (state_directory.empty())
    return base::fail(
        base::Error{.operation = "open", .subject = "", .detail = "neither XDG_STATE_HOME nor a home is set"});
  CommandPlaces out;
  out.state_ = state_directory;
  out.caller_ = caller;
  out.owner_ = owner;
  CORDON_TRY(out.private_, approval::make_private_directory(state_directory + "/private", caller));
  CORDON_TRY(out.lock_, lock_of(out.private_, run_id + std::string(kLockEnd)));
  const auto facts = kernel::statx(out.lock_);
  if (!facts) return base::fail(kernel::error_at(facts.error(), run_id));
  out.began_ = {.tv_sec = facts->stx_ctime.tv_sec, .tv_nsec = facts->stx_ctime.tv_nsec};
  out.id_ = run_id;
  CORDON_TRY(out.run_, make_directory(out.private_, run_id, nullptr));
  return out;
}

CommandPlaces::~CommandPlaces() {
  if (private_.valid() && !id_.empty()) remove_run(private_, id_);
}

namespace {

/// The pipe that a process has as this stream; nothing where it is none.
std::optional<std::uint64_t> pipe_of(const std::string& process, int stream) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, stream);
  const auto facts = kernel::statx(kernel::kHere, path.c_str(), 0);
  const bool is_one = facts && (S_ISFIFO(facts->stx_mode) || S_ISSOCK(facts->stx_mode));
  return is_one ? std::optional(facts->stx_ino) : std::nullopt;
}

/// Whether that one may wait for what we write or read: one end of a pipe is ours and the other its, or we are of one
/// pipeline, with other programs between us.
bool may_wait_for_us(pid_t other) {
  const std::string theirs = std::to_string(other), ours = "self";
  const auto reads = pipe_of(ours, 0), they_read = pipe_of(theirs, 0);
  for (const int stream : {1, 2}) {
    const auto writes = pipe_of(ours, stream), they_write = pipe_of(theirs, stream);
    if ((reads && they_write && *reads == *they_write) || (they_read && writes && *they_read == *writes)) return true;
    const bool chained = (reads && they_write) || (they_read && writes);
    if (chained && ::getpgid(other) == ::getpgrp()) return true;
  }
  return false;
}

}  // namespace

/// A lock of the process, not of the file: only of such a one the kernel says who holds it.
base::Result<bool> CommandPlaces::hold_view_of(const std::string& workspace,
                                               const std::function<void(pid_t)>& waiting) {
  const std::string place = state_ + "/projects/" + policy::manifest::sha256_hex(workspace).substr(0, 32);
  CORDON_TRY(const base::Fd directory, approval::make_private_directory(place, caller_));
  const std::string name = place + "/view.lock";
  CORDON_TRY(base::Fd lock, named(kernel::openat(directory, "view.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600), name));
  while (true) {
    CORDON_TRY(const std::optional<pid_t> holder, named(kernel::lock_holder(lock), name));
    if (holder && may_wait_for_us(*holder)) return false;
    if (holder) waiting(*holder);
    auto held = kernel::lock_file(lock, holder ? kernel::Patience::kWait : kernel::Patience::kNone);
    if (held) break;
    if (held.error().code != EAGAIN && held.error().code != EACCES)  // somebody was quicker
      return base::fail(kernel::error_at(held.error(), name));
  }
  view_lock_ = std::move(lock);
  // What the run before promoted while we waited is not a change of the host's meanwhile.
  CORDON_OK(named(kernel::fchmod(lock_, 0600), name));
  CORDON_TRY(const auto now, named(kernel::statx(lock_), name));
  began_ = {.tv_sec = now.stx_ctime.tv_sec, .tv_nsec = now.stx_ctime.tv_nsec};
  return true;
}

base::Result<std::string> CommandPlaces::directory(const std::string& name) {
  CORDON_TRY(const base::Fd made, make_directory(run_, name, &owner_));
  return state_ + "/private/" + id_ + "/" + name;
}

base::Result<void> CommandPlaces::make_layers(const ViewPlace& out, const std::string& lower) const {
  CORDON_TRY(const base::Fd upper, make_directory(out.directory, "upper", &owner_));
  CORDON_OK(make_directory(out.directory, "work", &owner_));
  CORDON_TRY(const auto facts, named(kernel::statx(kernel::kHere, lower.c_str(), 0), lower));
  // Set-id and sticky bits of a directory are for who makes files in it on the host.
  if (auto set = kernel::fchmod(upper, facts.stx_mode & 0777U); !set)
    return base::fail(kernel::error_at(set.error(), lower));
  return {};
}

base::Result<ViewPlace> CommandPlaces::view(const std::string& lower) {
  const std::string name = fmt::format("view-{}", views_++);
  ViewPlace out{.path = state_ + "/private/" + id_ + "/" + name, .directory = {}};
  CORDON_TRY(out.directory, make_directory(run_, name, nullptr));
  CORDON_OK(make_layers(out, lower));
  CORDON_OK(make_directory(out.directory, "scratch", nullptr));
  return out;
}

/// An upper layer is one mount's: what two of them make of it nobody can say.
base::Result<ViewPlace> CommandPlaces::cache_view(const std::string& workspace, const std::string& name,
                                                  const std::string& lower) {
  const std::string project = policy::manifest::sha256_hex(workspace).substr(0, 32);
  ViewPlace out{.path = state_ + "/projects/" + project + "/" + name, .directory = {}};
  CORDON_TRY(const base::Fd parent, approval::make_private_directory(state_ + "/projects/" + project, caller_));
  CORDON_TRY(out.directory, make_directory(parent, name, nullptr));
  CORDON_TRY(out.lock, named(kernel::openat(out.directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600), name));
  if (!kernel::flock(out.lock, LOCK_EX | LOCK_NB)) return view(lower);
  CORDON_OK(make_layers(out, lower));
  return out;
}

base::Result<std::string> CommandPlaces::cache(const std::string& workspace, const std::string& name) {
  const std::string project = policy::manifest::sha256_hex(workspace).substr(0, 32);
  const std::string place = state_ + "/projects/" + project;
  CORDON_TRY(const base::Fd directory, approval::make_private_directory(place, caller_));
  CORDON_TRY(const base::Fd cache, make_directory(directory, name, &owner_));
  const auto facts = kernel::statx(cache);
  if (facts && owner_.uid != facts->stx_uid)
    return base::fail(base::Error{.operation = "open",
                                  .subject = place + "/" + name,
                                  .detail = fmt::format("it belongs to user {}", facts->stx_uid)});
  return place + "/" + name;
}

base::Result<void> CommandPlaces::make_file(const std::string& place, const std::string& name,
                                            const std::string& content) {
  CORDON_TRY(const base::Fd at,
             named(kernel::openat(kernel::kHere, place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW), place));
  CORDON_OK(enforce::promote::remove_tree(at, name));
  if (content.empty()) return {};
  CORDON_TRY(const base::Fd file,
             named(kernel::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444), name));
  CORDON_OK(named(kernel::write_all(file, std::as_bytes(std::span(content))), name));
  return named(kernel::fchmod(file, 0444), name);
}

base::Result<void> make_settings(policy::Command& command) {
  for (policy::PrivateFile& file : command.files) {
    const auto place = std::ranges::find_if(command.places, [&](const policy::PrivatePlace& one) {
      return file.path.starts_with(one.target + "/") && !file.path.substr(one.target.size() + 1).contains('/');
    });
    if (place == command.places.end()) continue;
    CORDON_OK(CommandPlaces::make_file(place->source, file.path.substr(place->target.size() + 1), file.content));
    file.content.clear();
  }
  std::erase_if(command.files, [](const policy::PrivateFile& file) { return file.content.empty(); });
  return {};
}

base::Result<base::Fd> CommandPlaces::make_in_home(const std::string& home, const std::string& path, Owner owner) {
  CORDON_TRY(base::Fd at, named(kernel::openat(kernel::kHere, home.c_str(), O_RDONLY | O_DIRECTORY), home));
  const std::string below = path.substr(home.size() + 1);
  for (const std::string_view name : base::split(below, '/')) {
    CORDON_TRY(at, make_directory(at, std::string(name), &owner));
  }
  return at;
}

/// What stands there and is another kind of thing was made by an earlier run, and is no place.
base::Result<void> CommandPlaces::make_point(const std::string& place, std::string_view below, Point last) {
  CORDON_TRY(base::Fd at,
             named(kernel::openat(kernel::kHere, place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW), place));
  const auto names = base::split(below, '/');
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name(names[i]);
    const bool is_file = i + 1 == names.size() && last == Point::kFile;
    const auto facts = kernel::statx(at, name.c_str(), AT_SYMLINK_NOFOLLOW);
    const bool fits = facts && (is_file ? S_ISREG(facts->stx_mode) : S_ISDIR(facts->stx_mode));
    if (facts && !fits) CORDON_OK(enforce::promote::remove_tree(at, name));
    if (is_file) {
      if (fits) return {};
      CORDON_OK(named(kernel::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600), name));
      return {};
    }
    CORDON_TRY(const auto around, named(kernel::statx(at), place));
    const Owner owner{.uid = around.stx_uid, .gid = around.stx_gid};
    CORDON_TRY(at, make_directory(at, name, &owner));
  }
  return {};
}

namespace {

constexpr const char* kAbout = "about";
constexpr std::size_t kLongestAbout = std::size_t{1} << 20;

/// Fields, each with a NUL behind it: a path and an argument may hold anything else.
std::string text_of(const promote::About& about) {
  std::string out;
  const auto add = [&](const std::string& field) { out.append(field).push_back('\0'); };
  add(about.workspace);
  for (const std::uint64_t number :
       {about.device, about.inode, static_cast<std::uint64_t>(about.since.tv_sec),
        static_cast<std::uint64_t>(about.since.tv_nsec), std::uint64_t{about.uid}, std::uint64_t{about.gid}})
    add(std::to_string(number));
  for (const std::string& word : about.command) add(word);
  return out;
}

std::optional<promote::About> about_in(base::FdView view) {
  const auto file = kernel::openat(view, kAbout, O_RDONLY | O_NOFOLLOW);
  const auto facts = file ? kernel::statx(*file) : kernel::Sys<struct ::statx>(base::fail(file.error()));
  if (!facts || !S_ISREG(facts->stx_mode) || facts->stx_size > kLongestAbout) return std::nullopt;
  std::string text(static_cast<std::size_t>(facts->stx_size), '\0');
  const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(text)), 0);
  if (!got || *got != text.size() || text.empty() || text.back() != '\0') return std::nullopt;
  text.pop_back();
  const auto fields = base::split(text, '\0');
  if (fields.size() < 8) return std::nullopt;
  promote::About out;
  out.workspace = fields[0];
  std::array<std::uint64_t, 6> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view digits = fields[i + 1];
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), numbers[i]);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  }
  out.device = numbers[0];
  out.inode = numbers[1];
  out.since = {.tv_sec = static_cast<time_t>(numbers[2]), .tv_nsec = static_cast<long>(numbers[3])};
  out.uid = static_cast<uid_t>(numbers[4]);
  out.gid = static_cast<gid_t>(numbers[5]);
  for (std::size_t i = 7; i < fields.size(); ++i) out.command.emplace_back(fields[i]);
  return out;
}

/// The workspace, if it still is the one that the run saw.
base::Fd workspace_of(const promote::About& about) {
  auto fd = kernel::openat(kernel::kHere, about.workspace.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const auto facts = fd ? kernel::statx(*fd) : kernel::Sys<struct ::statx>(base::fail(fd.error()));
  const bool same = facts && kernel::device_of(*facts) == about.device && facts->stx_ino == about.inode;
  return same ? std::move(*fd) : base::Fd();
}

void rescue_view(base::FdView view, const std::string& id, promote::Kept* kept) {
  auto about = about_in(view);
  if (!about) return;
  const auto upper = make_directory(view, "upper", nullptr);
  const auto scratch = make_directory(view, "scratch", nullptr);
  const base::Fd workspace = workspace_of(*about);
  if (upper && scratch && workspace.valid())
    static_cast<void>(promote::replay(*upper, workspace, *scratch).has_value());
  if (!upper || kept == nullptr || names_in(*upper).empty()) return;
  about->id = id;
  static_cast<void>(kept->keep(view, "upper", std::move(*about), std::time(nullptr)).has_value());
}

void rescue_run(base::FdView directory, const std::string& id, promote::Kept* kept) {
  const auto run = kernel::openat(directory, id.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!run) return;
  for (const std::string& name : names_in(*run)) {
    if (!name.starts_with("view-")) continue;
    const auto view = kernel::openat(*run, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (view) rescue_view(*view, id, kept);
  }
}

}  // namespace

base::Result<void> CommandPlaces::note(const ViewPlace& place, const promote::About& about) const {
  CORDON_TRY(
      const base::Fd file,
      named(kernel::openat(place.directory, kAbout, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600), place.path));
  const std::string text = text_of(about);
  if (auto written = kernel::write_all(file, std::as_bytes(std::span(text))); !written)
    return base::fail(kernel::error_at(written.error(), place.path));
  return {};
}

void sweep_command_places(const std::string& state_directory, base::FdView state, approval::Caller caller) {
  if (!state.valid()) return;
  const approval::Opened place = approval::open_private_directory_in(state, "private", caller);
  if (place.state != approval::Opened::State::kPrivate) return;
  for (const std::string& name : names_in(place.fd)) {
    if (!name.ends_with(kLockEnd)) continue;
    const auto lock = kernel::openat(place.fd, name.c_str(), O_RDWR | O_NOFOLLOW);
    if (!lock || !kernel::flock(*lock, LOCK_EX | LOCK_NB)) continue;
    auto kept = open_kept(state_directory, caller, Missing::kMake);
    const std::string id = name.substr(0, name.size() - kLockEnd.size());
    rescue_run(place.fd, id, kept && *kept ? &**kept : nullptr);
    remove_run(place.fd, id);
  }
}

}  // namespace cordon::cli
