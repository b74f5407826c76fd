// Asking a person. Only where standard input is a terminal, and then on /dev/tty: what a pipe or a here-document holds
// is nobody's answer.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <string_view>

#include "cli/invocation.h"

namespace cordon::cli {

/// The settings of the controlling terminal at one moment, to be given back after a program has had it: one that died,
/// or means ill, leaves it without echo, or in a mode in which no line ever ends.
class TerminalSettings {
 public:
  static TerminalSettings now();
  void restore() const;

 private:
  std::optional<termios> settings_;
};

/// What brings the terminal back to plain text on whole lines at its bottom, whatever a program left it in: the middle
/// of a command, colours that cannot be told apart, a window of one line. Empty where TERM says that it knows no
/// commands.
std::string plain_screen(const Invocation& invocation);

/// The same before a report on standard error, where that is a terminal.
std::string plain_before_report(const Invocation& invocation);

enum class Answer { kYes, kNo, kNobody };

/// Shows the question on a plain screen and reads one line of at most 64 bytes. kNobody: there is no terminal, or it
/// ended.
Answer ask(const Invocation& invocation, std::string_view question);

/// The same, for a question with answers of its own: the line in lower case, without blanks.
std::optional<std::string> ask_for_word(const Invocation& invocation, std::string_view question);

}  // namespace cordon::cli
