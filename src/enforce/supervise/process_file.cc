#include "enforce/supervise/process_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <string>

#include "base/text.h"
#include "kernel/file.h"

namespace cordon::enforce::supervise {
namespace {

/// The first 16 KiB, which hold all that is asked for here; empty where it cannot be read.
std::string read_start(const std::string& path) {
  const auto file = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY);
  if (!file) return {};
  std::array<std::byte, 16'384> bytes{};
  const auto got = kernel::read(*file, bytes);
  if (!got) return {};
  return {reinterpret_cast<const char*>(bytes.data()), *got};
}

std::optional<pid_t> number(std::string_view text) {
  pid_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The numbers behind a label such as "NSpid:". The kernel escapes newlines in the name, so that no process can forge a
/// line.
std::vector<pid_t> numbers(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(fmt::format("\n{}", label));
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 1 + label.size());
  std::vector<pid_t> out;
  for (const auto field : base::split(rest.substr(0, rest.find('\n')), '\t')) {
    if (const auto value = number(field)) out.push_back(*value);
  }
  return out;
}

/// The number that stands behind a label, up to the end of its line.
std::optional<std::uint64_t> count_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + label.size());
  return base::parse_decimal(rest.substr(0, rest.find('\n')));
}

bool can_have_sent(const std::optional<ProcessStatus>& sender, std::uint32_t uid, std::size_t our_depth) {
  return sender && sender->uid == uid && sender->ids.size() == our_depth && !sender->kernel_thread;
}

/// The entries of a directory that are numbers.
std::vector<pid_t> numbered(const std::string& directory) {
  std::vector<pid_t> out;
  std::error_code stopped;
  for (std::filesystem::directory_iterator entry(directory, stopped), end; !stopped && entry != end;
       entry.increment(stopped)) {
    if (const auto pid = number(entry->path().filename().native())) out.push_back(*pid);
  }
  return out;
}

/// A process in a pid namespace below ours, with this number there and in our process group.
bool is_in_a_run_of_ours(pid_t inner, std::size_t our_depth) {
  for (const pid_t pid : all_processes()) {
    const auto process = process_status(pid);
    if (!process || process->ids.size() <= our_depth || process->ids.back() != inner) continue;
    if (!process->groups.empty() && process->groups.front() == ::getpgrp()) return true;
  }
  return false;
}

}  // namespace

std::optional<ProcessStatus> parse_status(std::string_view text) {
  ProcessStatus out;
  const auto uids = numbers(text, "Uid:");
  out.ids = numbers(text, "NSpid:");
  if (uids.empty() || out.ids.empty()) return std::nullopt;
  out.uid = static_cast<std::uint32_t>(uids.front());
  out.groups = numbers(text, "NSpgid:");
  out.kernel_thread = text.find("\nVmSize:") == std::string_view::npos;
  return out;
}

std::optional<ProcessStat> process_stat(pid_t pid) { return parse_stat(read_start(fmt::format("/proc/{}/stat", pid))); }

std::optional<ProcessStatus> process_status(pid_t pid) {
  return parse_status(read_start(fmt::format("/proc/{}/status", pid)));
}

std::vector<pid_t> all_processes() { return numbered("/proc"); }

ThreadState parse_thread(pid_t id, std::string_view status) {
  constexpr std::string_view kState = "\nState:\t";
  const std::size_t at = status.find(kState);
  const auto by_choice = count_behind(status, "\nvoluntary_ctxt_switches:\t");
  const auto by_force = count_behind(status, "\nnonvoluntary_ctxt_switches:\t");
  if (at == std::string_view::npos || at + kState.size() == status.size() || !by_choice || !by_force) return {.id = id};
  return {.id = id, .state = status[at + kState.size()], .switches = *by_choice + *by_force};
}

std::vector<ThreadState> thread_states(pid_t pid) {
  std::vector<ThreadState> out;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (const pid_t thread : numbered(tasks))
    out.push_back(parse_thread(thread, read_start(fmt::format("{}/{}/status", tasks, thread))));
  return out;
}

std::optional<std::uint64_t> starts_so_far() { return count_behind(read_table("/proc/stat"), "\nprocesses "); }

std::string read_table(const std::string& path) {
  constexpr std::size_t kMostBytes = 4U << 20;
  std::string out;
  const auto file = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY);
  std::array<char, 16'384> buffer{};
  while (file && out.size() < kMostBytes) {
    const auto got = kernel::read(*file, std::as_writable_bytes(std::span(buffer)));
    if (!got || *got == 0) break;
    out.append(buffer.data(), *got);
  }
  return out;
}

std::optional<pid_t> pid_of(base::FdView pidfd) {
  const auto pids = numbers(read_start(fmt::format("/proc/self/fdinfo/{}", pidfd.get())), "Pid:");
  return pids.size() == 1 && pids.front() > 0 ? std::optional(pids.front()) : std::nullopt;
}

Origin origin_of_sender(pid_t pid, std::uint32_t uid) {
  if (pid == 0) return Origin::kOutside;  // from a pid namespace above ours
  const auto ours = process_status(::getpid());
  if (!ours) return Origin::kUnknown;
  if (can_have_sent(process_status(pid), uid, ours->ids.size())) return Origin::kOutside;
  return is_in_a_run_of_ours(pid, ours->ids.size()) ? Origin::kInside : Origin::kUnknown;
}

}  // namespace cordon::enforce::supervise
