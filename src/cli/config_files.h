// The files of the configuration: where they stand, and whether they are to be believed. What they say is
// policy/config's.
//
//   the user's     $XDG_CONFIG_HOME/cordon/config.yaml (~/.config), for commands else the build sandbox's
//   sbe/config.yaml a project's    .cordon.yaml, .sbe.yaml or .sbe.yml: the nearest upwards, not above the workspace
//   --config FILE
//
// None is no configuration. One that cannot be read, that is wrong, that is a link, or that somebody else can write or
// put another in place of (the same walk and judgement as of a manifest) refuses: what it says would hold for every
// run. A project's file only narrows unasked, and what is trusted of it is bound to its text: it has to belong to the
// caller, to root or to the workspace's owner, and may be written by whoever writes the project.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verdict.h"
#include "policy/approval/facts.h"
#include "policy/config/config.h"

namespace cordon::cli {

struct ConfigFile {
  std::string path;       ///< absolute, as it was looked for
  std::string real_path;  ///< every link on the way followed
  std::string directory;  ///< of real_path
  std::string text;
  std::string sha256;  ///< of `text`
  policy::approval::FileIdentity id;
  policy::config::Config config;
};
using MaybeConfig = std::optional<ConfigFile>;

/// The names of the profiles that are no file's own.
std::vector<std::string_view> built_in_profiles();

enum class For : std::uint8_t { kManifest, kCommand };
base::Result<MaybeConfig, Stop> user_config(const Invocation& invocation, const plan::HostFacts& facts, For what);

/// `from` lies in `workspace`; both real. `owner`: of the workspace.
base::Result<MaybeConfig, Stop> project_config(const Invocation& invocation, const std::string& from,
                                               const std::string& workspace, std::uint32_t owner);

/// At exactly this path, judged as project_config() judges; nothing where there is none.
base::Result<MaybeConfig, Stop> project_config_at(const Invocation& invocation, const std::string& path,
                                                  std::uint32_t owner);

/// --config: one that is missing refuses.
base::Result<ConfigFile, Stop> named_config(const Invocation& invocation, const std::string& path);

/// What the user's file says of the host's own network, behind what the flags said.
base::Result<void, Stop> add_global_config(const Invocation& invocation, const plan::HostFacts& facts,
                                           policy::Posture& posture);

/// "/p/.cordon.yaml:4", or the flag's or built-in's name.
std::string origin_words(const policy::Origin& at);

/// One item, about a file.
Stop config_refusal(const std::string& file, std::string code, std::string message, std::string mend);

}  // namespace cordon::cli
