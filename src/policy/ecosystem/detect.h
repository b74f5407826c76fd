// Detection: which profiles a command needs, and what it is about (SPEC §9.1).
//
// By the command's word, seen through `env`, `time`, `nice`, `sh -c "…"` and their kind and through tools that start
// other tools (`npx`, `uv run`, `corepack`); else by the nearest marker file up to the repository's root. A command
// that runs the project's own code needs the ecosystems whose markers stand there as well. What is not understood is
// unknown, and unknown is a private view: nothing here ever widens by guessing.
//
// Pure. The caller lists the directories (for which `tells` says what to look for); called by the command mode alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

/// Whether a directory's entry of this name matters to detect() and workspace_root(): a marker, or ".git".
bool tells(std::string_view name);

/// One directory on the way up, with those of its entries that tell something.
struct Directory {
  std::string path;  ///< absolute, lexically normal
  std::vector<std::string> names;
  friend bool operator==(const Directory&, const Directory&) = default;
};

enum class Because : std::uint8_t { kCommand, kMarker, kNothing };

struct Found {
  const Profile* profile = nullptr;
  Because because = Because::kNothing;
  std::string word;                  ///< the command's ("npm") or the marker's ("Cargo.toml") name
  std::string place;                 ///< the marker's directory; "" for a command
  Intent intent = Intent::kUnknown;  ///< of the command as this profile knows it; kUnknown where another one does
  friend bool operator==(const Found&, const Found&) = default;
};

struct Detection {
  std::vector<Found> found;  ///< never empty: generic where nothing else is; the first is the one that was asked for
  Intent intent = Intent::kUnknown;
  WorkspaceMode mode = WorkspaceMode::kView;
  ManifestChange manifests = ManifestChange::kNone;
  std::vector<std::string_view> manifest_keys;  ///< of the command's word: in the place of the outputs' own
  std::string decided_by;            ///< the words that said so: "npm run dev", "--watch"; "" where nothing did
  std::vector<std::string> through;  ///< wrappers that were looked through: {"env", "sh -c"}

  [[nodiscard]] std::vector<const Profile*> profiles() const;
  friend bool operator==(const Detection&, const Detection&) = default;
};

/// `upwards`: the working directory first, then its parents. Nothing above the first that holds ".git" counts.
Detection detect(std::span<const std::string> argv, std::span<const Directory> upwards);

/// "node (command npm), rust (Cargo.toml in /w)" in one line, for the report and `inspect`.
std::string why(const Detection& detection);

}  // namespace cordon::policy::ecosystem
