#include "enforce/supervise/process_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "kernel/file.h"

namespace cordon::enforce::supervise {
namespace {

/// The first 4 KiB, which hold all that is asked for here; empty where it cannot be read.
std::string read_start(const std::string& path) {
  const auto file = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY);
  if (!file) return {};
  std::array<std::byte, 4096> bytes{};
  const auto got = kernel::read(*file, bytes);
  if (!got) return {};
  return {reinterpret_cast<const char*>(bytes.data()), *got};
}

}  // namespace

std::optional<ProcessStat> process_stat(pid_t pid) { return parse_stat(read_start(fmt::format("/proc/{}/stat", pid))); }

std::optional<std::size_t> namespace_depth(pid_t pid) {
  const std::size_t count = count_namespace_ids(read_start(fmt::format("/proc/{}/status", pid)));
  return count == 0 ? std::nullopt : std::optional(count);
}

std::optional<pid_t> pid_of(base::FdView pidfd) {
  const std::string info = read_start(fmt::format("/proc/self/fdinfo/{}", pidfd.get()));
  constexpr std::string_view kLabel = "\nPid:\t";
  const std::size_t at = info.find(kLabel);
  if (at == std::string::npos) return std::nullopt;
  pid_t pid = 0;
  const char* start = info.data() + at + kLabel.size();
  const auto [end, code] = std::from_chars(start, info.data() + info.size(), pid);
  if (code != std::errc() || pid <= 0) return std::nullopt;
  return pid;
}

}  // namespace cordon::enforce::supervise
