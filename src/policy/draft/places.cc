#include "policy/draft/places.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "planner/draft.h"
#include "planner/path_text.h"

namespace cordon::policy::draft {
namespace {

using planner::is_home_container;
using planner::own_homes;
using planner::parent_of;
using planner::within;

/// The system's own at any depth, for writing.
constexpr std::array kSystem = std::to_array<std::string_view>(
    {"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/run", "/sbin", "/usr", "/var/run"});
/// Directories of many owners: never themselves, what lies below them perhaps.
constexpr std::array kShared = std::to_array<std::string_view>(
    {"/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/var/tmp"});
constexpr std::array kCaches = std::to_array<std::string_view>(
    {".cache", ".ccache", ".gradle", ".m2", ".npm", ".pnpm-store", ".yarn", "node_modules/.cache"});
constexpr std::array kRuntimes =
    std::to_array<std::string_view>({".asdf", ".bun", ".cargo/bin", ".deno", ".jenv", ".local/bin", ".local/lib",
                                     ".local/share/mise", ".nvm", ".pyenv", ".rbenv", ".rustup", ".sdkman", ".volta"});

template <std::size_t N>
bool in_any(std::string_view path, const std::array<std::string_view, N>& places) {
  return std::ranges::any_of(places, [&](std::string_view place) { return within(path, place); });
}

bool is_other_home(std::string_view path, const std::vector<std::string>& homes) {
  if (std::ranges::any_of(homes, [&](const std::string& home) { return within(path, home); })) return false;
  if (within(path, "/root")) return true;
  for (std::string_view at = path; at != "/"; at = parent_of(at))
    if (is_home_container(parent_of(at))) return true;
  return false;
}

template <std::size_t N>
bool below_home(std::string_view path, const plan::HostFacts& facts, const std::array<std::string_view, N>& places) {
  const std::string home = home_above(path, facts);
  if (home.empty()) return false;
  return std::ranges::any_of(places,
                             [&](std::string_view place) { return within(path, home + "/" + std::string(place)); });
}

}  // namespace

Floor floor_of(Access access, std::string_view path, const plan::HostFacts& facts) {
  const std::vector<std::string> homes = own_homes(facts);
  if (is_other_home(path, homes)) return {"foreign-home", "it lies in another user's home"};
  if (is_home_container(path)) return {"too-broad", "it holds the homes of all users"};
  if (std::ranges::any_of(homes, [&](const std::string& home) { return within(home, path); }))
    return {"too-broad", "it is your whole home directory, or holds it"};
  if (access == Access::kWrite && in_any(path, kSystem)) return {"system-tree", "it belongs to the system"};
  if (planner::depth_of(path) < 2) return {"too-broad", "it is a whole top-level directory"};
  const bool shared = std::ranges::find(kShared, path) != kShared.end();
  if (shared) return {"too-broad", "it is a directory that many programs and users share"};
  return {};
}

Purpose purpose_of(std::string_view path, std::string_view project, const plan::HostFacts& facts) {
  if (within(path, project)) return Purpose::kProject;
  if (below_home(path, facts, kCaches) || within(path, "/var/cache")) return Purpose::kCache;
  constexpr std::array kInstalled =
      std::to_array<std::string_view>({"/etc", "/gnu/store", "/nix/store", "/opt", "/usr"});
  if (in_any(path, kInstalled) || below_home(path, facts, kRuntimes)) return Purpose::kRuntime;
  if (home_above(path, facts).empty() && (within(path, "/tmp") || within(path, "/var/tmp"))) return Purpose::kTemporary;
  return Purpose::kOther;
}

bool is_of_the_importer(const std::vector<std::string>& programs) {
  return !programs.empty() && std::ranges::all_of(programs, [](const std::string& program) {
    return program.substr(program.rfind('/') + 1).starts_with("python");
  });
}

bool is_bytecode(std::string_view path) {
  if (path.ends_with(".pyc")) return true;
  return path.ends_with("/__pycache__") || path.contains("/__pycache__/");
}

bool is_of_the_java_machine(std::string_view path) {
  constexpr std::array kNames =
      std::to_array<std::string_view>({"/tmp/hsperfdata_", "/tmp/.java_pid", "/tmp/.attach_pid"});
  return std::ranges::any_of(kNames, [&](std::string_view name) { return path.starts_with(name); });
}

bool is_library_setting(std::string_view path) {
  constexpr std::array kFiles = std::to_array<std::string_view>(
      {"/etc/host.conf", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf", "/etc/resolv.conf"});
  return std::ranges::find(kFiles, path) != kFiles.end();
}

std::string home_above(std::string_view path, const plan::HostFacts& facts) {
  for (const std::string& home : own_homes(facts))
    if (within(path, home) && path != home) return home;
  return {};
}

bool is_hidden_in_home(std::string_view path, const plan::HostFacts& facts) {
  const std::string home = home_above(path, facts);
  return !home.empty() && path.substr(home.size()).starts_with("/.");
}

}  // namespace cordon::policy::draft
