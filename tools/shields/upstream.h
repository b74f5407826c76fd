// What firejail and AppArmor protect below a home, read from the lists that their packages install. Facts only, at run
// time: nothing of theirs is kept here.
//
// In scope is what holds credentials, private data or persistence: by section in firejail's list of common paths, by
// name in its list of programs (which has no sections), everything in AppArmor's. A section that nobody has judged yet
// is itself a finding, so that one which is renamed or new does not slip out of the comparison.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shield/corpus.h"

namespace cordon::shields {

/// One path that another system protects.
struct Candidate {
  std::string path;  ///< below the home; as written there where it holds a wildcard
  policy::shield::Deny deny = policy::shield::Deny::kAll;
  bool wildcard = false;
  bool directory = false;  ///< known to be one
  std::size_t line = 0;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

struct Reading {
  std::vector<Candidate> candidates;          ///< in scope
  std::size_t seen = 0;                       ///< home paths, in scope or not
  std::vector<std::string> unknown_sections;  ///< with home paths, and in neither of the lists of sections
};

Reading read_firejail_common(std::string_view text);
Reading read_firejail_programs(std::string_view text);
Reading read_apparmor(std::string_view text);

}  // namespace cordon::shields
