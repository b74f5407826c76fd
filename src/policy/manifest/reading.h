// reading: the small questions that decoding asks of every node: is this one value, a list, a map of known keys? Each
// says for itself what is wrong, where, and what to write instead; the caller only goes on or does not.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/manifest/keys.h"
#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"
#include "policy/policy.h"

namespace cordon::policy::manifest {

class Reading {
 public:
  Reading(const Source& source, Problems& problems) : source_(source), problems_(problems) {}

  [[nodiscard]] base::Span span(const Node& node) const { return source_.span(node.begin, node.end); }
  [[nodiscard]] Origin origin(const Node& node) const { return {span(node), {}}; }

  enum class Where { kValue, kEntry };  ///< what a key holds, or one entry of the list that it holds

  /// The text of a value that keeps its rule. `label` names the key in the message.
  [[nodiscard]] std::optional<std::string> value(const Node& node, Rule rule, std::string_view label,
                                                 Where where = Where::kValue);

  /// Calls `each` for every entry; false where the node is no list.
  bool list(const Node& node, Rule rule, std::string_view label, const std::function<void(const Node&)>& each);

  /// Calls `each` with the row of the table and the pair, once for every known key that is given. `what` completes
  /// "is not a key of …".
  template <class Row>
  bool map(const Node& node, std::string_view what, std::span<const Row> rows,
           const std::function<void(const Row&, const Pair&)>& each) {
    if (!is_map(node, what)) return false;
    std::vector<std::string_view> names;
    for (const Row& row : rows) names.push_back(row.name);
    pairs(node, what, names, [&](std::size_t index, const Pair& pair) { each(rows[index], pair); });
    return true;
  }

  /// An entry of a list, or a value that must be there, that is null.
  void null_entry(const Node& node, Rule rule, std::string_view label);
  void error(std::string code, const Node& node, std::string message, std::string hint = {});
  void error_at(std::string code, base::Span at, std::string message, std::string hint);
  /// A value that broke its rule, with the caret under the bytes that did.
  void report(const Node& node, std::string_view label, const Fault& fault);
  void note(base::Severity severity, std::string code, const Node& node, std::string message, std::string hint = {});
  [[nodiscard]] bool full() const { return problems_.full(); }
  /// True where an unknown key was answered by "did you mean" this one.
  [[nodiscard]] bool suggested(std::string_view name) const {
    return std::ranges::find(suggested_, name) != suggested_.end();
  }

 private:
  bool is_map(const Node& node, std::string_view what);
  void pairs(const Node& node, std::string_view what, std::span<const std::string_view> names,
             const std::function<void(std::size_t, const Pair&)>& each);
  void unknown_key(const Node& key, std::string_view what, std::span<const std::string_view> names);
  void warn_of_expansion(const Node& node, std::string_view label);

  const Source& source_;
  Problems& problems_;
  std::vector<std::string> suggested_;
};

/// "a manifest", "limits": what unknown_key() and is_map() complete their sentences with.
inline constexpr std::string_view kManifestMap = "a manifest";
inline constexpr std::string_view kRuleMap = "a network rule";

}  // namespace cordon::policy::manifest
