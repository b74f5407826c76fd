// Which settings of git name a program, and which words of such a value may be a file. Pure: text in, values out.
//
// The value is a command for a shell, nearly always. Nothing is expanded and no shell is asked: the words are those
// that a shell could take from it, whichever way it is quoted, and rather one too many than one too few. What a word
// leads to is the caller's to find out: a word without a slash that a command begins with is searched in PATH and is
// not listed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::base {

/// git-remote-ext(1): what follows in such a URL is a command.
inline constexpr std::string_view kCommandUrl = "ext::";

/// Of git-config(1), and of git-lfs. `section` and `key` in small letters; `value` matters for some.
bool names_git_program(std::string_view section, std::string_view key, std::string_view value);

/// False where a word is not what it seems to be: the command changes its directory, matches names, falls back to a
/// value, sets a variable and uses it. What it starts can then not be told from its words.
bool is_read_as_words(std::string_view value);

/// Git starts it without being asked for it by name: a filter, and no alias. `setting`: "alias.st". Of the others only
/// what a command starts counts: the rest of an alias is its data.
bool git_starts_unasked(std::string_view setting);

struct GitProgramWord {
  std::string text;
  /// The first path of a command: what is started, or what an interpreter is to read.
  bool starts = false;
  /// It stands behind something that a shell expands: "$(git rev-parse --show-toplevel)/x" is "/x".
  bool after_expansion = false;
  friend bool operator==(const GitProgramWord&, const GitProgramWord&) = default;
};

inline constexpr std::size_t kMostGitProgramWords = 256;

/// At most kMostGitProgramWords; as many where there are more.
std::vector<GitProgramWord> words_of_git_program(std::string_view value);

}  // namespace cordon::base
