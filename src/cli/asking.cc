#include "cli/asking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "cli/question.h"
#include "kernel/terminal.h"

namespace cordon::cli {
namespace {

using enforce::outlet::Asked;
using enforce::outlet::AtTerminal;
using enforce::outlet::GateAnswer;

std::string destination(const Asked& asked) {
  const bool ipv6 = asked.host.contains(':');
  return base::shown(fmt::format("{}{}{}:{}", ipv6 ? "[" : "", asked.host, ipv6 ? "]" : "", asked.port));
}

}  // namespace

std::string question_about(const Asked& asked, const std::string& program) {
  const std::string who = program.empty() ? "a program of this run" : base::shown(program);
  return fmt::format(
      "cordon: {} reaches for {}, which no rule covers (the run waits)\n"
      "cordon:   once: this time; run: until this run ends; no: not in this run\n"
      "cordon: allow {}? once, run or no: ",
      who, destination(asked), destination(asked));
}

std::optional<GateAnswer> answer_in(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::string word(line);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "once" || word == "o") return GateAnswer::kOnce;
  if (word == "run" || word == "r") return GateAnswer::kRun;
  if (word == "no" || word == "n") return GateAnswer::kNever;
  return std::nullopt;
}

AtTerminal questions_of(const Invocation& invocation) {
  const std::string before = plain_screen(invocation);
  return {
      .question = [before](const Asked& asked,
                           const std::string& program) { return before + "\n" + question_about(asked, program); },
      .answer = answer_in,
      .again = "cordon: that is none of them; once, run or no: ",
      .disturbed = before +
                   "\ncordon: a process of the run went on while you were asked, and may have written what you read: "
                   "the answer is no\n"};
}

bool has_terminal() { return kernel::open_controlling_terminal().has_value(); }

}  // namespace cordon::cli
