#include "policy/config/config.h"

#include <array>

#include "policy/manifest/reading.h"
#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"
#include "policy/network/rule.h"

namespace cordon::policy::config {
namespace {

using manifest::Node;
using manifest::Pair;

struct Key {
  std::string_view name;
};
constexpr std::array kKeys = {Key{"allow_address"}};
constexpr std::string_view kMap = "the configuration";

void read_block(manifest::Reading& reading, const Node& node, Config& out) {
  if (!node.is_scalar() || node.is_null())
    return reading.error("bad-address-block", node, "allow_address: an entry is a block of addresses", "[10.0.0.0/8]");
  auto block = network::parse_opened(node.text);
  if (!block)
    return reading.error("bad-address-block", node, "allow_address: " + block.error().message, block.error().hint);
  out.allow_address.push_back({to_string(*block), reading.origin(node)});
}

void read_blocks(manifest::Reading& reading, const Node& node, Config& out) {
  if (node.kind == Node::Kind::kRefused) return;
  if (node.kind != Node::Kind::kSequence)
    return reading.error("not-a-list", node, "allow_address: this is a list", "allow_address: [10.0.0.0/8]");
  for (const Node& item : node.items)
    if (item.kind != Node::Kind::kRefused) read_block(reading, item, out);
}

}  // namespace

base::Result<Config, base::Diagnostics> parse(std::string_view text, std::string_view file) {
  const manifest::Source source(text, file);
  manifest::Problems problems;
  const manifest::Tree tree = manifest::read_tree(source, problems);
  manifest::Reading reading(source, problems);
  Config out;
  const bool empty = tree.root.is_scalar() && tree.root.is_null();
  if (!empty && tree.root.kind != Node::Kind::kRefused)
    reading.map<Key>(tree.root, kMap, kKeys,
                     [&](const Key&, const Pair& pair) { read_blocks(reading, pair.value, out); });
  if (problems.any()) return base::fail(problems.take_errors());
  return out;
}

}  // namespace cordon::policy::config
