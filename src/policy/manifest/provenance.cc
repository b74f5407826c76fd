#include "policy/manifest/provenance.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "policy/manifest/edits.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/source.h"
#include "policy/manifest/yaml_text.h"
#include "policy/manifest/yaml_tree.h"

namespace cordon::policy::manifest {
namespace {

constexpr std::string_view kName = "provenance";

/// Times and stamps are quoted: another parser may take "2026-01-01…" for a date and "1e10…" for a number.
std::string scalar_of(const Member& row, std::string_view text) {
  return row.name == "generated-by" ? yaml_scalar(text) : yaml_quoted(text);
}

const std::string* text_of(const Member& row, const Provenance& provenance) {
  const auto* target = std::get_if<std::string Provenance::*>(&row.target);
  return target == nullptr ? nullptr : &(provenance.**target);
}

const std::vector<std::string>* list_of(const Member& row, const Provenance& provenance) {
  const auto* target = std::get_if<std::vector<std::string> Provenance::*>(&row.target);
  return target == nullptr ? nullptr : &(provenance.**target);
}

std::string flow_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (&value == values.data() ? "" : ", ") + yaml_quoted(value);
  return out + "]";
}

class Rewriter {
 public:
  Rewriter(const Source& source, const Node& root, const Provenance& wanted)
      : source_(source), root_(root), wanted_(wanted) {
    const auto pair =
        std::ranges::find(root.pairs, kName, [](const Pair& one) { return std::string_view(one.key.text); });
    pair_ = pair == root.pairs.end() ? nullptr : &*pair;
    end_of_line_ = end_of_line_in(source.text());
  }

  /// The ways to do it, the gentlest first. Each is only a proposal: the caller parses it again.
  [[nodiscard]] std::vector<Edits> proposals() const {
    std::vector<Edits> out;
    if (pair_ == nullptr) {
      out.push_back({flow_root() ? append_in_flow() : append_in_block()});
      return out;
    }
    if (auto edits = new_values()) out.push_back(std::move(*edits));
    out.push_back({replace_block()});
    return out;
  }

 private:
  [[nodiscard]] bool flow_root() const { return root_.style == Node::Style::kFlow; }

  /// What stands before the first byte of `node` on its line, as spaces: the indentation of its fellows.
  [[nodiscard]] std::string indent_of(const Node& node) const {
    std::string_view before = source_.slice(source_.line_begin(node.begin), node.begin);
    if (before.starts_with("\xef\xbb\xbf")) before.remove_prefix(3);
    return std::string(before.size(), ' ');
  }

  [[nodiscard]] Edit append_in_flow() const {
    const std::size_t at = root_.pairs.empty() ? root_.end : root_.pairs.back().value.end;
    return {at, at, ", " + provenance_flow(wanted_)};
  }

  [[nodiscard]] Edit append_in_block() const {
    const std::size_t at = document_end();
    const std::string indent = indent_of(root_.pairs.empty() ? root_ : root_.pairs.front().key);
    std::string block = provenance_block(wanted_, indent, end_of_line_) + end_of_line_;
    if (at > 0 && source_.text()[at - 1] != '\n') block = end_of_line_ + block;
    return {at, at, std::move(block)};
  }

  /// The end of the text, or the "..." line that ends the document before it.
  [[nodiscard]] std::size_t document_end() const {
    const std::string_view text = source_.text();
    for (std::size_t at = source_.line_end(root_.end); at < text.size(); at = source_.line_end(at + 1))
      if (text.substr(at + 1).starts_with("...")) return at + 1;
    return text.size();
  }

  [[nodiscard]] std::string entry(const Member& row) const {
    const std::vector<std::string>* list = list_of(row, wanted_);
    return std::string(row.name) + ": " + (list != nullptr ? flow_list(*list) : scalar_of(row, *text_of(row, wanted_)));
  }

  [[nodiscard]] bool is_wanted(const Member& row) const {
    const std::vector<std::string>* list = list_of(row, wanted_);
    return list != nullptr ? !list->empty() : !text_of(row, wanted_)->empty();
  }

  [[nodiscard]] const Node* present(const Member& row) const {
    for (const Pair& pair : pair_->value.pairs)
      if (pair.key.text == row.name) return &pair.value;
    return nullptr;
  }

  /// Only the values that differ, and what is missing after the last of them; nothing where that would not do.
  [[nodiscard]] std::optional<Edits> new_values() const {
    if (pair_->value.pairs.empty()) return std::nullopt;
    Edits edits;
    for (const Member& row : provenance_members()) {
      const Node* node = present(row);
      if (node == nullptr) {
        if (is_wanted(row)) edits.push_back(insert(row));
      } else if (!holds_already(*node, row)) {
        const bool replaceable = node->is_scalar() && node->begin != node->end &&
                                 node->style != Node::Style::kBlockScalar && list_of(row, wanted_) == nullptr;
        if (!replaceable || !is_wanted(row)) return std::nullopt;
        edits.push_back({node->begin, node->end, scalar_of(row, *text_of(row, wanted_))});
      }
    }
    return edits;
  }

  [[nodiscard]] bool holds_already(const Node& node, const Member& row) const {
    if (const std::string* text = text_of(row, wanted_))
      return node.is_scalar() && (node.is_null() ? text->empty() : node.text == *text);
    const std::vector<std::string>* list = list_of(row, wanted_);
    if (node.is_null()) return list->empty();
    return node.kind == Node::Kind::kSequence && std::ranges::equal(node.items, *list, {}, &Node::text);
  }

  [[nodiscard]] Edit insert(const Member& row) const {
    const Node& last = pair_->value.pairs.back().value;
    if (pair_->value.style == Node::Style::kFlow) return {last.end, last.end, ", " + entry(row)};
    std::size_t at = source_.line_end(last.end);
    if (at > 0 && source_.text()[at - 1] == '\r') --at;
    return {at, at, end_of_line_ + indent_of(pair_->value.pairs.front().key) + entry(row)};
  }

  /// The whole block, from its key to its last value. What follows on that line (a comment) stays.
  [[nodiscard]] Edit replace_block() const {
    const std::size_t colon = source_.text().find(':', pair_->key.end);
    const std::size_t end = std::max(pair_->value.end, colon == std::string_view::npos ? pair_->key.end : colon + 1);
    std::string block = provenance_flow(wanted_);
    if (!flow_root()) {
      const std::string indent = indent_of(pair_->key);
      block = provenance_block(wanted_, indent, end_of_line_).substr(indent.size());
    }
    return {pair_->key.begin, end, std::move(block)};
  }

  const Source& source_;
  const Node& root_;
  const Provenance& wanted_;
  const Pair* pair_ = nullptr;
  std::string end_of_line_;
};

/// The same permissions, and exactly the provenance that was asked for.
bool says_the_same(const Policy& before, const Policy& after, const Provenance& wanted) {
  return after.provenance == wanted && canonical_yaml(before) == canonical_yaml(after) &&
         fingerprint(before) == fingerprint(after);
}

base::Diagnostic not_writable(std::string hint) {
  return {base::Severity::kError, "provenance-not-writable", base::Span{},
          "the provenance block cannot be rewritten without touching the rest of the file", std::move(hint)};
}

}  // namespace

std::string provenance_block(const Provenance& provenance, std::string_view indent, std::string_view end_of_line) {
  std::string out = std::string(indent) + std::string(kName) + ":";
  const std::size_t nothing = out.size();
  for (const Member& row : provenance_members()) {
    const std::string start = std::string(end_of_line) + std::string(indent) + "  ";
    if (const std::string* text = text_of(row, provenance); text != nullptr && !text->empty())
      out += start + std::string(row.name) + ": " + scalar_of(row, *text);
    if (const auto* list = list_of(row, provenance); list != nullptr && !list->empty()) {
      out += start + std::string(row.name) + ":";
      for (const std::string& value : *list) out += start + "  - " + yaml_quoted(value);
    }
  }
  return out.size() == nothing ? out + " {}" : out;
}

std::string provenance_flow(const Provenance& provenance) {
  std::string out;
  for (const Member& row : provenance_members()) {
    const std::string separator = out.empty() ? "" : ", ";
    if (const std::string* text = text_of(row, provenance); text != nullptr && !text->empty())
      out += separator + std::string(row.name) + ": " + scalar_of(row, *text);
    if (const auto* list = list_of(row, provenance); list != nullptr && !list->empty())
      out += separator + std::string(row.name) + ": " + flow_list(*list);
  }
  return std::string(kName) + ": {" + out + "}";
}

base::Result<std::string, base::Diagnostics> with_provenance(std::string_view text, const Provenance& provenance) {
  CORDON_TRY(const Loaded before, parse(text, {}));
  const Source source(text, {});
  Problems problems;
  const Tree tree = read_tree(source, problems);
  for (const Edits& edits : Rewriter(source, tree.root, provenance).proposals()) {
    std::string rewritten = apply(text, edits);
    const auto after = parse(rewritten, {});
    if (after && says_the_same(before.policy, after->policy, provenance)) return rewritten;
  }
  return base::fail(
      base::Diagnostics{not_writable("remove the provenance key by hand, and let a new one be appended; or write the "
                                     "manifest with one key to a line")});
}

}  // namespace cordon::policy::manifest
