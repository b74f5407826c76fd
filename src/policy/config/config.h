// One configuration file, as written: the user's config.yaml, a project's .cordon.yaml, or what the build sandbox reads
// (.sbe.yaml), whose schema is part of ours.
//
//   allow_address: [10.0.0.0/8]                 # as --allow-address; for every run
//   profiles:
//     node: { allowDomains: [npm.corp.example] }  # added to the built-in profile node
//     mytool: { extends: node, allowRead: [~/.mytool/] }  # --profile mytool
//
// Read as strictly as a manifest (the same subset of YAML; unknown and repeated keys are errors; all problems in one
// go). Every entry keeps its place. Pure: cli/config_files.h finds the files and judges who can write them; merge.h
// puts several together; asks.h says what of one goes beyond narrowing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/policy.h"

namespace cordon::policy::config {

inline constexpr std::size_t kMostProfiles = 128;
inline constexpr std::size_t kLongestProfileName = 128;  ///< bytes
inline constexpr std::size_t kMostItems = 1'024;         ///< of one list
inline constexpr std::size_t kMostVariables = 128;
inline constexpr std::size_t kLongestVariable = 8'192;  ///< bytes of a value

struct Switch {
  bool value = false;
  Origin at;
  friend bool operator==(const Switch&, const Switch&) = default;
};

struct Variable {
  std::string name, value;
  Origin at;
  friend bool operator==(const Variable&, const Variable&) = default;
};

/// One entry of `profiles`: what it adds to the profile of its name. Paths are as written (paths.h expands them), hosts
/// are in the spelling of the wire, with ":PORT" where one was written.
struct Block {
  std::string name;
  Origin at;
  Text extends;  ///< "" for none
  std::vector<Text> allow_write, deny_read, allow_read, allow_domains, deny_domains, deny_exec, allow_exec, allow_fetch;
  std::optional<Switch> allow_all_network, enable_proxy, allow_degraded;
  std::vector<Variable> env;
  friend bool operator==(const Block&, const Block&) = default;
};

struct Config {
  std::vector<Text> allow_address;  ///< canonical blocks
  std::vector<Block> profiles;      ///< in the order of the file; each name once

  [[nodiscard]] const Block* find(std::string_view profile) const;
  /// The block and those that it extends in this file, what is extended first. Empty where there is none.
  [[nodiscard]] std::vector<const Block*> chain(std::string_view profile) const;
  friend bool operator==(const Config&, const Config&) = default;
};

/// An empty text is an empty configuration. `built_in`: the profiles that `extends` may name beside those of the file.
base::Result<Config, base::Diagnostics> parse(std::string_view text, std::string_view file,
                                              std::span<const std::string_view> built_in);

}  // namespace cordon::policy::config
