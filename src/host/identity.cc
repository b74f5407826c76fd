#include "host/identity.h"

#include <array>
#include <limits>

#include "base/text.h"
#include "host/small_file.h"
#include "kernel/file.h"
#include "kernel/system.h"

namespace cordon::host {
namespace {

/// The first and third number of each line: an id here, and how many follow it.
std::vector<plan::IdSpan> read_spans(const char* path) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint32_t>::max();
  std::vector<plan::IdSpan> spans;
  const std::string text = read_small_file(path, 1U << 20U).value_or("");
  for (const std::string_view line : base::split(text, '\n')) {
    std::vector<std::uint64_t> numbers;
    for (const std::string_view field : base::split(line, ' ')) {
      if (const auto number = base::parse_decimal(field)) numbers.push_back(*number);
    }
    if (numbers.size() != 3 || numbers[0] > kAll || numbers[2] > kAll) continue;
    if (numbers[0] == 0 && numbers[2] == kAll) return {};
    spans.push_back({.first = static_cast<std::uint32_t>(numbers[0]), .count = static_cast<std::uint32_t>(numbers[2])});
  }
  return spans;
}

}  // namespace

void fill_kernel(plan::HostFacts& facts) {
  if (const auto name = kernel::uname()) {
    facts.kernel_release = name->release;
    facts.machine = name->machine;
  }
  facts.boot_id = read_line("/proc/sys/kernel/random/boot_id");
}

std::string variable(const Caller& caller, const char* name) {
  const auto it = caller.environment.find(name);
  return it == caller.environment.end() ? "" : it->second;
}

plan::Account account_of(const AccountBook& accounts, std::uint32_t uid) {
  if (auto account = accounts.by_uid(uid)) return std::move(*account);
  return {.name = "", .uid = uid, .gid = uid, .groups = {}, .home = "", .shell = ""};
}

void fill_caller(const Caller& caller, const AccountBook& accounts, plan::HostFacts& facts) {
  facts.uid = caller.uid;
  facts.gid = caller.gid;
  facts.groups = caller.groups;
  if (caller.uid == 0) {
    facts.uid_spans = read_spans("/proc/self/uid_map");
    facts.gid_spans = read_spans("/proc/self/gid_map");
    const auto sudo = base::parse_decimal(variable(caller, "SUDO_UID"));
    if (sudo && *sudo < std::numeric_limits<std::uint32_t>::max()) facts.sudo_uid = static_cast<std::uint32_t>(*sudo);
  }
  // Who is root, or came from another account, may reach what is other people's. A lie only shields more.
  if (caller.uid == 0 || !variable(caller, "SUDO_UID").empty()) facts.account_homes = accounts.homes();
  plan::Account account = account_of(accounts, caller.uid);
  const std::string home = variable(caller, "HOME");
  facts.home = home.starts_with('/') ? home : account.home.starts_with('/') ? account.home : "";
  facts.accounts.push_back(std::move(account));
  facts.search_path = variable(caller, "PATH");
  facts.working_directory = caller.working_directory;
}

namespace {

/// What another run of the same caller may not stand in: a filter or a missing privilege makes other answers.
std::string confinement() {
  std::string out = "user namespace ";
  std::array<char, 64> link{};
  const auto length = kernel::readlinkat(kernel::kHere, "/proc/self/ns/user", link);
  out.append(link.data(), length ? *length : 0);
  const std::string status = read_small_file("/proc/self/status", 1U << 16U).value_or("");
  for (const std::string_view line : base::split(status, '\n')) {
    for (std::string_view name : {"NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "CapEff:"}) {
      if (line.starts_with(name))
        out.append("; ").append(line.substr(0, name.size())).append(line.substr(name.size() + 1));
    }
  }
  return out;
}

}  // namespace

CacheKey cache_key(const plan::HostFacts& facts, const Caller& caller, const CacheLocation& location) {
  return {.boot_id = facts.boot_id,
          .kernel = facts.kernel_release,
          .lsm = read_line("/sys/kernel/security/lsm"),
          .build = location.build_id,
          .confinement = confinement(),
          .uid = caller.uid};
}

CacheLocation cache_location(const Caller& caller, std::string_view build_id) {
  const std::string cache = variable(caller, "XDG_CACHE_HOME");
  const std::string home = variable(caller, "HOME");
  std::string directory;
  // The XDG base directory specification: a relative path is to be ignored.
  if (cache.starts_with('/')) {
    directory = cache + "/cordon";
  } else if (home.starts_with('/')) {
    directory = home + "/.cache/cordon";
  }
  return {.directory = std::move(directory), .build_id = std::string(build_id)};
}

}  // namespace cordon::host
