#include "cli/question.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "kernel/file.h"
#include "kernel/terminal.h"

namespace cordon::cli {

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

std::optional<std::string> ask_for_word(std::string_view question) {
  auto terminal = kernel::open_controlling_terminal();
  if (!terminal) return std::nullopt;
  // Typed before the question was read, it is no answer to it: what a program sent along, or a hand too quick.
  if (!kernel::forget_typed(*terminal)) return std::nullopt;
  if (!kernel::write_all(*terminal, std::as_bytes(std::span(question)))) return std::nullopt;
  std::array<char, 64> buffer{};
  const auto length = kernel::read(*terminal, std::as_writable_bytes(std::span(buffer)));
  if (!length || *length == 0) return std::nullopt;
  std::string word(buffer.data(), *length);
  std::erase_if(word, [](unsigned char c) { return std::isspace(c) != 0; });
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

Answer ask(std::string_view question) {
  const std::optional<std::string> word = ask_for_word(question);
  if (!word) return Answer::kNobody;
  return *word == "y" || *word == "yes" ? Answer::kYes : Answer::kNo;
}

}  // namespace cordon::cli
