// Fd owns a file descriptor; FdView names one without owning it. Every descriptor of ours is born O_CLOEXEC and has one
// owner. Not convertible to or from int by accident: 0 is a descriptor, not false.
#pragma once

#include <unistd.h>

#include <utility>

namespace cordon::base {

class FdView {
 public:
  constexpr FdView() = default;
  constexpr explicit FdView(int number) : number_(number) {}
  [[nodiscard]] constexpr int get() const { return number_; }
  [[nodiscard]] constexpr bool valid() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

class [[nodiscard]] Fd {
 public:
  constexpr Fd() = default;
  constexpr explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }
  [[nodiscard]] FdView view() const { return FdView(number_); }
  operator FdView() const { return FdView(number_); }  // NOLINT: a view of an owner is always right
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace cordon::base
