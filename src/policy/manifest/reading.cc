#include "policy/manifest/reading.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace cordon::policy::manifest {
namespace {

bool is_path_rule(Rule rule) { return rule == Rule::kPath || rule == Rule::kWritePath || rule == Rule::kDenyPath; }

std::string listed(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

/// The key whose map would hold `name`, for a limit or a rule's host that was written one level too high.
std::string_view rightful_parent(std::string_view name) {
  for (const Key& key : keys())
    for (const Member& member : members_of(key))
      if (member.name == name) return key.name;
  return {};
}

}  // namespace

void Reading::error(std::string code, const Node& node, std::string message, std::string hint) {
  problems_.error(std::move(code), span(node), std::move(message), std::move(hint));
}

void Reading::error_at(std::string code, base::Span at, std::string message, std::string hint) {
  problems_.error(std::move(code), std::move(at), std::move(message), std::move(hint));
}

void Reading::note(base::Severity severity, std::string code, const Node& node, std::string message, std::string hint) {
  problems_.note(severity, std::move(code), span(node), std::move(message), std::move(hint));
}

std::optional<std::string> Reading::value(const Node& node, Rule rule, std::string_view label, Where where) {
  if (node.kind == Node::Kind::kRefused) return std::nullopt;
  if (!node.is_scalar()) {
    const bool list = node.kind == Node::Kind::kSequence;
    std::string hint = "write " + std::string(rule_name(rule));
    if (list && node.items.size() == 1 && node.items[0].is_scalar())
      hint = "write it without the brackets or the dash: " + base::quote(node.items[0].text);
    const std::string what =
        where == Where::kEntry ? "an entry of " + base::quote(label) + " is" : base::quote(label) + " takes";
    error("not-one-value", node, what + " one value, not a " + (list ? "list" : "map"), hint);
    return std::nullopt;
  }
  if (node.is_null()) {
    null_entry(node, rule, label);
    return std::nullopt;
  }
  if (const auto fault = check_value(rule, node.text)) {
    report(node, label, *fault);
    return std::nullopt;
  }
  if (is_path_rule(rule)) warn_of_expansion(node, label);
  return node.text;
}

void Reading::report(const Node& node, std::string_view label, const Fault& fault) {
  if (full()) return problems_.error({}, {}, {});
  base::Span at = span(node);
  // Only where the text stands in the file byte for byte can the caret point into it.
  const std::size_t quotes = node.style == Node::Style::kQuoted ? 1 : 0;
  if (fault.length > 0 && source_.slice(node.begin + quotes, node.end - quotes) == node.text)
    at = source_.span(node.begin + quotes + fault.offset, node.begin + quotes + fault.offset + fault.length);
  problems_.error(fault.code, std::move(at), std::string(label) + ": " + fault.message, fault.hint);
}

void Reading::null_entry(const Node& node, Rule rule, std::string_view label) {
  if (node.is_tilde() && is_path_rule(rule)) {
    error("null-tilde", node, std::string(label) + ": an unquoted ~ is YAML's null, not the home directory",
          rule == Rule::kWritePath ? "write a directory below the home, such as ~/out" : "write it in quotes: \"~\"");
    return;
  }
  error("empty-value", node,
        std::string(label) + ": " +
            (node.text.empty() ? "a value is missing" : "an unquoted " + node.text + " is YAML's null"),
        rule == Rule::kArgument ? "for an empty argument write \"\"" : "write " + std::string(rule_name(rule)));
}

void Reading::warn_of_expansion(const Node& node, std::string_view label) {
  const std::string_view text = node.text;
  const bool variable =
      text.starts_with('$') || text.find("/$") != std::string_view::npos || text.find("${") != std::string_view::npos;
  const bool pattern = text.find('*') != std::string_view::npos;
  if (!variable && !pattern) return;
  note(base::Severity::kWarning, "not-expanded", node,
       std::string(label) + ": " + base::quote(text) +
           " is taken as it stands: " + (variable ? "variables" : "patterns") + " are not expanded in a manifest",
       variable ? "write the path out; ~ stands for the home" : "name the directory that holds the files");
}

bool Reading::list(const Node& node, Rule rule, std::string_view label, const std::function<void(const Node&)>& each) {
  if (node.kind == Node::Kind::kRefused) return false;
  if (node.kind == Node::Kind::kMapping) {
    error("not-a-list", node, base::quote(label) + " takes a list, not a map", "begin each entry with \"- \"");
    return false;
  }
  if (node.kind == Node::Kind::kScalar) {
    if (node.is_tilde() && is_path_rule(rule)) {
      null_entry(node, rule, label);
    } else {
      error("not-a-list", node, base::quote(label) + " takes a list",
            "write " + std::string(label) + ": [" + base::quote(node.text) + "]");
    }
    return false;
  }
  for (const Node& item : node.items) each(item);
  return true;
}

bool Reading::is_map(const Node& node, std::string_view what) {
  if (node.kind == Node::Kind::kMapping) return true;
  if (node.kind == Node::Kind::kRefused) return false;
  const std::string_view have = node.is_scalar() ? "one value" : "a list";
  error("not-a-map", node, std::string(what) + " is a map of keys, not " + std::string(have),
        what == kManifestMap ? "a manifest begins like this: entrypoint: ./script" : "write each key as key: value");
  return false;
}

void Reading::pairs(const Node& node, std::string_view what, std::span<const std::string_view> names,
                    const std::function<void(std::size_t, const Pair&)>& each) {
  std::unordered_map<std::string_view, const Node*> seen;
  for (const Pair& pair : node.pairs) {
    const Node& key = pair.key;
    if (const auto [first, fresh] = seen.emplace(key.text, &key); !fresh) {
      error("duplicate-key", key, base::quote(key.text) + " is given twice",
            "the first is on line " + std::to_string(span(*first->second).line) + ": keep one");
      continue;
    }
    const auto row = std::ranges::find(names, std::string_view(key.text));
    if (row == names.end())
      unknown_key(key, what, names);
    else
      each(static_cast<std::size_t>(row - names.begin()), pair);
  }
}

void Reading::unknown_key(const Node& key, std::string_view what, std::span<const std::string_view> names) {
  if (full()) return problems_.error({}, {}, {});
  if (key.text == "<<" && key.style == Node::Style::kPlain)
    return error("merge-key", key, "a manifest has no YAML merge keys", "write the entries out");
  std::string hint;
  if (const auto near = base::did_you_mean(key.text, names)) {
    hint = "did you mean " + base::quote(*near) + "? ";
    suggested_.push_back(*near);
  }
  const std::string_view parent = rightful_parent(key.text);
  if (what == kManifestMap && !parent.empty()) hint = "it belongs under " + base::quote(parent) + "; ";
  error("unknown-key", key, base::quote(key.text) + " is not a key of " + std::string(what),
        hint + "the keys are: " + listed(names));
}

}  // namespace cordon::policy::manifest
