#include "enforce/promote/beneath.h"

#include "kernel/inode.h"

namespace cordon::enforce::promote {

Sys<Fd> open_locked_directory(FdView root, std::string_view path) {
  auto opened = open_directory(root, path);
  if (opened || opened.error().code != EACCES) return opened;
  CORDON_TRY(const Fd object, open_beneath(root, path, O_PATH | O_DIRECTORY));
  CORDON_OK(kernel::chmod_object(object, 0700));
  return open_directory(root, path);
}

Sys<void> make_writable(FdView directory) {
  CORDON_TRY(const Facts facts, kernel::statx(directory));
  const mode_t mode = facts.stx_mode & 07777U;
  if ((mode & 0700U) == 0700) return {};
  return kernel::fchmod(directory, mode | 0700U);
}

}  // namespace cordon::enforce::promote
