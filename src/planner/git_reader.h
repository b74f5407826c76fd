// Reads git's own files as far as the facts have them: what stands at a path, what a file says, where a value leads.
//
// What is not known yet ends up in `ask`. What cannot be known (a file that nobody could read, a path through what the
// target could replace) ends up in `unknown`, a shield that refuses every write grant: git would go there, and nobody
// could say where that is. Git is never asked. Used by planner/checkout.cc and git_shields.cc, for one plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"
#include "planner/identity.h"
#include "planner/shield_rules.h"
#include "policy/policy.h"

namespace cordon::planner {

inline constexpr std::string_view kGitConfiguration = "git's configuration, which starts programs";
inline constexpr std::string_view kGitLeadsHere = "where git's directory is";

class GitReader {
 public:
  GitReader(const policy::Policy& policy, const plan::HostFacts& facts);

  ShieldQuestions ask;
  std::vector<Shield> unknown;

  [[nodiscard]] const plan::HostFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<std::string>& places() const { return places_; }  ///< write grants, resolved, sorted
  [[nodiscard]] bool is_anchor(std::string_view path) const;
  [[nodiscard]] bool is_written(std::string_view path) const;

  const plan::PathFact* fact(const std::string& path);
  /// Nothing for what is no directory, and for one that is reached over a link.
  const std::vector<plan::PathFact>* listing(const std::string& directory);

  /// What a file of git's says. Root reads it only where whom it works for could: another user's link opens nothing
  /// for them.
  const std::string* content(const plan::PathFact& file, std::string_view what = kGitConfiguration);

  /// The path that a whole small file is, after `prefix`; relative to `from`, which is real.
  std::optional<std::string> pointed_to(const plan::PathFact& file, std::string_view prefix, const std::string& from);

  /// Where a value of the configuration in `by` leads: with "~", "~name" and "%(prefix)".
  std::optional<std::string> expand(std::string_view value, const std::string& from, const plan::PathFact& by);

  /// The same without those. ".." behind a name is no matter of the text alone: git goes through what stands there, and
  /// the target could put a link there.
  std::optional<std::string> follow(std::string_view value, const std::string& from, const plan::PathFact& by,
                                    std::string_view what = kGitConfiguration);

  void cannot_tell(const plan::PathFact& file, std::string_view why, std::string_view what = kGitConfiguration);

 private:
  [[nodiscard]] bool may_be_moved(const plan::PathFact& known) const;

  const plan::HostFacts& facts_;
  Identity identity_;
  std::vector<std::string> places_, anchors_;
};

/// Present, and a directory.
bool is_present_directory(const plan::PathFact* fact);
/// Something has this name, be it a link that leads nowhere.
bool stands(const plan::PathFact& fact);

}  // namespace cordon::planner
