#include "cgroup/numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cordon::cgroup {
namespace {

/// The kernel's own range: a quota is at least a millisecond, a period at most a second.
Setting cpu_setting(std::uint64_t hundredths) {
  constexpr std::uint64_t kPeriod = 100'000;
  constexpr std::uint64_t kLongestPeriod = 1'000'000;
  constexpr std::uint64_t kLeastQuota = 1'000;
  constexpr std::uint64_t kWhole = 10'000;  // hundredths of a percent in one CPU
  const std::uint64_t period = hundredths * kPeriod / kWhole >= kLeastQuota ? kPeriod : kLongestPeriod;
  const std::string text = fmt::format("{} {}", hundredths * period / kWhole, period);
  return {.file = "cpu.max", .text = text, .expect = text};
}

/// More processes than there can ever be: the kernel takes no larger number, and needs none.
constexpr std::uint64_t kMostPids = 4'194'304;

}  // namespace

std::vector<Setting> settings_of(const Wanted& wanted, std::uint64_t page) {
  std::vector<Setting> out;
  if (wanted.memory_bytes != 0) {
    out.push_back({.file = "memory.max",
                   .text = fmt::format("{}", wanted.memory_bytes),
                   .expect = fmt::format("{}", wanted.memory_bytes / page * page)});
    out.push_back({.file = "memory.swap.max", .text = "0", .expect = "0", .needed = false});
    out.push_back({.file = "memory.oom.group", .text = "1", .expect = "1"});
  }
  if (wanted.cpu_hundredths != 0) out.push_back(cpu_setting(wanted.cpu_hundredths));
  if (wanted.pids != 0) {
    const std::string text = fmt::format("{}", std::min(wanted.pids, kMostPids));
    out.push_back({.file = "pids.max", .text = text, .expect = text});
  }
  return out;
}

std::vector<std::string_view> controllers_of(const Wanted& wanted) {
  std::vector<std::string_view> out;
  if (wanted.memory_bytes != 0) out.emplace_back("memory");
  if (wanted.cpu_hundredths != 0) out.emplace_back("cpu");
  if (wanted.pids != 0) out.emplace_back("pids");
  return out;
}

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    return base::parse_decimal(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

bool has_word(std::string_view list, std::string_view word) {
  while (list.ends_with('\n')) list.remove_suffix(1);
  const auto words = base::split(list, ' ');
  return std::ranges::find(words, word) != words.end();
}

bool has_line(std::string_view text, std::uint64_t number) {
  const auto lines = base::split(text, '\n');
  return std::ranges::find(lines, std::string_view(fmt::format("{}", number))) != lines.end();
}

std::optional<std::string> unified_path(std::string_view proc_cgroup) {
  for (const std::string_view line : base::split(proc_cgroup, '\n'))
    if (line.starts_with("0::/")) return std::string(line.substr(3));
  return std::nullopt;
}

bool is_bound_to_v1(std::string_view proc_cgroup, std::string_view controller) {
  return std::ranges::any_of(base::split(proc_cgroup, '\n'), [&](std::string_view line) {
    const auto fields = base::split(line, ':');
    if (fields.size() < 3 || fields[1].empty()) return false;
    const auto names = base::split(fields[1], ',');
    return std::ranges::find(names, controller) != names.end();
  });
}

std::string unified_mount(std::string_view mountinfo) {
  for (const std::string_view line : base::split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with("cgroup2 ")) continue;
    const auto fields = base::split(line.substr(0, dash), ' ');
    // A name with a space or a backslash in it is escaped; nobody mounts it there.
    if (fields.size() > 4 && fields[3] == "/" && !fields[4].contains('\\')) return std::string(fields[4]);
  }
  return {};
}

bool is_run_id(std::string_view id) {
  constexpr std::size_t kLongest = 64;
  const auto fits = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !id.empty() && id.size() <= kLongest && std::ranges::all_of(id, fits);
}

bool is_group_name(std::string_view name) {
  constexpr std::string_view kPrefix = "cordon-";
  return name.starts_with(kPrefix) && is_run_id(name.substr(kPrefix.size()));
}

}  // namespace cordon::cgroup
