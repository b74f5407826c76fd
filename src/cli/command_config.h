// The configuration of one command: which files say something about it, and what they say together.
//
//   config_files.h   finds and judges the files
//   policy/config    puts them together: the user's, the project's, --config's
//   here             which profiles' blocks count, what of the project's file was trusted, what is told of it
#pragma once

#include <string>
#include <vector>

#include "cli/config_files.h"
#include "plan/plan.h"
#include "policy/config/merge.h"

namespace cordon::cli {

struct CommandPlace {
  std::string working_directory;  ///< real
  std::string workspace;          ///< real
  std::uint32_t owner = 0;        ///< of the workspace
};

struct CommandConfig {
  policy::config::Merged merged;
  std::vector<plan::Note> notes;  ///< told before the run, one line each
  std::string project;            ///< directory of the project's file; "" where there is none
};

/// The files are read, once.
class ConfigFiles {
 public:
  static base::Result<ConfigFiles, Stop> read(const Invocation& invocation, const Arguments& arguments,
                                              const plan::HostFacts& facts, const CommandPlace& place);

  /// Whether `profile` has a block that may be chosen by name; refuses where it is only a project's that nobody
  /// trusted.
  [[nodiscard]] base::Result<bool, Stop> has(const std::string& profile) const;

  /// `profiles`: those of the command, or the chosen one; what their blocks extend joins them.
  [[nodiscard]] CommandConfig of(const std::vector<std::string>& profiles) const;

 private:
  policy::config::Merged merged(const std::vector<std::string>& profiles) const;
  void hold_project(policy::config::Merged& merged, std::vector<plan::Note>& notes) const;
  void tell_ignored(const policy::config::Merged& merged, std::vector<plan::Note>& notes) const;

  const plan::HostFacts* facts_ = nullptr;
  policy::config::Places places_;
  MaybeConfig user_, project_, named_;
  std::set<std::string> trusted_;  ///< of project_
  std::string changed_;            ///< what changed since it was trusted; "" for nothing
  bool trust_unusable_ = false;
};

/// Where trusted configurations are noted; "" where there is no state directory.
std::string trust_directory(const Invocation& invocation, const plan::HostFacts& facts);

/// canonical(), sorted, each once.
std::vector<std::string> canonical_asks(const policy::config::Config& config);

/// "it now also asks: …; it no longer asks: …"
std::string changes_in_words(const std::vector<std::string>& before, const std::vector<std::string>& now);

}  // namespace cordon::cli
