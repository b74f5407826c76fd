// --ask: the words of a question about a host that no rule covers, and what an answer to it means. When it is asked,
// and that nobody but the person answers it, is enforce/supervise/asker.h's.
//
// Everything that the target may have chosen is quoted. A question begins with what brings a terminal back to showing
// plain text on whole lines at its bottom: the target may have left it in the middle of a command, in colours that
// cannot be told apart, or with a window of one line and words of its own around it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/invocation.h"
#include "enforce/outlet/question.h"

namespace cordon::cli {

/// Pure. The last line holds host and port as well: it is the one that is always seen.
std::string question_about(const enforce::outlet::Asked& asked, const std::string& program);

/// "once", "run" or "no", or the first letter of it; nothing for any other line.
std::optional<enforce::outlet::GateAnswer> answer_in(std::string_view line);

enforce::outlet::AtTerminal questions_of(const Invocation& invocation);

/// There is a terminal to ask at.
bool has_terminal();

}  // namespace cordon::cli
