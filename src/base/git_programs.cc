#include "base/git_programs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cordon::base {
namespace {

struct Named {
  std::string_view section, key;  ///< no key: each one
};

constexpr auto kPrograms = std::to_array<Named>({
    {"browser", "cmd"},
    {"browser", "path"},
    {"core", "alternaterefscommand"},
    {"core", "askpass"},
    {"core", "editor"},
    {"core", "fsmonitor"},
    {"core", "gitproxy"},
    {"core", "pager"},
    {"core", "sshcommand"},
    {"credential", "helper"},
    {"diff", "command"},
    {"diff", "external"},
    {"diff", "textconv"},
    {"difftool", "cmd"},
    {"difftool", "path"},
    {"filter", "clean"},
    {"filter", "process"},
    {"filter", "smudge"},
    {"gc", "recentobjectshook"},
    {"gpg", "defaultkeycommand"},
    {"gpg", "program"},
    {"guitool", "cmd"},
    {"hook", "command"},
    {"imap", "tunnel"},
    {"instaweb", "httpd"},
    {"interactive", "difffilter"},
    {"lfs", "clean"},
    {"lfs", "path"},
    {"lfs", "smudge"},
    {"man", "cmd"},
    {"man", "path"},
    {"merge", "driver"},
    {"mergetool", "cmd"},
    {"mergetool", "path"},
    {"pager", ""},
    {"remote", "receivepack"},
    {"remote", "uploadpack"},
    {"remote", "vcs"},
    {"sendemail", "cccmd"},
    {"sendemail", "headercmd"},
    {"sendemail", "sendmailcmd"},
    {"sendemail", "smtpserver"},
    {"sendemail", "tocmd"},
    {"sequence", "editor"},
    {"tar", "command"},
    {"trailer", "cmd"},
    {"trailer", "command"},
    {"uploadpack", "packobjectshook"},
});

constexpr std::size_t kLongestWord = 4'095;  // of a path

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool moves_elsewhere(std::string_view word) {
  constexpr auto kMoving = std::to_array<std::string_view>({"cd", "pushd", "chdir", "eval", "source", ".", "-C"});
  return std::ranges::find(kMoving, word) != kMoving.end() || word.starts_with("--directory") ||
         word.starts_with("--chdir");
}

/// "[" alone is a command.
bool matches_names(std::string_view word) {
  const std::size_t open = word.find('[');
  return word.find_first_of("*?") != std::string_view::npos ||
         (open != std::string_view::npos && word.find(']', open) != std::string_view::npos);
}

class Words {
 public:
  explicit Words(std::string_view value) : value_(value) {}

  std::vector<GitProgramWord> read() {
    while (at_ < value_.size() && out_.size() < kMostGitProgramWords) step();
    end_word();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = value_[at_++];
    switch (c) {
      case '"':
      case '\'':
        return quoted(c);
      case '\\':
        if (at_ < value_.size()) word_ += value_[at_++];
        return;
      case '$':
        return variable();
      case '!':
      case ';':
      case '|':
      case '&':
      case '(':
      case '\n':
        return begin_command();
      case ')':
      case '`':
      case '}':
        begin_command();
        expanded_ = true;
        return;
      case '=':
      case '<':
      case '>':
      case ',':
      case '{':
        return end_word();
      default:
        if (is_blank(c)) return end_word();
        word_ += c;
    }
  }

  /// A word that holds blanks, and what a shell of its own would take from it.
  void quoted(char quote) {
    if (open_ != 0) {
      if (open_ == quote) open_ = 0;
      return;
    }
    open_ = quote;
    const std::size_t end = std::min(value_.find(quote, at_), value_.size());
    const std::string_view inner = value_.substr(at_, end - at_);
    if (std::ranges::any_of(inner, is_blank) && inner.size() <= kLongestWord)
      out_.push_back({.text = word_ + std::string(inner), .starts = false, .after_expansion = expanded_});
    // The rest is read as if there were no quotes.
  }

  void variable() {
    const std::size_t begin = at_;
    if (at_ < value_.size() && value_[at_] == '{') {
      at_ = std::min(value_.find('}', at_), value_.size() - 1) + 1;
    } else {
      while (at_ < value_.size() && is_of_name(value_[at_])) ++at_;
    }
    const std::string_view name = value_.substr(begin, at_ - begin);
    if (name == "HOME" || name == "{HOME}") {
      word_ += '~';
    } else {
      expanded_ = true;
    }
  }

  void begin_command() {
    end_word();
    first_ = true;
    started_ = false;
  }

  void end_word() {
    std::string word = std::exchange(word_, {});
    const bool expanded = std::exchange(expanded_, false);
    if (word.empty() || word.size() > kLongestWord || word.starts_with('-') || word.starts_with('%')) return;
    const bool is_path = word.find('/') != std::string::npos;
    const bool searched = std::exchange(first_, false) && !is_path;
    if (searched) return;
    const bool starts = is_path && !std::exchange(started_, started_ || is_path);
    out_.push_back({.text = std::move(word), .starts = starts, .after_expansion = expanded});
  }

  std::string_view value_;
  std::size_t at_ = 0;
  std::string word_;
  char open_ = 0;  ///< the quote that is not closed yet
  bool expanded_ = false, first_ = true, started_ = false;
  std::vector<GitProgramWord> out_;
};

}  // namespace

bool names_git_program(std::string_view section, std::string_view key, std::string_view value) {
  if (section == "alias") return value.starts_with('!');
  if (section == "submodule") return key == "update" && value.starts_with('!');
  if (section == "remote" && (key == "url" || key == "pushurl")) return value.starts_with(kCommandUrl);
  return std::ranges::any_of(
      kPrograms, [&](const Named& each) { return each.section == section && (each.key.empty() || each.key == key); });
}

bool is_read_as_words(std::string_view value) {
  for (std::size_t at = value.find("${"); at != std::string_view::npos; at = value.find("${", at + 1)) {
    const std::string_view inner = value.substr(at + 2, value.find('}', at) - at - 2);
    if (!std::ranges::all_of(inner, is_of_name)) return false;
  }
  std::vector<std::string_view> set;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(" \t\r\n\"';|&()`", 0), value.size());
    const std::string_view word = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    if (moves_elsewhere(word) || matches_names(word)) return false;
    const bool uses_one = std::ranges::any_of(set, [&](std::string_view name) {
      return word.find("$" + std::string(name)) != std::string_view::npos ||
             word.find("${" + std::string(name)) != std::string_view::npos;
    });
    if (uses_one) return false;
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (equals != std::string_view::npos && !name.empty() && std::ranges::all_of(name, is_of_name)) set.push_back(name);
  }
  return true;
}

bool git_starts_unasked(std::string_view setting) {
  return !setting.starts_with("alias.") && !setting.starts_with("guitool.");
}

std::vector<GitProgramWord> words_of_git_program(std::string_view value) { return Words(value).read(); }

}  // namespace cordon::base
