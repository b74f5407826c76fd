// Reading a whole file once, in blocks, and telling whether somebody wrote to it meanwhile. Private to this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fd.h"
#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::policy::approval {

enum class ReadEnd : std::uint8_t {
  kComplete,
  kTooLong,   ///< more than `most` bytes
  kUnsteady,  ///< its size or change time moved while it was read
};

/// Hands the bytes of `file`, from its start, to `sink(std::string_view)`. A file that a FUSE server never finishes is
/// bounded like any other.
template <class Sink>
kernel::Sys<ReadEnd> read_steadily(base::FdView file, std::uint64_t most, Sink sink) {
  const auto before = kernel::statx(file);
  if (!before) return base::fail(before.error());
  std::array<std::byte, 16384> block;  // every page of it is touched, by each run
  std::uint64_t taken = 0;
  while (true) {
    const auto n = kernel::pread(file, block, taken);
    if (!n) return base::fail(n.error());
    if (*n == 0) break;
    taken += *n;
    if (taken > most) return ReadEnd::kTooLong;
    sink(std::string_view(reinterpret_cast<const char*>(block.data()), *n));
  }
  const auto after = kernel::statx(file);
  if (!after) return base::fail(after.error());
  const bool steady = before->stx_ctime.tv_sec == after->stx_ctime.tv_sec &&
                      before->stx_ctime.tv_nsec == after->stx_ctime.tv_nsec && before->stx_size == after->stx_size;
  return steady ? ReadEnd::kComplete : ReadEnd::kUnsteady;
}

}  // namespace cordon::policy::approval
