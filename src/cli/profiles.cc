#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/profiles_view.h"
#include "report/json.h"

namespace cordon::cli {
namespace {

report::Refused unknown_profile(std::string_view word, const CommandRow& command) {
  std::vector<std::string_view> names;
  for (const auto& profile : policy::ecosystem::profiles()) names.push_back(profile.name);
  std::string mend = "cordon profiles lists them";
  if (const auto near = base::did_you_mean(word, names)) mend = fmt::format("did you mean: cordon profiles {}", *near);
  return report::refused_usage("unknown-profile", fmt::format("there is no profile {}", base::quote(word)),
                               std::move(mend), usage_line(command, 78));
}

}  // namespace

int profiles(Context& context, const Arguments& arguments) {
  const bool json = arguments.has("--json");
  const report::Style& style = context.invocation.out.style;
  auto chosen = policy::ecosystem::profiles();
  if (!arguments.operands.empty()) {
    const auto* one = policy::ecosystem::find_profile(arguments.operand());
    if (one == nullptr)
      return refuse(context, arguments.command, json, unknown_profile(arguments.operand(), *arguments.command), {}, {});
    chosen = {one, 1};
  }
  if (json) {
    context.output.print(report::document(profiles_json(chosen)));
  } else {
    context.output.print(arguments.operands.empty() ? profiles_text(chosen, style)
                                                    : profile_text(chosen.front(), style));
  }
  return context.output.broken() ? kRefused : 0;
}

}  // namespace cordon::cli
