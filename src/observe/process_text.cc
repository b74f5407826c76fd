#include "observe/process_text.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace cordon::observe {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Image> parse_image(std::string_view stat) {
  // The name, in parentheses, may hold anything; what follows its last one is numbers, from the third field on.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > stat.size()) return std::nullopt;
  std::string_view rest = stat.substr(name_end + 2);
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  const auto fields = base::split(rest, ' ');
  constexpr std::size_t kFirst = 3;
  constexpr std::size_t kStarted = 22, kLast = 51;
  constexpr std::array<std::size_t, 5> kAddresses = {28, 48, 49, 50, 51};
  if (fields.size() <= kLast - kFirst) return std::nullopt;
  const auto started = number(fields[kStarted - kFirst]);
  if (!started) return std::nullopt;
  Image out{.started = *started};
  for (std::size_t i = 0; i < kAddresses.size(); ++i) {
    const auto address = number(fields[kAddresses.at(i) - kFirst]);
    if (!address) return std::nullopt;
    out.addresses.at(i) = *address;
  }
  return out;
}

std::optional<pid_t> parse_process(std::string_view status) {
  constexpr std::string_view kLabel = "\nTgid:\t";
  const std::size_t at = status.find(kLabel);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = status.substr(at + kLabel.size());
  const auto value = number(rest.substr(0, rest.find('\n')));
  return value ? std::optional(static_cast<pid_t>(*value)) : std::nullopt;
}

std::uint64_t loader_address(std::span<const std::byte> auxv) {
  std::array<std::uint64_t, 2> entry{};
  for (; auxv.size() >= sizeof entry; auxv = auxv.subspan(sizeof entry)) {
    std::memcpy(entry.data(), auxv.data(), sizeof entry);
    if (entry[0] == AT_BASE) return entry[1];
    if (entry[0] == AT_NULL) return 0;
  }
  return 0;
}

std::string_view mapped_at(std::string_view maps, std::uint64_t address) {
  const std::string start = fmt::format("{:08x}-", address);
  while (!maps.empty()) {
    const std::size_t end = maps.find('\n');
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
    if (!line.starts_with(start)) continue;
    const std::size_t path = line.find('/');
    return path == std::string_view::npos ? std::string_view() : line.substr(path);
  }
  return {};
}

Arguments parse_arguments(std::string_view cmdline) {
  Arguments out;
  out.cut = cmdline.size() > kMostArgumentBytes;
  cmdline = cmdline.substr(0, kMostArgumentBytes);
  while (!cmdline.empty()) {
    if (out.list.size() == kMostArguments) {
      out.cut = true;
      break;
    }
    const std::size_t end = cmdline.find('\0');
    out.list.emplace_back(cmdline.substr(0, end));
    cmdline.remove_prefix(end == std::string_view::npos ? cmdline.size() : end + 1);
  }
  return out;
}

std::vector<std::string> interpreters(std::string_view named, const std::vector<std::string>& arguments) {
  constexpr std::size_t kDeepest = 12;  // the kernel goes five levels down, with one argument at each
  if (named.empty() || arguments.empty() || !arguments.front().starts_with('/') || arguments.front() == named)
    return {};
  const std::span<const std::string> first(arguments.data(), std::min(arguments.size(), kDeepest));
  const auto script = std::ranges::find(first.subspan(1), named);
  if (script == first.end()) return {};
  std::vector<std::string> out{std::string(named)};
  for (auto entry = script; entry != first.begin();) {
    --entry;
    if (entry->starts_with('/')) out.push_back(*entry);
  }
  return out;
}

}  // namespace cordon::observe
