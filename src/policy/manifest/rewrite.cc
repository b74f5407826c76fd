#include "policy/manifest/rewrite.h"

#include <algorithm>
#include <optional>
#include <string>
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

using Lines = std::vector<std::string>;

/// An entry of a list in its canonical lines, the first of which stands behind the dash.
Lines entry_of(const PathGrant& grant) { return {yaml_scalar(grant.written)}; }
Lines entry_of(const EnvGrant& grant) { return {yaml_scalar(grant.name)}; }
Lines entry_of(const Text& text) { return {yaml_scalar(text.value)}; }
Lines entry_of(const NetworkRule& rule) {
  Lines out = {"host: " + yaml_scalar(rule.host), "port: " + yaml_quoted(rule.port)};
  if (!rule.reason.empty()) out.push_back("reason: " + yaml_scalar(rule.reason));
  return out;
}

template <class T>
std::vector<Lines> entries_of(const std::vector<T>& list) {
  std::vector<Lines> out;
  for (const T& one : list) out.push_back(entry_of(one));
  return out;
}

class Rewriter {
 public:
  Rewriter(const Source& source, const Node& root, const Policy& before, const Policy& wanted)
      : source_(source), root_(root), before_(before), wanted_(wanted), eol_(end_of_line_in(source.text())) {}

  /// Nothing where some value has a layout that only a person can rewrite.
  std::optional<Edits> edits() {
    if (root_.kind != Node::Kind::kMapping || root_.style == Node::Style::kFlow) return std::nullopt;
    word("interpreter", before_.interpreter.value, wanted_.interpreter.value);
    list("interpreter_args", entries_of(before_.interpreter_args), entries_of(wanted_.interpreter_args));
    list("args", entries_of(before_.args), entries_of(wanted_.args));
    list("env", entries_of(before_.env), entries_of(wanted_.env));
    list("read", entries_of(before_.read), entries_of(wanted_.read));
    list("write", entries_of(before_.write), entries_of(wanted_.write));
    list("network", entries_of(before_.network), entries_of(wanted_.network));
    exec();
    if (!possible_) return std::nullopt;
    if (!added_.empty()) edits_.push_back({place_for_keys(), place_for_keys(), added_});
    return std::move(edits_);
  }

 private:
  [[nodiscard]] const Pair* pair(std::string_view key) const {
    const auto found =
        std::ranges::find(root_.pairs, key, [](const Pair& one) { return std::string_view(one.key.text); });
    return found == root_.pairs.end() ? nullptr : &*found;
  }

  /// One past the line that holds `offset`, its end included.
  [[nodiscard]] std::size_t next_line(std::size_t offset) const {
    return std::min(source_.line_end(offset) + 1, source_.text().size());
  }

  [[nodiscard]] bool ends_in_a_line() const { return source_.text().empty() || source_.text().ends_with('\n'); }

  /// Before the provenance, which the tool writes and which stands last; else behind the last key.
  [[nodiscard]] std::size_t place_for_keys() const {
    if (const Pair* provenance = pair("provenance")) return source_.line_begin(provenance->key.begin);
    return root_.pairs.empty() ? source_.text().size() : next_line(root_.pairs.back().value.end);
  }

  void add_key(const std::string& text) {
    if (added_.empty() && place_for_keys() == source_.text().size() && !ends_in_a_line()) added_ += eol_;
    added_ += text;
  }

  void remove_lines(std::size_t begin, std::size_t end) {
    edits_.push_back({source_.line_begin(begin), next_line(end), {}});
  }

  void word(std::string_view key, const std::string& before, const std::string& wanted) {
    if (before == wanted) return;
    const Pair* there = pair(key);
    if (there == nullptr) return add_key(std::string(key) + ": " + yaml_scalar(wanted) + std::string(eol_));
    const Node& value = there->value;
    if (!value.is_scalar() || value.style == Node::Style::kBlockScalar || value.begin == value.end) {
      possible_ = false;
    } else if (wanted.empty()) {
      remove_lines(there->key.begin, value.end);
    } else {
      edits_.push_back({value.begin, value.end, yaml_scalar(wanted)});
    }
  }

  void exec() {
    const auto is_list = [](const Exec& exec) { return exec.mode == ExecMode::kList; };
    if (is_list(wanted_.exec) || is_list(before_.exec)) {
      if (is_list(wanted_.exec) && is_list(before_.exec)) {
        list("exec", entries_of(before_.exec.programs), entries_of(wanted_.exec.programs));
      } else if (before_.exec != wanted_.exec) {
        replace_whole("exec", std::string(exec_mode_name(wanted_.exec.mode)), is_list(wanted_.exec));
      }
      return;
    }
    word("exec", std::string(exec_mode_name(before_.exec.mode)), std::string(exec_mode_name(wanted_.exec.mode)));
  }

  /// A list becomes a word.
  void replace_whole(std::string_view key, const std::string& word, bool unsupported) {
    const Pair* there = pair(key);
    if (there == nullptr || unsupported || there->value.kind != Node::Kind::kSequence) {
      possible_ = false;
    } else {
      edits_.push_back({there->key.end, there->value.end, ": " + word});
    }
  }

  /// The spaces before the dash of this entry, and nothing where it stands on a line with other things.
  [[nodiscard]] std::optional<std::string> indent_of(const Node& item) const {
    const std::string_view before = source_.slice(source_.line_begin(item.begin), item.begin);
    const std::size_t dash = before.find_first_not_of(' ');
    if (dash == std::string_view::npos || before[dash] != '-') return std::nullopt;
    if (before.find_first_not_of(' ', dash + 1) != std::string_view::npos) return std::nullopt;
    return std::string(dash, ' ');
  }

  [[nodiscard]] std::string lines_of(const Lines& entry, const std::string& indent) const {
    std::string out;
    for (const std::string& line : entry)
      out += indent + (&line == &entry.front() ? "- " : "  ") + line + std::string(eol_);
    return out;
  }

  [[nodiscard]] std::string block(std::string_view key, const std::vector<Lines>& entries) const {
    std::string out = std::string(key) + ":" + std::string(eol_);
    for (const Lines& entry : entries) out += lines_of(entry, "  ");
    return out;
  }

  void list(std::string_view key, const std::vector<Lines>& before, const std::vector<Lines>& wanted) {
    if (before == wanted) return;
    const Pair* there = pair(key);
    if (there == nullptr) return add_key(block(key, wanted));
    const Node& value = there->value;
    const bool plain = value.kind == Node::Kind::kSequence && value.style == Node::Style::kBlock &&
                       value.items.size() == before.size() && !value.items.empty();
    if (wanted.empty()) return remove_lines(there->key.begin, value.end);
    if (plain) return list_in_place(value, before, wanted);
    const bool flow = value.kind == Node::Kind::kSequence && value.style == Node::Style::kFlow &&
                      value.items.size() == before.size() && std::ranges::all_of(wanted, stands_in_flow);
    if (flow) return flow_in_place(value, before, wanted);
    // A mapping in "[…]", or a key without a value: written anew, on lines of its own.
    std::string text = block(key, wanted);
    text.erase(text.size() - eol_.size());
    edits_.push_back({there->key.begin, std::max(value.end, there->key.end + 1), std::move(text)});
  }

  static bool stands_in_flow(const Lines& entry) {
    const std::string& text = entry.front();
    return entry.size() == 1 && (text.starts_with('"') || text.find_first_of(",[]{}#:'\"") == std::string::npos);
  }

  /// As it stands in the text, where it does.
  [[nodiscard]] std::string flow_text(const Node& value, const std::vector<Lines>& before, const Lines& entry) const {
    const auto at = std::ranges::find(before, entry);
    if (at == before.end()) return entry.front();
    const Node& item = value.items[static_cast<std::size_t>(at - before.begin())];
    return std::string(source_.slice(item.begin, item.end));
  }

  /// "[a, b]" stays one, on its line with the comment there; one of several lines gets lines more before its end, so
  /// that each comment stays with its entry.
  void flow_in_place(const Node& value, const std::vector<Lines>& before, const std::vector<Lines>& wanted) {
    const std::string_view whole = source_.slice(value.begin, value.end);
    if (whole.find('\n') == std::string_view::npos) {
      std::string text;
      for (const Lines& entry : wanted) text += (text.empty() ? "" : ", ") + flow_text(value, before, entry);
      edits_.push_back({value.begin, value.end, "[" + text + "]"});
      return;
    }
    const std::size_t bracket = value.end - 1, line = source_.line_begin(bracket);
    const bool alone = source_.slice(line, bracket).find_first_not_of(' ') == std::string_view::npos;
    if (!alone || value.items.empty()) {
      possible_ = false;
      return;
    }
    const auto comma_after = [&](const Node& item) {
      const std::string_view rest = source_.slice(item.end, value.end);
      const std::size_t next = rest.find_first_not_of(' ');
      return next != std::string_view::npos && rest[next] == ',' ? item.end + next + 1 : item.end;
    };
    for (std::size_t i = 0; i < before.size(); ++i)
      if (std::ranges::find(wanted, before[i]) == wanted.end())
        edits_.push_back({value.items[i].begin, comma_after(value.items[i]), {}});
    const Node& last = value.items.back();
    const std::string indent(last.begin - source_.line_begin(last.begin), ' ');
    std::string text;
    for (const Lines& entry : wanted)
      if (std::ranges::find(before, entry) == before.end()) text += indent + entry.front() + "," + std::string(eol_);
    const bool last_stays = std::ranges::find(wanted, before.back()) != wanted.end();
    if (!text.empty() && last_stays && comma_after(last) == last.end) edits_.push_back({last.end, last.end, ","});
    if (!text.empty()) edits_.push_back({line, line, std::move(text)});
  }

  void list_in_place(const Node& value, const std::vector<Lines>& before, const std::vector<Lines>& wanted) {
    const auto indent = indent_of(value.items.front());
    if (!indent) {
      possible_ = false;
      return;
    }
    for (std::size_t i = 0; i < before.size(); ++i)
      if (std::ranges::find(wanted, before[i]) == wanted.end()) remove_lines(value.items[i].begin, value.items[i].end);
    std::string text;
    for (const Lines& entry : wanted)
      if (std::ranges::find(before, entry) == before.end()) text += lines_of(entry, *indent);
    if (text.empty()) return;
    const std::size_t at = next_line(value.items.back().end);
    if (at == source_.text().size() && !ends_in_a_line()) text = std::string(eol_) + text;
    edits_.push_back({at, at, std::move(text)});
  }

  const Source& source_;
  const Node& root_;
  const Policy& before_;
  const Policy& wanted_;
  std::string_view eol_;
  Edits edits_;
  std::string added_;  ///< keys that are new
  bool possible_ = true;
};

}  // namespace

base::Result<Rewritten, base::Diagnostics> with_permissions(std::string_view text, const Policy& wanted) {
  CORDON_TRY(const Loaded before, parse(text, {}));
  const Source source(text, {});
  Problems problems;
  const Tree tree = read_tree(source, problems);
  const std::string meant = canonical_yaml(wanted);
  if (canonical_yaml(before.policy) == meant) return Rewritten{.text = std::string(text)};
  if (const auto edits = Rewriter(source, tree.root, before.policy, wanted).edits()) {
    Rewritten out{.text = apply(text, *edits)};
    const auto after = parse(out.text, {});
    if (after && canonical_yaml(after->policy) == meant) return out;
  }
  Policy whole = wanted;
  whole.provenance = before.policy.provenance;
  return Rewritten{.text = canonical_yaml(whole, ProvenanceBlock::kInclude), .layout_kept = false};
}

}  // namespace cordon::policy::manifest
