// Files of our own in private directories: fields, each with a NUL behind it, and how such a file is read whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "enforce/promote/beneath.h"

namespace cordon::enforce::promote {

/// Fields, each with a NUL behind it: a path may hold every other byte.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  std::string_view text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      good_ = false;
      return {};
    }
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return out;
  }
  std::uint64_t number(std::uint64_t most = UINT64_MAX) {
    const auto value = base::parse_decimal(text());
    good_ = good_ && value && *value <= most;
    return good_ ? *value : 0;
  }
  /// Seconds before 1970 are below zero.
  std::int64_t seconds() {
    std::string_view digits = text();
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    const auto value = base::parse_decimal(digits);
    good_ = good_ && value && *value <= INT64_MAX;
    if (!good_) return 0;
    return negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value);
  }
  template <class Enum>
  Enum one_of(Enum last) {
    return static_cast<Enum>(number(static_cast<std::uint64_t>(last)));
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

inline void put_field(std::string& out, std::string_view text) { out.append(text).push_back('\0'); }

/// EFBIG for what is larger than `most` or no regular file.
inline Sys<std::string> read_whole(FdView directory, const char* name, std::uint64_t most) {
  CORDON_TRY(const Fd file, open_beneath(directory, name, O_RDONLY));
  CORDON_TRY(const Facts facts, kernel::statx(file));
  if (!S_ISREG(facts.stx_mode) || facts.stx_size > most) return base::fail(kernel::Errno{EFBIG, "statx"});
  std::string out(static_cast<std::size_t>(facts.stx_size), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    CORDON_TRY(const std::size_t got, kernel::pread(file, std::as_writable_bytes(std::span(out)).subspan(have), have));
    if (got == 0) break;
    have += got;
  }
  out.resize(have);
  return out;
}

}  // namespace cordon::enforce::promote
