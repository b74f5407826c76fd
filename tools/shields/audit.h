// The audit: what the corpus lacks of that which other systems protect, less what people have accepted with a reason.
//
// Both directions fail: a difference that nobody accepted, and an accepted one that is no difference any more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "corpus_file.h"
#include "upstream.h"

namespace cordon::shields {

enum class Verdict {
  kCovered,
  kMissing,   ///< no rule protects it
  kWeaker,    ///< hidden there, only read-only here
  kNarrowed,  ///< a folder there, only parts of it here
  kWildcard,  ///< a pattern, and a rule is one path
};
std::string_view verdict_name(Verdict verdict);

Verdict judge(const Candidate& candidate, const Corpus& corpus);

struct Difference {
  std::string source;  ///< the file's name: "disable-common.inc"
  std::string path;
  Verdict verdict = Verdict::kMissing;
  friend auto operator<=>(const Difference&, const Difference&) = default;
};

/// Each once, sorted.
std::vector<Difference> differences(const std::string& source, const Reading& reading, const Corpus& corpus);

base::Result<std::vector<Difference>, base::Diagnostics> read_accepted(const File& file);

struct Findings {
  std::vector<Difference> fresh;  ///< not accepted
  std::vector<Difference> stale;  ///< accepted, and no difference
};
Findings compare(std::vector<Difference> found, std::vector<Difference> accepted);

}  // namespace cordon::shields
