#include "cli/state.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

#include "kernel/file.h"
#include "policy/approval/private_directory.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

/// Private, or not used: as root, with somebody's $HOME, this must not be led elsewhere by that person's links.
base::Result<base::Fd> open_private(const std::string& path, approval::Caller caller) {
  approval::Opened there = approval::open_private_directory(path, caller);
  if (there.state == approval::Opened::State::kPrivate) return std::move(there.fd);
  return approval::make_private_directory(path, caller);
}

std::vector<std::string> records_in(base::FdView directory) {
  std::vector<std::string> names;
  auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return names;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get()))
    if (const std::string name = entry->d_name; name.ends_with(".json")) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void prune(base::FdView directory) {
  const std::vector<std::string> names = records_in(directory);
  for (std::size_t i = 0; i + kMostRecords < names.size(); ++i)
    static_cast<void>(kernel::unlinkat(directory, names[i].c_str(), 0));
}

std::tm utc(std::time_t seconds) {
  std::tm out{};
  ::gmtime_r(&seconds, &out);
  return out;
}

}  // namespace

std::string now_rfc3339() {
  const std::tm now = utc(std::time(nullptr));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", now.tm_year + 1900, now.tm_mon + 1, now.tm_mday,
                     now.tm_hour, now.tm_min, now.tm_sec);
}

std::string new_run_id() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::tm at = utc(now.tv_sec);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}.{:09}Z-{}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
                     at.tm_hour, at.tm_min, at.tm_sec, now.tv_nsec, ::getpid());
}

base::Result<void> write_record(const std::string& state_directory, const std::string& id,
                                policy::approval::Caller caller, std::string_view document) {
  if (state_directory.empty())
    return base::fail(
        base::Error{.operation = "open", .subject = "", .detail = "neither XDG_STATE_HOME nor a home is set"});
  CORDON_TRY(const base::Fd directory, open_private(state_directory + "/runs", caller));
  const std::string name = id + ".json";
  const auto at = [&](const auto& failure) { return base::fail(kernel::error_at(failure.error(), name)); };
  auto file = kernel::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return at(file);
  if (auto written = kernel::write_all(*file, std::as_bytes(std::span(document))); !written) {
    static_cast<void>(kernel::unlinkat(directory, name.c_str(), 0));
    return at(written);
  }
  prune(directory);
  return {};
}

}  // namespace cordon::cli
