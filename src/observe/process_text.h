// The files of /proc/PID that tell what runs there: pure parsing.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::observe {

/// Of /proc/PID/stat. The addresses are drawn anew by each execve, and by nothing else.
struct Image {
  std::uint64_t started = 0;                    ///< the process; with the pid it names one
  std::array<std::uint64_t, 5> addresses = {};  ///< of the stack, the arguments and the environment
  friend bool operator==(const Image&, const Image&) = default;
};
std::optional<Image> parse_image(std::string_view stat);

/// "Tgid:" of /proc/TID/status.
std::optional<pid_t> parse_process(std::string_view status);

/// AT_BASE of /proc/PID/auxv: where the loader was mapped; 0 where there is none.
std::uint64_t loader_address(std::span<const std::byte> auxv);

/// The file that is mapped from there on, by /proc/PID/maps; "" where none is.
std::string_view mapped_at(std::string_view maps, std::uint64_t address);

inline constexpr std::size_t kMostArguments = 256, kMostArgumentBytes = 4096;
struct Arguments {
  std::vector<std::string> list;
  bool cut = false;
};
/// /proc/PID/cmdline, or its beginning.
Arguments parse_arguments(std::string_view cmdline);

/// What the kernel went through from what was named to what runs: the script and its interpreters as their first lines
/// name them. For a script the kernel puts the interpreter before the name, so the arguments tell. Empty for a program.
std::vector<std::string> interpreters(std::string_view named, const std::vector<std::string>& arguments);

}  // namespace cordon::observe
