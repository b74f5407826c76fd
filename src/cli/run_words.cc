#include "cli/run_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kernel/file.h"

namespace cordon::cli {

report::Refused flag_mistake(const Arguments& arguments, std::string code, std::string message, std::string mend) {
  return report::refused_usage(std::move(code), std::move(message), std::move(mend),
                               usage_line(*arguments.command, 78));
}

void mend_a_command(const host::Caller& caller, const std::string& word, report::Refused& refused) {
  if (word.find('/') != std::string::npos || refused.items.front().code != "manifest-missing") return;
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return;
  for (std::string_view directory : base::split(path->second, ':')) {
    const std::string candidate = std::string(directory) + "/" + word;
    if (directory.empty() || !kernel::faccessat2(kernel::kHere, candidate.c_str(), X_OK, 0)) continue;
    refused.items.front().mend = command_line_mend(" " + base::shown(word));
    return;
  }
}

std::optional<report::Refused> run_id_without_limits(const Arguments& arguments, const plan::Plan& plan) {
  const auto limits = [](const plan::Step& step) { return std::holds_alternative<plan::step::Cgroup>(step.act); };
  if (!arguments.has("--run-id") || std::ranges::any_of(plan.steps, limits)) return std::nullopt;
  return flag_mistake(arguments, "run-id-needs-limits",
                      "--run-id names the scope of a run with limits, and this one has none",
                      arguments.dashes ? "leave --run-id out, or limit the run: --memory, --cpu, --pids"
                                       : "leave --run-id out, or write in the manifest: limits: {memory: 512M}");
}

bool is_not_executable(const plan::Refusal& refusal) {
  return std::ranges::any_of(refusal.items, [](const plan::RefusedItem& item) {
    return item.code == "entrypoint-not-executable" || item.code == "entrypoint-unknown-format" ||
           item.code == "entrypoint-not-a-file" || item.code == "program-foreign";
  });
}

void say_mark(const enforce::hold::PlantedMark& mark, plan::RefusedItem& item) {
  item.code = "overlay-mark";
  item.message =
      fmt::format("{} has the attribute {}, as if it were a layer of an overlay: what must be held in it cannot be",
                  base::shown(mark.directory), mark.attribute);
  item.mend =
      fmt::format("look at what it holds; then: setfattr -x {} {}", mark.attribute, base::quote(mark.directory));
}

}  // namespace cordon::cli
