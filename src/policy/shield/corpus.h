// The corpus: what Cordon protects under any grant, as data. Written by people in shields/*.yaml, turned into constant
// tables at build time; nothing is parsed and nothing is allocated at run time.
//
// A table here says what a name means on any machine; rules.h says what it means on this one (whose home, which
// environment). Called by rules.cc and by the generator of docs/shields.md; judges nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cordon::policy::shield {

enum class Deny : std::uint8_t {
  kAll,    ///< hidden: neither read nor written
  kWrite,  ///< readable where a grant shows it, never written
};
enum class Kind : std::uint8_t { kDirectory, kFile };

/// Why it is protected; the words of `approve`, `validate` and the report.
enum class Holds : std::uint8_t { kNothing, kCredentials, kPrivateData, kHistory, kPersistence, kServices };
std::string_view holds_name(Holds holds);  ///< "credentials", "private-data", …; "" for kNothing

/// Whether `write:` with the rule's exact name may lift it. Only read-only shields that ordinary work needs.
enum class WriteOptIn : std::uint8_t { kNever, kByExactName };

/// Whether other names of the same file (hard links, bind mounts) are looked for.
enum class AliasAnchor : std::uint8_t { kNo, kYes };

struct HomeRule {
  std::string_view path;  ///< below a home, no leading slash: ".ssh", ".config/gh"; absolute in system_rules()
  Deny deny = Deny::kAll;
  Kind kind = Kind::kDirectory;  ///< as usual; what is on the disk decides
  Holds holds = Holds::kNothing;
  std::string_view what;  ///< whose it is, a few words: "OpenSSH keys"
  WriteOptIn write_opt_in = WriteOptIn::kNever;
  AliasAnchor alias_anchor = AliasAnchor::kNo;
};

/// Protected at the root of every checkout that a write grant reaches. Git's own directory is not here: see rules.h.
struct WorkspaceRule {
  std::string_view path;  ///< below the checkout: ".vscode"
  Deny deny = Deny::kWrite;
  Kind kind = Kind::kDirectory;
  std::string_view what;
  WriteOptIn write_opt_in = WriteOptIn::kNever;
};

/// How an environment variable moves rules.
enum class Moves : std::uint8_t {
  kBase,  ///< XDG: every home rule below `from` also stands below the value
  kDirectory,
  kFile,
  kFileList,       ///< colon-separated files
  kDirectoryList,  ///< colon-separated directories
};

/// One variable and one thing that it moves; a variable that moves several has several entries.
struct Relocation {
  std::string_view variable;
  Moves moves = Moves::kDirectory;
  std::string_view from;   ///< kBase: ".config"; else the default place, home-relative ("" where it has none)
  std::string_view below;  ///< appended to the value: "secrets"; "" for the value itself
  Deny deny = Deny::kAll;
  Kind kind = Kind::kDirectory;
  Holds holds = Holds::kNothing;
  std::string_view what;
  AliasAnchor alias_anchor = AliasAnchor::kNo;
  WriteOptIn write_opt_in = WriteOptIn::kNever;
  std::string_view none;  ///< a value that the tool takes for "nowhere": "off"; "" where it has no such word
};

std::span<const HomeRule> home_rules();   ///< sorted as base/path_order.h says, like every table of paths here
std::span<const HomeRule> alias_paths();  ///< wallet keys and their kind: for the alias scan only, no rules
std::span<const WorkspaceRule> workspace_rules();
std::span<const HomeRule> system_rules();  ///< of no home: "/etc/shadow"
std::span<const Relocation> relocations();
std::span<const std::string_view> relocation_variables();  ///< each once, sorted: what the planner asks the caller for
std::span<const std::string_view> runtime_directories();   ///< absolute; "/run", "/var/run"; XDG_RUNTIME_DIR is moved

/// Names at a write grant's root that a tool executes without being asked: for the report before and after. One that
/// ends in '/' stands for the files in that directory, one level.
std::span<const std::string_view> auto_executed();

}  // namespace cordon::policy::shield
