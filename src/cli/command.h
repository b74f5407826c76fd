// `cordon run -- CMD`: from a command line to a Policy, by what its ecosystem needs here (SPEC §9).
//
//   look_up()     the program that the words name, as a shell would find it; 127 and 126 are said here
//   set_up()      detection, workspace, profile and flags become a policy; Cordon's own directories are made
//   CommandRun::end()   outputs are promoted, the rest is kept, what was private goes
//
// Nothing here decides what is safe to show: a grant that a profile makes is judged by the planner like anybody's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_places.h"
#include "cli/output.h"
#include "cli/verdict.h"
#include "plan/outcome.h"
#include "policy/config/asks.h"
#include "policy/ecosystem/detect.h"
#include "policy/ecosystem/effective.h"
#include "policy/ecosystem/workspace.h"

namespace cordon::cli {

/// The program that `word` names: a path, or a name on the caller's PATH.
struct LookedUp {
  std::string path;  ///< absolute; "" where there is none
  bool is_there = false;
};
LookedUp look_up(const host::Caller& caller, const std::string& word);

/// Why there is nothing to run, where look_up() finds nothing.
std::optional<Stop> not_found(const host::Caller& caller, const std::string& word);

/// What a view is of, and where its layers lie.
struct RunView {
  enum class What : std::uint8_t { kWorkspace, kCache, kPrivate, kInstalls };
  What what = What::kWorkspace;
  std::string path;  ///< as granted, on the host
  ViewPlace place;
  base::Fd lower;  ///< the directory itself: at the end its path may lead to another
};

/// A cache of content that the host does not have yet: what the run fetches makes it.
struct FreshCache {
  std::string path;   ///< where it will be
  std::string place;  ///< where the run filled it
};

struct CommandRun {
  policy::Policy policy;
  policy::ecosystem::Detection detection;
  policy::ecosystem::Effective effective;
  std::string workspace;  ///< real
  std::string because;    ///< why this is the workspace: ".git"
  std::vector<std::string> argv;
  std::optional<CommandPlaces> places;
  std::vector<RunView> views;
  std::vector<FreshCache> fresh_caches;
  std::vector<std::string> made_outputs;  ///< landlock engine: directories that the run's write grants make
  Owner owner;
  /// Why the workspace is not shown as the command's intent asks; "" where it is.
  std::string fallback;
  std::vector<plan::Note> notes;             ///< more that is to be said before the run
  std::string chosen;                        ///< the profile of --profile; "" where the command says it
  std::vector<policy::config::Ask> ignored;  ///< what a project's file asks for and does not get
};

/// Makes nothing that outlives the CommandRun but the caches of the project.
base::Result<CommandRun, Stop> set_up_command(const Invocation& invocation, const Arguments& arguments, Host& host,
                                              const policy::Posture& posture, const std::string& run_id,
                                              Output& output);

/// Why a run that publishes a port has no view of its own: it stays, and every other run of the project would wait.
inline constexpr std::string_view kServerIsLive =
    "--publish makes it a server (with a view of its own: --workspace view)";

/// Said while another run, by the process of that number, has the view of the workspace.
std::string waiting_words(pid_t other, const std::string& workspace);

/// What is said before the run: that the workspace is shown otherwise than usual, that no profile is known.
std::vector<plan::Note> notes_of(const CommandRun& run);

/// That a server is not reached from outside as it is, and by which flag it would be. Nothing where that is no news: of
/// commands that are no server, and of those with published ports.
std::function<void(std::uint16_t)> told_of_listening(const std::optional<CommandRun>& run,
                                                     std::function<void(plan::Note)> tell);

/// A flag that has no meaning at the door that was taken; "" for none.
std::string flag_of_other_door(const Arguments& arguments);

/// After every process of the run is gone. What there is to say, each a note.
std::vector<plan::Note> end_command(CommandRun& run, const plan::Plan& plan, const plan::Outcome& outcome,
                                    const std::string& state_directory, const Invocation& invocation);

}  // namespace cordon::cli
