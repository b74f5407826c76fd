#include "enforce/promote/copy.h"

#include <unistd.h>

#include <array>
#include <span>

#include "kernel/inode.h"

namespace cordon::enforce::promote {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 30U;

timespec accessed(const Facts& facts) {
  return {.tv_sec = facts.stx_atime.tv_sec, .tv_nsec = static_cast<long>(facts.stx_atime.tv_nsec)};
}
timespec modified(const Facts& facts) {
  return {.tv_sec = facts.stx_mtime.tv_sec, .tv_nsec = static_cast<long>(facts.stx_mtime.tv_nsec)};
}

Sys<void> copy_by_hand(FdView from, FdView to) {
  std::array<std::byte, 65'536> buffer{};
  while (true) {
    CORDON_TRY(const std::size_t got, kernel::read(from, buffer));
    if (got == 0) return {};
    CORDON_OK(kernel::write_all(to, std::span(buffer).first(got)));
  }
}

Sys<void> copy_content(FdView from, FdView to) {
  if (kernel::clone_content(from, to)) return {};
  while (true) {
    const auto got = kernel::copy_file_range(from, to, kChunk);
    if (got && *got == 0) return {};
    if (got) continue;
    const int code = got.error().code;
    // Between two kinds of file systems, and before 5.19 between any two; nothing has been copied then.
    if (code == EXDEV || code == EINVAL || code == EOPNOTSUPP || code == ENOSYS) return copy_by_hand(from, to);
    return base::fail(got.error());
  }
}

}  // namespace

Sys<void> give_to(FdView directory, const char* name, Arrival arrival) {
  if (::geteuid() != 0 || arrival.uid == 0) return {};
  return kernel::change_owner(directory, name, arrival.uid, arrival.gid);
}

Sys<void> remove_name(FdView directory, const char* name) {
  const auto gone = kernel::unlinkat(directory, name, 0);
  return gone || gone.error().code == ENOENT ? Sys<void>() : gone;
}

Sys<void> copy_file(FdView from, const char* name, FdView to, const char* new_name, Arrival arrival) {
  auto opened = open_beneath(from, name, O_RDONLY);
  if (!opened && opened.error().code == EACCES) {  // its mode has been given back to it
    CORDON_TRY(const Fd object, open_beneath(from, name, O_PATH));
    CORDON_OK(kernel::chmod_object(object, 0600));
    opened = open_beneath(from, name, O_RDONLY);
  }
  CORDON_TRY(const Fd source, std::move(opened));
  CORDON_TRY(const Facts facts, kernel::statx(source));
  if (!S_ISREG(facts.stx_mode)) return base::fail(kernel::Errno{EINVAL, "openat2"});
  CORDON_TRY(const Fd copy, kernel::openat(to, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  CORDON_OK(copy_content(source, copy));
  CORDON_OK(give_to(to, new_name, arrival));
  CORDON_OK(kernel::fchmod(copy, arrival.mode));
  return kernel::set_times(copy, "", accessed(facts), modified(facts));
}

Sys<void> copy_link(FdView from, const char* name, FdView to, const char* new_name, Arrival arrival) {
  std::array<char, 4096> target{};
  CORDON_TRY(const Facts facts, look(from, name));
  CORDON_TRY(const std::size_t size, kernel::readlinkat(from, name, target));
  if (size == target.size()) return base::fail(kernel::Errno{ENAMETOOLONG, "readlinkat"});
  CORDON_OK(kernel::symlinkat(target.data(), to, new_name));
  CORDON_OK(give_to(to, new_name, arrival));
  return kernel::set_times(to, new_name, accessed(facts), modified(facts));
}

}  // namespace cordon::enforce::promote
