#include "cli/command_places.h"

#include <dirent.h>
#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/text.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/file.h"
#include "kernel/inode.h"
#include "policy/approval/private_directory.h"
#include "policy/manifest/digest.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

constexpr std::string_view kLockEnd = ".lock";

template <class T>
base::Result<T> named(kernel::Sys<T> result, const std::string& subject) {
  if (!result) return base::fail(kernel::error_at(result.error(), subject));
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

std::vector<std::string> names_in(base::FdView directory) {
  std::vector<std::string> names;
  auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return names;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
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

/// A link or a file there was made by an earlier run, and is no place.
base::Result<void> CommandPlaces::make_point(const std::string& place, std::string_view below) {
  CORDON_TRY(base::Fd at,
             named(kernel::openat(kernel::kHere, place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW), place));
  for (const std::string_view name : base::split(below, '/')) {
    const std::string text(name);
    const auto facts = kernel::statx(at, text.c_str(), AT_SYMLINK_NOFOLLOW);
    if (facts && !S_ISDIR(facts->stx_mode)) CORDON_OK(enforce::promote::remove_tree(at, text));
    CORDON_TRY(const auto around, named(kernel::statx(at), place));
    const Owner owner{.uid = around.stx_uid, .gid = around.stx_gid};
    CORDON_TRY(at, make_directory(at, text, &owner));
  }
  return {};
}

void sweep_command_places(base::FdView state, approval::Caller caller) {
  if (!state.valid()) return;
  const approval::Opened place = approval::open_private_directory_in(state, "private", caller);
  if (place.state != approval::Opened::State::kPrivate) return;
  for (const std::string& name : names_in(place.fd)) {
    if (!name.ends_with(kLockEnd)) continue;
    const auto lock = kernel::openat(place.fd, name.c_str(), O_RDWR | O_NOFOLLOW);
    if (!lock || !kernel::flock(*lock, LOCK_EX | LOCK_NB)) continue;
    remove_run(place.fd, name.substr(0, name.size() - kLockEnd.size()));
  }
}

}  // namespace cordon::cli
