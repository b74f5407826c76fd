#include "cli/consent.h"

#include <fmt/format.h>

#include <utility>

#include "cli/question.h"

namespace cordon::cli {

namespace approval = policy::approval;

report::Refused refused_one(std::string code, std::string message, std::string mend) {
  plan::RefusedItem item;
  item.code = std::move(code);
  item.message = std::move(message);
  item.mend = std::move(mend);
  report::Refused out;
  out.items.push_back(std::move(item));
  return out;
}

base::Result<approval::Reviewed, Stop> consent(const Context& context, const Arguments& arguments,
                                               std::string_view question, std::string_view without) {
  if (arguments.has("--yes")) return approval::Reviewed::kWithoutAsking;
  if (!context.invocation.in.terminal)
    return base::fail(stop(refused_one("nobody-to-ask", "standard input is no terminal, so nobody can be asked",
                                       fmt::format("answer on a terminal, or {}: --yes", without))));
  switch (ask(context.invocation, question)) {
    case Answer::kYes:
      return approval::Reviewed::kByHuman;
    case Answer::kNo:
      return base::fail(stop(refused_one("declined", "the answer was not yes", "")));
    case Answer::kNobody:
      break;
  }
  return base::fail(stop(refused_one("nobody-to-ask", "no answer came from the terminal", "")));
}

}  // namespace cordon::cli
