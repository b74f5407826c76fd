#include "cli/state.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <vector>

#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/approval/private_directory.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

/// Private, or not used: as root, with somebody's $HOME, this must not be led elsewhere by that person's links.
base::Result<base::Fd> open_private(const std::string& state_directory, base::FdView state, approval::Caller caller,
                                    Missing missing) {
  const std::string path = state_directory + "/runs";
  approval::Opened there = state.valid() ? approval::open_private_directory_in(state, "runs", caller)
                                         : approval::open_private_directory(path, caller);
  if (there.state == approval::Opened::State::kPrivate) return std::move(there.fd);
  if (missing == Missing::kLeave) return base::fail(base::Error{.operation = "open", .subject = path, .code = ENOENT});
  return approval::make_private_directory(path, caller);
}

std::vector<std::string> records_in(base::FdView directory) {
  std::vector<std::string> names = names_in(directory);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".json"); });
  std::ranges::sort(names);
  return names;
}

void make_room(base::FdView directory) {
  const std::vector<std::string> names = records_in(directory);
  for (std::size_t i = 0; i + kMostRecords <= names.size(); ++i)
    static_cast<void>(kernel::unlinkat(directory, names[i].c_str(), 0));
}

/// In UTC. Not by gmtime_r(3), which reads the host's time zone for it.
std::string in_utc(const timespec& now, fmt::format_string<int, unsigned, unsigned, int, int, int> form) {
  using std::chrono::sys_seconds;
  const sys_seconds at{std::chrono::seconds(now.tv_sec)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const auto second = static_cast<int>((at - day).count());
  return fmt::format(form, static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), second / 3600, second / 60 % 60, second % 60);
}

timespec now() {
  timespec out{};
  ::clock_gettime(CLOCK_REALTIME, &out);
  return out;
}

}  // namespace

std::string now_rfc3339() { return in_utc(now(), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z"); }

std::string new_run_id() {
  const timespec at = now();
  return in_utc(at, "{:04}{:02}{:02}T{:02}{:02}{:02}") + fmt::format(".{:09}Z-{}", at.tv_nsec, ::getpid());
}

base::Result<base::Fd> open_records(const std::string& state_directory, base::FdView state, approval::Caller caller,
                                    Missing missing) {
  if (state_directory.empty())
    return base::fail(
        base::Error{.operation = "open", .subject = "", .detail = "neither XDG_STATE_HOME nor a home is set"});
  CORDON_TRY(base::Fd directory, open_private(state_directory, state, caller, missing));
  make_room(directory);
  return directory;
}

namespace {

/// Some hundred destinations and names; what is larger is no record of ours.
constexpr std::size_t kLongestRecord = std::size_t{8} << 20U;

base::Result<std::string> read_whole(base::FdView records, const std::string& name) {
  const auto at = [&](const auto& failure) { return base::fail(kernel::error_at(failure.error(), name)); };
  auto file = kernel::openat(records, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return at(file);
  const auto facts = kernel::statx(*file);
  if (!facts) return at(facts);
  if (!S_ISREG(facts->stx_mode) || facts->stx_size > kLongestRecord)
    return base::fail(base::Error{.operation = "read", .subject = name, .detail = "it is no record of a run"});
  std::string out(static_cast<std::size_t>(facts->stx_size), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(out)).subspan(have), have);
    if (!got) return at(got);
    if (*got == 0) break;
    have += *got;
  }
  out.resize(have);
  return out;
}

}  // namespace

base::Result<std::optional<StoredRecord>> find_record(const std::string& state_directory, approval::Caller caller,
                                                      std::string_view id) {
  if (state_directory.empty()) return std::nullopt;
  const approval::Opened place = approval::open_private_directory(state_directory + "/runs", caller);
  if (place.state == approval::Opened::State::kUntrusted)
    return base::fail(base::Error{.operation = "open", .subject = state_directory + "/runs", .detail = place.why});
  if (place.state == approval::Opened::State::kAbsent) return std::nullopt;
  std::vector<std::string> names = records_in(place.fd);
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(id); });
  if (names.empty() || (!id.empty() && names.size() > 1)) return std::nullopt;
  StoredRecord out{.id = names.back().substr(0, names.back().size() - std::string_view(".json").size()),
                   .document = {}};
  CORDON_TRY(out.document, read_whole(place.fd, names.back()));
  return out;
}

base::Result<void> write_record(base::FdView records, const std::string& id, std::string_view document) {
  const std::string name = id + ".json";
  const auto at = [&](const auto& failure) { return base::fail(kernel::error_at(failure.error(), name)); };
  auto file = kernel::openat(records, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return at(file);
  if (auto written = kernel::write_all(*file, std::as_bytes(std::span(document))); !written) {
    static_cast<void>(kernel::unlinkat(records, name.c_str(), 0));
    return at(written);
  }
  return {};
}

}  // namespace cordon::cli
