// Registries of TOML files, as far as they name one: tables, dotted keys, texts and lists of texts. What else TOML has
// is passed over, and a text in a form that is not read here gives nothing.

#include <algorithm>

#include "base/text.h"
#include "policy/ecosystem/registry_lines.h"

namespace cordon::policy::ecosystem {
namespace {

struct Entry {
  std::vector<std::string> key;  ///< with its table's: {"registries", "mine", "index"}
  std::vector<std::string> values;
  std::uint32_t line = 0;
  unsigned table = 0;  ///< counts the tables: those of one list are told apart
};

std::vector<std::string> key_parts(std::string_view text) {
  std::vector<std::string> out;
  std::string part;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == 0 && c == '.') {
      out.push_back(std::move(part));
      part.clear();
    } else if (quote != 0 || (c != ' ' && c != '\t')) {
      part += c;
    }
  }
  out.push_back(std::move(part));
  return out;
}

/// The quoted texts of a value, in order; bare words too ("true"). Stops at a comment.
class Values {
 public:
  explicit Values(std::vector<std::string>& out) : out_(out) {}

  void read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (c == '#') return;
      if (c == '"' || c == '\'') {
        const auto end = text.find(c, at + 1);
        if (end == std::string_view::npos) return;
        out_.emplace_back(text.substr(at + 1, end - at - 1));
        at = end + 1;
        continue;
      }
      if (c == '[') ++open_;
      if (c == ']' && open_ > 0) --open_;
      const auto end = text.find_first_of(" \t,[]{}\"'#", at);
      const auto length = (end == std::string_view::npos ? text.size() : end) - at;
      if (length > 0) out_.emplace_back(text.substr(at, length));
      at += std::max<std::size_t>(length, 1);
    }
  }
  [[nodiscard]] bool goes_on() const { return open_ > 0; }

 private:
  std::vector<std::string>& out_;
  unsigned open_ = 0;
};

std::string_view table_name(std::string_view line) {
  while (line.starts_with('[')) line.remove_prefix(1);
  return line.substr(0, line.find(']'));
}

std::vector<Entry> entries(std::string_view text) {
  std::vector<Entry> out;
  std::vector<std::string> table;
  unsigned tables = 0;
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.text.empty() || line.text.starts_with('#')) continue;
    if (line.text.starts_with('[')) {
      table = key_parts(table_name(line.text));
      ++tables;
      continue;
    }
    const auto equals = line.text.find('=');
    if (equals == std::string_view::npos) continue;
    Entry entry{table, {}, line.number, tables};
    for (auto& part : key_parts(line.text.substr(0, equals))) entry.key.push_back(std::move(part));
    Values values(entry.values);
    values.read(line.text.substr(equals + 1));
    while (values.goes_on() && i + 1 < lines.size()) values.read(lines[++i].text);
    out.push_back(std::move(entry));
  }
  return out;
}

bool is(const Entry& entry, std::string_view first, std::string_view last, std::size_t parts) {
  return entry.key.size() == parts && entry.key.front() == first && entry.key.back() == last;
}

}  // namespace

void read_uv_toml(std::string_view text, Collected& out) {
  for (const Entry& entry : entries(text)) {
    const bool is_default = is(entry, "index-url", "index-url", 1);
    const bool is_extra = is(entry, "extra-index-url", "extra-index-url", 1);
    const bool is_index = is(entry, "index", "url", 2);
    if (is(entry, "index", "default", 2) && entry.values == std::vector<std::string>{"true"}) out.replaces_default();
    if (!is_default && !is_extra && !is_index) continue;
    if (is_default) out.replaces_default();
    for (const std::string& value : entry.values) out.address(value, entry.line);
  }
}

void read_cargo_toml(std::string_view text, Collected& out) {
  for (const Entry& entry : entries(text)) {
    if (is(entry, "source", "replace-with", 3) && entry.key[1] == "crates-io") out.replaces_default();
    const bool names_one = is(entry, "source", "registry", 3) || is(entry, "registries", "index", 3);
    if (!names_one) continue;
    for (const std::string& value : entry.values) out.address(value, entry.line);
  }
}

}  // namespace cordon::policy::ecosystem
