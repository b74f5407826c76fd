// Profile: what one ecosystem's tools need, as data. Written by people in profiles/*.yaml, turned into constant tables
// at build time (tools/profiles); nothing is parsed at run time.
//
// A table here says what holds on any machine ("~/.cargo/registry", moved by CARGO_HOME); effective.h says what it
// means on this one, detect.h which profiles a command needs. A profile grants; it never lifts a shield. It knows of
// its tools no more than the top-level intent of a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cordon::policy::ecosystem {

using Names = std::span<const std::string_view>;

/// What a command is about, as far as its first words say.
enum class Intent : std::uint8_t {
  kUnknown,
  kInstall,      ///< fetches and sets up dependencies
  kBuild,        ///< compiles, packs
  kTest,         ///< runs the project's tests or checks
  kRun,          ///< runs the project's own code once
  kDev,          ///< runs for long and follows the host's edits: servers, watchers
  kRepl,         ///< a language's own prompt
  kExec,         ///< runs a tool, fetched where it is not there
  kPublish,      ///< sends something out
  kCreate,       ///< makes a project: scaffolding, generators
  kFormat,       ///< rewrites sources
  kTool,         ///< puts a program into the user's own bin directory: `cargo install --path .`
  kInteractive,  ///< a shell, an editor, a debugger, an agent
};
std::string_view to_string(Intent intent);  ///< "install", …; "unknown"

/// How the workspace is shown (SPEC §9.4).
enum class WorkspaceMode : std::uint8_t {
  kView,         ///< private overlay; outputs promoted at the end
  kLive,         ///< sources read-only and live; outputs, caches, temporary names writable
  kWrite,        ///< bound writable, shields hold
  kReview,       ///< as kView, its end asks; never implied by a command
  kInteractive,  ///< no mode yet: kWrite where the user's configuration allows it, else one question, else kLive
};
std::string_view to_string(WorkspaceMode mode);
/// What --workspace may name: all but kInteractive.
std::optional<WorkspaceMode> workspace_mode(std::string_view name);

WorkspaceMode mode_of(Intent intent);

/// Whether it is the project's own code that runs: then `.env*` may be read, and other ecosystems of the same place
/// take part.
enum class OwnCode : std::uint8_t { kNo, kRuns };
OwnCode own_code(Intent intent);

/// What follows a word of a command.
enum class Then : std::uint8_t {
  kNothing,
  kScript,     ///< the name of a script of the project: "dev", "start:web" are live
  kProgram,    ///< a program, looked up as a command of its own: `npx vite`
  kModule,     ///< a python module that is a program: `-m pytest`
  kGenerator,  ///< anything: `npm create vite`
};

/// Whether this command may change a manifest's keys (`npm install PKG`).
enum class ManifestChange : std::uint8_t { kNone, kKeys };

struct Word {
  Names names;
  Intent intent = Intent::kUnknown;
  Then then = Then::kNothing;
  ManifestChange manifests = ManifestChange::kNone;
  Names keys = {};  ///< of the manifests, in the place of the outputs' own; of kKeys
};

/// An option that decides wherever it stands: `--watch`, `-w` of gofmt.
struct Decider {
  std::string_view option;
  Intent intent = Intent::kUnknown;
};

/// Whether one word says what a command does, or all of them together: `mvn clean verify`.
enum class WordUse : std::uint8_t { kFirst, kEach };

struct Command {
  Names names;                         ///< basenames
  Intent bare = Intent::kUnknown;      ///< without any word
  Intent other = Intent::kUnknown;     ///< with a word that `words` does not have
  Then other_then = Then::kNothing;    ///< kScript: `yarn dev`
  Names value_options, plain_options;  ///< known before the word; any other makes the intent unknown
  std::span<const Word> words;
  std::span<const Decider> deciders;
  WordUse use = WordUse::kFirst;
};

/// A variable that moves a place: to its value, or `below` its value.
struct Mover {
  std::string_view variable;
  std::string_view below;  ///< "" for the value itself
};

enum class CacheClass : std::uint8_t {
  kContent,   ///< checked by its digest when it is used: private overlay, new entries promoted whole
  kUnpacked,  ///< not checked again when it is used: seen, and added to for this project alone
  kMutable,   ///< Cordon's own per project
  kStore,     ///< programs that a tool fetched: Cordon's own per project, executable
};
std::string_view to_string(CacheClass cache);

struct Place {
  std::string_view path;  ///< absolute, or "~/…"; "" where only a variable names it
  std::span<const Mover> moved_by;
  CacheClass cache = CacheClass::kMutable;  ///< of caches only
};

enum class OutputKind : std::uint8_t { kDirectory, kFile };
enum class OutputClass : std::uint8_t {
  kOutput,
  kLock,
  kManifest,
  kWhereIgnored,  ///< a directory, and only where git ignores it: "build" is a source folder elsewhere
  kProgram,       ///< a file anywhere that holds machine code and is no source: what a compiler or linker made
  kMarked,        ///< a directory that holds an entry of this name: the build directory of whoever put it there
  kGenerated,     ///< a file whose template stands beside it ("Makefile" of "Makefile.in"); keys: the template
};

/// A name that is an output wherever in the workspace it stands; "a/b" is a path below any directory there. A '*'
/// stands for any bytes of one component.
struct Output {
  std::string_view name;
  OutputKind kind = OutputKind::kDirectory;
  OutputClass what = OutputClass::kOutput;
  /// kManifest: the top-level keys ("a.b" for a nested one) that a command may change. kGenerated: the template's name;
  /// its '*' stands for what the one of `name` stood for.
  Names keys;
};

enum class RegistryFormat : std::uint8_t {
  kNpmrc,
  kYarnrc,
  kPipConf,
  kUvToml,
  kCargoToml,
  kGoEnv,
  kMavenSettings,
};
std::string_view to_string(RegistryFormat format);

/// A file of the user's own that names a registry. Read on the host, for host names alone; it never enters.
struct RegistryFile {
  RegistryFormat format = RegistryFormat::kNpmrc;
  Place place;
};

struct Registry {
  std::string_view role;  ///< "npm-registry"
  Names hosts;            ///< where nothing else says; may be empty
  Names variables;        ///< that hold its URL (or several, separated as the tool does)
  std::span<const RegistryFile> files;
  Names ask;  ///< how the tool is asked, in a sandbox: {"npm", "config", "get", "registry"}; may be empty
};

struct Profile {
  std::string_view name, what;
  std::span<const Command> commands;
  Names markers;                       ///< names; "*.csproj" where they begin with '*'
  std::span<const Place> toolchains;   ///< read and execute
  std::span<const Place> installs;     ///< where the ecosystem's tools put programs for a person
  std::span<const Place> read;         ///< configuration without credentials, data
  std::span<const Place> credentials;  ///< configuration that may hold credentials: never enters
  std::span<const Place> caches;
  std::span<const Output> outputs;
  Names temporary;  ///< names that `live` lets a tool write beside the sources; may hold '*'
  std::span<const Registry> registries;
  Names domains;      ///< "host" or "host:port"; 443 otherwise
  Names environment;  ///< names that pass; may end in '*'
};

std::span<const Profile> profiles();  ///< sorted by name; "generic" is one of them
const Profile* find_profile(std::string_view name);
/// As a person types it: in any case, or by another usual name ("js").
const Profile* profile_called(std::string_view word);
const Profile& generic_profile();

}  // namespace cordon::policy::ecosystem
