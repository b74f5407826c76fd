#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"

namespace cordon::cli {
namespace {

std::string all_commands(const report::Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (const CommandRow& command : commands())
    rows.push_back({command.operand.empty() ? fmt::format("cordon {}", command.name)
                                            : fmt::format("cordon {} {}", command.name, command.operand),
                    std::string(command.summary)});
  return "Cordon runs code that you do not trust under permissions that you can read.\n\n" +
         report::table(rows, style, 2) +
         "\ncordon help COMMAND shows a command's flags.\n"
         "Exit codes of run: the target's own; 128+N for a signal; 127 command not found;\n"
         "126 could not be executed; 125 refused; 124 a promise lapsed, or the time limit.\n";
}

std::string one_command(const CommandRow& command, const report::Style& style) {
  std::string out = usage_line(command, style.width) + "\n  " + std::string(command.summary) + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const OptionRow& option : command.options) {
    const std::string name =
        option.value.empty() ? names_of(option) : fmt::format("{} {}", names_of(option), option.value);
    rows.push_back(
        {name, std::string(option.help) + (option.times == Times::kMany ? "; may stand several times" : "")});
  }
  if (!rows.empty()) out += "\n" + report::table(rows, style, 2);
  return out;
}

}  // namespace

int help(Context& context, const Arguments& arguments) {
  const report::Style& style = context.invocation.out.style;
  if (arguments.help && arguments.command != nullptr) {
    context.output.print(one_command(*arguments.command, style));
    return context.output.broken() ? kRefused : 0;
  }
  if (arguments.operands.empty()) {
    context.output.print(all_commands(style));
    return context.output.broken() ? kRefused : 0;
  }
  if (const CommandRow* command = find_command(arguments.operand())) {
    context.output.print(one_command(*command, style));
    return context.output.broken() ? kRefused : 0;
  }
  return refuse(context, nullptr, false, unknown_command(arguments.operand()), {}, {});
}

}  // namespace cordon::cli
