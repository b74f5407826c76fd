#include "cli/project_links.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "base/abs_path.h"
#include "base/text.h"
#include "cli/surroundings.h"
#include "cli/whole_file.h"
#include "kernel/file.h"

namespace cordon::cli {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 10U;

std::string line_of(const std::string& path) {
  std::string text = content_of(
      kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW), kLargestFile);
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text.contains('\n') ? std::string() : text;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : std::string();
}

std::string from(const std::string& directory, std::string_view path) {
  const auto base = base::AbsPath::parse(directory);
  const auto joined = base && !path.empty() ? base->join(path) : std::nullopt;
  return joined ? real_path(joined->str()) : std::string();
}

/// Of git's configuration: the value of core.worktree, which git itself writes on a line of its own.
std::string worktree_in(const std::string& config) {
  const std::string text = content_of(
      kernel::openat(kernel::kHere, config.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW), kLargestFile);
  constexpr std::string_view kKey = "\tworktree = ";
  for (const std::string_view line : base::split(text, '\n'))
    if (line.starts_with(kKey)) return std::string(line.substr(kKey.size()));
  return {};
}

bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

/// Outside of what a command may write, and laid out as git does it.
bool is_git_directory(const std::string& path, const std::string& workspace) {
  return !path.empty() && !lies_in(path, workspace) && !lies_in(workspace, path) && exists(path + "/HEAD") &&
         is_directory(path + "/objects") && is_directory(path + "/refs");
}

}  // namespace

std::string repository_of(const std::string& workspace) {
  constexpr std::string_view kSays = "gitdir: ";
  const std::string said = line_of(workspace + "/.git");
  if (!said.starts_with(kSays)) return {};
  const std::string own = from(workspace, std::string_view(said).substr(kSays.size()));
  const std::string here = real_path(workspace);
  if (own.empty() || here.empty() || lies_in(own, here)) return {};
  if (const std::string back = line_of(own + "/gitdir"); !back.empty()) {
    const std::string common = from(own, line_of(own + "/commondir"));
    const bool is_its_own = own.starts_with(common + "/worktrees/") && own.rfind('/') == common.size() + 10;
    return from(own, back) == here + "/.git" && is_its_own && is_git_directory(common, here) ? common : std::string();
  }
  const bool is_module = own.contains("/.git/modules/") && is_git_directory(own, here);
  return is_module && from(own, worktree_in(own + "/config")) == here ? own : std::string();
}

std::string package_of(const std::string& program, const std::string& workspace) {
  if (lies_in(program, workspace)) return {};  // a link of the project's may lead anywhere
  const std::string real = real_path(program);
  constexpr std::string_view kFolder = "/node_modules/";
  const std::size_t at = real.find(kFolder);
  if (at == std::string::npos) return {};
  const std::size_t name = at + kFolder.size();
  std::size_t end = real.find('/', name);
  if (end != std::string::npos && real[name] == '@') end = real.find('/', end + 1);  // @scope/name
  return end == std::string::npos ? std::string() : real.substr(0, end);
}

}  // namespace cordon::cli
