// Outputs: which of the paths that a run changed go back to the host (SPEC §9.4).
//
// By declared name, anywhere in the workspace; else as a directory that git ignores as a whole, that stood before the
// run or that a profile names, none of whose components begins with a dot, and that holds no shield name. All else is
// kept, not promoted. The ignore rules are those of the host's files at the start, matched here: git is never run in a
// repository that a target can write.
//
// Names only. What may be promoted of an output (no links out, no set-id bits, never ".git") is the promotion's matter.
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

enum class EntryKind : std::uint8_t { kDirectory, kOther };

struct OutputMatch {
  const Output* output = nullptr;
  std::string_view origin;  ///< of the declared output
  std::string_view root;    ///< of the path: the part that is the output itself, "web/node_modules"
};

/// The declared output that `path` is or lies in, the outermost one. `path`: relative to the workspace, normal. Nothing
/// for what has ".git" in it.
std::optional<OutputMatch> declared_output(std::span<const DeclaredOutput> declared, std::string_view path,
                                           EntryKind kind);

/// What is still to come below the directory `path`, where it begins an output of several names: "Debug" and "Release"
/// at "app/bin".
std::vector<std::string_view> rests_below(std::span<const DeclaredOutput> declared, std::string_view path);

/// Whether a profile of any ecosystem names such a directory as its output.
bool is_named_by_a_profile(std::string_view path);

/// Whether files count as outputs that hold machine code, by whatever name.
bool delivers_programs(std::span<const DeclaredOutput> declared);
/// A program or a shared library, by a file's first 64 bytes: the whole header of ELF.
bool is_machine_code(std::string_view head);
/// Whether a compiler's product may have this name: none that an interpreter, a build tool or a test runner would read.
bool may_name_a_program(std::string_view name);
/// "out2", "cmake-build": a directory that a person would call so. Not "json", which a program would import.
bool may_name_a_build_directory(std::string_view name);

/// Names whose presence makes a directory a build directory: "CMakeCache.txt".
std::vector<std::string_view> markers(std::span<const DeclaredOutput> declared);

/// The paths of which `path` would be made, where it is generated: "a/Makefile.in" and "a/Makefile.am" of "a/Makefile".
std::vector<std::string> templates_of(std::span<const DeclaredOutput> declared, std::string_view path);

/// Whether `path` itself is what a tool leaves beside sources and makes again when it is gone ("__pycache__"): by its
/// whole name, never by a pattern that a person's file could fit.
bool is_temporary(std::span<const NamedText> temporary, std::string_view path);

enum class Stood : std::uint8_t { kBefore, kNew };
enum class ShieldNames : std::uint8_t { kNone, kSome };

/// Whether the directory `root` (of IgnoreRules::ignored_root()) may go back whole. `holds`: whether a shielded or
/// auto-executed name lies in it, at any depth.
bool is_ignored_output(std::string_view root, Stood stood, ShieldNames holds);

}  // namespace cordon::policy::ecosystem
