// Which of the two doors, and what is said at the second.
#include <fmt/format.h>

#include <algorithm>

#include "base/abs_path.h"
#include "base/text.h"
#include "cli/command.h"
#include "kernel/file.h"

namespace cordon::cli {

LookedUp look_up(const host::Caller& caller, const std::string& word) {
  LookedUp out;
  const auto here = base::AbsPath::parse(caller.working_directory);
  const auto try_one = [&](const std::string& candidate) {
    const auto path = here ? here->join(candidate) : base::AbsPath::parse(candidate);
    const auto facts = path ? kernel::statx(kernel::kHere, path->c_str(), 0)
                            : kernel::Sys<struct ::statx>(base::fail(kernel::Errno{ENOENT, "statx"}));
    if (!facts || S_ISDIR(facts->stx_mode)) return false;
    if (!out.is_there) out = {.path = path->str(), .is_there = true};
    if (!kernel::faccessat2(kernel::kHere, path->c_str(), X_OK, 0)) return false;
    out = {.path = path->str(), .is_there = true};
    return true;
  };
  if (word.contains('/')) {
    static_cast<void>(try_one(word));
    return out;
  }
  const auto path = caller.environment.find("PATH");
  const std::string places = path == caller.environment.end() ? "/usr/bin:/bin" : path->second;
  for (const std::string_view directory : base::split(places, ':')) {
    if (!directory.starts_with('/')) continue;  // "" and "." are the workspace, which no lookup is to lead into
    if (try_one(std::string(directory) + "/" + word)) break;
  }
  return out;
}

std::optional<Stop> not_found(const host::Caller& caller, const std::string& word) {
  if (look_up(caller, word).is_there) return std::nullopt;
  return stop(report::refused_usage(
      "command-not-found", fmt::format("{}: command not found", base::shown(word)),
      word.contains('/') ? "look at its spelling: no such file is here" : "install it, or name it by its path", {}));
}

std::string waiting_words(pid_t other, const std::string& workspace) {
  return fmt::format("cordon: waiting for process {}, whose run has the view of {} (--workspace live: without one)\n",
                     other, base::shown(workspace));
}

std::vector<plan::Note> notes_of(const CommandRun& run) {
  std::vector<plan::Note> out = run.notes;
  const policy::WorkspaceMode mode = run.policy.command->mode;
  const char* shown = mode == policy::WorkspaceMode::kLive    ? "is shown live and read-only"
                      : mode == policy::WorkspaceMode::kWrite ? "may be written"
                                                              : "is a private view";
  if (!run.fallback.empty())
    out.push_back({.code = "workspace-fallback",
                   .text = fmt::format("{} {}: {}", base::shown(run.workspace), shown, run.fallback),
                   .at = {}});
  if (run.chosen.empty() && run.effective.profiles == std::vector<std::string>{"generic"} &&
      run.detection.decided_by.empty())
    out.push_back({.code = "generic-profile",
                   .text = fmt::format("no profile knows {}: {}{}", base::shown(run.argv.front()),
                                       run.fallback.empty() ? "a private view, and " : "",
                                       run.policy.network.empty() ? "no network" : "the network of the flags"),
                   .at = {}});
  return out;
}

std::function<void(std::uint16_t)> told_of_listening(const std::optional<CommandRun>& run,
                                                     std::function<void(plan::Note)> tell) {
  if (!run || run->detection.intent != policy::ecosystem::Intent::kDev || !run->policy.publish.empty()) return {};
  return [tell = std::move(tell)](std::uint16_t port) {
    tell({.code = "port-not-published",
          .text = fmt::format("what listens on port {} is reached from inside alone; --publish {} lets this host in",
                              port, port),
          .at = {}});
  };
}

std::string flag_of_other_door(const Arguments& arguments) {
  for (const auto& [name, values] : arguments.options) {
    const OptionRow* option = find_option(*arguments.command, name);
    if (option == nullptr || option->door == Door::kBoth) continue;
    if ((option->door == Door::kCommand) != arguments.dashes) return name;
  }
  return {};
}

}  // namespace cordon::cli
