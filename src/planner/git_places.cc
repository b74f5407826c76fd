#include "planner/git_places.h"

#include <algorithm>

#include "base/abs_path.h"

namespace cordon::planner {

std::vector<std::string> users_git_files(const plan::HostFacts& facts) {
  std::vector<std::string> files = {"/etc/gitconfig"};
  const auto add = [&](const std::string& directory, std::string_view name) {
    if (!directory.starts_with('/')) return;
    if (const auto path = below(directory, name)) files.push_back(*path);
  };
  const auto variable = [&](const char* name) {
    const auto found = facts.relocations.find(name);
    return found != facts.relocations.end() ? found->second : std::string();
  };
  add("/", variable("GIT_CONFIG_SYSTEM"));
  add("/", variable("GIT_CONFIG_GLOBAL"));
  add(variable("XDG_CONFIG_HOME"), "git/config");
  add(facts.home, ".config/git/config");
  add(facts.home, ".gitconfig");
  return files;
}

std::optional<std::string> home_named(const plan::HostFacts& facts, std::string_view name) {
  if (name.empty()) return facts.home.starts_with('/') ? std::optional(facts.home) : std::nullopt;
  const auto found = std::ranges::find(facts.accounts, name, &plan::Account::name);
  const bool known = found != facts.accounts.end() && found->home.starts_with('/');
  return known ? std::optional(found->home) : std::nullopt;
}

std::optional<std::string> below(const std::string& directory, std::string_view path) {
  const auto base = base::AbsPath::parse(directory);
  const auto out = base && !path.empty() ? base->join(path) : std::nullopt;
  return out ? std::optional(out->str()) : std::nullopt;
}

}  // namespace cordon::planner
