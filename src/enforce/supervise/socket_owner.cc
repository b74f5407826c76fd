#include "enforce/supervise/socket_owner.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "enforce/supervise/process_file.h"
#include "kernel/file.h"

namespace cordon::enforce::supervise {
namespace {

/// Descriptors that are looked at for one question. The run stands still meanwhile, and so does the supervisor: a
/// target must not make it look at millions.
constexpr std::size_t kMostLooks = 32'768;

std::string link_text(const std::string& path) {
  std::array<char, 4096> text{};
  const auto got = kernel::readlinkat(kernel::kHere, path.c_str(), text);
  return got ? std::string(text.data(), *got) : std::string();
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out = base::split(line, ' ');
  std::erase(out, std::string_view());
  return out;
}

bool holds(pid_t pid, const std::string& socket, std::size_t& looks) {
  std::error_code stopped;
  for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), stopped), end;
       !stopped && entry != end && looks > 0; entry.increment(stopped)) {
    --looks;
    if (link_text(entry->path().native()) == socket) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> connected_socket(std::string_view table, std::uint16_t port) {
  constexpr std::string_view kListens = "0A";
  const std::string local = fmt::format(":{:04X}", port);
  for (const std::string_view line : base::split(table, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 10 || !fields[1].ends_with(local) || fields[3] == kListens) continue;
    const auto inode = base::parse_decimal(fields[9]);
    if (inode && *inode != 0) return inode;
  }
  return std::nullopt;
}

std::string program_of(pid_t init, std::span<const pid_t> processes, std::uint16_t port) {
  std::size_t looks = kMostLooks;
  for (const char* table : {"tcp", "tcp6"}) {
    const auto inode = connected_socket(read_table(fmt::format("/proc/{}/net/{}", init, table)), port);
    if (!inode) continue;
    const std::string socket = fmt::format("socket:[{}]", *inode);
    for (const pid_t pid : processes)
      if (holds(pid, socket, looks)) return link_text(fmt::format("/proc/{}/exe", pid));
  }
  return {};
}

}  // namespace cordon::enforce::supervise
