// yaml_tree: the strict subset of YAML that a manifest is written in, as a tree whose every node knows its bytes.
//
// Refused here, each with its place: what is not UTF-8 text, more than 32 levels, a second document,
// tags, anchors, aliases, keys that are not words, and line ends that YAML 1.1 knows but no editor shows
// (a comment must not be able to end where the reader does not see it). Scalars stay text: `yes`, `1_0` and `0x10` mean
// what they say, and only an unquoted `~`, `null` or nothing at all is null.
//
// Called by decode and provenance. Knows no key of the manifest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/manifest/source.h"

namespace cordon::policy::manifest {

inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxNodes = std::size_t{1} << 17;  ///< what a mebibyte of ordinary paths stays well below

struct Pair;

struct Node {
  enum class Kind { kScalar, kSequence, kMapping, kRefused };
  enum class Style { kPlain, kQuoted, kBlockScalar, kBlock, kFlow };

  Kind kind = Kind::kScalar;
  Style style = Style::kPlain;
  std::size_t begin = 0;  ///< byte offset of the first byte
  std::size_t end = 0;    ///< one past the last byte; for block collections one past the last leaf
  std::string text;       ///< kScalar
  std::vector<Node> items;
  std::vector<Pair> pairs;

  [[nodiscard]] bool is_scalar() const { return kind == Kind::kScalar; }
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_tilde() const { return is_null() && text == "~"; }
};

struct Pair {
  Node key;  ///< always a scalar
  Node value;
};

struct Tree {
  Node root;             ///< a null scalar for an empty text
  bool complete = true;  ///< false: a syntax error cut it short; what is there is whole
};

/// Every problem goes to `problems`. What was refused stands in the tree as kRefused, so that nothing is said twice.
Tree read_tree(const Source& source, Problems& problems);

}  // namespace cordon::policy::manifest
