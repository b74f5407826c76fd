#include "planner/git_programs.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/git_programs.h"
#include "planner/draft.h"
#include "planner/git_places.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

constexpr std::string_view kProgram = "a program that git's configuration names";

/// "~", "~name": nothing where that is nobody's home.
std::optional<std::string> in_home(const plan::HostFacts& facts, std::string_view word) {
  const std::size_t end = std::min(word.find('/'), word.size());
  const auto home = home_named(facts, word.substr(1, end - 1));
  return home ? below(*home, "." + std::string(word.substr(end))) : std::nullopt;
}

std::vector<std::string> places_of(const plan::HostFacts& facts, const base::GitProgramWord& word,
                                   const std::string& root) {
  std::vector<std::string> out;
  const auto add = [&](std::optional<std::string> path) {
    if (path) out.push_back(std::move(*path));
  };
  if (word.text.find('\0') != std::string::npos) return out;
  if (word.text.starts_with('~')) {
    add(in_home(facts, word.text));
  } else if (word.text.starts_with('/')) {
    add(below("/", word.text));
    if (word.after_expansion) add(below(root, "." + word.text));
  } else {
    add(below(root, word.text));
  }
  return out;
}

}  // namespace

void GitPrograms::add(const base::GitConfig::Line& line, const PathFact& by, const std::string& root,
                      std::vector<Shield>& shields) {
  const std::vector<base::GitProgramWord> words = base::words_of_git_program(line.value);
  if (words.size() == base::kMostGitProgramWords)
    reader_.cannot_tell(by, "one of its settings is a command of more words than are looked at");
  if (base::git_starts_unasked(line.name) && !base::is_read_as_words(line.value) && reader_.is_written(root) &&
      seen_.insert(line.name + '\0' + line.value).second) {
    told_.push_back({.path = {}, .setting = line.name, .by = by.real});
  }
  for (const base::GitProgramWord& word : words) {
    if (!word.starts && !base::git_starts_unasked(line.name)) continue;
    for (const std::string& path : places_of(reader_.facts(), word, root)) {
      if (!seen_.insert(line.name + '\0' + path).second) continue;
      add_file(path, line, by, word.starts, shields);
    }
  }
}

void GitPrograms::add_file(const std::string& path, const base::GitConfig::Line& line, const PathFact& by, bool starts,
                           std::vector<Shield>& shields) {
  const PathFact* known = reader_.fact(path);
  if (known == nullptr) return;
  const std::string& real = known->real.empty() ? path : known->real;
  const bool is_file = known->state == PathState::kPresent && is_regular(*known);
  const bool is_absent = known->state == PathState::kAbsent && starts;
  if (!is_file && !is_absent && !(is_present_directory(known) && starts)) return;
  if (!reader_.is_written(real) || is_too_broad(reader_.facts(), real)) return;
  // Of a directory that is missing all would be held: `node_modules/.bin/x` must not keep packages from being
  // installed.
  const bool way_is_missing = is_absent && known->first_absent != real;
  if (!base::git_starts_unasked(line.name) || is_present_directory(known) || way_is_missing) {
    told_.push_back({.path = real, .setting = line.name, .by = by.real});
    return;
  }
  // What would be there is held as a directory, which no commit takes up.
  shields.push_back({.path = path,
                     .real = real,
                     .fact = known,
                     .deny = policy::shield::Deny::kWrite,
                     .directory = !is_file,
                     .write_opt_in = policy::shield::WriteOptIn::kByExactName,
                     .what = kProgram,
                     .source = {}});
}

}  // namespace cordon::planner
