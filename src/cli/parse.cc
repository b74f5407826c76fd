#include "cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"

namespace cordon::cli {
namespace {

using report::Refused;

constexpr std::size_t kUsageWidth = 78;

std::string help_of(const CommandRow& command) { return fmt::format("cordon {} --help", command.name); }

Refused mistake(const CommandRow& command, std::string code, std::string message, std::string mend = {}) {
  if (mend.empty()) mend = help_of(command) + " lists its flags";
  return report::refused_usage(std::move(code), std::move(message), std::move(mend), usage_line(command, kUsageWidth));
}

Refused unknown_flag(const CommandRow& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> names{"--help"};
  for (const OptionRow& option : command.options) names.push_back(option.name);
  std::string mend;
  if (const auto near = base::did_you_mean(name, names)) mend = fmt::format("did you mean {}?", *near);
  return mistake(command, "unknown-flag", fmt::format("{} has no flag {}", command.name, base::quote(name)),
                 std::move(mend));
}

bool is_named_as_manifest(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

/// Arguments of the program behind its manifest; or `npm install` where a manifest belongs, the other door's spelling
/// without its dashes.
std::string mend_of_more(const std::vector<std::string>& operands) {
  std::string list, line;
  for (const std::string& word : operands) line += " " + base::shown(word);
  if (!is_named_as_manifest(operands.front())) return command_line_mend(line);
  for (std::size_t i = 1; i < operands.size(); ++i) list += (list.empty() ? "" : ", ") + base::quote(operands[i]);
  return fmt::format("the program's arguments stand in its manifest: args: [{}]", list);
}

Refused too_many(const CommandRow& command, const Arguments& arguments) {
  if (command.name == "profile") {
    std::string line;
    for (const std::string& word : arguments.operands) line += " " + base::shown(word);
    const std::string first = " " + base::shown(arguments.operands.front());
    return mistake(command, "too-many-operands", "profile takes one script; its arguments stand behind --",
                   fmt::format("cordon profile{} --{}, or for a command: cordon profile --{}", first,
                               line.substr(first.size()), line));
  }
  if (command.operands != Operands::kRun)
    return mistake(command, "too-many-operands",
                   fmt::format("{} does not take {}", command.name, base::quote(arguments.operands.back())));
  return mistake(command, "too-many-operands", "run takes one manifest, and nothing after it",
                 mend_of_more(arguments.operands));
}

base::Result<void, Refused> check_operands(const CommandRow& command, const Arguments& arguments) {
  const std::size_t more = command.operands == Operands::kWords ? 2 : 1;
  const std::size_t most = command.operands == Operands::kNone ? 0 : more;
  if (arguments.operands.size() > most) return base::fail(too_many(command, arguments));
  const bool without = arguments.dashes || arguments.has("--check");
  const bool needed = command.operands == Operands::kOne || (command.operands == Operands::kRun && !without);
  if (needed && arguments.operands.empty())
    return base::fail(
        mistake(command, "missing-operand",
                fmt::format("{} needs a {}", command.name, command.operand.substr(0, command.operand.find(" |")))));
  return {};
}

/// One CLI11 option for each row; what is given is collected as text and never converted there.
struct Collected {
  std::map<std::string, bool, std::less<>> switches;
  std::map<std::string, std::vector<std::string>, std::less<>> values;
};

void declare(CLI::App& app, const CommandRow& command, Collected& into) {
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", into.switches["--help"]);
  for (const OptionRow& option : command.options) {
    const std::string name(option.name);
    const std::string names = option.brief.empty() ? name : std::string(option.brief) + "," + name;
    if (option.value.empty())
      app.add_flag(names, into.switches[name]);
    else
      app.add_option(names, into.values[name])->expected(1)->allow_extra_args(false)->take_all();
  }
}

/// CLI11 says "--env: 1 required TEXT missing"; a person wants to know what belongs there.
Refused worded(const CommandRow& command, const CLI::ParseError& error) {
  const std::string_view words = error.what();
  const OptionRow* option = find_option(command, words.substr(0, words.find_first_of(": ")));
  if (option != nullptr && !option->value.empty())
    return mistake(command, "flag-needs-value", fmt::format("{} needs a {}", option->name, option->value),
                   fmt::format("{} {}", option->name, option->value));
  return mistake(command, "usage", base::escape(words));
}

base::Result<void, Refused> take(const CommandRow& command, Collected& collected, Arguments& out) {
  for (const auto& [name, on] : collected.switches)
    if (on) out.options[name];
  for (auto& [name, given] : collected.values) {
    if (given.empty()) continue;
    const OptionRow* option = find_option(command, name);
    if (given.size() > 1 && option->times == Times::kOnce)
      return base::fail(mistake(command, "flag-given-twice", fmt::format("{} was given {} times", name, given.size()),
                                fmt::format("give {} once", name)));
    out.options[name] = std::move(given);
  }
  out.help = out.has("--help");
  return {};
}

std::string option_words(const OptionRow& option) {
  const std::string name =
      option.value.empty() ? std::string(option.name) : fmt::format("{} {}", option.name, option.value);
  return fmt::format("[{}]{}", name, option.times == Times::kMany ? "…" : "");
}

}  // namespace

std::string command_line_mend(std::string_view command_line) {
  return fmt::format("did you mean: cordon run --{}", command_line);
}

std::string Arguments::value(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() || found->second.empty() ? std::string() : found->second.front();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::vector<std::string>() : found->second;
}

base::Result<Arguments, Refused> parse(const CommandRow& command, const std::vector<std::string>& words) {
  Arguments out;
  out.command = &command;
  const auto dashes = std::ranges::find(words, "--");
  out.dashes = dashes != words.end();
  if (out.dashes) out.after.assign(dashes + 1, words.end());
  CLI::App app;
  Collected collected;
  declare(app, command, collected);
  try {
    app.parse(std::vector<std::string>(std::make_reverse_iterator(dashes), words.rend()));
  } catch (const CLI::ParseError& error) {
    return base::fail(worded(command, error));
  }
  CORDON_OK(take(command, collected, out));
  if (out.help) return out;
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.front() == '-') return base::fail(unknown_flag(command, word));
    out.operands.push_back(word);
  }
  if (out.dashes && command.operands != Operands::kRun) {  // elsewhere it only ends the flags
    out.operands.insert(out.operands.end(), out.after.begin(), out.after.end());
  }
  CORDON_OK(check_operands(command, out));
  return out;
}

bool wants_json(const std::vector<std::string>& words) {
  bool wanted = false;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--json" || word == "--json=true" || word == "--json=1") wanted = true;
    if (word == "--json=false" || word == "--json=0") wanted = false;
  }
  return wanted;
}

std::string usage_line(const CommandRow& command, std::size_t width) {
  std::string words = fmt::format("usage: cordon {}", command.name);
  for (const OptionRow& option : command.options) words += " " + option_words(option);
  if (!command.operand.empty())
    words += command.operands == Operands::kOptional ? fmt::format(" [{}]", command.operand)
                                                     : fmt::format(" {}", command.operand);
  return base::wrap(words, width, 8) + "\n";
}

std::string usage_line_of_all() {
  std::string words = "usage: cordon ";
  for (const CommandRow& command : commands())
    words += fmt::format("{}{}", &command == commands().data() ? "" : "|", command.name);
  return words + " …\n";
}

}  // namespace cordon::cli
