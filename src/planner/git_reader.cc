#include "planner/git_reader.h"

#include <algorithm>

#include "base/text.h"
#include "planner/draft.h"
#include "planner/git_places.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/write_places.h"

namespace cordon::planner {

using plan::PathFact;
using plan::PathState;

GitReader::GitReader(const policy::Policy& policy, const plan::HostFacts& facts)
    : facts_(facts),
      identity_(decide_identity(policy, facts)),
      places_(write_places(policy, facts)),
      anchors_(anchors_of(facts)) {}

bool GitReader::is_anchor(std::string_view path) const { return std::ranges::binary_search(anchors_, path); }

bool GitReader::is_written(std::string_view path) const {
  for (std::string_view at = path;; at = parent_of(at)) {
    if (std::ranges::binary_search(places_, at)) return true;
    if (at == "/") return false;
  }
}

const PathFact* GitReader::fact(const std::string& path) {
  const PathFact* known = fact_of(facts_, path);
  if (known == nullptr) ask.paths.push_back(path);
  return known;
}

const std::vector<PathFact>* GitReader::listing(const std::string& directory) {
  const PathFact* known = fact(directory);
  if (!is_present_directory(known) || !known->hops.empty()) return nullptr;
  const auto found = facts_.children.find(directory);
  if (found != facts_.children.end()) return &found->second;
  ask.directories.push_back(directory);
  return nullptr;
}

const std::string* GitReader::content(const PathFact& file, std::string_view what) {
  if (!may_reach(identity_, file)) {
    cannot_tell(file, "you work for somebody who could not read it", what);
    return nullptr;
  }
  const auto found = facts_.texts.find(file.real);
  if (found == facts_.texts.end()) {
    ask.texts.push_back(file.real);
    return nullptr;
  }
  if (!facts_.unread_texts.contains(file.real)) return &found->second;
  cannot_tell(file, "it is too long or cannot be read", what);
  return nullptr;
}

/// Git takes all of it but the newlines at its end; other programs drop blanks as well.
std::optional<std::string> GitReader::pointed_to(const PathFact& file, std::string_view prefix,
                                                 const std::string& from) {
  const std::string* text = content(file, kGitLeadsHere);
  if (text == nullptr || !text->starts_with(prefix)) return std::nullopt;
  std::string_view path = std::string_view(*text).substr(prefix.size());
  while (path.ends_with('\n') || path.ends_with('\r')) path.remove_suffix(1);
  if (path.starts_with(' ') && !prefix.empty()) path.remove_prefix(1);
  const bool plain = path.find_first_of(std::string_view("\0\n\r\t", 4)) == std::string_view::npos;
  if (!plain || path.starts_with(' ') || path.ends_with(' ')) {
    cannot_tell(file, "programs do not agree on what it says", kGitLeadsHere);
    return std::nullopt;
  }
  return path.empty() ? std::nullopt : follow(path, from, file, kGitLeadsHere);
}

std::optional<std::string> GitReader::expand(std::string_view value, const std::string& from, const PathFact& by) {
  if (value.starts_with('~')) {
    const std::size_t end = std::min(value.find('/'), value.size());
    const auto home = home_named(facts_, value.substr(1, end - 1));
    if (!home) return cannot_tell(by, "whose home it names is not known"), std::nullopt;
    return follow("." + std::string(value.substr(end)), *home, by);
  }
  constexpr std::string_view kPrefix = "%(prefix)/";
  return value.starts_with(kPrefix) ? follow(value.substr(kPrefix.size()), "/usr", by) : follow(value, from, by);
}

std::optional<std::string> GitReader::follow(std::string_view value, const std::string& from, const PathFact& by,
                                             std::string_view what) {
  std::string at = value.starts_with('/') ? "/" : from;
  bool entered = false;
  for (const std::string_view name : base::split(value, '/')) {
    if (name.empty() || name == ".") continue;
    if (name != "..") {
      at = at == "/" ? "/" + std::string(name) : at + "/" + std::string(name);
      entered = true;
      continue;
    }
    if (entered) {
      const PathFact* known = fact(at);
      if (known == nullptr) return std::nullopt;
      const bool stays = known->state == PathState::kPresent && !may_be_moved(*known);
      if (!stays) {
        cannot_tell(by, "it names a path through a directory that the target could replace", what);
        return std::nullopt;
      }
      at = known->real;
    }
    at = std::string(parent_of(at));
  }
  return below("/", at);
}

bool GitReader::may_be_moved(const PathFact& known) const {
  return is_written(known.asked) || is_written(known.real) ||
         std::ranges::any_of(known.hops, [&](const plan::LinkHop& hop) { return is_written(hop.at); });
}

void GitReader::cannot_tell(const PathFact& file, std::string_view why, std::string_view what) {
  unknown.push_back({.path = file.real,
                     .real = file.real,
                     .deny = policy::shield::Deny::kWrite,
                     .directory = false,
                     .what = what,
                     .source = {},
                     .unknown_reach = why});
}

bool is_present_directory(const PathFact* fact) {
  return fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact);
}

bool stands(const PathFact& fact) { return fact.state != PathState::kAbsent || !fact.hops.empty(); }

}  // namespace cordon::planner
