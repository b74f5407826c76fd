// From argv to Arguments by the option table, or to the words that say what was wrong with it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "report/refused.h"

namespace cordon::cli {

struct Arguments {
  const CommandRow* command = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> options;  ///< by "--name"; a switch holds nothing
  std::vector<std::string> operands;
  bool dashes = false;             ///< a literal `--` stood there
  std::vector<std::string> after;  ///< what followed it
  bool help = false;

  [[nodiscard]] bool has(std::string_view option) const { return options.contains(option); }
  [[nodiscard]] std::string value(std::string_view option) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
  [[nodiscard]] std::string operand() const { return operands.empty() ? std::string() : operands.front(); }
};

/// `words` without the command's own name.
base::Result<Arguments, report::Refused> parse(const CommandRow& command, const std::vector<std::string>& words);

/// True where `--json` (or --json=true) stands before a literal `--`: asked before parsing, because a mistake on the
/// command line is then an object too.
bool wants_json(const std::vector<std::string>& words);

/// For a command where a manifest belongs; `command_line` begins with a blank.
std::string command_line_mend(std::string_view command_line);

/// "usage: cordon run [--strict] … MANIFEST"
std::string usage_line(const CommandRow& command, std::size_t width);
std::string usage_line_of_all();

}  // namespace cordon::cli
