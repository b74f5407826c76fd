#include "cli/report_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <expected>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/new_file.h"

namespace cordon::cli {
namespace {

using policy::approval::NewFile;

constexpr std::string_view kPrefix = ".cordon-report-";

std::unexpected<base::Error> cannot(const char* flag, const std::string& path, std::string why) {
  return base::fail(base::Error{.operation = flag, .subject = path, .detail = std::move(why)});
}

/// Behind the name of a directory: why nothing can be put there.
std::string why_no_place(kernel::Errno why) {
  switch (why.code) {
    case ENOENT:
      return "does not exist: make it first, or name another directory";
    case ENOTDIR:
      return "is no directory: name one";
    case EACCES:
    case EPERM:
      return "is not yours to write in: name a directory that is";
    case EROFS:
      return "is on a file system that is mounted read-only: name another directory";
    default:
      return fmt::format("cannot be used ({}): name another directory", base::errno_name(why.code));
  }
}

/// Where the directory really lies, for whoever is asked to name that.
std::string real_place(const std::string& directory) {
  const auto followed = kernel::openat(kernel::kHere, directory.c_str(), O_PATH | O_DIRECTORY);
  if (!followed) return {};
  std::array<char, PATH_MAX> text{};
  const std::string link = fmt::format("/proc/self/fd/{}", followed->get());
  const auto length = kernel::readlinkat(kernel::kHere, link.c_str(), text);
  return length ? std::string(text.data(), *length) : std::string();
}

bool is_same(const struct ::statx& a, const struct ::statx& b) {
  return a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

}  // namespace

base::Result<ReportFile> ReportFile::at(const char* flag, const std::string& path, std::uint32_t caller,
                                        Readers readers) {
  if (path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/"))
    return cannot(flag, path, "it is no regular file; --json writes to standard output");
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty() || name == "." || name == "..") return cannot(flag, path, "it names a directory");
  auto held = kernel::openat2(kernel::kHere, directory.c_str(),
                              {.flags = O_PATH | O_DIRECTORY, .mode = 0, .resolve = kernel::kResolveNoSymlinks});
  if (!held && held.error().code == ELOOP) {
    const std::string real = real_place(directory);
    return cannot(flag, path,
                  real.empty() ? "a link is on the way to it"
                               : fmt::format("a link is on the way to it; give its real path: {}/{}", base::shown(real),
                                             base::shown(name)));
  }
  if (!held) return cannot(flag, path, fmt::format("{} {}", base::shown(directory), why_no_place(held.error())));
  ReportFile file(flag, std::move(*held), std::move(name), path, caller, readers);
  CORDON_OK(file.may_replace());
  // Whoever learns after the run that nothing can be written there has lost what the run cost.
  if (auto proof = NewFile::create(file.directory_, kPrefix); !proof)
    return cannot(flag, path, fmt::format("{} {}", base::shown(directory), why_no_place(proof.error())));
  return file;
}

base::Result<void> ReportFile::may_replace() const {
  const auto there = kernel::statx(directory_, name_.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!there && there.error().code == ENOENT) return {};
  if (!there) return base::fail(kernel::error_at(there.error(), path_));
  if (S_ISLNK(there->stx_mode)) return cannot(flag_, path_, "it is a link, which is neither followed nor replaced");
  if (!S_ISREG(there->stx_mode)) return cannot(flag_, path_, "it is no regular file");
  if (there->stx_uid != caller_) return cannot(flag_, path_, fmt::format("it belongs to user {}", there->stx_uid));
  for (const std::string& spared : spared_) {
    const auto other = kernel::statx(kernel::kHere, spared.c_str(), 0);
    if (other && is_same(*there, *other)) return cannot(flag_, path_, "the run needs that file itself: name another");
  }
  return {};
}

base::Result<void> ReportFile::spare(std::vector<std::string> files) {
  spared_ = std::move(files);
  return may_replace();
}

base::Result<void> ReportFile::write(std::string_view document) const {
  const auto say = [this](kernel::Errno why) { return base::fail(kernel::error_at(why, path_)); };
  CORDON_OK(may_replace());
  auto file = NewFile::create(directory_, kPrefix);
  if (!file) return say(file.error());
  if (auto written = file->write(document); !written) return say(written.error());
  const mode_t mask = ::umask(077);
  ::umask(mask);
  const mode_t mode = readers_ == Readers::kOwner ? 0600 : 0644 & ~mask;
  if (auto changed = kernel::fchmod(file->fd(), mode); !changed) return say(changed.error());
  if (auto placed = file->replace(name_); !placed) return say(placed.error());
  return {};
}

}  // namespace cordon::cli
