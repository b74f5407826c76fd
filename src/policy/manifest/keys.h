// keys: the one table of a manifest's keys. Parsing, the canonical text, the JSON export, the versioned fingerprint,
// the semantic diff, docs/manifest.schema.json and the key reference of docs/manifest.md are all made from it, so that
// a key cannot exist in one of them and be missing from another.
//
// A row says what the key is called, what its values may be (values.h), where in the Policy it goes, and what it means.
// The order of the rows is the canonical order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/manifest/values.h"
#include "policy/policy.h"

namespace cordon::policy::manifest {

/// Which generation a key belongs to. A policy that uses one of kCordon gets the versioned fingerprint.
enum class Since : std::uint8_t { kReference, kCordon };

/// Whether the order of a list says something. What does not is sorted in fingerprint and canonical text.
enum class Order : std::uint8_t { kMatters, kFree };

enum class Need : std::uint8_t { kRequired, kOptional };

using PathTarget = PathGrant Policy::*;
using TextTarget = Text Policy::*;
using PathsTarget = std::vector<PathGrant> Policy::*;
using TextsTarget = std::vector<Text> Policy::*;
using EnvTarget = std::vector<EnvGrant> Policy::*;
using NetworkTarget = std::vector<NetworkRule> Policy::*;
using ExecTarget = Exec Policy::*;
using LimitsTarget = Limits Policy::*;
using ProvenanceTarget = std::optional<Provenance> Policy::*;

using Target = std::variant<PathTarget, TextTarget, PathsTarget, TextsTarget, EnvTarget, NetworkTarget, ExecTarget,
                            LimitsTarget, ProvenanceTarget>;

/// How the semantic diff words a change of a list entry: "now also writes X", "no longer writes X". More entries widen
/// a grant and narrow a `deny` or a `pin`.
struct Wording {
  std::string_view added, removed;
  enum class MoreIs : std::uint8_t { kWider, kNarrower, kNeither } more_is = MoreIs::kNeither;
};

struct Key {
  std::string_view name;
  Since since;
  Need need;
  Rule rule;    ///< of the value, or of each entry; kProse where the members (below) have rules of their own
  Order order;  ///< of a list
  Target target;
  Wording wording;
  std::string_view summary;  ///< one sentence without a full stop, for editors and the reference
  std::string_view example;  ///< a line of YAML: the value only
};

/// A key inside `network[]`, `limits` or `provenance`.
struct LimitText {
  std::string Limits::* value;
  Origin Limits::* at;
};
struct LimitCount {
  std::optional<std::int64_t> Limits::* value;
  Origin Limits::* at;
};
using MemberTarget = std::variant<std::string NetworkRule::*, LimitText, LimitCount, std::string Provenance::*,
                                  std::vector<std::string> Provenance::*>;

struct Member {
  std::string_view name;
  Since since;
  Need need;
  Rule rule;
  MemberTarget target;
  std::string_view summary;
};

std::span<const Key> keys();
std::span<const Member> network_members();
std::span<const Member> limits_members();
std::span<const Member> provenance_members();

/// The members of a key that holds a map or maps; empty for every other key.
std::span<const Member> members_of(const Key& key);

/// True where the key takes a list (`exec` takes a word or a list, and is not one).
bool takes_list(const Key& key);

/// The value of a limit as it was written; empty where it is not set.
std::string limit_as_written(const Limits& limits, const Member& member);

struct ExecModeName {
  ExecMode mode;
  std::string_view name;
  std::string_view summary;
};
/// The words that `exec` takes; a list is written out instead of named.
std::span<const ExecModeName> exec_modes();
std::string_view exec_mode_name(ExecMode mode);  ///< "list" for kList

}  // namespace cordon::policy::manifest
