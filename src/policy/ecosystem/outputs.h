// Outputs: which of the paths that a run changed go back to the host (SPEC §9.4).
//
// By declared name, anywhere in the workspace; else as a directory that git ignores as a whole, that stood before the
// run or that a profile names, that does not begin with a dot and holds no shield name. Everything else is kept, not
// promoted. The ignore rules are those of the host's files at the start, matched here: git is never run in a repository
// that a target can write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/ecosystem/effective.h"
#include "policy/ecosystem/ignore.h"

namespace cordon::policy::ecosystem {

enum class EntryKind : std::uint8_t { kDirectory, kFile };
enum class Stood : std::uint8_t { kBefore, kNew };

class Outputs {
 public:
  explicit Outputs(std::span<const DeclaredOutput> declared);

  struct Match {
    const Output* output = nullptr;
    std::string_view origin;
    std::string_view root;  ///< of `path`: the part that is the output itself ("web/node_modules")
  };
  /// The declared output that `path` is, or lies in; the outermost one. `path` is relative to the workspace, normal.
  [[nodiscard]] std::optional<Match> declared(std::string_view path, EntryKind kind) const;

 private:
  std::vector<DeclaredOutput> declared_;
};

/// Whether the directory at `path` may go back because git ignores it as a whole. `holds_shield` is the caller's answer
/// on what lies in it (auto-executed and shielded names at any depth).
enum class ShieldNames : std::uint8_t { kNone, kSome };
bool is_ignored_output(std::string_view path, Stood stood, ShieldNames holds, const IgnoreRules& rules);

}  // namespace cordon::policy::ecosystem
