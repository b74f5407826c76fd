#include "policy/config/merge.h"

#include <algorithm>
#include <utility>

namespace cordon::policy::config {
namespace {

using May = Layer::May;
using What = Step::What;

class Merging {
 public:
  Merging(std::span<const std::string_view> built_in, const Places& places) : built_in_(built_in), places_(places) {}

  void add(const Layer& layer, std::span<const std::string> profiles);
  Merged finish() {
    sort_by_place(out_.ignored);
    return std::move(out_);
  }

 private:
  void add_block(const Layer& layer, const Block& block);
  void add_allows(const Layer& layer, const Block& block);
  void add_denies(const Layer& layer, const Block& block);
  void add_paths(const Layer& layer, const Block& block, std::string_view key, std::vector<Path>& out);
  void add_hosts(const Layer& layer, const Block& block, std::string_view key);
  void add_switches(const Layer& layer, const Block& block);
  void add_variables(const Layer& layer, const Block& block);
  void add_base(const Layer& layer, const Block& block);
  std::vector<base::AbsPath> denied_places(const Layer& layer, const Text& item) const;

  /// What is asked for by a file that may not say so is noted, and false.
  bool may(const Layer& layer, Ask ask);

  std::span<const std::string_view> built_in_;
  const Places& places_;
  Merged out_;
};

const BlockKey& key_of(std::string_view name) { return *std::ranges::find(block_keys(), name, &BlockKey::name); }

const std::vector<Text>& list_of(const Block& block, const BlockKey& key) {
  return block.*std::get<ListTarget>(key.target);
}

void take_away(std::vector<Path>& from, std::string_view denied) {
  std::erase_if(from, [&](const Path& path) { return lies_in(path.path, denied); });
}

bool Merging::may(const Layer& layer, Ask ask) {
  if (layer.may == May::kAll || layer.trusted.contains(canonical(ask))) return true;
  if (std::ranges::find(out_.ignored, ask) == out_.ignored.end()) out_.ignored.push_back(std::move(ask));
  return false;
}

void Merging::add_paths(const Layer& layer, const Block& block, std::string_view name, std::vector<Path>& out) {
  const BlockKey& key = key_of(name);
  for (const Text& item : list_of(block, key)) {
    const auto path = expand(item.value, places_);
    if (!path || !may(layer, ask_of(block, key, item.value, item.at))) continue;
    out.push_back({item.value, path->str(), item.at, layer.may == May::kTrusted});
    // What may be executed again is no longer hidden as a program.
    if (&out != &out_.execute) continue;
    std::erase_if(out_.deny_exec, [&](const Path& denied) {
      return lies_in(denied.path, path->str()) || lies_in(path->str(), denied.path);
    });
  }
}

/// A project means its own directory; whoever works further down hides what this path names there as well.
std::vector<base::AbsPath> Merging::denied_places(const Layer& layer, const Text& item) const {
  std::vector<base::AbsPath> out;
  if (const auto path = expand(item.value, places_)) out.push_back(*path);
  if (layer.may != May::kTrusted || !is_relative(item.value)) return out;
  const auto own = expand(item.value, {places_.home, layer.directory});
  if (own && std::ranges::find(out, *own) == out.end()) out.push_back(*own);
  return out;
}

void Merging::add_denies(const Layer& layer, const Block& block) {
  const auto add = [&](const Text& item, std::vector<Path>& out) {
    for (const base::AbsPath& path : denied_places(layer, item)) {
      out.push_back({item.value, path.str(), item.at, layer.may == May::kTrusted});
      for (auto* allowed : {&out_.read, &out_.write, &out_.execute}) take_away(*allowed, path.str());
    }
  };
  for (const Text& item : block.deny_read) add(item, out_.deny_read);
  for (const Text& item : block.deny_exec) add(item, out_.deny_exec);
  for (const Text& item : block.deny_domains) out_.network.push_back({What::kDeny, item.value, {}, item.at});
}

void Merging::add_hosts(const Layer& layer, const Block& block, std::string_view name) {
  const BlockKey& key = key_of(name);
  for (const Text& item : list_of(block, key)) {
    if (!may(layer, ask_of(block, key, item.value, item.at))) continue;
    const std::size_t colon = item.value.find(':');
    out_.network.push_back({What::kAllow, item.value.substr(0, colon),
                            colon == std::string::npos ? "443" : item.value.substr(colon + 1), item.at});
  }
}

void Merging::add_switches(const Layer& layer, const Block& block) {
  const auto add = [&](std::string_view name, What where_true, What where_false) {
    const BlockKey& key = key_of(name);
    const std::optional<Switch>& set = block.*std::get<SwitchTarget>(key.target);
    if (!set) return;
    if (asks_for_more(key.effect, set->value) &&
        !may(layer, ask_of(block, key, set->value ? "true" : "false", set->at)))
      return;
    out_.network.push_back({set->value ? where_true : where_false, {}, {}, set->at});
  };
  add("allowAllNetwork", What::kAnything, What::kNotAnything);
  add("enableProxy", What::kNamedOnly, What::kAnyHttps);
}

void Merging::add_variables(const Layer& layer, const Block& block) {
  const BlockKey& key = key_of("env");
  for (const Variable& variable : block.env) {
    if (!may(layer, ask_of(block, key, variable.name + "=" + variable.value, variable.at))) continue;
    std::erase_if(out_.env, [&](const Variable& other) { return other.name == variable.name; });
    out_.env.push_back(variable);
  }
}

void Merging::add_base(const Layer& layer, const Block& block) {
  const std::string& base = block.extends.value;
  if (base.empty()) return;
  const bool of_file = layer.config->find(base) != nullptr;
  const bool built_in = std::ranges::find(built_in_, std::string_view(base)) != built_in_.end();
  // A block of a built-in profile that extends another block takes that block, not a whole other profile.
  const bool own_is_built_in = std::ranges::find(built_in_, std::string_view(block.name)) != built_in_.end();
  if (!built_in || (of_file && own_is_built_in)) return;
  if (!may(layer, ask_of(block, key_of("extends"), base, block.extends.at))) return;
  if (std::ranges::find(out_.bases, base, &Text::value) == out_.bases.end()) out_.bases.push_back(block.extends);
}

void Merging::add_allows(const Layer& layer, const Block& block) {
  add_base(layer, block);
  add_paths(layer, block, "allowRead", out_.read);
  add_paths(layer, block, "allowWrite", out_.write);
  add_paths(layer, block, "allowExec", out_.execute);
  add_switches(layer, block);
  add_hosts(layer, block, "allowDomains");
  add_hosts(layer, block, "allowFetch");
  add_variables(layer, block);
}

/// In one block a deny holds against what stands beside it, wherever it is written.
void Merging::add_block(const Layer& layer, const Block& block) {
  add_allows(layer, block);
  add_denies(layer, block);
}

void Merging::add(const Layer& layer, std::span<const std::string> profiles) {
  for (const Text& block : layer.config->allow_address)
    if (may(layer, {{}, std::string(kAllowAddress.name), block.value, block.at})) out_.allow_address.push_back(block);
  std::set<const Block*> done;
  for (const std::string& profile : profiles)
    for (const Block* block : layer.config->chain(profile))
      if (done.insert(block).second) add_block(layer, *block);
}

}  // namespace

bool lies_in(std::string_view path, std::string_view directory) {
  if (directory == "/" || path == directory) return true;
  return path.starts_with(directory) && path.substr(directory.size()).starts_with('/');
}

bool Merged::empty() const {
  return read.empty() && write.empty() && execute.empty() && deny_read.empty() && deny_exec.empty() &&
         network.empty() && env.empty() && allow_address.empty() && bases.empty() && ignored.empty();
}

Merged merge(std::span<const Layer> layers, std::span<const std::string> profiles,
             std::span<const std::string_view> built_in, const Places& places) {
  Merging merging(built_in, places);
  for (const Layer& layer : layers) merging.add(layer, profiles);
  return merging.finish();
}

}  // namespace cordon::policy::config
