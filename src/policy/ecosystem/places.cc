#include "policy/ecosystem/places.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::policy::ecosystem {
namespace {

using base::AbsPath;

struct Standard {
  std::string_view begins, variable;
};
constexpr Standard kStandard[]{{"~/.cache/", "XDG_CACHE_HOME"},
                               {"~/.config/", "XDG_CONFIG_HOME"},
                               {"~/.local/share/", "XDG_DATA_HOME"},
                               {"~/.local/state/", "XDG_STATE_HOME"}};
constexpr std::array<std::string_view, 4> kStandardVariables{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                                                             "XDG_STATE_HOME"};

/// The system's own: a tool's files may lie below the first, never below the second.
constexpr std::string_view kNeverItself[]{"/bin",       "/home", "/lib",     "/lib32",   "/lib64",     "/libx32",
                                          "/media",     "/mnt",  "/opt",     "/root",    "/sbin",      "/srv",
                                          "/tmp",       "/usr",  "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin",
                                          "/usr/share", "/var",  "/var/lib", "/var/tmp"};
constexpr std::string_view kNeverBelow[]{"/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run"};

const std::string* lookup(const Surroundings& surroundings, std::string_view variable) {
  const auto at = surroundings.environment.find(std::string(variable));
  return at == surroundings.environment.end() || at->second.empty() ? nullptr : &at->second;
}

/// GOPATH is a list; go writes to its first directory alone.
std::string_view first_of(std::string_view variable, std::string_view value) {
  return variable == "GOPATH" ? value.substr(0, value.find(':')) : value;
}

std::optional<AbsPath> below(const AbsPath& directory, std::string_view rest) {
  return rest.empty() ? directory : directory.join(rest);
}

std::string_view of_system(const AbsPath& path) {
  if (path.is_root()) return "the root of the file system";
  if (std::ranges::find(kNeverItself, path.str()) != std::end(kNeverItself)) return "a directory of the system";
  for (const auto one : kNeverBelow)
    if (path.is_within(*AbsPath::parse(one))) return "a directory of the system";
  return {};
}

bool holds_a_home(const AbsPath& path, const Surroundings& surroundings) {
  return surroundings.home.is_within(path) ||
         std::ranges::any_of(surroundings.homes, [&](const AbsPath& home) { return home.is_within(path); });
}

}  // namespace

Names standard_variables() { return kStandardVariables; }

std::string_view standard_variable(std::string_view path) {
  const auto at = std::ranges::find_if(kStandard, [&](const Standard& one) { return path.starts_with(one.begins); });
  return at == std::end(kStandard) ? std::string_view() : at->variable;
}

std::optional<AbsPath> usual(const Place& place, const Surroundings& surroundings) {
  if (place.path.empty()) return std::nullopt;
  return place.path.starts_with("~/") ? surroundings.home.join(place.path.substr(2)) : AbsPath::parse(place.path);
}

std::optional<Located> locate(const Place& place, const Surroundings& surroundings) {
  for (const Mover& mover : place.moved_by) {
    const std::string* value = lookup(surroundings, mover.variable);
    if (value == nullptr) continue;
    const auto to = surroundings.working_directory.join(first_of(mover.variable, *value));
    const auto path = to ? below(*to, mover.below) : std::nullopt;
    if (path) return Located{*path, std::string(mover.variable), *value};
  }
  if (const auto variable = standard_variable(place.path); !variable.empty()) {
    const std::string* value = lookup(surroundings, variable);
    // The standard: a relative value is no value.
    const auto to = value == nullptr ? std::nullopt : AbsPath::parse(*value);
    const auto at = std::ranges::find(kStandard, variable, &Standard::variable);
    const auto path = to ? to->join(place.path.substr(at->begins.size())) : std::nullopt;
    if (path) return Located{*path, std::string(variable), *value};
  }
  const auto path = usual(place, surroundings);
  return path ? std::optional(Located{*path, {}, {}}) : std::nullopt;
}

std::string why_not(const AbsPath& path, Use use, const Surroundings& surroundings) {
  if (const auto system = of_system(path); !system.empty()) return "it is " + std::string(system);
  if (holds_a_home(path, surroundings)) return "it is a home or holds one";
  if (surroundings.workspace.is_within(path)) return "it is the workspace or holds it";
  for (const auto part : path.components())
    if (part == ".git") return "it lies in a repository's own directory";
  if (surroundings.shields == nullptr) return {};
  const shield::Rule* rule = surroundings.shields->covering(path.str());
  if (rule == nullptr || (rule->deny != shield::Deny::kAll && use != Use::kPromoted)) return {};
  return "it lies in " + base::shown(rule->path) + ", which is protected: " + std::string(rule->what);
}

}  // namespace cordon::policy::ecosystem
