// keys: the one table of a configuration's keys. Parsing, what a project file may not say unasked (asks.h), merging's
// order, the JSON Schema and the reference in docs/configuration.md are made from it.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "policy/config/config.h"

namespace cordon::policy::config {

enum class Holds : unsigned char { kPaths, kHosts, kHostsOnly, kSwitch, kVariables, kProfile };

/// Whether a project's file may say it unasked.
enum class Effect : unsigned char {
  kWidens,
  kNarrows,
  kWidensWhereTrue,
  kWidensWhereFalse,
  kRefusedWhereTrue,  ///< no file may: it is a flag's
};

using ListTarget = std::vector<Text> Block::*;
using SwitchTarget = std::optional<Switch> Block::*;
using VariablesTarget = std::vector<Variable> Block::*;
using TextTarget = Text Block::*;
using Target = std::variant<ListTarget, SwitchTarget, VariablesTarget, TextTarget>;

struct BlockKey {
  std::string_view name;
  Holds holds;
  Effect effect;
  Target target;
  std::string_view grants;   ///< "may write": what an entry of it means, before the entry
  std::string_view summary;  ///< one sentence without a full stop
  std::string_view flag;     ///< that says the same for one run
};
std::span<const BlockKey> block_keys();

/// Beside the blocks.
struct TopKey {
  std::string_view name, summary;
};
inline constexpr TopKey kAllowAddress{
    "allow_address", "blocks of inner addresses that granted names may lead to, in every run, as --allow-address"};
inline constexpr TopKey kProfiles{"profiles", "what is added to each profile, by its name"};

}  // namespace cordon::policy::config
