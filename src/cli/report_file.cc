#include "cli/report_file.h"

#include <utility>

#include "kernel/file.h"
#include "policy/approval/new_file.h"

namespace cordon::cli {
namespace {

base::Error not_a_file(const std::string& path, const char* why) {
  return {.operation = "--report", .subject = path, .detail = why};
}

/// A link is replaced, never followed; a device, FIFO or directory is not what a report replaces.
bool can_be_replaced(const kernel::Sys<struct ::statx>& there) {
  if (!there) return there.error().code == ENOENT;
  return S_ISREG(there->stx_mode) || S_ISLNK(there->stx_mode);
}

}  // namespace

base::Result<ReportFile> ReportFile::at(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty() || name == "." || name == "..") return base::fail(not_a_file(path, "it names a directory"));
  auto held = kernel::openat(kernel::kHere, directory.c_str(), O_PATH | O_DIRECTORY);
  if (!held) return base::fail(kernel::error_at(held.error(), path));
  if (!can_be_replaced(kernel::statx(*held, name.c_str(), AT_SYMLINK_NOFOLLOW)))
    return base::fail(not_a_file(path, "it is no regular file"));
  return ReportFile(std::move(*held), std::move(name), path);
}

base::Result<void> ReportFile::write(std::string_view document) const {
  const auto say = [this](kernel::Errno why) { return base::fail(kernel::error_at(why, path_)); };
  if (!can_be_replaced(kernel::statx(directory_, name_.c_str(), AT_SYMLINK_NOFOLLOW)))
    return base::fail(not_a_file(path_, "it is no regular file"));
  auto file = policy::approval::NewFile::create(directory_, ".cordon-report-");
  if (!file) return say(file.error());
  if (auto written = file->write(document); !written) return say(written.error());
  const mode_t mask = ::umask(077);
  ::umask(mask);
  if (auto changed = kernel::fchmod(file->fd(), 0644 & ~mask); !changed) return say(changed.error());
  if (auto placed = file->replace(name_); !placed) return say(placed.error());
  return {};
}

}  // namespace cordon::cli
