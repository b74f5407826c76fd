#include "cli/left_behind.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/shield/corpus.h"

namespace cordon::cli {
namespace {

std::vector<std::string> writable_trees(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Step& step : plan.steps) {
    if (const auto* bind = std::get_if<plan::step::Bind>(&step.act);
        bind != nullptr && !bind->attributes.read_only && bind->source == bind->target)
      out.push_back(bind->source);
    if (const auto* overlay = std::get_if<plan::step::StubOverlay>(&step.act)) out.push_back(overlay->source);
    constexpr std::uint64_t kWriteFile = 1ULL << 1;  // LANDLOCK_ACCESS_FS_WRITE_FILE
    const auto* grant = std::get_if<plan::step::Grant>(&step.act);
    if (grant != nullptr && (grant->access & kWriteFile) != 0) out.push_back(grant->source);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// Where nothing keeps shielded names from being made (the landlock engine), those as well. They live as long as the
/// program.
std::span<const std::string_view> names_without_masks() {
  static const std::vector<std::string> directories = [] {
    std::vector<std::string> out;
    for (const policy::shield::WorkspaceRule& rule : policy::shield::workspace_rules())
      if (rule.kind == policy::shield::Kind::kDirectory) out.push_back(std::string(rule.path) + "/");
    return out;
  }();
  static const std::vector<std::string_view> all = [] {
    const auto usual = policy::shield::auto_executed();
    std::vector<std::string_view> out(usual.begin(), usual.end());
    for (const policy::shield::WorkspaceRule& rule : policy::shield::workspace_rules()) out.push_back(rule.path);
    out.insert(out.end(), directories.begin(), directories.end());
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
  }();
  return all;
}

/// In the order in which git reads them (git-config(1)): the last one decides.
std::vector<std::string> git_configs(const host::Caller& caller, const std::string& home) {
  std::vector<std::string> out = {"/etc/gitconfig"};
  if (const std::string global = absolute_variable(caller, "GIT_CONFIG_GLOBAL"); !global.empty()) {
    out.push_back(global);
    return out;
  }
  std::string config = absolute_variable(caller, "XDG_CONFIG_HOME");
  if (config.empty() && home.starts_with('/')) config = home + "/.config";
  if (!config.empty()) out.push_back(config + "/git/config");
  if (home.starts_with('/')) out.push_back(home + "/.gitconfig");
  return out;
}

}  // namespace

host::AutoExecWatch watch_writes(const host::Caller& caller, const plan::HostFacts& facts, const plan::Plan& plan) {
  return host::AutoExecWatch(
      {.roots = writable_trees(plan),
       .names = plan.engine == plan::Engine::kLandlock ? names_without_masks() : policy::shield::auto_executed(),
       .user_configs = git_configs(caller, facts.home),
       .home = facts.home});
}

}  // namespace cordon::cli
