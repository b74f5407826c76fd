#include "policy/approval/new_file.h"

#include <array>
#include <cstdio>
#include <span>

#include "kernel/file.h"
#include "kernel/process.h"
#include "policy/approval/walk.h"

namespace cordon::policy::approval {
namespace {

kernel::Sys<std::string> random_letters() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<std::byte, 6> random{};
  if (auto drawn = kernel::getrandom(random); !drawn) return base::fail(drawn.error());
  std::string letters;
  for (std::byte byte : random) letters += kLetters[std::to_integer<std::size_t>(byte) % kLetters.size()];
  return letters;
}

}  // namespace

EndsWait::EndsWait() {
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  if (kernel::thread_sigmask(SIG_BLOCK, ends, &before)) before_ = before;
}

EndsWait::~EndsWait() {
  if (before_) static_cast<void>(kernel::thread_sigmask(SIG_SETMASK, *before_));
}

kernel::Sys<NewFile> NewFile::create(base::FdView directory, std::string_view prefix) {
  EndsWait ends;
  constexpr int kAttempts = 16;
  for (int attempt = 1;; ++attempt) {
    CORDON_TRY(const std::string letters, random_letters());
    std::string name = std::string(prefix) + letters;
    auto file = kernel::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (file) return NewFile(directory, std::move(name), std::move(*file), std::move(ends));
    if (file.error().code != EEXIST || attempt == kAttempts) return base::fail(file.error());
  }
}

NewFile::NewFile(NewFile&& other) noexcept
    : ends_(std::move(other.ends_)),
      directory_(other.directory_),
      name_(std::exchange(other.name_, {})),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
  if (name_.empty() || !file_.valid()) return;
  // Only ever our own: somebody with write permission in the directory may have put another file under the name.
  const auto there = kernel::statx(directory_, name_.c_str(), AT_SYMLINK_NOFOLLOW);
  const auto ours = kernel::statx(file_);
  if (!there || !ours || there->stx_ino != ours->stx_ino || there->stx_dev_minor != ours->stx_dev_minor ||
      there->stx_dev_major != ours->stx_dev_major) {
    return;
  }
  (void)kernel::unlinkat(directory_, name_.c_str(), 0).has_value();
}

kernel::Sys<void> NewFile::write(std::string_view text) {
  return kernel::write_all(file_, std::as_bytes(std::span(text)));
}

kernel::Sys<void> NewFile::sync() { return kernel::fsync(file_); }

kernel::Sys<void> NewFile::replace(const std::string& name) {
  auto renamed = kernel::renameat2(directory_, name_.c_str(), directory_, name.c_str(), 0);
  if (renamed) name_.clear();
  return renamed;
}

kernel::Sys<void> NewFile::place(const std::string& name) {
  auto renamed = kernel::renameat2(directory_, name_.c_str(), directory_, name.c_str(), RENAME_NOREPLACE);
  if (renamed) name_.clear();
  return renamed;
}

kernel::Sys<void> NewFile::exchange(const std::string& name) {
  return kernel::renameat2(directory_, name_.c_str(), directory_, name.c_str(), RENAME_EXCHANGE);
}

void NewFile::settle() {
  (void)kernel::unlinkat(directory_, name_.c_str(), 0).has_value();
  name_.clear();
}

void sync_directory(base::FdView directory) {
  const auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (readable) (void)kernel::fsync(*readable).has_value();
}

}  // namespace cordon::policy::approval
