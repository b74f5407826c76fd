#include "policy/ecosystem/workspace.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::policy::ecosystem {
namespace {

using base::AbsPath;

constexpr std::string_view kShared[]{"/dev/shm", "/run", "/tmp", "/var/tmp"};

/// Why `path` is nobody's workspace; "" where it may be one.
std::string_view forbidden(const AbsPath& path, std::span<const AbsPath> homes) {
  if (path.is_root()) return "the root of the file system";
  for (const AbsPath& home : homes)
    if (path == home) return "a home";
  for (const AbsPath& home : homes)
    if (home.is_within(path)) return "a directory that holds homes";
  if (std::ranges::find(kShared, path.str()) != std::end(kShared)) return "a place that everyone shares";
  return {};
}

std::string_view telling_name(const Directory& directory) {
  for (const std::string& name : directory.names)
    if (name == ".git") return name;
  for (const std::string& name : directory.names)
    if (tells(name)) return name;
  return {};
}

base::Diagnostic refusal(const AbsPath& path, std::string_view what) {
  const AbsPath example = path.join("PROJECT").value_or(path);
  return {.severity = base::Severity::kError,
          .code = "workspace",
          .at = {},
          .message = base::shown(path.str()) + " is " + std::string(what) +
                     ": a command would see and change all that lies in it",
          .hint = "go into the project first: cd " + base::shown(example.str())};
}

}  // namespace

base::Result<WorkspaceRoot, base::Diagnostic> workspace_root(std::span<const Directory> upwards,
                                                             std::span<const AbsPath> homes) {
  const auto here = upwards.empty() ? std::nullopt : AbsPath::parse(upwards.front().path);
  if (!here) return base::fail(refusal(AbsPath(), "not where you are"));
  if (const auto what = forbidden(*here, homes); !what.empty()) return base::fail(refusal(*here, what));
  WorkspaceRoot out{*here, {}};
  for (const Directory& directory : upwards) {
    const auto path = AbsPath::parse(directory.path);
    if (!path || !forbidden(*path, homes).empty()) break;
    const auto name = telling_name(directory);
    if (name == ".git") return WorkspaceRoot{*path, ".git"};
    if (!name.empty() && out.because.empty()) out = {*path, std::string(name)};
  }
  return out;
}

}  // namespace cordon::policy::ecosystem
