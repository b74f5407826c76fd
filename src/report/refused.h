// Refused: why nothing was run, whoever found it: the command line, the manifest's parser, the approval, the planner,
// the host. All of them end in one list of items with a code, a place, a message and the smallest mend, so that a
// person reads one form and a program one object.
//
// Codes are stable; prose is not. Bytes from outside are quoted by whoever made the item.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/error.h"
#include "plan/refusal.h"
#include "report/layout.h"
#include "report/report.h"

namespace cordon::report {

struct Refused {
  std::vector<plan::RefusedItem> items;  ///< never empty
  std::vector<LayerLine> layers;         ///< as far as they were known
  int exit_code = 125;
  std::string usage;  ///< the usage line, for a mistake on the command line
  friend bool operator==(const Refused&, const Refused&) = default;
};

Refused refused(const plan::Refusal& refusal);
/// Only the errors among them; warnings and notes refuse nothing.
Refused refused(const base::Diagnostics& diagnostics);
Refused refused(const base::Error& error, std::string code, std::string mend);
Refused refused_usage(std::string code, std::string message, std::string mend, std::string usage);
/// A run that failed before the target started (Ending::kNotSetUp, kNotExecuted).
Refused refused(const Report& report);

/// The stable code that decided: the first item's.
std::string_view reason_code(const Refused& refused);
/// All messages as one line of prose, for `reason`.
std::string reason(const Refused& refused);

/// Each item: "file:line:column: error: message", the source line with a caret, "mend: …". `source` is the text of the
/// manifest, or empty. `closing` is said last ("nothing was run"), or is empty.
std::string text(const Refused& refused, std::string_view source, std::string_view closing, const Style& style);

/// One diagnostic of any severity, in the same form.
std::string text(const base::Diagnostic& diagnostic, std::string_view source, const Style& style);

std::string_view blame_code(plan::Blame blame);  ///< "policy", "host", "unsupported"

}  // namespace cordon::report
