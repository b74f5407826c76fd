// Completion scripts, made from the option table: a new flag completes without a line here.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/commands.h"

namespace cordon::cli {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

std::string command_names() {
  std::string out;
  for (const CommandRow& command : commands()) out += fmt::format("{}{}", out.empty() ? "" : " ", command.name);
  return out;
}

std::string flags_of(const CommandRow& command) {
  std::string out = "--help";
  for (const OptionRow& option : command.options)
    out += fmt::format("{}{} {}", option.brief.empty() ? "" : " ", option.brief, option.name);
  return out;
}

std::string file_flags_of(const CommandRow& command) {
  std::string out;
  for (const OptionRow& option : command.options)
    if (option.complete == Complete::kFile) out += fmt::format(" {} {}", option.brief, option.name);
  return out + " ";
}

/// What stands behind a flag or as an operand, as `compgen` arguments.
std::string bash_operands(const CommandRow& command) {
  switch (command.complete) {
    case Complete::kFile:
      return "-f";
    case Complete::kShell:
      return "-W 'bash zsh fish'";
    case Complete::kCommand:
      return fmt::format("-W '{}'", command_names());
    case Complete::kNothing:
      return "-W ''";
  }
  return {};
}

std::string bash() {
  std::string cases;
  for (const CommandRow& command : commands()) {
    cases += fmt::format("    {}) flags='{}'; files='{}'; operands=({}) ;;\n", command.name, flags_of(command),
                         file_flags_of(command), bash_operands(command));
  }
  return fmt::format(R"(# bash completion for cordon; made by: cordon completion bash
_cordon() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} flags= files= operands=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}    *) return ;;
  esac
  if [[ $files == *" $previous "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen "${{operands[@]}}" -- "$word")
  fi
}}
complete -o filenames -F _cordon cordon
)",
                     command_names(), cases);
}

/// Within single quotes, for zsh and fish; '[', ']' and ':' are zsh's own.
std::string quoted_help(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') continue;
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionRow& option) {
  const std::string many = option.times == Times::kMany ? "*" : "";
  const std::string value =
      option.value.empty() ? ""
                           : fmt::format(":{}:{}", option.value, option.complete == Complete::kFile ? "_files" : "");
  const auto row = [&](std::string_view name) {
    return fmt::format("'{}{}[{}]{}'", many, name, quoted_help(option.help), value);
  };
  return option.brief.empty() ? row(option.name) : row(option.brief) + " " + row(option.name);
}

std::string zsh_operand(const CommandRow& command) {
  switch (command.complete) {
    case Complete::kFile:
      return fmt::format(" '1:{}:_files'", command.operand);
    case Complete::kShell:
      return " '1:shell:(bash zsh fish)'";
    case Complete::kCommand:
      return fmt::format(" '1:command:({})'", command_names());
    case Complete::kNothing:
      return {};
  }
  return {};
}

std::string zsh() {
  std::string names, cases;
  for (const CommandRow& command : commands()) {
    names += fmt::format("    '{}:{}'\n", command.name, quoted_help(command.summary));
    cases += fmt::format("    {}) _arguments '--help[show the flags]'", command.name);
    for (const OptionRow& option : command.options) cases += " " + zsh_option(option);
    cases += zsh_operand(command) + " ;;\n";
  }
  return fmt::format(R"(#compdef cordon
# zsh completion for cordon; made by: cordon completion zsh
_cordon() {{
  local -a names=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command names
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
{}  esac
}}
compdef _cordon cordon
)",
                     names, cases);
}

std::string fish() {
  std::string out = "# fish completion for cordon; made by: cordon completion fish\n";
  out += "complete -c cordon -f\n";
  for (const CommandRow& command : commands())
    out += fmt::format("complete -c cordon -n __fish_use_subcommand -a {} -d '{}'\n", command.name, command.summary);
  for (const CommandRow& command : commands()) {
    const std::string when = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionRow& option : command.options) {
      const std::string value = option.value.empty() ? "" : option.complete == Complete::kFile ? " -r -F" : " -r";
      const std::string brief = option.brief.empty() ? "" : fmt::format(" -s {}", option.brief.substr(1));
      out += fmt::format("complete -c cordon {}{} -l {}{} -d '{}'\n", when, brief, option.name.substr(2), value,
                         option.help);
    }
    if (command.complete == Complete::kFile) out += fmt::format("complete -c cordon {} -F\n", when);
    if (command.complete == Complete::kShell) out += fmt::format("complete -c cordon {} -a 'bash zsh fish'\n", when);
    if (command.complete == Complete::kCommand)
      out += fmt::format("complete -c cordon {} -a '{}'\n", when, command_names());
  }
  return out;
}

}  // namespace

int completion(Context& context, const Arguments& arguments) {
  const std::string shell = arguments.operand();
  std::string script = shell == "bash" ? bash() : shell == "zsh" ? zsh() : shell == "fish" ? fish() : std::string();
  if (script.empty()) {
    std::string mend = "bash, zsh or fish";
    if (const auto near = base::did_you_mean(shell, kShells)) mend = fmt::format("did you mean {}?", *near);
    return refuse(context, arguments.command, false,
                  report::refused_usage("unknown-shell", fmt::format("no completion for {}", base::quote(shell)), mend,
                                        usage_line(*arguments.command, context.invocation.err.style.width)),
                  {}, {});
  }
  context.output.print(script);
  return context.output.broken() ? kRefused : 0;
}

}  // namespace cordon::cli
