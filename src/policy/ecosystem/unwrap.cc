// What stands before a command: env, time, nice and their kind, and a shell with one text.

#include <algorithm>

#include "policy/ecosystem/words.h"

namespace cordon::policy::ecosystem {
namespace {

/// A program that starts the rest of its command line.
struct Wrapper {
  std::string_view name;
  std::string_view with_value;  ///< options that take the next word, blank-separated
  std::string_view plain;       ///< options that stand alone
  unsigned operands = 0;        ///< its own, before the command
};
constexpr Wrapper kWrappers[]{
    {"env", " -u --unset ", " -i --ignore-environment -v ", 0},
    {"time", " -f --format -o --output ", " -p -v -a -q --verbose --portability --append --quiet ", 0},
    {"nice", " -n --adjustment ", "", 0},
    {"ionice", " -c --class -n --classdata ", " -t ", 0},
    {"nohup", "", "", 0},
    {"setsid", "", " -w --wait -f --fork -c ", 0},
    {"stdbuf", " -i -o -e --input --output --error ", "", 0},
    {"timeout", " -k --kill-after -s --signal ", " --foreground --preserve-status -v --verbose ", 1},
    {"taskset", "", " -c ", 1},
    {"command", "", "", 0},
    {"exec", "", "", 0},
};
constexpr std::string_view kShells = " sh bash dash zsh ksh mksh ";
constexpr int kDeepest = 8;

bool is_in(std::string_view list, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(word.substr(0, equals), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// `-n5`, `-oL`: a short option with its value in one word.
bool is_attached(std::string_view list, std::string_view word) {
  return word.size() > 2 && word[1] != '-' && is_in(list, word.substr(0, 2));
}

/// How many words belong to the wrapper; nothing where one of them is not understood.
std::optional<std::size_t> own_words(const Wrapper& wrapper, std::span<const std::string> argv) {
  std::size_t at = 1;
  for (; at < argv.size(); ++at) {
    const std::string_view word = argv[at];
    if (wrapper.name == "env" && is_assignment(word)) continue;
    if (word == "--") {
      ++at;
      break;
    }
    if (!word.starts_with('-') || word.size() < 2) break;
    if (is_in(wrapper.with_value, word)) {
      ++at;
    } else if (!is_in(wrapper.plain, word) && !is_attached(wrapper.with_value, word) &&
               !is_in(wrapper.with_value, word.substr(0, word.find('='))) &&
               !(wrapper.name == "nice" && word.find_first_not_of("-0123456789") == std::string_view::npos)) {
      return std::nullopt;
    }
  }
  while (wrapper.name == "env" && at < argv.size() && is_assignment(argv[at])) ++at;
  return std::min(at + wrapper.operands, argv.size());
}

/// The text of `sh -c TEXT`; options may stand before and in one word with it ("-lc").
const std::string* shell_text(std::span<const std::string> argv) {
  for (std::size_t at = 1; at + 1 < argv.size(); ++at) {
    const std::string_view word = argv[at];
    if (word.size() < 2 || word[0] != '-' || word[1] == '-') return nullptr;
    if (word.find('c') != std::string_view::npos) return &argv[at + 1];
    if (word.find_first_not_of("-eluxvi") != std::string_view::npos) return nullptr;
  }
  return nullptr;
}

/// One level; false where nothing stands before the command.
bool step(Unwrapped& out) {
  const std::string_view name = base_name(out.argv.front());
  if (is_in(kShells, name)) {
    const std::string* text = shell_text(out.argv);
    if (text == nullptr) return false;
    out.through.push_back(std::string(name) + " -c");
    out.argv = first_simple_command(*text, out.whole);
    return true;
  }
  const auto wrapper = std::ranges::find(kWrappers, name, &Wrapper::name);
  if (wrapper == std::end(kWrappers)) return false;
  out.through.emplace_back(name);
  const auto own = own_words(*wrapper, out.argv);
  if (own)
    out.argv.erase(out.argv.begin(), out.argv.begin() + static_cast<std::ptrdiff_t>(*own));
  else
    out.argv.clear();
  return true;
}

/// A shell text, word by word.
class ShellWords {
 public:
  explicit ShellWords(std::string_view text) : text_(text) {}

  enum class Next { kWord, kEnd, kSeparator, kNotPlain };
  Next next(std::string& word) {
    skip_blanks();
    if (at_ == text_.size()) return Next::kEnd;
    if (is_separator(text_[at_])) return Next::kSeparator;
    word.clear();
    while (at_ < text_.size() && !is_blank(text_[at_]) && !is_separator(text_[at_]))
      if (!take(word)) return Next::kNotPlain;
    return Next::kWord;
  }
  /// Whether anything but blanks and one last ';' or newline is left.
  bool has_more() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == ';' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size();
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static bool is_separator(char c) { return c == ';' || c == '&' || c == '|' || c == '\n'; }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  /// One byte, or one quoted part. False for what a shell would expand, redirect or group.
  bool take(std::string& word) {
    const char c = text_[at_++];
    if (c == '\'') return take_quoted(word, '\'');
    if (c == '"') return take_quoted(word, '"');
    if (std::string_view("$`\\*?[](){}<>!#~").find(c) != std::string_view::npos) return false;
    word += c;
    return true;
  }
  bool take_quoted(std::string& word, char quote) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return true;
      }
      if (quote == '"' && (c == '$' || c == '`' || c == '\\')) return false;
      word += c;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> first_simple_command(std::string_view text, Whole& whole) {
  ShellWords words(text);
  std::vector<std::string> out;
  std::string word;
  for (;;) {
    switch (words.next(word)) {
      case ShellWords::Next::kWord:
        if (!out.empty() || !is_assignment(word)) out.push_back(word);
        continue;
      case ShellWords::Next::kNotPlain:
        // What comes after is another matter; the words before are plain.
        whole = Whole::kFirstOfSeveral;
        return out;
      case ShellWords::Next::kSeparator:
        if (words.has_more()) whole = Whole::kFirstOfSeveral;
        return out;
      case ShellWords::Next::kEnd:
        return out;
    }
  }
}

Unwrapped unwrap(std::span<const std::string> argv) {
  Unwrapped out{{argv.begin(), argv.end()}, {}, Whole::kYes};
  for (int depth = 0; depth < kDeepest && !out.argv.empty(); ++depth)
    if (!step(out)) return out;
  if (!out.argv.empty() && out.through.size() >= kDeepest) out.argv.clear();
  return out;
}

}  // namespace cordon::policy::ecosystem
