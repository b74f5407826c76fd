// The corpus as people write it, shields/*.yaml: read, and refused with file and line where anything is not as it must
// be. What is accepted here becomes tables (tables.h) and a page (page.h) without another check.
//
// Refused: a key nobody knows, a path that climbs or is not in its plainest form (absolute in `system`, relative
// elsewhere), a path named twice or out of order, a rule below a hidden one (it would never hold), no word on whose it
// is, a write opt-in for what is hidden. Called by the generator and its tests, at build time only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "input.h"
#include "policy/shield/corpus.h"

namespace cordon::shields {

namespace shield = policy::shield;

/// A rule for a home, a checkout or the system, or a path for the alias scan.
struct Entry {
  std::string path;
  shield::Deny deny = shield::Deny::kAll;
  shield::Kind kind = shield::Kind::kDirectory;
  shield::Holds holds = shield::Holds::kNothing;
  std::string what;
  shield::WriteOptIn write_opt_in = shield::WriteOptIn::kNever;
  shield::AliasAnchor other_names = shield::AliasAnchor::kNo;  ///< of what may be read: said by the group
  base::Span at;

  /// What is looked for under other names: hidden credentials, what starts at login, hidden files, and of what may be
  /// read the groups that say so. Bulk stores are too big for that.
  [[nodiscard]] shield::AliasAnchor alias_anchor() const;
};

/// One variable and one thing that it moves. Where `as` names a home rule, `protection` is that rule's.
struct Moved {
  std::string variable;
  shield::Moves moves = shield::Moves::kDirectory;
  std::string from, below, none, as;
  Entry protection;  ///< path unused
  base::Span at;
};

struct Corpus {
  std::vector<Entry> home, alias_paths, workspace, system;  ///< each sorted as path_order.h says
  std::vector<Moved> relocations;                           ///< by variable, then `below`
  std::vector<std::string> runtime, auto_executed;
};

base::Result<Corpus, base::Diagnostics> read_corpus(std::span<const File> files);

}  // namespace cordon::shields
