#include "cli/surroundings.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "base/text.h"
#include "cli/whole_file.h"
#include "kernel/file.h"
#include "policy/ecosystem/registries.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;

constexpr std::size_t kMostLevels = 128;

/// In order; none where the directory cannot be read.
std::vector<std::string> names_in(const std::string& path, const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string> names;
  auto readable = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return names;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get()))
    if (wanted(entry->d_name)) names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<ecosystem::Directory> upwards(const std::string& from, std::uint32_t uid) {
  std::vector<ecosystem::Directory> out;
  const auto here = kernel::statx(kernel::kHere, from.c_str(), 0);
  const auto counts = [&](const std::string& path) {
    const auto facts = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
    return facts && (facts->stx_uid == uid || facts->stx_uid == 0 || (here && facts->stx_uid == here->stx_uid));
  };
  auto at = base::AbsPath::parse(from);
  while (at && out.size() < kMostLevels) {
    std::vector<std::string> names = names_in(at->str(), ecosystem::tells);
    std::erase_if(names, [&](const std::string& name) { return !counts(at->str() + "/" + name); });
    out.push_back({.path = at->str(), .names = std::move(names)});
    if (at->is_root()) break;
    at = at->parent();
  }
  return out;
}

std::vector<base::AbsPath> homes_of(const plan::HostFacts& facts) {
  std::vector<base::AbsPath> out;
  const auto add = [&](const std::string& path) {
    const auto parsed = base::AbsPath::parse(path);
    if (parsed && !parsed->is_root()) out.push_back(*parsed);
  };
  add(facts.home);
  for (const plan::Account& account : facts.accounts) add(account.home);
  for (const std::string& home : facts.account_homes) add(home);
  return out;
}

namespace {

constexpr std::size_t kMostLooked = 20'000;
constexpr std::size_t kDeepestLooked = 5;

bool is_environment_file(std::string_view name) {
  std::string low(name);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return low == ".env" || low == ".envrc" || low.starts_with(".env.") || low.starts_with(".env~") ||
         low.starts_with(".env-") || low.ends_with(".env");
}

bool is_made_by_tools(std::string_view name) {
  constexpr std::array kMade = std::to_array<std::string_view>(
      {".git", "node_modules", "target", ".venv", "venv", "vendor", "dist", "build", ".gradle", "_build", "deps"});
  return std::ranges::find(kMade, name) != kMade.end();
}

}  // namespace

EnvironmentFiles environment_files(const std::string& directory) {
  EnvironmentFiles out;
  std::size_t looked = 0;
  std::vector<std::pair<std::string, std::size_t>> left = {{"", 0}};
  while (!left.empty()) {
    const auto [below, depth] = left.back();
    left.pop_back();
    const std::string path = below.empty() ? directory : directory + "/" + below;
    auto readable = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!readable) continue;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
    if (!stream) continue;
    static_cast<void>(readable->release());
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++looked > kMostLooked) return out.whole = false, out;
      const std::string at = below.empty() ? name : below + "/" + name;
      if (is_environment_file(name) && entry->d_type != DT_LNK) out.paths.push_back(at);  // hidden is what it leads to
      const bool enters = entry->d_type == DT_DIR && !is_made_by_tools(name);
      if (enters && depth >= kDeepestLooked) out.whole = false;
      if (enters && depth < kDeepestLooked) left.emplace_back(at, depth + 1);
    }
  }
  std::ranges::sort(out.paths);
  return out;
}

std::string obstacle_to_view(const plan::HostFacts& facts, const std::string& state, const std::string& workspace) {
  if (facts.feature(plan::Feature::kOverlayMount).state == plan::Availability::kNo)
    return "this host mounts no overlay for us";
  if (facts.refused_overlays.contains(workspace)) return "no overlay can be mounted over it";
  const auto own = base::AbsPath::parse(state);
  const auto root = base::AbsPath::parse(workspace);
  if (own && root && own->is_within(*root)) return "Cordon's own state lies in it";
  if (!facts.mounts) return "what is mounted in it cannot be told";
  for (const plan::MountPlace& mount : *facts.mounts) {
    const auto point = base::AbsPath::parse(mount.point);
    if (point && root && *point != *root && point->is_within(*root))
      return fmt::format("{} is mounted in it", base::shown(mount.point));
  }
  return {};
}

std::string small_text(const std::string& path) {
  return content_of(kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY),
                    ecosystem::kLargestConfiguration);
}

bool is_directory_below(const std::string& root, const std::string& below) {
  const auto top = kernel::openat(kernel::kHere, root.c_str(), O_PATH | O_DIRECTORY);
  if (!top) return false;
  return kernel::openat2(
             *top, below.c_str(),
             {.flags = O_PATH | O_DIRECTORY, .resolve = kernel::kResolveBeneath | kernel::kResolveNoSymlinks})
      .has_value();
}

std::vector<std::string> names_in(base::FdView directory) {
  std::vector<std::string> names;
  auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return names;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

policy::WorkspaceMode in_policy(policy::ecosystem::WorkspaceMode mode) {
  using Shown = policy::ecosystem::WorkspaceMode;
  if (mode == Shown::kLive) return policy::WorkspaceMode::kLive;
  if (mode == Shown::kWrite) return policy::WorkspaceMode::kWrite;
  return mode == Shown::kReview ? policy::WorkspaceMode::kReview : policy::WorkspaceMode::kView;
}

std::vector<std::string> levels_down(const std::string& root, const std::string& below) {
  std::vector<std::string> out = {root};
  for (std::size_t at = below.find('/'); at != std::string::npos; at = below.find('/', at + 1)) {
    const std::size_t end = below.find('/', at + 1);
    out.push_back(root + below.substr(0, end == std::string::npos ? below.size() : end));
  }
  return out;
}

bool exists(const std::string& path) { return kernel::statx(kernel::kHere, path.c_str(), 0).has_value(); }

bool holds_programs(std::string_view output) {
  constexpr std::array kPrograms = std::to_array<std::string_view>(
      {"node_modules", ".venv", "venv", "target", "vendor", "deps", "_build", ".gradle", ".yarn"});
  return std::ranges::find(kPrograms, output) != kPrograms.end();
}

bool is_directory(const std::string& path) {
  const auto facts = kernel::statx(kernel::kHere, path.c_str(), 0);
  return facts && S_ISDIR(facts->stx_mode);
}

std::string as_spelled(const std::string& real, const host::Caller& caller) {
  const auto variable = caller.environment.find("PWD");
  if (variable == caller.environment.end()) return real;
  const std::string& working_directory = caller.working_directory;
  const std::string& pwd = variable->second;
  const auto given = base::AbsPath::parse(pwd);
  if (!given || given->str() != pwd || !working_directory.starts_with(real)) return real;
  const auto one = kernel::statx(kernel::kHere, pwd.c_str(), 0);
  const auto other = kernel::statx(kernel::kHere, working_directory.c_str(), 0);
  const bool same =
      one && other && one->stx_ino == other->stx_ino && kernel::device_of(*one) == kernel::device_of(*other);
  const std::string below = working_directory.substr(real.size());
  if (!same || !pwd.ends_with(below) || pwd.size() == below.size()) return real;
  return pwd.substr(0, pwd.size() - below.size());
}

}  // namespace cordon::cli
