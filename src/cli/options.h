// The option table: every command, its operands and its flags, once. Parsing, help, usage lines, completion scripts and
// 'did you mean' are all made from it.
//
// Adding a flag is adding a row. A flag that takes a value names it (`value`); how often it may stand is its `times`.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cordon::cli {

struct Arguments;
struct Context;

enum class Times { kOnce, kMany };
enum class Complete { kNothing, kFile, kShell, kCommand };

/// Which of `run MANIFEST` and `run -- COMMAND` a flag is for.
enum class Door { kBoth, kManifest, kCommand };

struct OptionRow {
  std::string_view name;   ///< "--json"
  std::string_view value;  ///< "FILE"; empty for a switch
  std::string_view help;
  Times times = Times::kOnce;
  Complete complete = Complete::kNothing;
  Door door = Door::kBoth;
  std::string_view brief = {};  ///< "-p"; empty for none
};

/// "-p, --profile"
std::string names_of(const OptionRow& option);

/// kWords: up to two, which the command tells apart; its `operand` says how they are written.
enum class Operands { kNone, kOne, kOptional, kWords, kRun };

/// What `--json` promises for a mistake on the command line: an object instead of text.
enum class JsonShape { kNone, kDocument, kStream };

struct CommandRow {
  std::string_view name;
  std::string_view operand;  ///< "MANIFEST"
  Operands operands = Operands::kNone;
  Complete complete = Complete::kNothing;
  std::string_view summary;  ///< one line
  std::span<const OptionRow> options;
  JsonShape json = JsonShape::kNone;
  int (*act)(Context&, const Arguments&) = nullptr;
};

std::span<const CommandRow> commands();
const CommandRow* find_command(std::string_view name);
const OptionRow* find_option(const CommandRow& command, std::string_view name);

}  // namespace cordon::cli
