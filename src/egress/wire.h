// Writer and Reader: the broker's messages and its configuration as bytes. Both ends run on one machine and are of one
// build, so numbers are in the machine's order.
//
// A Reader never reads beyond its bytes: a field that is not there reads as zero and makes the whole reader bad, which
// whoever decodes looks at once, at the end. A Reader allocates only what the bytes hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cordon::egress {

class Writer {
 public:
  template <class T>
    requires std::is_integral_v<T>
  void number(T value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
  }
  /// At most 65,535 bytes, after their count.
  void text(std::string_view text) {
    const auto size = static_cast<std::uint16_t>(text.size());
    number(size);
    raw(std::as_bytes(std::span(text.data(), size)));
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_integral_v<T>
  T number() {
    T value{};
    const auto from = take(sizeof value);
    if (from.size() == sizeof value) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  /// A number that may not be above `most`.
  template <class T>
  T number_up_to(T most) {
    const T value = number<T>();
    if (value > most) bad_ = true;
    return bad_ ? T{} : value;
  }
  std::string_view text(std::size_t longest) {
    const auto size = number<std::uint16_t>();
    if (size > longest) bad_ = true;
    const auto from = take(size);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::span<const std::byte> take(std::size_t size) {
    if (bad_ || size > rest_.size()) {
      bad_ = true;
      return {};
    }
    const auto out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }
  void fail() { bad_ = true; }
  [[nodiscard]] bool bad() const { return bad_; }
  /// All was there, and nothing is left.
  [[nodiscard]] bool finished() const { return !bad_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool bad_ = false;
};

}  // namespace cordon::egress
