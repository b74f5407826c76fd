#include "policy/manifest/edits.h"

#include <map>

namespace cordon::policy::manifest {

std::string apply(std::string_view text, const Edits& edits) {
  std::multimap<std::size_t, const Edit*> in_order;  // those of one place stay in their order
  for (const Edit& edit : edits) in_order.emplace(edit.begin, &edit);
  std::string out;
  std::size_t done = 0;
  for (const auto& [begin, edit] : in_order) {
    out += text.substr(done, begin - done);
    out += edit->text;
    done = edit->end;
  }
  return out += text.substr(done);
}

std::string_view end_of_line_in(std::string_view text) {
  const std::size_t newline = text.find('\n');
  const bool crlf = newline != std::string_view::npos && newline > 0 && text[newline - 1] == '\r';
  return crlf ? "\r\n" : "\n";
}

}  // namespace cordon::policy::manifest
