// A short text for a system call, put together without an allocator: mount options, paths in /proc. Cut, never overrun.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cordon::kernel {

class ShortText {
 public:
  ShortText& add(const char* text) {
    while (*text != '\0') put(*text++);
    return *this;
  }
  ShortText& number(std::uint64_t value, unsigned base = 10) {
    std::array<char, 24> digits{};
    std::size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + value % base);
      value /= base;
    } while (value != 0);
    while (n != 0) put(digits[--n]);
    return *this;
  }
  [[nodiscard]] const char* c_str() const { return bytes_.data(); }

 private:
  void put(char c) {
    if (size_ + 1 < bytes_.size()) bytes_[size_++] = c;
  }
  std::array<char, 64> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace cordon::kernel
