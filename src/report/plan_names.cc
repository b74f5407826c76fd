#include "report/plan_names.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <span>

namespace cordon::report {
namespace {

struct Bit {
  std::uint64_t bit;
  std::string_view name;
};

std::vector<std::string_view> names_of(std::uint64_t bits, std::span<const Bit> table) {
  std::vector<std::string_view> out;
  for (const Bit& bit : table) {
    if ((bits & bit.bit) != 0) out.push_back(bit.name);
  }
  return out;
}

}  // namespace

std::vector<std::string_view> namespace_names(std::uint64_t clone_flags) {
  constexpr std::array kTable = std::to_array<Bit>({{CLONE_NEWUSER, "user"},
                                                    {CLONE_NEWNS, "mount"},
                                                    {CLONE_NEWPID, "pid"},
                                                    {CLONE_NEWIPC, "ipc"},
                                                    {CLONE_NEWUTS, "uts"},
                                                    {CLONE_NEWCGROUP, "cgroup"},
                                                    {CLONE_NEWNET, "net"}});
  return names_of(clone_flags, kTable);
}

std::vector<std::string_view> landlock_rights(std::uint64_t access) {
  constexpr std::array<std::string_view, 16> kNames = {
      "execute",  "write-file", "read-file", "read-dir",   "remove-dir", "remove-file", "make-char", "make-dir",
      "make-reg", "make-sock",  "make-fifo", "make-block", "make-sym",   "refer",       "truncate",  "ioctl-dev"};
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if ((access >> i & 1U) != 0) out.push_back(kNames[i]);
  }
  return out;
}

std::vector<std::string_view> landlock_scopes(std::uint64_t scoped) {
  constexpr std::array kTable = std::to_array<Bit>({{1, "abstract-unix-sockets"}, {2, "signals"}});
  return names_of(scoped, kTable);
}

std::vector<std::string_view> mount_flags(const plan::MountAttributes& attributes) {
  std::vector<std::string_view> out = {attributes.read_only ? "read-only" : "writable"};
  if (attributes.noexec) out.emplace_back("noexec");
  if (attributes.nosuid) out.emplace_back("nosuid");
  if (attributes.nodev) out.emplace_back("nodev");
  return out;
}

std::vector<std::string_view> filter_flags(std::uint32_t flags) {
  constexpr std::array kTable = std::to_array<Bit>(
      {{SECCOMP_FILTER_FLAG_NEW_LISTENER, "new-listener"}, {SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, "wait-killable"}});
  return names_of(flags, kTable);
}

std::string resource_name(std::uint32_t resource) {
  if (resource == RLIMIT_CORE) return "core";
  if (resource == RLIMIT_NOFILE) return "nofile";
  return fmt::format("resource {}", resource);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string share_text(std::uint64_t hundredths) {
  std::string out = fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out + "%";
}

std::vector<std::string> environment_names(const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const std::string& entry : entries) names.push_back(entry.substr(0, entry.find('=')));
  return names;
}

std::string joined(const std::vector<std::string_view>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace cordon::report
