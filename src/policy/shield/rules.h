// Rules: the corpus on this machine, for this caller. Absolute paths, sorted, each with where it comes from.
//
// Pure and lexical: no disk. Which rules a grant reaches, and what stands at their paths, is the planner's matter; so
// is git's own directory, whose rules depend on what is found there. A variable whose value cannot be shielded is named
// in `unshieldable`, and never silently dropped.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shield/corpus.h"
#include "policy/shield/texts.h"

namespace cordon::policy::shield {

struct Rule {
  std::string_view path;  ///< absolute, lexically normal; of Rules::texts
  Deny deny = Deny::kAll;
  Kind kind = Kind::kDirectory;
  Holds holds = Holds::kNothing;
  WriteOptIn write_opt_in = WriteOptIn::kNever;
  AliasAnchor alias_anchor = AliasAnchor::kNo;
  std::string_view what;
  std::string_view source;        ///< the variable that moved it; "" for a default
  std::size_t anchor_length = 0;  ///< of `path`; 0 for one of the system or a moved one
  /// The home it belongs to; "" where it belongs to none.
  [[nodiscard]] std::string_view anchor() const { return path.substr(0, anchor_length); }
  /// The machine's own, of no home: mostly root's, and then kept from everyone else by the kernel as well.
  [[nodiscard]] bool is_of_system() const { return anchor_length == 0 && source.empty(); }
  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Unshieldable {
  std::string variable;
  std::string value;
  std::string why;  ///< "it is not absolute", "it is your home or holds it"
  friend bool operator==(const Unshieldable&, const Unshieldable&) = default;
};

struct Situation {
  std::vector<std::string> anchors;                ///< homes: absolute, normal, none of them "/"
  std::map<std::string, std::string> environment;  ///< the caller's, of relocation_variables() those that are set
  friend bool operator==(const Situation&, const Situation&) = default;
};

struct Rules {
  /// One for each path (the stronger one stays), nothing below a hidden one. Sorted as base/path_order.h says: a
  /// directory stands right before what lies below it.
  std::vector<Rule> list;
  std::vector<Unshieldable> unshieldable;
  std::vector<std::string_view> alias_paths;  ///< absolute; sorted, each once
  std::shared_ptr<Texts> texts = std::make_shared<Texts>();

  /// Of the rules at `path` and above it: the hidden one (there is at most one), else the outermost read-only one;
  /// nullptr where there is none.
  [[nodiscard]] const Rule* covering(std::string_view path) const;
  /// The rule with exactly this path; nullptr where there is none.
  [[nodiscard]] const Rule* exactly(std::string_view path) const;
  /// Those at or below `directory`: a range of `list`.
  [[nodiscard]] std::span<const Rule> below(std::string_view directory) const;
};

Rules rules_for(const Situation& situation);

/// The rules of one checkout, at `root`; without git's. Their paths are added to `texts`.
std::vector<Rule> workspace_rules_at(std::string_view root, Texts& texts);

}  // namespace cordon::policy::shield
