#include "policy/ecosystem/profile.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"

namespace cordon::policy::ecosystem {

std::string_view to_string(Intent intent) {
  switch (intent) {
    case Intent::kUnknown:
      return "unknown";
    case Intent::kInstall:
      return "install";
    case Intent::kBuild:
      return "build";
    case Intent::kTest:
      return "test";
    case Intent::kRun:
      return "run";
    case Intent::kDev:
      return "dev";
    case Intent::kRepl:
      return "repl";
    case Intent::kExec:
      return "exec";
    case Intent::kPublish:
      return "publish";
    case Intent::kCreate:
      return "create";
    case Intent::kFormat:
      return "format";
    case Intent::kTool:
      return "tool";
    case Intent::kInteractive:
      return "interactive";
  }
  return "unknown";
}

std::optional<WorkspaceMode> workspace_mode(std::string_view name) {
  for (const auto mode : {WorkspaceMode::kView, WorkspaceMode::kLive, WorkspaceMode::kWrite, WorkspaceMode::kReview})
    if (to_string(mode) == name) return mode;
  return std::nullopt;
}

std::string_view to_string(WorkspaceMode mode) {
  switch (mode) {
    case WorkspaceMode::kView:
      return "view";
    case WorkspaceMode::kLive:
      return "live";
    case WorkspaceMode::kWrite:
      return "write";
    case WorkspaceMode::kReview:
      return "review";
    case WorkspaceMode::kInteractive:
      return "interactive";
  }
  return "view";
}

WorkspaceMode mode_of(Intent intent) {
  switch (intent) {
    case Intent::kDev:
    case Intent::kRepl:
      return WorkspaceMode::kLive;
    case Intent::kCreate:
    case Intent::kFormat:
      return WorkspaceMode::kWrite;
    case Intent::kInteractive:
      return WorkspaceMode::kInteractive;
    case Intent::kUnknown:
    case Intent::kInstall:
    case Intent::kBuild:
    case Intent::kTest:
    case Intent::kRun:
    case Intent::kExec:
    case Intent::kPublish:
    case Intent::kTool:
      return WorkspaceMode::kView;
  }
  return WorkspaceMode::kView;
}

OwnCode own_code(Intent intent) {
  const bool runs = intent == Intent::kTest || intent == Intent::kRun || intent == Intent::kDev ||
                    intent == Intent::kRepl || intent == Intent::kInteractive;
  return runs ? OwnCode::kRuns : OwnCode::kNo;
}

std::string_view to_string(CacheClass cache) {
  switch (cache) {
    case CacheClass::kContent:
      return "content";
    case CacheClass::kUnpacked:
      return "unpacked";
    case CacheClass::kMutable:
      return "mutable";
    case CacheClass::kStore:
      return "store";
  }
  return "mutable";
}

std::string_view to_string(RegistryFormat format) {
  switch (format) {
    case RegistryFormat::kNpmrc:
      return "npmrc";
    case RegistryFormat::kYarnrc:
      return "yarnrc";
    case RegistryFormat::kPipConf:
      return "pip-conf";
    case RegistryFormat::kUvToml:
      return "uv-toml";
    case RegistryFormat::kCargoToml:
      return "cargo-toml";
    case RegistryFormat::kGoEnv:
      return "go-env";
    case RegistryFormat::kMavenSettings:
      return "maven-settings";
  }
  return "npmrc";
}

const Profile* find_profile(std::string_view name) {
  const auto all = profiles();
  const auto at = std::ranges::lower_bound(all, name, {}, &Profile::name);
  return at != all.end() && at->name == name ? &*at : nullptr;
}

const Profile* profile_called(std::string_view word) {
  constexpr std::array kNames = std::to_array<std::pair<std::string_view, std::string_view>>({{"nodejs", "node"},
                                                                                              {"js", "node"},
                                                                                              {"javascript", "node"},
                                                                                              {"rs", "rust"},
                                                                                              {"py", "python"},
                                                                                              {"ex", "elixir"},
                                                                                              {"jvm", "java"},
                                                                                              {"scala", "java"},
                                                                                              {"kotlin", "java"},
                                                                                              {"kt", "java"},
                                                                                              {"sbt", "java"}});
  std::string low(word);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (const Profile* found = find_profile(low)) return found;
  const auto at = std::ranges::find(kNames, low, &std::pair<std::string_view, std::string_view>::first);
  return at == kNames.end() ? nullptr : find_profile(at->second);
}

const Profile& generic_profile() {
  const Profile* generic = find_profile("generic");
  CORDON_CHECK(generic != nullptr);
  return *generic;
}

}  // namespace cordon::policy::ecosystem
