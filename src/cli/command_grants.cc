#include "cli/command_grants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/config_files.h"
#include "cli/surroundings.h"
#include "policy/manifest/values.h"

namespace cordon::cli {
namespace {

using policy::PathGrant;
using policy::config::lies_in;

constexpr std::array kDenyFlags = {"--deny-read", "--deny-exec"};

base::Result<std::string, Stop> absolute(const FlagPlaces& places, const std::string& flag, const std::string& path) {
  const auto here = base::AbsPath::parse(places.working_directory);
  std::string text = path;
  if (text == "~" || text.starts_with("~/")) text = places.home + text.substr(1);
  const auto joined = here && !text.empty() ? here->join(text) : std::nullopt;
  if (joined) return joined->str();
  auto refused = refuse_value("path-malformed", fmt::format("{} needs a path", flag), flag + " PATH");
  return base::fail(std::move(refused).error());
}

base::Result<void, Stop> limit_time(const Arguments& arguments, policy::Limits& limits) {
  if (!arguments.has("--timeout")) return {};
  limits.timeout = arguments.value("--timeout");
  limits.timeout_at = {.span = {}, .source = "--timeout"};
  if (const auto fault = policy::manifest::check_value(policy::manifest::Rule::kDuration, limits.timeout))
    return refuse_value("bad-timeout", fmt::format("--timeout {}", fault->message), fault->hint);
  limits.timeout_ms = policy::manifest::parse_duration_ms(limits.timeout).value_or(0);
  return {};
}

/// A flag whose values are written as the entries of a manifest's key.
base::Result<void, Stop> add_words(const Arguments& arguments, const char* flag, policy::manifest::Rule rule,
                                   std::vector<policy::Text>& out) {
  for (const std::string& value : arguments.values(flag)) {
    if (const auto fault = policy::manifest::check_value(rule, value))
      return refuse_value(fault->code, fmt::format("{} {}", flag, fault->message), fault->hint);
    out.push_back({value, {.span = {}, .source = flag}});
  }
  return {};
}

/// --memory, --cpu and --pids, each written as in a manifest.
base::Result<void, Stop> limit_resources(const Arguments& arguments, policy::Limits& limits) {
  namespace manifest = policy::manifest;
  using manifest::Rule;
  const auto take = [&](const char* flag, Rule rule, policy::Origin& at) -> base::Result<std::string, Stop> {
    const std::string written = arguments.value(flag);
    const auto fault = manifest::check_value(rule, written);
    at = {.span = {}, .source = flag};
    if (!fault) return written;
    auto refused = refuse_value(fault->code, fmt::format("{} {}", flag, fault->message), fault->hint);
    return base::fail(std::move(refused).error());
  };
  if (arguments.has("--memory")) {
    CORDON_TRY(limits.memory, take("--memory", Rule::kMemory, limits.memory_at));
    limits.memory_bytes = manifest::parse_size(limits.memory).value_or(0);
  }
  if (arguments.has("--cpu")) {
    CORDON_TRY(limits.cpu, take("--cpu", Rule::kPercent, limits.cpu_at));
    limits.cpu_hundredths = manifest::parse_share(limits.cpu).value_or(0);
  }
  if (arguments.has("--pids")) {
    CORDON_TRY(const std::string written, take("--pids", Rule::kCount, limits.pids_at));
    limits.pids = static_cast<std::int64_t>(base::parse_decimal(written).value_or(0));
  }
  return {};
}

void add(const std::vector<policy::config::Path>& from, std::vector<PathGrant>& to) {
  for (const policy::config::Path& entry : from)
    if (std::ranges::find(to, entry.path, &PathGrant::path) == to.end())
      to.push_back({.written = entry.written, .path = entry.path, .at = entry.at});
}

}  // namespace

base::Result<bool, Stop> shares_caches(const Arguments& arguments) {
  const std::string kind = arguments.has("--cache") ? arguments.value("--cache") : "private";
  if (kind == "private" || kind == "shared") return kind == "shared";
  auto refused = refuse_value("unknown-cache", fmt::format("--cache {} is none", base::shown(kind)),
                              "--cache private, or --cache shared");
  return base::fail(std::move(refused).error());
}

void share_cache(const policy::ecosystem::Root& cache, policy::Policy& policy) {
  const std::string& path = cache.path.str();
  policy.write.push_back({.written = path, .path = path, .at = {.span = {}, .source = "caches, by --cache shared"}});
}

base::Result<std::vector<std::string>, Stop> denied_places(const Arguments& arguments,
                                                           const policy::config::Merged& config,
                                                           const FlagPlaces& places) {
  std::vector<std::string> out;
  for (const auto* list : {&config.deny_read, &config.deny_exec})
    for (const policy::config::Path& entry : *list) out.push_back(entry.path);
  for (const char* flag : kDenyFlags) {
    for (const std::string& path : arguments.values(flag)) {
      CORDON_TRY(std::string full, absolute(places, flag, path));
      out.push_back(std::move(full));
    }
  }
  return out;
}

void add_config_grants(const policy::config::Merged& config, policy::Policy& policy) {
  add(config.read, policy.read);
  add(config.execute, policy.read);
  add(config.write, policy.write);
}

base::Result<void, Stop> add_flag_grants(const Arguments& arguments, const FlagPlaces& places, policy::Policy& policy) {
  const auto add_all = [&](const char* flag, std::vector<PathGrant>& grants) -> base::Result<void, Stop> {
    for (const std::string& path : arguments.values(flag)) {
      CORDON_TRY(std::string full, absolute(places, flag, path));
      grants.push_back({.written = path, .path = std::move(full), .at = {.span = {}, .source = flag}});
    }
    return {};
  };
  CORDON_OK(add_all("--allow-read", policy.read));
  CORDON_OK(add_all("--allow-exec", policy.read));
  CORDON_OK(add_all("--allow-write", policy.write));
  CORDON_OK(add_all("--allow-wx", policy.wx));
  policy.write.insert(policy.write.end(), policy.wx.begin(), policy.wx.end());
  CORDON_OK(add_words(arguments, "--allow", policy::manifest::Rule::kAllowance, policy.allow));
  CORDON_OK(add_words(arguments, "--agent", policy::manifest::Rule::kAgent, policy.agent));
  CORDON_OK(add_words(arguments, "--device", policy::manifest::Rule::kDevice, policy.devices));
  for (const char* flag : kDenyFlags) CORDON_OK(add_all(flag, policy.deny));
  // What was named by hand is not hidden by a rule of thumb.
  std::erase_if(policy.deny, [&](const PathGrant& denied) {
    return denied.at.source == ".env files" &&
           std::ranges::find(policy.read, denied.path, &PathGrant::path) != policy.read.end();
  });
  CORDON_OK(limit_resources(arguments, policy.limits));
  return limit_time(arguments, policy.limits);
}

void add_config_denies(const policy::config::Merged& config, const std::string& workspace,
                       std::span<const base::AbsPath> homes, policy::Policy& policy, std::vector<plan::Note>& notes) {
  const auto covers = [](const std::string& path) {
    return [&path](const PathGrant& grant) { return lies_in(path, grant.path); };
  };
  const auto hide = [&](const policy::config::Path& entry) {
    const std::string& path = entry.path;
    const bool written = std::ranges::any_of(policy.write, covers(path)) ||
                         (policy.command->mode == policy::WorkspaceMode::kWrite && lies_in(path, workspace));
    const bool shown = written || std::ranges::any_of(policy.read, covers(path)) || lies_in(path, workspace);
    const bool of_home =
        std::ranges::any_of(homes, [&](const base::AbsPath& home) { return lies_in(path, home.str()); });
    if (!shown && (of_home || !exists(path))) return;
    if (written && !exists(path)) {
      notes.push_back({.code = "deny-missing",
                       .text = fmt::format("{}: {} does not exist, so there is nothing to hide yet",
                                           base::shown(origin_words(entry.at)), base::shown(path)),
                       .at = {}});
      return;
    }
    if (std::ranges::find(policy.deny, path, &PathGrant::path) == policy.deny.end())
      policy.deny.push_back({.written = entry.written, .path = path, .at = entry.at});
  };
  for (const policy::config::Path& entry : config.deny_read) hide(entry);
  for (const policy::config::Path& entry : config.deny_exec) hide(entry);
}

}  // namespace cordon::cli
