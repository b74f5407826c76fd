// Policy: what a run is allowed, as a plain value. Both doors (a manifest, a command under a profile) end in one of
// these; the planner takes nothing else from them.
//
// Every entry keeps where it comes from (Origin), so that a refusal, `inspect` and a report line can point at it. A
// Policy touches no disk and knows no errno. "As written" and "resolved" are two states of one value: policy/manifest
// parses the former, resolve() fills `path` of every grant and makes the latter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace cordon::policy {

/// Where an entry stands: a span in a file, a flag ("--env"), or a built-in default.
struct Origin {
  base::Span span;     ///< file, line and column for what stands in a file
  std::string source;  ///< the flag or the built-in's name where there is no file
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Text {
  std::string value;
  Origin at;
  [[nodiscard]] bool empty() const { return value.empty(); }
  friend bool operator==(const Text&, const Text&) = default;
};

/// A path that the policy names. `written` is what the fingerprint covers; `path` is absolute and lexically normal, and
/// empty until resolved.
struct PathGrant {
  std::string written;
  std::string path;
  Origin at;
  [[nodiscard]] bool empty() const { return written.empty(); }
  friend bool operator==(const PathGrant&, const PathGrant&) = default;
};

struct EnvGrant {
  std::string name;
  std::optional<std::string> supplied;  ///< by --env NAME=VALUE; a secret, never printed
  Origin at;
  friend bool operator==(const EnvGrant&, const EnvGrant&) = default;
};

struct NetworkRule {
  std::string host;    ///< exact name, ".suffix", "*", IP literal or CIDR, as written
  std::string port;    ///< "443", "8000-8010" or "*"
  std::string reason;  ///< optional prose
  Origin at;
  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

enum class ExecMode { kNone, kNoneStrict, kAll, kList };

struct Exec {
  ExecMode mode = ExecMode::kNone;
  std::vector<PathGrant> programs;  ///< for kList: path or bare name
  Origin at;
  friend bool operator==(const Exec&, const Exec&) = default;
};

struct Limits {
  std::string memory;  ///< as written: integer with optional K, M, G (1024-based)
  std::string cpu;     ///< as written: "150%"
  std::optional<std::int64_t> pids;
  std::string timeout;               ///< as written: integer with s, m or h
  std::string tmp;                   ///< as written: size of /tmp
  std::uint64_t timeout_ms = 0;      ///< parsed; 0 = none
  std::uint64_t tmp_bytes = 0;       ///< parsed; 0 = the default
  std::uint64_t memory_bytes = 0;    ///< parsed; 0 = none
  std::uint64_t cpu_hundredths = 0;  ///< parsed, of a percent of one CPU; 0 = none
  Origin memory_at, cpu_at, pids_at, timeout_at, tmp_at;
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Written by the tool, never by a person, and outside the fingerprint.
struct Provenance {
  std::string generated_by;
  std::string generated_at;  ///< RFC 3339, UTC
  std::string approves;      ///< the stamp: fingerprint, lower-case hex
  std::vector<std::string> blocked_hosts;
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// How far other names of credentials are looked for: to the end, or within `validate`'s budget.
enum class AliasSearch { kWhole, kQuick };

/// A proxy of the host's network: what the broker reaches names through.
struct UpstreamProxy {
  std::string host;  ///< a name or a canonical address
  std::string port;
  std::string authorization;        ///< "Basic …" or empty; a secret, never printed
  std::vector<NetworkRule> direct;  ///< reached without it
  friend bool operator==(const UpstreamProxy&, const UpstreamProxy&) = default;
};

/// A variable of the caller's environment that says whom TLS clients trust, and the paths in its value.
struct TrustSetting {
  std::string name;   ///< "SSL_CERT_FILE"
  std::string value;  ///< as it is set
  std::vector<std::string> paths;
  friend bool operator==(const TrustSetting&, const TrustSetting&) = default;
};

/// How closely a run is watched; it changes nothing of what is allowed.
enum class Watch { kNothing, kPrograms, kPaths };

/// What stands at HOME inside.
enum class HomeShown {
  kAsGranted,
  kEmpty,  ///< an empty directory of the run's own, below which grants show (profile)
};

/// By what a run is held (SPEC §11).
enum class EngineChoice {
  kAuto,  ///< by namespaces; where the host refuses them by Landlock alone, if that holds what this policy needs
  kNamespace,
  kLandlock,
};

/// What the caller insists on; from flags, never from a manifest.
struct Posture {
  EngineChoice engine = EngineChoice::kAuto;
  bool strict = false;                  ///< every layer or nothing
  bool allow_degraded = false;          ///< run with what can be held, naming what is not
  bool as_root = false;                 ///< keep uid 0 although the workspace belongs to another user
  std::vector<PathGrant> accept_alias;  ///< trees in which other names of credentials may be seen; `path` is set
  AliasSearch alias_search = AliasSearch::kWhole;
  std::vector<Text> allow_address;  ///< blocks of special addresses that names may lead to, canonical
  /// --allow-all-network: no network of its own, but the host's; what the host's /etc/resolv.conf says.
  std::optional<std::string> host_network;
  bool ask = false;        ///< ask about what no network rule covers
  bool proxy_env = false;  ///< HTTP_PROXY and its kind name the broker's proxy
  std::optional<UpstreamProxy> upstream;
  std::vector<TrustSetting> trust;  ///< passed where there is a way out, with what they name to read
  Watch watch = Watch::kNothing;    ///< --record-exec, --explain, profile
  HomeShown home = HomeShown::kAsGranted;
  friend bool operator==(const Posture&, const Posture&) = default;
};

/// What a command's run may write in its workspace (SPEC §9.4).
enum class WorkspaceMode {
  kView,    ///< anywhere, in a layer of its own; outputs are promoted at the end
  kLive,    ///< read-only and live; what `write` names
  kWrite,   ///< the workspace itself, with its shields
  kReview,  ///< as kView, and nothing is promoted unasked
};

/// A directory of Cordon's own that the target sees at another place as its own: written and executed, never the
/// host's.
struct PrivatePlace {
  std::string source, target;  ///< absolute
  std::string reason;          ///< "profile go: cache"
  friend bool operator==(const PrivatePlace&, const PrivatePlace&) = default;
};

/// A directory of `read` that the target may change as well, in a layer of its own: `place`, a directory of Cordon's
/// own, holds "upper" and "work".
struct PrivateView {
  std::string path;  ///< as the grant's
  std::string place;
  friend bool operator==(const PrivateView&, const PrivateView&) = default;
};

/// A file that the target finds there, made for this run: a tool's settings without what they hold of credentials.
struct PrivateFile {
  std::string path;  ///< absolute
  std::string content;
  std::string reason;
  friend bool operator==(const PrivateFile&, const PrivateFile&) = default;
};

/// The second door: a command under its ecosystem's profile. What a manifest grants for writing may be executed under
/// exec: all; here no host path is both written and executed.
struct Command {
  WorkspaceMode mode = WorkspaceMode::kView;
  std::string workspace;          ///< absolute
  std::string working_directory;  ///< absolute; in the workspace
  std::string home;               ///< private and empty, but for what is granted below it; "" for none
  std::string temporary;          ///< a directory of Cordon's own that /tmp is; "" for one in memory
  std::vector<PrivatePlace> places;
  std::vector<PrivateView> views;
  std::vector<PrivateFile> files;
  std::vector<std::string> base;  ///< more of what every program may count on: a tool's own settings in /etc
  friend bool operator==(const Command&, const Command&) = default;
};

struct Policy {
  PathGrant entrypoint;
  Text interpreter;  ///< "" = the entrypoint is its own program; with '/' a path; else looked up on the host's PATH
  std::string interpreter_path;  ///< resolved spelling of an interpreter given as a path; else empty
  std::vector<Text> interpreter_args;
  std::vector<Text> args;
  std::vector<EnvGrant> env;
  std::vector<PathGrant> read;
  std::vector<PathGrant> write;
  std::vector<NetworkRule> network;
  Exec exec;
  Limits limits;
  std::optional<Provenance> provenance;

  // New keys of Cordon (SPEC §2). Their presence makes the stamp use the versioned encoding.
  std::vector<PathGrant> pin;
  std::vector<PathGrant> deny;
  std::vector<PathGrant> wx;
  std::vector<Text> publish;        ///< ports
  std::vector<Text> host_services;  ///< ports
  std::vector<Text> agent;          ///< "ssh"
  std::vector<Text> allow;          ///< "nested-sandbox"
  std::vector<Text> devices;

  std::optional<Command> command;  ///< set: this is no manifest
  Posture posture;
  PathGrant manifest;  ///< the manifest's own file; `path` set once resolved

  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace cordon::policy
