#include "policy/manifest/decode.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/reading.h"

namespace cordon::policy::manifest {
namespace {

/// The first entry beyond so many, of all lists together; nothing where there are no more.
const Node* entry_beyond(const Node& node, std::size_t& left) {
  for (const Node& item : node.items) {
    if (left == 0) return &item;
    --left;
    if (const Node* deeper = entry_beyond(item, left)) return deeper;
  }
  for (const Pair& pair : node.pairs) {
    if (const Node* deeper = entry_beyond(pair.value, left)) return deeper;
  }
  return nullptr;
}

class Decoder {
 public:
  Decoder(const Source& source, Problems& problems) : source_(source), reading_(source, problems) {}

  Policy decode(const Tree& tree);

 private:
  void key(const Key& row, const Pair& pair);
  void take(PathTarget target, const Key& row, const Node& node);
  void take(TextTarget target, const Key& row, const Node& node);
  void take(PathsTarget target, const Key& row, const Node& node);
  void take(TextsTarget target, const Key& row, const Node& node);
  void take(EnvTarget target, const Key& row, const Node& node);
  void take(NetworkTarget target, const Key& row, const Node& node);
  void take(ExecTarget target, const Key& row, const Node& node);
  void take(LimitsTarget target, const Key& row, const Node& node);
  void take(ProvenanceTarget target, const Key& row, const Node& node);

  void network_rule(std::vector<NetworkRule>& rules, const Node& node);
  void bare_rule(const Node& node);
  void exec_word(Exec& exec, const Key& row, const Node& node);
  void exec_list(Exec& exec, const Key& row, const Node& node);
  void limit(Limits& limits, const Member& row, const Node& node);
  void provenance_entry(Provenance& provenance, const Member& row, const Node& node);
  void check_whole(const Tree& tree);

  const Source& source_;
  Reading reading_;
  Policy policy_;
  const Node* interpreter_ = nullptr;       ///< the value, if the key was given
  const Node* interpreter_args_ = nullptr;  ///< the key, likewise
  bool entrypoint_given_ = false;
};

Policy Decoder::decode(const Tree& tree) {
  policy_.manifest.written = source_.file();
  policy_.manifest.at.span = {source_.file(), 0, 0, 1};
  if (!tree.complete && tree.root.kind != Node::Kind::kMapping) return {};
  const bool nothing = tree.root.is_null() && tree.root.begin == tree.root.end;
  if (!nothing &&
      !reading_.map<Key>(tree.root, kManifestMap, keys(), [&](const Key& row, const Pair& pair) { key(row, pair); }))
    return {};
  check_whole(tree);
  return std::move(policy_);
}

void Decoder::key(const Key& row, const Pair& pair) {
  if (row.name == "entrypoint") entrypoint_given_ = true;
  if (row.name == "interpreter") interpreter_ = &pair.value;
  if (row.name == "interpreter_args" && !pair.value.items.empty()) interpreter_args_ = &pair.key;
  const bool tilde_for_path = pair.value.is_tilde() && row.rule != Rule::kProse && row.rule != Rule::kArgument;
  if (pair.value.is_null() && row.need == Need::kOptional && !tilde_for_path) {
    reading_.note(base::Severity::kNote, "empty-key", pair.key,
                  base::quote(row.name) + " has no value and grants nothing");
    return;
  }
  std::visit([&](auto target) { take(target, row, pair.value); }, row.target);
}

void Decoder::take(PathTarget target, const Key& row, const Node& node) {
  if (auto text = reading_.value(node, row.rule, row.name))
    policy_.*target = {std::move(*text), {}, reading_.origin(node)};
}

void Decoder::take(TextTarget target, const Key& row, const Node& node) {
  if (node.is_scalar() && !node.is_null() && node.text.empty()) return;  // "": as if it were not given
  if (auto text = reading_.value(node, row.rule, row.name)) policy_.*target = {std::move(*text), reading_.origin(node)};
}

void Decoder::take(PathsTarget target, const Key& row, const Node& node) {
  reading_.list(node, row.rule, row.name, [&](const Node& item) {
    if (auto text = reading_.value(item, row.rule, row.name, Reading::Where::kEntry))
      (policy_.*target).push_back({std::move(*text), {}, reading_.origin(item)});
  });
}

void Decoder::take(TextsTarget target, const Key& row, const Node& node) {
  reading_.list(node, row.rule, row.name, [&](const Node& item) {
    if (auto text = reading_.value(item, row.rule, row.name, Reading::Where::kEntry))
      (policy_.*target).push_back({std::move(*text), reading_.origin(item)});
  });
}

void Decoder::take(EnvTarget target, const Key& row, const Node& node) {
  reading_.list(node, row.rule, row.name, [&](const Node& item) {
    if (auto text = reading_.value(item, row.rule, row.name, Reading::Where::kEntry))
      (policy_.*target).push_back({std::move(*text), std::nullopt, reading_.origin(item)});
  });
}

void Decoder::take(NetworkTarget target, const Key& row, const Node& node) {
  if (node.is_scalar() && !node.is_null()) return bare_rule(node);
  if (node.kind == Node::Kind::kMapping) {
    reading_.error("not-a-list", node, "\"network\" takes a list of rules, not one rule", "begin the rule with \"- \"");
    return;
  }
  reading_.list(node, row.rule, row.name, [&](const Node& item) { network_rule(policy_.*target, item); });
}

void Decoder::network_rule(std::vector<NetworkRule>& rules, const Node& node) {
  if (node.kind == Node::Kind::kRefused) return;
  if (node.is_null())
    return reading_.error("empty-value", node, "network: a rule is missing",
                          "write {host: \"example.com\", port: \"443\"}");
  if (node.is_scalar()) return bare_rule(node);
  NetworkRule rule;
  rule.at = reading_.origin(node);
  std::vector<std::string_view> given;
  const bool is_map = reading_.map<Member>(node, kRuleMap, network_members(), [&](const Member& row, const Pair& pair) {
    given.push_back(row.name);
    auto text = reading_.value(pair.value, row.rule, "network " + std::string(row.name));
    if (text) rule.*std::get<std::string NetworkRule::*>(row.target) = std::move(*text);
  });
  if (!is_map) return;
  for (const Member& row : network_members())
    if (row.need == Need::kRequired && std::ranges::find(given, row.name) == given.end())
      reading_.error("incomplete-rule", node, "a network rule needs " + base::quote(row.name),
                     row.name == "port" ? "add port: \"443\", or port: \"*\" for every port"
                                        : "add host: \"example.com\", or host: \"*\" for every host");
  rules.push_back(std::move(rule));
}

// "example.com:443", "https://example.com/x", "example.com": what people write first.
void Decoder::bare_rule(const Node& node) {
  if (reading_.full()) return reading_.error({}, node, {});
  std::string_view host = node.text;
  std::string_view port = "443";
  if (host.starts_with("http://")) port = "80";
  if (const std::size_t scheme = host.find("://"); scheme != std::string_view::npos) host.remove_prefix(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (std::ranges::count(host, ':') == 1) {
    port = host.substr(host.find(':') + 1);
    host = host.substr(0, host.find(':'));
  }
  reading_.error("rule-is-text", node, "a network rule is a host and a port, not " + base::quote(node.text),
                 "write {host: " + base::quote(host) + ", port: " + base::quote(port) + "}");
}

void Decoder::take(ExecTarget target, const Key& row, const Node& node) {
  if (node.kind == Node::Kind::kRefused) return;
  Exec exec;
  exec.at = reading_.origin(node);
  if (node.kind == Node::Kind::kSequence)
    exec_list(exec, row, node);
  else
    exec_word(exec, row, node);
  policy_.*target = std::move(exec);
}

void Decoder::exec_word(Exec& exec, const Key& row, const Node& node) {
  if (node.is_scalar() && node.text.empty()) return;  // "": the default, as if it were not given
  std::vector<std::string_view> words;
  for (const ExecModeName& one : exec_modes()) {
    if (node.is_scalar() && one.name == node.text) {
      exec.mode = one.mode;
      return;
    }
    words.push_back(one.name);
  }
  std::string hint = "\"exec\" takes none, none-strict, all or a list of programs";
  if (node.is_scalar() && node.text.find('/') != std::string::npos) {
    hint = "for a list of one program write exec: [" + base::quote(node.text) + "]";
  } else if (const auto near = node.is_scalar() ? base::did_you_mean(node.text, words) : std::nullopt) {
    hint = "did you mean " + base::quote(*near) + "? " + hint;
  }
  reading_.error(
      "bad-exec", node,
      std::string(row.name) + ": " + (node.is_scalar() ? base::quote(node.text) : "a map") + " is no exec mode", hint);
}

void Decoder::exec_list(Exec& exec, const Key& row, const Node& node) {
  exec.mode = ExecMode::kList;
  if (node.items.empty()) reading_.error("bad-exec", node, "exec: the list names no program", "write exec: none");
  for (const Node& item : node.items) {
    auto text = reading_.value(item, row.rule, row.name, Reading::Where::kEntry);
    if (!text) continue;
    const bool is_mode = std::ranges::any_of(exec_modes(), [&](const ExecModeName& one) { return one.name == *text; });
    if (is_mode) {
      reading_.error("bad-exec", item, "exec: " + base::quote(*text) + " is a mode, not a program of a list",
                     "write exec: " + *text + ", or ./" + *text + " for a program of that name");
      continue;
    }
    exec.programs.push_back({std::move(*text), {}, reading_.origin(item)});
  }
}

void Decoder::take(LimitsTarget target, const Key& row, const Node& node) {
  reading_.map<Member>(node, row.name, limits_members(),
                       [&](const Member& member, const Pair& pair) { limit(policy_.*target, member, pair.value); });
  Limits& limits = policy_.*target;
  limits.timeout_ms = parse_duration_ms(limits.timeout).value_or(0);
  limits.tmp_bytes = parse_size(limits.tmp).value_or(0);
  limits.memory_bytes = parse_size(limits.memory).value_or(0);
  limits.cpu_hundredths = parse_share(limits.cpu).value_or(0);
}

void Decoder::limit(Limits& limits, const Member& row, const Node& node) {
  const bool is_text = std::holds_alternative<LimitText>(row.target);
  if (is_text && node.is_scalar() && !node.is_null() && node.text.empty()) return;  // "": as if it were not given
  auto text = reading_.value(node, row.rule, "limits." + std::string(row.name));
  if (!text) return;
  if (const auto* target = std::get_if<LimitText>(&row.target)) {
    limits.*(target->value) = std::move(*text);
    limits.*(target->at) = reading_.origin(node);
  } else if (const auto* count = std::get_if<LimitCount>(&row.target)) {
    limits.*(count->value) = static_cast<std::int64_t>(base::parse_decimal(*text).value_or(0));
    limits.*(count->at) = reading_.origin(node);
  }
}

void Decoder::take(ProvenanceTarget target, const Key& row, const Node& node) {
  Provenance provenance;
  const bool is_map = reading_.map<Member>(
      node, row.name, provenance_members(),
      [&](const Member& member, const Pair& pair) { provenance_entry(provenance, member, pair.value); });
  if (is_map) policy_.*target = std::move(provenance);
}

void Decoder::provenance_entry(Provenance& provenance, const Member& row, const Node& node) {
  if (node.is_null()) return;
  const std::string label = "provenance." + std::string(row.name);
  if (const auto* text = std::get_if<std::string Provenance::*>(&row.target)) {
    if (auto value = reading_.value(node, row.rule, label)) provenance.** text = std::move(*value);
  } else if (const auto* list = std::get_if<std::vector<std::string> Provenance::*>(&row.target)) {
    reading_.list(node, row.rule, label, [&](const Node& item) {
      if (auto value = reading_.value(item, row.rule, label, Reading::Where::kEntry))
        (provenance.**list).push_back(std::move(*value));
    });
  }
}

void Decoder::check_whole(const Tree& tree) {
  // After a syntax error what is missing may stand behind it.
  if (!tree.complete) return;
  std::size_t left = kMostEntries;
  if (const Node* extra = entry_beyond(tree.root, left)) {
    reading_.error("too-many-entries", *extra, "the lists hold more than " + std::to_string(kMostEntries) + " entries",
                   "grant directories instead of single files");
  }
  if (!entrypoint_given_ && !reading_.suggested("entrypoint"))
    reading_.error("entrypoint-required", tree.root, "\"entrypoint\" is required, and missing",
                   "add a line: entrypoint: ./script");
  if (interpreter_args_ != nullptr &&
      (interpreter_ == nullptr || (interpreter_->is_scalar() && policy_.interpreter.empty() &&
                                   (interpreter_->is_null() || interpreter_->text.empty()))))
    reading_.error("args-without-interpreter", *interpreter_args_,
                   "\"interpreter_args\" are options of an interpreter, and none is given",
                   "add interpreter:, or move the options to args:");
}

}  // namespace

Policy decode(const Source& source, const Tree& tree, Problems& problems) {
  return Decoder(source, problems).decode(tree);
}

}  // namespace cordon::policy::manifest
