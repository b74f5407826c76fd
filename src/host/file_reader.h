// Reads of one file for the parsers of program_format.h, the first of them remembered: it covers a `#!` line and, in
// all but odd files, an ELF file's tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "kernel/file.h"

namespace cordon::host {

/// Reads of one file, the first of them remembered.
class FileReader {
 public:
  explicit FileReader(base::Fd fd) : fd_(std::move(fd)) { head_size_ = read(0, head_).value_or(0); }

  [[nodiscard]] std::string_view head() const { return {reinterpret_cast<const char*>(head_.data()), head_size_}; }
  [[nodiscard]] bool fill(std::uint64_t offset, std::span<std::byte> into) const {
    if (into.size() <= head_size_ && offset <= head_size_ - into.size()) {
      std::memcpy(into.data(), head_.data() + offset, into.size());
      return true;
    }
    // No file is that long, and the sum below must not wrap.
    if (offset > (std::uint64_t{1} << 62U)) return false;
    return read(offset, into).value_or(0) == into.size();
  }

 private:
  [[nodiscard]] kernel::Sys<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) const {
    return kernel::pread(fd_, into, offset);
  }
  base::Fd fd_;
  std::array<std::byte, 4096> head_{};
  std::size_t head_size_ = 0;
};

}  // namespace cordon::host
