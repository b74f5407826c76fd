#include "policy/config/asks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace cordon::policy::config {
namespace {

constexpr std::size_t kLongestShown = 200;

std::string shown(std::string_view text, Length length) {
  if (length == Length::kWhole || text.size() <= kLongestShown) return base::quote(text);
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return base::quote(text.substr(0, end)) + " … (" + std::to_string(text.size()) + " bytes)";
}

/// Every entry of one key of a block.
void add_key(const Block& block, const BlockKey& key, std::vector<Ask>& out) {
  if (const auto* list = std::get_if<ListTarget>(&key.target)) {
    if (key.effect == Effect::kNarrows) return;
    for (const Text& item : block.**list) out.push_back(ask_of(block, key, item.value, item.at));
  } else if (const auto* one = std::get_if<SwitchTarget>(&key.target)) {
    const std::optional<Switch>& set = block.**one;
    if (set && asks_for_more(key.effect, set->value))
      out.push_back(ask_of(block, key, set->value ? "true" : "false", set->at));
  } else if (const auto* env = std::get_if<VariablesTarget>(&key.target)) {
    for (const Variable& variable : block.**env)
      out.push_back(ask_of(block, key, variable.name + "=" + variable.value, variable.at));
  } else {
    const Text& text = block.*std::get<TextTarget>(key.target);
    if (!text.empty()) out.push_back(ask_of(block, key, text.value, text.at));
  }
}

}  // namespace

bool asks_for_more(Effect effect, bool value) {
  switch (effect) {
    case Effect::kWidens:
      return true;
    case Effect::kNarrows:
      return false;
    case Effect::kWidensWhereTrue:
    case Effect::kRefusedWhereTrue:
      return value;
    case Effect::kWidensWhereFalse:
      return !value;
  }
  return true;
}

Ask ask_of(const Block& block, const BlockKey& key, std::string value, Origin at) {
  return {block.name, std::string(key.name), std::move(value), std::move(at)};
}

std::string canonical(const Ask& ask) {
  return base::quote(ask.profile) + " " + ask.key + " " + base::quote(ask.value);
}

std::string in_words(const Ask& ask, Length length) {
  if (ask.key == kAllowAddress.name) return "names may lead to addresses of " + shown(ask.value, length);
  if (ask.key == kProfiles.name) return "can be chosen by --profile " + shown(ask.profile, length);
  const auto keys = block_keys();
  const auto key = std::ranges::find(keys, ask.key, &BlockKey::name);
  if (key == keys.end()) return ask.key + " " + shown(ask.value, length);
  if (key->holds == Holds::kSwitch) return std::string(key->grants);
  return std::string(key->grants) + " " + shown(ask.value, length);
}

std::vector<Ask> asks_of(const Config& config, std::span<const std::string_view> built_in) {
  std::vector<Ask> out;
  for (const Text& block : config.allow_address)
    out.push_back({{}, std::string(kAllowAddress.name), block.value, block.at});
  for (const Block& block : config.profiles) {
    if (std::ranges::find(built_in, std::string_view(block.name)) == built_in.end())
      out.push_back({block.name, std::string(kProfiles.name), {}, block.at});
    for (const BlockKey& key : block_keys()) add_key(block, key, out);
  }
  sort_by_place(out);
  return out;
}

void sort_by_place(std::vector<Ask>& asks) {
  std::ranges::stable_sort(asks, {}, [](const Ask& ask) { return std::pair(ask.at.span.line, ask.at.span.column); });
}

AskChanges compare(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  const std::set<std::string> was(before.begin(), before.end()), is(now.begin(), now.end());
  AskChanges out;
  std::ranges::set_difference(is, was, std::back_inserter(out.more));
  std::ranges::set_difference(was, is, std::back_inserter(out.fewer));
  return out;
}

}  // namespace cordon::policy::config
