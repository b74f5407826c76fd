#include "policy/config/config.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"
#include "policy/config/keys.h"
#include "policy/config/values.h"
#include "policy/manifest/reading.h"
#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"
#include "policy/network/rule.h"

namespace cordon::policy::config {
namespace {

using manifest::Node;
using manifest::Pair;
using manifest::Rule;

constexpr std::array kTop = {kAllowAddress, kProfiles};

/// One text on its way to a Config.
class Reader {
 public:
  Reader(const manifest::Source& source, manifest::Problems& problems, std::span<const std::string_view> built_in)
      : reading_(source, problems), built_in_(built_in) {}

  Config read(const Node& root);

 private:
  void read_address(const Node& node);
  void read_addresses(const Node& node);
  void read_profiles(const Node& node);
  void read_profile(const Pair& pair);
  void read_key(const BlockKey& key, const Node& node, Block& out);
  void read_list(const BlockKey& key, const Node& node, std::vector<Text>& out);
  void read_item(const BlockKey& key, const Node& node, std::vector<Text>& out);
  void read_switch(const BlockKey& key, const Node& node, std::optional<Switch>& out);
  void read_variables(const Node& node, std::vector<Variable>& out);
  void read_variable(const Pair& pair, std::vector<Variable>& out);
  void read_extends(const Node& node, Text& out);
  void check_bases();
  bool check_base(const Block& block);
  void too_many(const Node& node, const std::string& what, std::size_t most) {
    reading_.error("too-many", node, what + " are too many", "at most " + std::to_string(most));
  }

  manifest::Reading reading_;
  std::span<const std::string_view> built_in_;
  Config out_;
};

void Reader::read_address(const Node& node) {
  if (node.kind == Node::Kind::kRefused) return;
  if (!node.is_scalar() || node.is_null())
    return reading_.error("bad-address-block", node, "allow_address: an entry is a block of addresses", "[10.0.0.0/8]");
  auto block = network::parse_opened(node.text);
  if (!block)
    return reading_.error("bad-address-block", node, "allow_address: " + block.error().message, block.error().hint);
  out_.allow_address.push_back({to_string(*block), reading_.origin(node)});
}

void Reader::read_addresses(const Node& node) {
  if (node.kind == Node::Kind::kRefused) return;
  if (node.kind != Node::Kind::kSequence)
    return reading_.error("not-a-list", node, "allow_address: this is a list", "allow_address: [10.0.0.0/8]");
  if (node.items.size() > kMostItems) return too_many(node.items[kMostItems], "these entries", kMostItems);
  for (const Node& item : node.items) read_address(item);
}

void Reader::read_item(const BlockKey& key, const Node& node, std::vector<Text>& out) {
  const bool path = key.holds == Holds::kPaths;
  if (node.kind == Node::Kind::kRefused) return;
  if (!node.is_scalar() || node.is_null()) {
    static_cast<void>(
        reading_.value(node, path ? Rule::kPath : Rule::kHost, key.name, manifest::Reading::Where::kEntry));
    return;
  }
  if (path) {
    if (const auto wrong = check_path(node.text)) return reading_.report(node, key.name, *wrong);
    out.push_back({node.text, reading_.origin(node)});
    return;
  }
  auto host = host_of(node.text, key.holds == Holds::kHosts ? Port::kMay : Port::kNever);
  if (!host) return reading_.report(node, key.name, host.error());
  out.push_back({std::move(*host), reading_.origin(node)});
}

void Reader::read_list(const BlockKey& key, const Node& node, std::vector<Text>& out) {
  if (node.kind == Node::Kind::kSequence && node.items.size() > kMostItems)
    return too_many(node.items[kMostItems], "the entries of " + std::string(key.name), kMostItems);
  const Rule rule = key.holds == Holds::kPaths ? Rule::kPath : Rule::kHost;
  reading_.list(node, rule, key.name, [&](const Node& item) { read_item(key, item, out); });
}

void Reader::read_switch(const BlockKey& key, const Node& node, std::optional<Switch>& out) {
  if (node.kind == Node::Kind::kRefused) return;
  const bool plain = node.is_scalar() && node.style == Node::Style::kPlain;
  if (!plain || (node.text != "true" && node.text != "false"))
    return reading_.error("not-a-switch", node, std::string(key.name) + " is true or false",
                          std::string(key.name) + ": true, or " + std::string(key.name) + ": false");
  out = Switch{node.text == "true", reading_.origin(node)};
  if (key.effect == Effect::kRefusedWhereTrue && out->value)
    reading_.error("flag-only", node, std::string(key.name) + ": true stands in no file: it is said for one run",
                   "cordon run " + std::string(key.flag) + " -- COMMAND");
}

void Reader::read_variable(const Pair& pair, std::vector<Variable>& out) {
  const Node& value = pair.value;
  if (value.kind == Node::Kind::kRefused) return;
  if (!value.is_scalar() || value.is_null())
    return reading_.error("not-one-value", value, "env: " + base::quote(pair.key.text) + " takes one value",
                          "for an empty one write \"\"");
  if (const auto wrong = check_variable(pair.key.text, value.text)) return reading_.report(pair.key, "env", *wrong);
  const auto same = [&](const Variable& other) { return other.name == pair.key.text; };
  if (std::ranges::any_of(out, same))
    return reading_.error("duplicate-key", pair.key, base::quote(pair.key.text) + " is given twice", "keep one");
  out.push_back({pair.key.text, value.text, reading_.origin(pair.key)});
}

void Reader::read_variables(const Node& node, std::vector<Variable>& out) {
  if (node.kind == Node::Kind::kRefused) return;
  if (node.kind != Node::Kind::kMapping)
    return reading_.error("not-a-map", node, "env is a map of names and values", "env: {NAME: value}");
  if (node.pairs.size() > kMostVariables)
    return too_many(node.pairs[kMostVariables].key, "these variables", kMostVariables);
  for (const Pair& pair : node.pairs) read_variable(pair, out);
}

void Reader::read_extends(const Node& node, Text& out) {
  if (node.kind == Node::Kind::kRefused) return;
  if (!node.is_scalar() || node.is_null() || node.text.empty())
    return reading_.error("not-one-value", node, "extends takes the name of one profile", "extends: node");
  out = {node.text, reading_.origin(node)};
}

void Reader::read_key(const BlockKey& key, const Node& node, Block& out) {
  if (const auto* list = std::get_if<ListTarget>(&key.target)) return read_list(key, node, out.**list);
  if (const auto* one = std::get_if<SwitchTarget>(&key.target)) return read_switch(key, node, out.**one);
  if (const auto* env = std::get_if<VariablesTarget>(&key.target)) return read_variables(node, out.**env);
  read_extends(node, out.*std::get<TextTarget>(key.target));
}

void Reader::read_profile(const Pair& pair) {
  const std::string& name = pair.key.text;
  if (name.empty() || name.size() > kLongestProfileName || base::find_unsafe_rune(name))
    return reading_.error("bad-profile-name", pair.key, base::quote(name) + " is no name of a profile",
                          "1 to " + std::to_string(kLongestProfileName) + " bytes without control characters");
  if (const Block* first = out_.find(name))
    return reading_.error("duplicate-key", pair.key, base::quote(name) + " is given twice",
                          "the first is on line " + std::to_string(first->at.span.line) + ": keep one");
  Block& block = out_.profiles.emplace_back();
  block.name = name;
  block.at = reading_.origin(pair.key);
  if (pair.value.is_scalar() && pair.value.is_null()) return;
  reading_.map<BlockKey>(pair.value, "a profile", block_keys(),
                         [&](const BlockKey& key, const Pair& each) { read_key(key, each.value, block); });
}

void Reader::read_profiles(const Node& node) {
  if (node.kind == Node::Kind::kRefused || (node.is_scalar() && node.is_null())) return;
  if (node.kind != Node::Kind::kMapping)
    return reading_.error("not-a-map", node, "profiles is a map of profiles by name",
                          "profiles: {node: {allowDomains: [npm.example]}}");
  if (node.pairs.size() > kMostProfiles)
    return too_many(node.pairs[kMostProfiles].key, "these profiles", kMostProfiles);
  out_.profiles.reserve(node.pairs.size());
  for (const Pair& pair : node.pairs) read_profile(pair);
  check_bases();
}

/// False where the chain leads back to this block.
bool Reader::check_base(const Block& block) {
  const Block* at = &block;
  for (std::size_t steps = 0; steps <= out_.profiles.size(); ++steps) {
    if (at->extends.empty()) return true;
    at = out_.find(at->extends.value);
    if (at == nullptr) return true;
    if (at == &block) return false;
  }
  return true;  // round a circle that it is not part of, which is said there
}

void Reader::check_bases() {
  std::vector<std::string_view> names;
  for (const Block& block : out_.profiles) names.emplace_back(block.name);
  names.insert(names.end(), built_in_.begin(), built_in_.end());
  std::set<const Block*> circled;
  for (const Block& block : out_.profiles) {
    if (block.extends.empty()) continue;
    const std::string& base_name = block.extends.value;
    const auto say = [&](std::string code, std::string message, std::string hint) {
      reading_.error_at(std::move(code), block.extends.at.span, std::move(message), std::move(hint));
    };
    if (std::ranges::find(names, base_name) == names.end()) {
      const auto near = base::did_you_mean(base_name, names);
      say("unknown-base", "extends: there is no profile " + base::quote(base_name),
          near ? "did you mean " + base::quote(*near) + "?" : "a block of this file, or a built-in profile");
    } else if (!circled.contains(&block) && !check_base(block)) {
      for (const Block* each = &block; circled.insert(each).second;) each = out_.find(each->extends.value);
      const bool itself = base_name == block.name;
      say("extends-circle", "extends: profile " + base::quote(block.name) + " leads back to itself",
          itself ? "leave it out: a block adds to the built-in profile of its name anyway" : "leave one of them out");
    }
  }
}

Config Reader::read(const Node& root) {
  const bool empty = root.is_scalar() && root.is_null();
  if (empty || root.kind == Node::Kind::kRefused) return {};
  reading_.map<TopKey>(root, "the configuration", kTop, [&](const TopKey& key, const Pair& pair) {
    if (key.name == kAllowAddress.name)
      read_addresses(pair.value);
    else
      read_profiles(pair.value);
  });
  return std::move(out_);
}

}  // namespace

const Block* Config::find(std::string_view profile) const {
  const auto found = std::ranges::find(profiles, profile, &Block::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::vector<const Block*> Config::chain(std::string_view profile) const {
  std::vector<const Block*> out;
  for (const Block* at = find(profile); at != nullptr && out.size() <= profiles.size();) {
    out.push_back(at);
    at = at->extends.empty() || at->extends.value == at->name ? nullptr : find(at->extends.value);
  }
  std::ranges::reverse(out);
  return out;
}

base::Result<Config, base::Diagnostics> parse(std::string_view text, std::string_view file,
                                              std::span<const std::string_view> built_in) {
  const manifest::Source source(text, file);
  manifest::Problems problems;
  const manifest::Tree tree = manifest::read_tree(source, problems);
  Config out = Reader(source, problems, built_in).read(tree.root);
  if (problems.any()) return base::fail(problems.take_errors());
  return out;
}

}  // namespace cordon::policy::config
