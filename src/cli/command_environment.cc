#include "cli/command_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/config/values.h"

namespace cordon::cli {
namespace {

base::Result<void, Stop> check_name(const std::string& name, const char* flag) {
  if (!policy::config::is_set_by_sandbox(name)) return {};
  return refuse_value("env-reserved", fmt::format("{} is set by the sandbox", base::shown(name)),
                      fmt::format("leave {} of it out", flag));
}

}  // namespace

base::Result<void, Stop> supply_environment(const Invocation& invocation, const Arguments& arguments,
                                            const policy::ecosystem::Effective& effective,
                                            const policy::config::Merged& config, policy::Policy& policy) {
  auto& env = policy.env;
  const auto& given = invocation.caller.environment;
  for (const auto& [name, value] : given) {
    if (!effective.passes(name)) continue;
    env.push_back({.name = name, .supplied = value, .at = {.span = {}, .source = "profile"}});
  }
  const auto set = [&](const std::string& name, std::string value, policy::Origin at) {
    std::erase_if(env, [&](const policy::EnvGrant& grant) { return grant.name == name; });
    env.push_back({.name = name, .supplied = std::move(value), .at = std::move(at)});
  };
  const auto of = [](const char* source) { return policy::Origin{.span = {}, .source = source}; };
  const policy::Command& command = *policy.command;
  if (!command.home.empty()) set("HOME", command.home, of("command"));
  if (const auto path = given.find("PATH"); path != given.end()) set("PATH", path->second, of("command"));
  set("PWD", command.working_directory, of("command"));
  set("GIT_OPTIONAL_LOCKS", "0", of("command"));  // a look at a repository is no change of its index
  for (const policy::config::Variable& variable : config.env) set(variable.name, variable.value, variable.at);
  for (const std::string& name : arguments.values("--keep-env")) {
    CORDON_OK(check_name(name, "--keep-env"));
    if (const auto value = given.find(name); value != given.end()) set(name, value->second, of("--keep-env"));
  }
  for (const std::string& entry : arguments.values("--env")) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return refuse_value("env-malformed",
                          fmt::format("--env {} is not NAME=VALUE", base::shown(entry.substr(0, equals))),
                          "--env NAME=VALUE");
    const std::string name = entry.substr(0, equals);
    CORDON_OK(check_name(name, "--env"));
    set(name, entry.substr(equals + 1), of("--env"));
  }
  std::ranges::sort(env, {}, &policy::EnvGrant::name);
  return {};
}

}  // namespace cordon::cli
