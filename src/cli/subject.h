// What `profile` is to watch: a script or a command, as the policy that a draft begins with, and where the draft goes.
#pragma once

#include <optional>
#include <string>

#include "cli/verdict.h"
#include "policy/draft/draft.h"
#include "policy/policy.h"

namespace cordon::cli {

struct Subject {
  std::string named;    ///< as the user named it
  policy::Policy base;  ///< program, interpreter and arguments; resolved
  std::string project;  ///< real: the directory that the program belongs to
  std::string script;   ///< the entrypoint's text, "" of a program
  std::string out;      ///< absolute; "" for standard output
  policy::draft::Anchors anchors;
  bool is_command = false;
  /// Set of a command that stands elsewhere than the user does: then `base` starts it by env -C in `project`, since a
  /// manifest starts its program where that stands. This is the same without, for a draft of nothing in `project`.
  std::optional<policy::Policy> alone;
};

/// Whether both start the same program in the same place, whatever else they allow.
bool starts_the_same(const Subject& subject, const policy::Policy& one, const policy::Policy& other);

/// From the command line. `facts` is of `session`, and gets the answers.
base::Result<Subject, Stop> subject_of(const Invocation& invocation, const Arguments& arguments, Host& host);

/// What it is watched under: exec: all, its own directory, an empty home, and a network that is seen (SPEC §10).
enum class OwnDirectory : std::uint8_t { kWritten, kRead, kNotGranted };
policy::Policy discovery_policy(const Subject& subject, const Invocation& invocation, policy::Posture posture,
                                OwnDirectory own, policy::draft::Forwarding forwarding);

}  // namespace cordon::cli
