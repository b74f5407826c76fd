// Explain: what a run's record says of why it did not do what was wanted, with the smallest line for each thing that it
// was denied. The same words as at the run's own end, but all of them, and also after success.
//
// A record is a file in the caller's own state directory. It is read as anybody's text all the same: what does not fit
// is no record, and every name in it is quoted again before it is worded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/refusal.h"
#include "report/json.h"
#include "report/report.h"

namespace cordon::report {

/// What record_document() wrote, as far as a person wants to know it again.
struct Recorded {
  RunRecord run;
  Report report;                         ///< of a run that was started
  std::vector<plan::RefusedItem> items;  ///< of one that was refused
};

/// Nothing where the text is no record.
std::optional<Recorded> read_record(std::string_view document);

/// Several lines, for standard output.
std::string explanation(const Recorded& recorded, const Style& style);

}  // namespace cordon::report
