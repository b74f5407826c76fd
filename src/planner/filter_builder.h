// What the files that make seccomp programs share: rules for one architecture, whatever we run on, through libseccomp.
//
// Used by filters.cc and exec_filter.cc only. Nothing here decides what is closed.
#pragma once

#include <linux/filter.h>
#include <seccomp.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cordon::planner {

inline constexpr std::uint32_t kX32Bit = 0x40000000;

/// SCMP_ARCH_…; nothing for a machine that no filter is made for.
std::optional<std::uint32_t> architecture(std::string_view machine);

/// Whether the library knows the call on this architecture, and its number there.
bool knows(std::uint32_t arch, const char* name);
std::uint32_t number_of(std::uint32_t arch, const char* name);

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value);

/// Remembers whether all went well.
class Builder {
 public:
  explicit Builder(std::uint32_t arch);
  /// Nothing where there is no such call on this architecture.
  void rule(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> when = {});
  /// struct sock_filter[]; empty where something went wrong.
  [[nodiscard]] std::vector<std::uint8_t> program() const;

 private:
  void attribute(scmp_filter_attr which, std::uint32_t value);

  std::uint32_t arch_;
  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  std::unique_ptr<void, Release> context_;
  bool good_ = false;
};

/// One program of both, where the second is not empty: `before` hands on by running off its end.
std::vector<std::uint8_t> joined(std::span<const sock_filter> before, std::span<const std::uint8_t> after);

}  // namespace cordon::planner
