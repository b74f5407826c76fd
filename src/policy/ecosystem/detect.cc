#include "policy/ecosystem/detect.h"

#include <algorithm>

#include "base/text.h"
#include "policy/ecosystem/words.h"

namespace cordon::policy::ecosystem {
namespace {

bool is_marker_of(const Profile& profile, std::string_view name) {
  return std::ranges::any_of(profile.markers, [&](std::string_view marker) {
    return marker.starts_with('*') ? name.size() >= marker.size() && name.ends_with(marker.substr(1)) : name == marker;
  });
}

bool holds_git(const Directory& directory) {
  return std::ranges::find(directory.names, ".git") != directory.names.end();
}

/// A program as registries and tools name it: "@scope/create-app@2" is "create-app".
std::string program_name(std::string_view word) {
  std::string_view name = base_name(word);
  if (const auto at = name.find('@', 1); at != std::string_view::npos) name = name.substr(0, at);
  return std::string(name);
}

Intent intent_of_unknown_program(std::string_view name) {
  return name.starts_with("create-") ? Intent::kCreate : Intent::kUnknown;
}

void add(Detection& out, Found found) {
  const bool is_there = std::ranges::any_of(out.found, [&](const Found& one) { return one.profile == found.profile; });
  if (!is_there) out.found.push_back(std::move(found));
}

constexpr int kMostPrograms = 6;

/// The command and the commands that it starts: `uv run npx vite`.
void read_commands(std::vector<std::string> argv, Detection& out) {
  for (int depth = 0; depth < kMostPrograms && !argv.empty(); ++depth) {
    const std::string name = depth == 0 ? std::string(base_name(argv.front())) : program_name(argv.front());
    const Row row = find_command(name);
    if (row.command == nullptr) {
      if (depth == 0) return;
      if (const Intent intent = intent_of_unknown_program(name); intent != Intent::kUnknown) {
        out.intent = intent;
        out.decided_by += " " + name;
      }
      return;
    }
    const Meaning meaning = meaning_of(*row.command, std::span(argv).subspan(1));
    const std::string said = name + (meaning.said_by.empty() ? "" : " " + meaning.said_by);
    if (row.profile != &generic_profile()) add(out, {row.profile, Because::kCommand, name, {}, meaning.intent});
    if (depth == 0 || meaning.intent != Intent::kUnknown) {
      out.intent = meaning.intent;
      out.manifests = meaning.manifests;
      out.manifest_keys.assign(meaning.keys.begin(), meaning.keys.end());
    }
    out.decided_by += (out.decided_by.empty() ? "" : " ") + said;
    if (meaning.then != Then::kProgram && meaning.then != Then::kModule) return;
    argv = meaning.rest;
  }
}

/// Others join where they may be needed: a build or an installation may compile what another ecosystem fetches.
bool others_join(Intent intent) {
  return intent != Intent::kPublish && intent != Intent::kCreate && intent != Intent::kFormat &&
         intent != Intent::kTool;
}

void add_markers(std::span<const Directory> upwards, Detection& out) {
  const bool has_command = !out.found.empty();
  for (const Directory& directory : upwards) {
    bool found = false;
    for (const Profile& profile : profiles())
      for (const std::string& name : directory.names) {
        if (!is_marker_of(profile, name)) continue;
        found = true;
        // One that fetches nothing has nothing to join for.
        if (!has_command || !profile.registries.empty())
          add(out, {&profile, Because::kMarker, name, directory.path, Intent::kUnknown});
      }
    if (found || holds_git(directory)) return;
  }
}

}  // namespace

bool tells(std::string_view name) {
  return name == ".git" ||
         std::ranges::any_of(profiles(), [&](const Profile& profile) { return is_marker_of(profile, name); });
}

std::vector<const Profile*> Detection::profiles() const {
  std::vector<const Profile*> out;
  for (const Found& one : found) out.push_back(one.profile);
  return out;
}

Detection detect(std::span<const std::string> argv, std::span<const Directory> upwards) {
  Detection out;
  Unwrapped command = unwrap(argv);
  out.through = std::move(command.through);
  read_commands(std::move(command.argv), out);
  // Of `sh -c "a; b"` only a was read: it must not open the sources to b.
  if (command.whole == Whole::kFirstOfSeveral && mode_of(out.intent) != WorkspaceMode::kLive) {
    if (mode_of(out.intent) != WorkspaceMode::kView) out.intent = Intent::kUnknown;
  }
  if (out.found.empty() || others_join(out.intent)) add_markers(upwards, out);
  if (out.found.empty()) out.found.push_back({&generic_profile(), Because::kNothing, {}, {}, out.intent});
  out.mode = mode_of(out.intent);
  return out;
}

std::string why(const Detection& detection) {
  std::string out;
  for (const Found& one : detection.found) {
    out += (out.empty() ? "" : ", ") + std::string(one.profile->name);
    if (one.because == Because::kCommand) out += " (command " + base::shown(one.word) + ")";
    if (one.because == Because::kMarker) out += " (" + base::shown(one.word) + " in " + base::shown(one.place) + ")";
    if (one.because == Because::kNothing) out += " (no known command, no known file)";
  }
  return out;
}

}  // namespace cordon::policy::ecosystem
