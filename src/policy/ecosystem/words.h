// Words: what the words of a command line say. Private to this room; detect.cc puts it together.
//
// Two steps: what stands before the command is looked through (`env A=1 nice -n 5 sh -c "npm i"`), then the command's
// own words are read by its row in a profile. Neither expands, globs or runs anything.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

/// The last component: "./gradlew" is "gradlew".
std::string_view base_name(std::string_view path);

enum class Whole : std::uint8_t { kYes, kFirstOfSeveral };

struct Unwrapped {
  std::vector<std::string> argv;  ///< empty where what is started is not to be seen
  std::vector<std::string> through;
  Whole whole = Whole::kYes;  ///< kFirstOfSeveral: `sh -c "a && b"`
};
Unwrapped unwrap(std::span<const std::string> argv);

/// The first simple command of a shell text: its words, without assignments before it. Empty where a word would have to
/// be expanded.
std::vector<std::string> first_simple_command(std::string_view text, Whole& whole);

/// The row that knows the command of this name, and its profile. Versions at the end do not count: "gcc-12".
struct Row {
  const Profile* profile = nullptr;
  const Command* command = nullptr;
};
Row find_command(std::string_view name);

struct Meaning {
  Intent intent = Intent::kUnknown;
  ManifestChange manifests = ManifestChange::kNone;
  Names keys = {};
  Then then = Then::kNothing;
  std::string said_by;            ///< "run dev", "--watch"; "" for the bare command
  std::vector<std::string> rest;  ///< what comes after the word, for kProgram and kModule: a command line
};
Meaning meaning_of(const Command& command, std::span<const std::string> arguments);

/// By its name alone: "start:web" is live.
Intent intent_of_script(std::string_view name, Intent otherwise);

}  // namespace cordon::policy::ecosystem
