#include "cgroup/group.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/text.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/system.h"

namespace cordon::cgroup {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;

constexpr const char* kMark = "user.cordon";  // on what we made, so that it is ours to sweep

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

bool is_populated(FdView group) {
  const auto events = read_file(group, "cgroup.events", "");
  return !events || value_of(*events, "populated").value_or(1) != 0;
}

/// Whoever was killed is counted until it has let go of everything, which may be a moment after its end was told.
void wait_until_empty(FdView group) {
  const auto events = kernel::openat(group, "cgroup.events", O_RDONLY);
  constexpr int kPatienceMs = 1'000;
  for (int tries = 0; events && tries < 10 && is_populated(group); ++tries) {
    std::array<pollfd, 1> changed{pollfd{.fd = events->get(), .events = POLLPRI, .revents = 0}};
    static_cast<void>(kernel::poll(changed, kPatienceMs / 10).has_value());
  }
}

bool same_file(FdView directory, const std::string& name, FdView opened) {
  const auto there = kernel::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW);
  const auto ours = kernel::statx(opened);
  return there && ours && there->stx_ino == ours->stx_ino && kernel::device_of(*there) == kernel::device_of(*ours);
}

/// Nothing where it is not one that a Cordon left: in use, of somebody else, or not made by us.
Fd abandoned(FdView parent, const std::string& name, std::uint32_t uid) {
  auto group = kernel::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!group) return {};
  const auto facts = kernel::statx(*group);
  std::array<std::byte, 1> mark{};
  const bool ours = facts && facts->stx_uid == uid && kernel::fgetxattr(*group, kMark, mark).has_value();
  if (!ours || !kernel::flock(*group, LOCK_EX | LOCK_NB) || is_populated(*group)) return {};
  return std::move(*group);
}

bool remove_abandoned(FdView parent, const std::string& name, std::uint32_t uid) {
  const Fd group = abandoned(parent, name, uid);
  return group.valid() && kernel::unlinkat(parent, name.c_str(), AT_REMOVEDIR).has_value();
}

}  // namespace

Result<std::string> new_id() {
  std::uint64_t number = 0;
  if (auto drawn = kernel::getrandom(std::as_writable_bytes(std::span(&number, 1))); !drawn)
    return base::fail(kernel::error_at(drawn.error(), "the run's id"));
  return fmt::format("{:016x}", number);
}

std::size_t sweep(FdView directory, std::uint32_t uid) {
  auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return 0;
  static_cast<void>(readable->release());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get()))
    if (is_group_name(entry->d_name)) names.emplace_back(entry->d_name);
  std::size_t removed = 0;
  for (const std::string& name : names)
    if (remove_abandoned(directory, name, uid)) ++removed;
  return removed;
}

Result<Group> Group::make(plan::CgroupWay way, const Wanted& wanted, const std::string& id) {
  const Hierarchy hierarchy = read_hierarchy();
  if (way == plan::CgroupWay::kScope) {
    CORDON_TRY(Place place, scope_place(hierarchy, id));
    return make_in(std::move(place), wanted, id);
  }
  auto ours = direct_place(hierarchy, Claim::kOnlyOurs);
  if (!ours && ::geteuid() == 0) ours = direct_place(hierarchy, Claim::kForced);
  if (!ours) return base::fail(std::move(ours).error());
  return make_in(std::move(*ours), wanted, id);
}

Result<Group> Group::make_in(Place place, const Wanted& wanted, const std::string& id) {
  const bool in_scope = place.helper.valid();
  Group out(std::move(place), wanted);
  out.name_ = in_scope ? "run" : "cordon-" + id;
  out.path_ = out.place_.path + "/" + out.name_;
  out.settings_ = settings_of(wanted, page_size());
  CORDON_OK(out.delegate_controllers());
  CORDON_OK(out.make_directory());
  CORDON_OK(out.set());
  return out;
}

/// In the place itself: what its own groups may limit.
Result<void> Group::delegate_controllers() const {
  CORDON_TRY(const std::string there, read_file(place_.directory, "cgroup.controllers", place_.path));
  CORDON_TRY(const std::string given, read_file(place_.directory, "cgroup.subtree_control", place_.path));
  for (const std::string_view controller : controllers_of(wanted_)) {
    if (has_word(given, controller)) continue;
    if (!has_word(there, controller))
      return base::fail(Error{.operation = "read",
                              .subject = place_.path + "/cgroup.controllers",
                              .detail = fmt::format("the {} controller is not delegated to here", controller)});
    CORDON_OK(write_file(place_.directory, "cgroup.subtree_control", fmt::format("+{}", controller), place_.path));
  }
  return {};
}

/// Locked before anything else is done with it. A sweep that came in between has taken it away: then once more.
Result<void> Group::make_directory() {
  constexpr int kMostTries = 8;
  for (int tries = 0; tries < kMostTries; ++tries) {
    auto made = kernel::mkdirat(place_.directory, name_.c_str(), 0755);
    if (!made && made.error().code == EEXIST && remove_abandoned(place_.directory, name_, ::geteuid())) continue;
    if (!made) return base::fail(kernel::error_at(made.error(), path_));
    auto opened = kernel::openat(place_.directory, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!opened) continue;
    const bool locked = kernel::flock(*opened, LOCK_EX | LOCK_NB).has_value();
    if (!locked || !same_file(place_.directory, name_, *opened)) continue;
    directory_ = std::move(*opened);
    constexpr std::string_view kYes = "1";
    static_cast<void>(kernel::fsetxattr(directory_, kMark, std::as_bytes(std::span(kYes))).has_value());
    return {};
  }
  return base::fail(Error{.operation = "mkdir", .subject = path_, .detail = "is taken away as soon as it is made"});
}

Result<void> Group::set() {
  for (const Setting& setting : settings_) {
    const auto written = write_file(directory_, setting.file, setting.text, path_);
    if (!written && (setting.needed || written.error().code != ENOENT)) return written;
  }
  return attest_limits();
}

Group::~Group() {
  if (!directory_.valid()) return;
  wait_until_empty(directory_);
  static_cast<void>(kernel::unlinkat(place_.directory, name_.c_str(), AT_REMOVEDIR).has_value());
}

Result<void> Group::admit(pid_t pid) {
  auto moved = write_file(directory_, "cgroup.procs", fmt::format("{}", pid), path_);
  const bool denied = !moved && (moved.error().code == EACCES || moved.error().code == EPERM);
  if (denied && place_.helper.valid()) return place_.helper.attach(pid);
  return moved;
}

Result<void> Group::attest(std::span<const pid_t> pids) const {
  CORDON_OK(attest_limits());
  CORDON_TRY(const std::string inside, read_file(directory_, "cgroup.procs", path_));
  for (const pid_t pid : pids) {
    if (has_line(inside, static_cast<std::uint64_t>(pid))) continue;
    return base::fail(Error{.operation = "read",
                            .subject = path_ + "/cgroup.procs",
                            .detail = fmt::format("process {} of the run is not in it", pid)});
  }
  return {};
}

Result<void> Group::attest_limits() const {
  for (const Setting& setting : settings_) {
    auto said = read_file(directory_, setting.file, path_);
    if (!said && !setting.needed && said.error().code == ENOENT) continue;
    if (!said) return base::fail(std::move(said).error());
    while (said->ends_with('\n')) said->pop_back();
    if (*said == setting.expect) continue;
    return base::fail(Error{.operation = "read",
                            .subject = path_ + "/" + setting.file,
                            .detail = fmt::format("says {} where {} was set", base::quote(*said), setting.expect)});
  }
  return {};
}

std::uint64_t Group::count_in(const char* file, std::string_view key) const {
  const auto text = read_file(directory_, file, path_);
  return text ? value_of(*text, key).value_or(0) : 0;
}

plan::LimitsUse Group::use() const {
  plan::LimitsUse out;
  if (wanted_.memory_bytes != 0) {
    out.memory_kills = count_in("memory.events", "oom_kill");
    auto peak = read_file(directory_, "memory.peak", path_);
    while (peak && peak->ends_with('\n')) peak->pop_back();
    if (peak) out.memory_peak = base::parse_decimal(*peak).value_or(0);
  }
  if (wanted_.pids != 0) out.pids_refused = count_in("pids.events", "max");
  if (wanted_.cpu_hundredths != 0) {
    out.cpu_periods = count_in("cpu.stat", "nr_periods");
    out.cpu_throttled = count_in("cpu.stat", "nr_throttled");
    out.cpu_usec = count_in("cpu.stat", "usage_usec");
  }
  return out;
}

}  // namespace cordon::cgroup
