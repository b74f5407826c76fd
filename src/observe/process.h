// What is asked of the process behind a notification: its memory, where it stands, what it runs.
//
// Only /proc and process_vm_readv(2); nothing that the target names is opened. Its directory of /proc is held open, so
// that what is read through it is never another process' that got the same number.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "observe/process_text.h"

namespace cordon::observe {

inline constexpr std::size_t kMostPath = 4096;  // PATH_MAX, its NUL included

/// Of a text in the target's memory.
enum class Read : std::uint8_t { kWhole, kNoEnd, kUnreadable };

/// A NUL-terminated text, as far as kMostPath.
class PathBuffer {
 public:
  Read read(pid_t pid, std::uint64_t address);
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, kMostPath> bytes_;  // NOLINT: as far as size_ says
  std::size_t size_ = 0;
};

/// So many bytes, or nothing.
bool read_bytes(pid_t pid, std::uint64_t address, std::span<std::byte> into);

class Process {
 public:
  static std::optional<Process> open(pid_t pid);

  /// Where a link of its directory in /proc leads: "cwd", "exe", "fd/3". Nothing where there is none, or where
  /// it does not fit.
  std::optional<std::string_view> link(const char* name, std::span<char> into) const;
  std::optional<std::string_view> descriptor(int number, std::span<char> into) const;

  /// One of these links, held. The kernel follows it anew each time it is read, so it tells where the process'
  /// directory or descriptor is now; that it is held only spares the way to it. It holds nothing of what it leads to.
  class Link {
   public:
    explicit Link(base::Fd link) : link_(std::move(link)) {}
    std::optional<std::string_view> read(std::span<char> into) const;

   private:
    base::Fd link_;
  };
  [[nodiscard]] std::optional<Link> hold(const char* name) const;
  [[nodiscard]] std::optional<Link> hold_descriptor(int number) const;
  /// Whether a descriptor is a directory.
  [[nodiscard]] bool is_directory(int number) const;

  [[nodiscard]] std::optional<Image> image() const;
  /// The process that the thread belongs to.
  [[nodiscard]] std::optional<pid_t> process() const;
  [[nodiscard]] Arguments arguments() const;
  /// The path of the loader that runs it; "" where there is none.
  [[nodiscard]] std::string loader() const;

 private:
  explicit Process(base::Fd directory) : directory_(std::move(directory)) {}
  /// The beginning of a file, as much as fits.
  std::span<std::byte> read_file(const char* name, std::span<std::byte> into) const;

  base::Fd directory_;
};

}  // namespace cordon::observe
