// Effective: several profiles on this machine, for this caller, as one value: absolute paths, each entry once, each
// with its origin. What `inspect` shows, and what the command mode turns into a Policy.
//
// Variables move places with them. A variable that moves one to where no tool's files may stand ("/", a home, a shield,
// the workspace) refuses: the run would else use another place than the tool. What profile "generic" has every result
// has. Pure and lexical; no disk.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abs_path.h"
#include "base/diagnostic.h"
#include "base/result.h"
#include "policy/ecosystem/profile.h"
#include "policy/shield/rules.h"

namespace cordon::policy::ecosystem {

struct Surroundings {
  base::AbsPath home, working_directory, workspace;
  std::vector<base::AbsPath> homes;                ///< every account's that counts; `home` need not be repeated
  std::map<std::string, std::string> environment;  ///< the caller's; moving_variables() at least
  const shield::Rules* shields = nullptr;          ///< not owned; nullptr: none are looked at
};

/// Every variable that moves a place of a profile, sorted, each once: what the caller has to look up.
std::vector<std::string_view> moving_variables();

struct Root {
  base::AbsPath path;
  CacheClass cache = CacheClass::kMutable;  ///< of caches only
  std::string origin;                       ///< "profile node: caches"
  std::string variable;                     ///< that moved it; "" for the usual place
  friend bool operator==(const Root&, const Root&) = default;
};

struct NamedText {
  std::string value, origin;
  friend bool operator==(const NamedText&, const NamedText&) = default;
};

struct DeclaredOutput {
  const Output* output = nullptr;
  std::string origin;
  friend bool operator==(const DeclaredOutput&, const DeclaredOutput&) = default;
};

struct RegistryFileAt {
  RegistryFormat format = RegistryFormat::kNpmrc;
  base::AbsPath path;
  friend bool operator==(const RegistryFileAt&, const RegistryFileAt&) = default;
};

struct RegistryRole {
  const Registry* registry = nullptr;
  std::vector<RegistryFileAt> files;  ///< the user's and the machine's, strongest first
  std::string origin;
  friend bool operator==(const RegistryRole&, const RegistryRole&) = default;
};

struct Effective {
  std::vector<std::string> profiles;
  std::vector<Root> installs;
  std::vector<Root> toolchains;  ///< read and execute; sorted by path, none below another of the same list
  std::vector<Root> read;
  std::vector<Root> caches;       ///< sorted by path; one may lie below another
  std::vector<Root> credentials;  ///< never enter
  std::vector<DeclaredOutput> outputs;
  std::vector<Root> moved_outputs;  ///< caches that a variable moved into the workspace: outputs, each whole
  std::vector<NamedText> temporary;
  std::vector<RegistryRole> registries;
  std::vector<NamedText> domains;      ///< "host" or "host:port"
  std::vector<NamedText> environment;  ///< names that pass; "LC_*"
  friend bool operator==(const Effective&, const Effective&) = default;

  [[nodiscard]] bool passes(std::string_view variable) const;
};

base::Result<Effective, base::Diagnostics> effective(std::span<const Profile* const> profiles,
                                                     const Surroundings& surroundings);

}  // namespace cordon::policy::ecosystem
