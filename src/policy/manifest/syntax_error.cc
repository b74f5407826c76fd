#include "policy/manifest/syntax_error.h"

#include <array>
#include <string>

#include "base/text.h"

namespace cordon::policy::manifest {
namespace {

enum class Place { kProblem, kContext };

struct Wording {
  std::string_view problem;  ///< as libyaml words it
  std::string_view context;  ///< empty: any
  Place place;
  std::string_view message, hint;
};

// First match wins. What is not here is shown in libyaml's own words, which hold no bytes of the text.
constexpr std::array kWordings = {
    Wording{"found a tab character that violates indentation", "", Place::kProblem, "a tab cannot indent a line",
            "indent with spaces"},
    Wording{"found a tab character where an indentation space is expected", "", Place::kProblem,
            "a tab cannot indent a line", "indent with spaces"},
    Wording{"did not find expected alphabetic or numeric character", "while scanning an alias", Place::kContext,
            "an unquoted * starts a YAML alias, and a manifest has none", "for the wildcard write it in quotes: \"*\""},
    Wording{"did not find expected alphabetic or numeric character", "while scanning an anchor", Place::kContext,
            "an unquoted & starts a YAML anchor, and a manifest has none", "put the value in quotes"},
    Wording{"found unexpected end of stream", "while scanning a quoted scalar", Place::kContext,
            "this quote is never closed", "close it on the same line"},
    Wording{"found unexpected document indicator", "while scanning a quoted scalar", Place::kContext,
            "this quote is not closed before the document ends", "close it on the same line"},
    Wording{"found unknown escape character", "", Place::kContext, "this text holds an escape that YAML does not know",
            "a backslash is written \\\\ in double quotes; single quotes need no escapes"},
    Wording{"did not find expected hexdecimal number", "", Place::kContext,
            "this text holds an escape with too few hexadecimal digits", "\\x takes two, \\u four and \\U eight"},
    Wording{"found invalid Unicode character escape code", "", Place::kContext,
            "this text holds an escape for what is no Unicode character", ""},
    Wording{"mapping values are not allowed in this context", "", Place::kProblem,
            "a \": \" stands where no key can be",
            "a value that holds \": \" needs quotes; a nested key needs a line of its own, indented"},
    Wording{"block sequence entries are not allowed in this context", "", Place::kProblem,
            "a \"- \" stands where no list entry can be", "start the list on a line of its own, below its key"},
    Wording{"mapping keys are not allowed in this context", "", Place::kProblem, "a \"? \" stands where no key can be",
            "put the value in quotes"},
    Wording{"could not find expected ':'", "", Place::kContext, "this line is neither \"key: value\" nor \"- entry\"",
            "add the colon, or indent the line below the key that it belongs to"},
    Wording{"did not find expected ',' or ']'", "", Place::kContext, "the list that starts here is not closed",
            "separate its entries by ',' and end it with ']'"},
    Wording{"did not find expected ',' or '}'", "", Place::kContext, "the map that starts here is not closed",
            "separate its entries by ',' and end it with '}'"},
    Wording{"did not find expected '-' indicator", "", Place::kProblem,
            "this line stands where the list above wants its next \"- entry\"",
            "indent every entry of a list alike, and a key as far as the keys beside it"},
    Wording{"did not find expected key", "", Place::kProblem, "this line is not a key of the map that it stands in",
            "indent the keys of one map alike, and put values with special characters in quotes"},
    Wording{"did not find expected node content", "", Place::kProblem, "a value is missing here",
            "write the value, or \"\" for none"},
    Wording{"did not find expected <document start>", "", Place::kProblem,
            "this stands after the end of the manifest's one map", "indent it as the first key is indented"},
    Wording{"did not find expected comment or line break", "", Place::kProblem,
            "a block text begins on the line after its | or >", ""},
    Wording{"found an indentation indicator equal to 0", "", Place::kProblem,
            "the indentation of a block text cannot be 0", ""},
    Wording{"found incompatible YAML document", "", Place::kProblem,
            "the %YAML line names a version that is not 1.1 or 1.2", "remove the line"},
};

bool indented_by_tab(const Source& source, std::size_t at) {
  const std::size_t begin = source.line_begin(at);
  const std::string_view line = source.slice(begin, source.line_end(at));
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string_view::npos && line[first] == '\t' && begin + first <= at;
}

void report(const Source& source, std::size_t at, std::string_view message, std::string_view hint, Problems& problems) {
  problems.error("yaml-syntax", source.span(at, at + 1), std::string(message), std::string(hint));
}

bool report_bad_start(const Source& source, std::size_t at, Problems& problems) {
  const std::string_view text = source.slice(at, at + 1);
  if (text.empty()) return false;
  report(source, at, "a value cannot begin with " + base::quote(text), "put the value in quotes", problems);
  return true;
}

}  // namespace

void report_syntax_error(const Source& source, const SyntaxError& error, Problems& problems) {
  if (indented_by_tab(source, error.at)) {
    const std::size_t tab = source.text().find('\t', source.line_begin(error.at));
    problems.error("tab", source.span(tab, tab + 1), "a tab cannot indent a line", "indent with spaces");
    return;
  }
  if (error.problem == "found character that cannot start any token" && report_bad_start(source, error.at, problems))
    return;
  if (error.problem == "did not find expected key" && source.slice(error.at, error.at + 2) == "- ")
    return report(source, error.at, "this entry is not indented as the list above it is",
                  "indent every entry of a list alike", problems);
  for (const Wording& wording : kWordings) {
    if (wording.problem != error.problem || (!wording.context.empty() && wording.context != error.context)) continue;
    report(source, wording.place == Place::kContext ? error.context_at : error.at, wording.message, wording.hint,
           problems);
    return;
  }
  const std::string_view problem = error.problem.empty() ? "unknown error" : error.problem;
  report(source, error.at, "this is not YAML: " + base::escape(problem), "", problems);
}

}  // namespace cordon::policy::manifest
