#include "observe/observer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "plan/standing.h"

namespace cordon::observe {
namespace {

using plan::CallForm;
using plan::PathArgument;
using plan::PathCall;

std::uint64_t argument(const Call& call, int which) { return call.arguments.at(static_cast<std::size_t>(which)); }

/// A descriptor is an int to the kernel, whatever stands in the upper half.
int descriptor(const Call& call, int which) { return static_cast<int>(argument(call, which)); }

bool may_be_unnamed(const Call& call, const PathCall& row) {
  if (row.unnamed == plan::Unnamed::kByFlag) return (argument(call, row.flags) & AT_EMPTY_PATH) != 0;
  return row.unnamed == plan::Unnamed::kAlways;
}

/// struct open_how of openat2(2), its first version.
struct How {
  std::uint64_t flags = 0, mode = 0, resolve = 0;
};
constexpr std::uint64_t kBeneath = 0x08, kInRoot = 0x10;

bool makes_link(const PathCall& row) { return std::string_view(row.name).starts_with("symlink"); }

/// The call that a row stands for: newfstatat, statx and an open for a link itself are lstat by other names.
std::size_t told_as(const Call& call, std::size_t row) {
  static const auto kLstat =
      static_cast<std::size_t>(std::ranges::find(plan::kPathCalls, std::string_view("lstat"),
                                                 [](const PathCall& each) { return std::string_view(each.name); }) -
                               plan::kPathCalls.begin());
  const PathCall& one = plan::kPathCalls.at(row);
  constexpr std::uint64_t kLinkItself = O_PATH | O_NOFOLLOW;
  if (one.form == CallForm::kOpen) return (argument(call, one.flags) & kLinkItself) == kLinkItself ? kLstat : row;
  const std::string_view name(one.name);
  if (name != "newfstatat" && name != "statx") return row;
  return (argument(call, one.flags) & AT_SYMLINK_NOFOLLOW) != 0 ? kLstat : row;
}

}  // namespace

Observer::Observer(const plan::Plan& plan) : watching_(plan.watching) {
  for (const plan::WatchedCall& call : plan.watched) {
    if (call.number >= rows_.size()) rows_.resize(call.number + 1, -1);
    rows_[call.number] = static_cast<std::int16_t>(call.row);
  }
}

Observer::Known* Observer::known(pid_t pid) {
  if (const auto entry = known_.find(pid); entry != known_.end()) return &entry->second;
  auto process = Process::open(pid);
  if (!process) return nullptr;
  if (order_.size() >= kMostKnown) {
    let_go(order_.front());
    known_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(pid);
  return &known_.emplace(pid, Known{.process = std::move(*process), .program = std::nullopt}).first->second;
}

Observer::Known* Observer::known_anew(pid_t pid) {
  let_go(pid);
  if (known_.erase(pid) != 0) std::erase(order_, pid);
  return known(pid);
}

void Observer::let_go(pid_t pid) {
  for (Held& one : held_)
    if (one.pid == pid) one = {};
}

std::optional<std::string_view> Observer::place_of(pid_t pid, const Process& process, int directory) {
  const auto of_it = [&](const Held& one) { return one.pid == pid && one.directory == directory && one.link; };
  if (const auto held = std::ranges::find_if(held_, of_it); held != held_.end()) return held->link->read(link_);
  auto link = directory == AT_FDCWD ? process.hold("cwd") : process.hold_descriptor(directory);
  if (!link) return std::nullopt;
  Held& slot = held_.at(next_held_++ % held_.size());
  slot = {.pid = pid, .directory = directory, .link = std::move(link)};
  return slot.link->read(link_);
}

Store::Program Observer::program_of(pid_t pid) {
  Known* const entry = known(pid);
  if (entry == nullptr) return 0;
  if (!entry->program) {
    const auto path = entry->process.link("exe", link_);
    entry->program = path ? store_.program(*path) : Store::Program{0};
  }
  return *entry->program;
}

void Observer::lost(Why why) { seen_.losses.at(seen_.losses.front() ? 1 : 0) = why; }

void Observer::look(const Call& call, Fate fate) {
  seen_.count = 0;
  seen_.losses = {};
  seen_.executing.reset();
  seen_.pending.reset();
  seen_.addresses = {};
  seen_.link_text.reset();
  const auto number = static_cast<std::size_t>(call.number);
  if (call.number < 0 || number >= rows_.size() || rows_[number] < 0) return;
  if (!pending_.empty()) settle(call.pid);
  const PathCall& row = plan::kPathCalls.at(static_cast<std::size_t>(rows_[number]));
  seen_.row = static_cast<std::uint8_t>(told_as(call, static_cast<std::size_t>(rows_[number])));
  if (row.form == CallForm::kStart) return;
  if (row.form == CallForm::kEnd) {
    if (!pending_.empty()) settle_of_thread(call.pid);
    return;
  }
  if (row.form == CallForm::kSocket || row.form == CallForm::kSend) {
    look_at_socket(call, row);
  } else if (row.form == CallForm::kMessage || row.form == CallForm::kMessages) {
    look_at_messages(call, row);
  } else {
    Root root = Root::kOfTheTarget;
    const auto acts = acts_of(call, row, root);
    if (!acts) return;
    for (PathArgument each : {row.first, row.second}) {
      if (each.path < 0) continue;
      if (row.form == CallForm::kOpen || row.form == CallForm::kHow) each.acts = *acts;
      look_at(call, row, each, root);
    }
    if (makes_link(row) && seen_.count == 1 && text_.read(call.pid, argument(call, 0)) == Read::kWhole)
      seen_.link_text = text_.text();
  }
  if (!links_.empty()) follow_made_links(row);
  if (row.form == CallForm::kExec) look_at_execution(call, fate);
  if (seen_.count != 0 || seen_.addresses.front()) seen_.program = program_of(call.pid);
}

/// What stands at the other end as well: an unnamed end of a link would hide it.
void Observer::follow_made_links(const PathCall& row) {
  const std::string_view name = plan::kPathCalls.at(seen_.row).name;
  const auto last = row.form == CallForm::kPlain && !plan::call_follows_link(name) ? MadeLinks::Last::kKept
                                                                                   : MadeLinks::Last::kFollowed;
  const std::size_t named = seen_.count;
  for (std::size_t i = 0; i < named && seen_.count < seen_.paths.size(); ++i) {
    auto led = links_.led_to(seen_.paths.at(i), last);
    if (!led) continue;
    seen_.paths.at(seen_.count) = std::move(*led);
    found(seen_.acts.at(i));
  }
}

/// What the call does to links, as it says: that it may fail changes little.
void Observer::keep_links() {
  const std::string_view name = plan::kPathCalls.at(seen_.row).name;
  if (seen_.link_text && !links_.add(seen_.paths.front(), *seen_.link_text)) store_.lose(Why::kTooMany);
  if (links_.empty()) return;
  if (name.starts_with("unlink")) links_.forget(seen_.paths.front());
  if (name.starts_with("rename") && seen_.count > 1) links_.move(seen_.paths[0], seen_.paths[1]);
}

/// Nothing where the kernel will refuse the call for its form, so that it names nothing.
std::optional<std::uint32_t> Observer::acts_of(const Call& call, const PathCall& row, Root& root) const {
  if (row.form == CallForm::kOpen) return acts_of_open(argument(call, row.flags));
  if (row.form != CallForm::kHow) return 0;
  How how;
  if (argument(call, row.flags + 1) < sizeof how) return std::nullopt;
  if (!read_bytes(call.pid, argument(call, row.flags), std::as_writable_bytes(std::span(&how, 1)))) return std::nullopt;
  if ((how.resolve & kInRoot) != 0) root = Root::kDirectory;
  return acts_of_open(how.flags);
}

void Observer::look_at(const Call& call, const PathCall& row, const PathArgument& which, Root root) {
  const std::uint64_t address = argument(call, which.path);
  const bool unnamed = may_be_unnamed(call, row);
  if (address == 0 && unnamed) return;
  switch (text_.read(call.pid, address)) {
    case Read::kUnreadable:
      return lost(Why::kUnreadable);
    case Read::kNoEnd:
      return lost(Why::kTooLong);
    case Read::kWhole:
      break;
  }
  if (text_.text().empty()) {
    // The descriptor was named when it was opened; or nothing is named at all. A program's is told apart from it by
    // what the process runs afterwards.
    if (row.form != CallForm::kExec || !unnamed) return;
    Known* const entry = known(call.pid);
    const auto link =
        entry != nullptr ? entry->process.descriptor(descriptor(call, which.directory), link_) : std::nullopt;
    if (!link || !is_place(*link)) return lost(Why::kDirectoryGone);
    seen_.paths.at(seen_.count) = *link;
    return found(which.acts);
  }
  if (const auto why = anchored(call, which, text_.text(), root)) return lost(*why);
  found(which.acts);
}

/// The path into seen_.paths, or why it cannot be told.
std::optional<Why> Observer::anchored(const Call& call, const PathArgument& which, std::string_view text, Root root) {
  std::string& path = seen_.paths.at(seen_.count);
  if (text.starts_with('/') && root == Root::kOfTheTarget) {
    join({}, text, root, path);
    return std::nullopt;
  }
  join("/", text, Root::kOfTheTarget, path);
  if (root == Root::kDirectory && climbs(path)) return Why::kNotResolved;
  const int from = which.directory < 0 ? AT_FDCWD : descriptor(call, which.directory);
  for (Known* entry : {known(call.pid), static_cast<Known*>(nullptr)}) {
    if (entry == nullptr) entry = known_anew(call.pid);
    if (entry != nullptr && start_from(call.pid, entry->process, from, text, root, path)) return std::nullopt;
  }
  return Why::kDirectoryGone;
}

bool Observer::start_from(pid_t pid, const Process& process, int directory, std::string_view text, Root root,
                          std::string& path) {
  const auto place = place_of(pid, process, directory);
  if (!place || !is_place(*place)) return false;
  join(*place, text, root, path);
  // Looked at for a new path only: a known one was named from a directory before. Who lists a directory asks about many
  // names in it.
  if (directory == AT_FDCWD || std::ranges::find(directories_, *place) != directories_.end()) return true;
  if (store_.knows(path)) return true;
  if (!process.is_directory(directory)) return false;
  directories_.at(next_directory_++ % directories_.size()) = *place;
  return true;
}

void Observer::look_at_socket(const Call& call, const PathCall& row) {
  look_at_address(call, row, argument(call, row.first.path),
                  static_cast<std::uint32_t>(argument(call, row.first.path + 1)));
}

/// The address of each message, as far as they are looked at.
void Observer::look_at_messages(const Call& call, const PathCall& row) {
  static_assert(offsetof(mmsghdr, msg_hdr) == 0);
  const bool many = row.form == CallForm::kMessages;
  const std::uint64_t count = many ? std::min<std::uint64_t>(argument(call, 2), kMostMessages) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    msghdr message{};
    const std::uint64_t at = argument(call, row.first.path) + (i * sizeof(mmsghdr));
    if (!read_bytes(call.pid, at, std::as_writable_bytes(std::span(&message, 1)))) return;
    if (message.msg_name == nullptr) continue;
    look_at_address(call, row, reinterpret_cast<std::uintptr_t>(message.msg_name), message.msg_namelen);
    if (seen_.count != 0 || seen_.losses.front()) return;  // a unix socket's path: there is room for one
  }
}

/// Of a unix socket only a path of the file system; a name in the network namespace's own list is the sandbox's.
void Observer::look_at_address(const Call& call, const PathCall& row, std::uint64_t address, std::uint32_t length) {
  std::array<std::byte, kMostAddress> bytes{};
  constexpr std::size_t kPrefix = offsetof(sockaddr_un, sun_path);
  if (length <= kPrefix || length > bytes.size()) return;
  const auto given = std::span(bytes).first(length);
  if (!read_bytes(call.pid, address, given)) return lost(Why::kUnreadable);
  sockaddr_un unix_address{};
  std::memcpy(&unix_address, bytes.data(), std::min(given.size(), sizeof unix_address));
  if (unix_address.sun_family != AF_UNIX) {
    const auto free = std::ranges::find_if(seen_.addresses, [](const auto& one) { return !one; });
    if (free != seen_.addresses.end()) *free = parse_address(given);
    return;
  }
  if (unix_address.sun_path[0] == '\0') return;
  const std::size_t most = std::min(given.size(), sizeof unix_address) - kPrefix;
  const std::string_view text(unix_address.sun_path, strnlen(unix_address.sun_path, most));
  if (const auto why = anchored(call, {.path = row.first.path}, text, Root::kOfTheTarget)) return lost(*why);
  found(row.first.acts);
}

void Observer::look_at_execution(const Call& call, Fate fate) {
  std::string named(seen_.losses.front() ? std::string_view() : text_.text());
  if (watching_ == plan::Watching::kPrograms || fate == Fate::kLaunches) {
    seen_.count = 0;
    seen_.losses = {};
  }
  if (fate == Fate::kRefused) return;
  Known* entry = known(call.pid);
  if (entry != nullptr && !entry->process.process()) entry = known_anew(call.pid);
  const auto process = entry != nullptr ? entry->process.process() : std::nullopt;
  // By any of its threads: what comes out of it has the process' number, and its age.
  if (process && *process != call.pid) entry = known_anew(*process);
  const auto image = process && entry != nullptr ? entry->process.image() : std::nullopt;
  if (!image) return lost(Why::kEndNotSeen);
  seen_.executing = *process;
  seen_.pending = Pending{.before = *image, .named = std::move(named)};
}

void Observer::keep() {
  if (seen_.count != 0) keep_links();
  for (std::size_t i = 0; i < seen_.count; ++i)
    store_.add(seen_.paths.at(i), seen_.acts.at(i), seen_.program, seen_.row);
  for (const auto& address : seen_.addresses) {
    if (address) store_.add(*address, seen_.program, seen_.row);
  }
  for (const auto& why : seen_.losses) {
    if (why) store_.lose(*why);
  }
  if (!seen_.executing) return;
  if (pending_.size() >= kMostPending) return store_.lose(Why::kTooMany);
  // One that is there already is of a process that is gone, or of a sibling thread's call.
  pending_.insert_or_assign(*seen_.executing, std::move(*seen_.pending));
}

void Observer::settle(pid_t pid, Unchanged unchanged) {
  const auto pending = pending_.find(pid);
  if (pending == pending_.end()) return;
  Known* entry = known(pid);
  auto image = entry != nullptr ? entry->process.image() : std::nullopt;
  if (!image) {
    entry = known_anew(pid);
    image = entry != nullptr ? entry->process.image() : std::nullopt;
  }
  if (image == pending->second.before && unchanged == Unchanged::kMayStillCome) return;
  const Pending was = std::move(pending->second);
  pending_.erase(pending);
  if (!image || image->started != was.before.started) return store_.lose(Why::kEndNotSeen);
  if (*image == was.before) return;
  entry->program.reset();
  record(entry->process, was);
}

void Observer::settle_of_thread(pid_t thread) {
  Known* const entry = known(thread);
  const auto process = entry != nullptr ? entry->process.process() : std::nullopt;
  if (process && *process != thread) settle(*process);
}

void Observer::record(Process& process, const Pending& pending) {
  const auto link = process.link("exe", link_);
  if (!link) return store_.lose(Why::kEndNotSeen);
  plan::ExecutedProgram out{.path = std::string(*link)};
  Arguments arguments = process.arguments();
  out.loaded = interpreters(pending.named, arguments.list);
  auto known_loader = loaders_.find(out.path);
  if (known_loader == loaders_.end()) {
    if (loaders_.size() >= kMostPending) loaders_.clear();
    known_loader = loaders_.emplace(out.path, process.loader()).first;
  }
  if (!known_loader->second.empty()) out.loaded.push_back(known_loader->second);
  out.argv = std::move(arguments.list);
  out.argv_cut = arguments.cut;
  store_.add(std::move(out));
}

void Observer::look_at_all() {
  std::vector<pid_t> waiting;
  for (const auto& [pid, pending] : pending_) waiting.push_back(pid);
  for (const pid_t pid : waiting) settle(pid, Unchanged::kMayStillCome);
}

void Observer::finish(plan::Outcome& outcome) {
  for ([[maybe_unused]] const auto& pending : pending_) store_.lose(Why::kEndNotSeen);
  pending_.clear();
  known_.clear();
  outcome.reached = store_.addresses();
  outcome.observations = store_.take(watching_);
}

}  // namespace cordon::observe
