#include "cli/run_flags.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "cgroup/numbers.h"
#include "cli/asking.h"
#include "cli/command.h"
#include "cli/run_words.h"

namespace cordon::cli {

base::Result<void, Stop> check_run_flags(const Arguments& arguments) {
  const auto mistake = [&](std::string code, std::string message, std::string mend) {
    return base::fail(stop(flag_mistake(arguments, std::move(code), std::move(message), std::move(mend))));
  };
  if (arguments.dashes && !arguments.operands.empty())
    return mistake("manifest-and-command", "a manifest and a command were given",
                   "cordon run MANIFEST, or cordon run -- COMMAND");
  if (const std::string flag = flag_of_other_door(arguments); !flag.empty())
    return mistake("flag-of-other-door",
                   fmt::format("{} is for {}", flag, arguments.dashes ? "a manifest" : "a command after --"),
                   fmt::format("leave {} out", flag));
  if (arguments.has("--run-id") && !cgroup::is_run_id(arguments.value("--run-id")))
    return mistake("bad-run-id", fmt::format("--run-id {} is no id", base::shown(arguments.value("--run-id"))),
                   "--run-id ID: 1 to 64 letters, digits and underscores");
  if (arguments.has("--ask") && !arguments.has("--dry-run") && !has_terminal())
    return mistake("ask-needs-terminal", "--ask asks at a terminal, and there is none",
                   "leave --ask out, and write what the run may reach in the manifest: network: [{host: …, port: …}]");
  if (arguments.value("--report").ends_with(".html"))
    return mistake("report-format", "--report writes JSON; a page to look at is not in this version",
                   "--report FILE.json");
  return {};
}

}  // namespace cordon::cli
