// NewFile: a file being written beside the one that it will replace.
//
// Born under a random name with O_EXCL | O_NOFOLLOW (nothing that somebody planted is opened or truncated), mode 0600,
// and unlinked again by the destructor unless it was put in place. All names are relative to one held directory. As
// long as it exists INT, TERM and HUP wait, of the thread that made it: whoever ends us leaves no half of it.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "kernel/errno.h"

namespace cordon::policy::approval {

/// INT, TERM and HUP wait as long as it exists, of the calling thread. Ends before one that was made earlier.
class EndsWait {
 public:
  EndsWait();
  EndsWait(EndsWait&& other) noexcept : before_(std::exchange(other.before_, std::nullopt)) {}
  EndsWait(const EndsWait&) = delete;
  EndsWait& operator=(const EndsWait&) = delete;
  EndsWait& operator=(EndsWait&&) = delete;
  ~EndsWait();

 private:
  std::optional<sigset_t> before_;
};

class NewFile {
 public:
  /// `directory` must outlive this. `prefix` comes before six random letters.
  static kernel::Sys<NewFile> create(base::FdView directory, std::string_view prefix);

  NewFile(NewFile&& other) noexcept;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] base::FdView fd() const { return file_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Writes all of it; then fsync makes it last.
  kernel::Sys<void> write(std::string_view text);
  kernel::Sys<void> sync();

  /// Takes the place of `name`, whatever is there.
  kernel::Sys<void> replace(const std::string& name);

  /// Takes the place of `name`, where nothing is. EEXIST where something is.
  kernel::Sys<void> place(const std::string& name);

  /// Changes places with `name`, which must exist: afterwards name() leads to what was there before. Once more undoes
  /// it. EINVAL or ENOSYS where the file system cannot.
  kernel::Sys<void> exchange(const std::string& name);

  /// name() leads to a file that has been replaced: remove that one, and keep this.
  void settle();

  /// The descriptor, readable and writable, of a file that is in its place.
  [[nodiscard]] base::Fd take() { return std::move(file_); }

 private:
  NewFile(base::FdView directory, std::string name, base::Fd file, EndsWait ends)
      : ends_(std::move(ends)), directory_(directory), name_(std::move(name)), file_(std::move(file)) {}

  EndsWait ends_;
  base::FdView directory_;
  std::string name_;
  base::Fd file_;
};

/// Makes a rename in `directory` (which may be O_PATH) last. A directory that may not be read cannot be synced; the
/// rename stands all the same.
void sync_directory(base::FdView directory);

}  // namespace cordon::policy::approval
