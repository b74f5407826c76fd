// The texts of a thousand paths in a few blocks, which go together. What is answered stays where it is, whatever is
// added later: rules only point at it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace cordon::policy::shield {

class Texts {
 public:
  /// The parts, one behind the other.
  std::string_view add(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    if (size > left_) grow(size);
    char* const start = next_;
    for (const std::string_view part : parts) {
      if (!part.empty()) std::memcpy(next_, part.data(), part.size());
      next_ += part.size();
    }
    left_ -= size;
    return {start, size};
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 16U;
  void grow(std::size_t size) {
    left_ = std::max(size, kBlock);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    next_ = blocks_.back().get();
  }
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace cordon::policy::shield
