#include "cli/question.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "kernel/file.h"
#include "kernel/terminal.h"

namespace cordon::cli {
namespace {

// In this order: end an unfinished command and a held-back frame; plain colours, palette and letters; no insert mode,
// no locked keyboard, lines that wrap, no margins; a cursor that is seen, at the bottom.
constexpr std::string_view kPlainScreen =
    "\x18\x1b\\\x1b[?2026l"
    "\x1b[0m\x1b]104\a\x1b]110\a\x1b]111\a\x1b(B\x0f"
    "\x1b[4l\x1b[2l\x1b[?7h\x1b[?69l\x1b[?6l\x1b[r"
    "\x1b[?25h\x1b[999;1H";

}  // namespace

std::string plain_screen(const Invocation& invocation) {
  const auto term = invocation.caller.environment.find("TERM");
  const bool understands =
      term != invocation.caller.environment.end() && !term->second.empty() && term->second != "dumb";
  return understands ? std::string(kPlainScreen) : std::string();
}

std::string plain_before_report(const Invocation& invocation) {
  const std::string plain = invocation.err.terminal ? plain_screen(invocation) : std::string();
  return plain.empty() ? plain : plain + "\n";
}

TerminalSettings TerminalSettings::now() {
  TerminalSettings out;
  const auto terminal = kernel::open_controlling_terminal();
  if (!terminal) return out;
  if (const auto settings = kernel::tcgetattr(*terminal)) out.settings_ = *settings;
  return out;
}

void TerminalSettings::restore() const {
  const auto terminal = kernel::open_controlling_terminal();
  if (!terminal || !settings_) return;
  static_cast<void>(kernel::resume_output(*terminal));
  static_cast<void>(kernel::tcsetattr_now(*terminal, *settings_));
}

std::optional<std::string> ask_for_word(const Invocation& invocation, std::string_view question) {
  auto terminal = kernel::open_controlling_terminal();
  if (!terminal) return std::nullopt;
  // Typed before the question was read, it is no answer to it: what a program sent along, or a hand too quick.
  if (!kernel::forget_typed(*terminal)) return std::nullopt;
  const std::string plain = plain_screen(invocation);
  const std::string shown = plain + (plain.empty() ? "" : "\n") + std::string(question);
  if (!kernel::write_all(*terminal, std::as_bytes(std::span(shown)))) return std::nullopt;
  std::array<char, 64> buffer{};
  const auto length = kernel::read(*terminal, std::as_writable_bytes(std::span(buffer)));
  if (!length || *length == 0) return std::nullopt;
  std::string word(buffer.data(), *length);
  std::erase_if(word, [](unsigned char c) { return std::isspace(c) != 0; });
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

Answer ask(const Invocation& invocation, std::string_view question) {
  const std::optional<std::string> word = ask_for_word(invocation, question);
  if (!word) return Answer::kNobody;
  return *word == "y" || *word == "yes" ? Answer::kYes : Answer::kNo;
}

}  // namespace cordon::cli
