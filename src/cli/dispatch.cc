#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/leavings.h"
#include "report/json.h"

namespace cordon::cli {

report::Refused unknown_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const CommandRow& command : commands()) names.push_back(command.name);
  std::string mend = "cordon help lists the commands";
  if (const auto near = base::did_you_mean(word, names)) mend = fmt::format("did you mean: cordon {}", *near);
  return report::refused_usage("unknown-command", fmt::format("there is no command {}", base::quote(word)),
                               std::move(mend), usage_line_of_all());
}

int refuse(Context& context, const CommandRow* command, bool json, const report::Refused& refused,
           std::string_view source, std::string_view closing) {
  const JsonShape shape = command == nullptr ? JsonShape::kNone : command->json;
  if (json && shape == JsonShape::kStream) context.output.print(report::refusal_event(refused));
  if (json && shape == JsonShape::kDocument) context.output.print(report::refusal_document(refused));
  if (!json || shape == JsonShape::kNone || context.output.broken())
    context.output.say(report::text(refused, source, closing, context.invocation.err.style));
  return refused.exit_code;
}

namespace {

int help_for(Context& context, const CommandRow* command) {
  Arguments arguments;
  arguments.command = command;
  arguments.help = command != nullptr;
  return help(context, arguments);
}

}  // namespace

int dispatch(const Invocation& invocation, Output& output) {
  Context context{invocation, output};
  const std::vector<std::string>& words = invocation.arguments;
  if (words.empty()) {
    output.say(usage_line_of_all() + "cordon help says what each does\n");
    return kRefused;
  }
  if (words.front() == "--help" || words.front() == "-h") return help_for(context, nullptr);
  const bool short_version = words.front() == "--version" || words.front() == "-v";
  const CommandRow* command = find_command(short_version ? "version" : words.front());
  if (command == nullptr) return refuse(context, nullptr, false, unknown_command(words.front()), {}, {});
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  auto arguments = parse(*command, rest);
  if (!arguments) return refuse(context, command, wants_json(rest), arguments.error(), {}, {});
  if (arguments->help) return help_for(context, command);
  static_cast<void>(clean_holds(state_directory(invocation.caller, absolute_variable(invocation.caller, "HOME"))));
  return command->act(context, *arguments);
}

}  // namespace cordon::cli
