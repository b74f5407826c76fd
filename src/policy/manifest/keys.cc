#include "policy/manifest/keys.h"

#include <array>

namespace cordon::policy::manifest {
namespace {

constexpr auto kWider = Wording::MoreIs::kWider;
constexpr auto kNarrower = Wording::MoreIs::kNarrower;
constexpr auto kNeither = Wording::MoreIs::kNeither;
constexpr auto kOld = Since::kReference;
constexpr auto kNew = Since::kCordon;

constexpr std::array kKeys = {
    Key{"entrypoint",
        kOld,
        Need::kRequired,
        Rule::kPath,
        Order::kMatters,
        &Policy::entrypoint,
        {},
        "The program or script that is run",
        "./fetch.py"},
    Key{"interpreter",
        kOld,
        Need::kOptional,
        Rule::kProgram,
        Order::kMatters,
        &Policy::interpreter,
        {},
        "What runs the entrypoint; without it the entrypoint is its own program (or says so in its #! line)",
        "python3"},
    Key{"interpreter_args",
        kOld,
        Need::kOptional,
        Rule::kArgument,
        Order::kMatters,
        &Policy::interpreter_args,
        {},
        "Options of the interpreter, placed before the entrypoint",
        "[\"-u\"]"},
    Key{"args",
        kOld,
        Need::kOptional,
        Rule::kArgument,
        Order::kMatters,
        &Policy::args,
        {},
        "Arguments, placed after the entrypoint and never expanded",
        "[\"--verbose\"]"},
    Key{"env",
        kOld,
        Need::kOptional,
        Rule::kEnvName,
        Order::kFree,
        &Policy::env,
        {"now also sees the environment variable", "no longer sees the environment variable", kWider},
        "Environment variables that are passed on; names only, values come from the caller",
        "[LANG, TERM]"},
    Key{"read",
        kOld,
        Need::kOptional,
        Rule::kPath,
        Order::kFree,
        &Policy::read,
        {"now also reads", "no longer reads", kWider},
        "Files and directories that can be read",
        "[./data, ~/.config/app]"},
    Key{"write",
        kOld,
        Need::kOptional,
        Rule::kWritePath,
        Order::kFree,
        &Policy::write,
        {"now also writes", "no longer writes", kWider},
        "Directories (or single existing files) that can be written, and so read",
        "[./out]"},
    Key{"deny",
        kNew,
        Need::kOptional,
        Rule::kDenyPath,
        Order::kFree,
        &Policy::deny,
        {"now hides", "no longer hides", kNarrower},
        "Paths that stay hidden whatever else is granted",
        "[./data/private]"},
    Key{"wx",
        kNew,
        Need::kOptional,
        Rule::kWritePath,
        Order::kFree,
        &Policy::wx,
        {"may now write and execute in", "may no longer both write and execute in", kWider},
        "Directories in which files can be written and then executed",
        "[./build]"},
    Key{"pin",
        kNew,
        Need::kOptional,
        Rule::kPath,
        Order::kFree,
        &Policy::pin,
        {"the approval now also covers the content of", "the approval no longer covers the content of", kNarrower},
        "Files whose content the approval covers: editing one makes it stale",
        "[./fetch.py]"},
    Key{"network",
        kOld,
        Need::kOptional,
        Rule::kProse,
        Order::kFree,
        &Policy::network,
        {"now reaches", "no longer reaches", kWider},
        "Destinations that can be reached over TCP",
        "[{host: example.com, port: \"443\"}]"},
    Key{"publish",
        kNew,
        Need::kOptional,
        Rule::kPlainPort,
        Order::kFree,
        &Policy::publish,
        {"the host can now reach its port", "the host can no longer reach its port", kWider},
        "Ports that the program listens on and the host can reach",
        "[8080]"},
    Key{"host_services",
        kNew,
        Need::kOptional,
        Rule::kPlainPort,
        Order::kFree,
        &Policy::host_services,
        {"now reaches the host's own service on port", "no longer reaches the host's own service on port", kWider},
        "Ports of the host's loopback that can be reached",
        "[5432]"},
    Key{"agent",
        kNew,
        Need::kOptional,
        Rule::kAgent,
        Order::kFree,
        &Policy::agent,
        {"may now use the agent", "may no longer use the agent", kWider},
        "Agents that can be asked to sign: ssh",
        "[ssh]"},
    Key{"exec",
        kOld,
        Need::kOptional,
        Rule::kProgram,
        Order::kFree,
        &Policy::exec,
        {"may now start", "may no longer start", kWider},
        "Which programs can be started: none (the default), none-strict, all, or a list of them",
        "[git, ./tools/fmt]"},
    Key{"allow",
        kNew,
        Need::kOptional,
        Rule::kAllowance,
        Order::kFree,
        &Policy::allow,
        {"is now allowed", "is no longer allowed", kWider},
        "Kernel interfaces opened for programs that sandbox parts of themselves: nested-sandbox",
        "[nested-sandbox]"},
    Key{"devices",
        kNew,
        Need::kOptional,
        Rule::kDevice,
        Order::kFree,
        &Policy::devices,
        {"now uses the device", "no longer uses the device", kWider},
        "Devices that can be used",
        "[/dev/kvm]"},
    Key{"limits",
        kOld,
        Need::kOptional,
        Rule::kProse,
        Order::kMatters,
        &Policy::limits,
        {"", "", kNeither},
        "Bounds on what the run may use up",
        "{memory: 512M, pids: 64, timeout: 10m}"},
    Key{"provenance",
        kOld,
        Need::kOptional,
        Rule::kProse,
        Order::kMatters,
        &Policy::provenance,
        {"", "", kNeither},
        "Written by the tool: who generated the manifest, and the stamp of its approval",
        ""},
};

constexpr std::array kNetworkMembers = {
    Member{"host", kOld, Need::kRequired, Rule::kHost, &NetworkRule::host,
           "A name, .name or *.name for every host below it, * for every host, an IP address or a CIDR block"},
    Member{"port", kOld, Need::kRequired, Rule::kPort, &NetworkRule::port, "A port, a range such as 8000-8010, or *"},
    Member{"reason", kNew, Need::kOptional, Rule::kProse, &NetworkRule::reason, "Why, in one line, for the reviewer"},
};

constexpr std::array kLimitsMembers = {
    Member{"memory", kOld, Need::kOptional, Rule::kMemory, LimitText{&Limits::memory, &Limits::memory_at},
           "Most memory, in bytes or with K, M or G (1024-based); no swap beside it"},
    Member{"cpu", kOld, Need::kOptional, Rule::kPercent, LimitText{&Limits::cpu, &Limits::cpu_at},
           "Most CPU time, as a share of one CPU: 50%, 200%"},
    Member{"pids", kOld, Need::kOptional, Rule::kCount, LimitCount{&Limits::pids, &Limits::pids_at},
           "Most processes and threads at a time, Cordon's own init among them"},
    Member{"timeout", kNew, Need::kOptional, Rule::kDuration, LimitText{&Limits::timeout, &Limits::timeout_at},
           "Longest run, with s, m or h; after it the run is ended"},
    Member{"tmp", kNew, Need::kOptional, Rule::kMemory, LimitText{&Limits::tmp, &Limits::tmp_at},
           "Size of the private /tmp, in bytes or with K, M or G"},
};

constexpr std::array kProvenanceMembers = {
    Member{"generated-by", kOld, Need::kOptional, Rule::kProse, &Provenance::generated_by,
           "The command that wrote the block"},
    Member{"generated-at", kOld, Need::kOptional, Rule::kProse, &Provenance::generated_at, "When, in UTC (RFC 3339)"},
    Member{"approves", kOld, Need::kOptional, Rule::kProse, &Provenance::approves,
           "The stamp: the fingerprint of the permissions that were approved"},
    Member{"blocked-hosts", kOld, Need::kOptional, Rule::kProse, &Provenance::blocked_hosts,
           "Destinations that were asked for while profiling, and blocked"},
};

constexpr std::array kExecModes = {
    ExecModeName{ExecMode::kNone, "none", "no program can be started (the default)"},
    ExecModeName{ExecMode::kNoneStrict, "none-strict", "nor a process: threads only"},
    ExecModeName{ExecMode::kAll, "all", "every program that can be seen"},
};

}  // namespace

std::span<const Key> keys() { return kKeys; }
std::span<const Member> network_members() { return kNetworkMembers; }
std::span<const Member> limits_members() { return kLimitsMembers; }
std::span<const Member> provenance_members() { return kProvenanceMembers; }

std::span<const Member> members_of(const Key& key) {
  if (std::holds_alternative<NetworkTarget>(key.target)) return kNetworkMembers;
  if (std::holds_alternative<LimitsTarget>(key.target)) return kLimitsMembers;
  if (std::holds_alternative<ProvenanceTarget>(key.target)) return kProvenanceMembers;
  return {};
}

bool takes_list(const Key& key) {
  return std::holds_alternative<PathsTarget>(key.target) || std::holds_alternative<TextsTarget>(key.target) ||
         std::holds_alternative<EnvTarget>(key.target) || std::holds_alternative<NetworkTarget>(key.target);
}

std::string limit_as_written(const Limits& limits, const Member& member) {
  if (const auto* text = std::get_if<LimitText>(&member.target)) return limits.*(text->value);
  const auto* count = std::get_if<LimitCount>(&member.target);
  const bool set = count != nullptr && (limits.*(count->value)).has_value();
  return set ? std::to_string(*(limits.*(count->value))) : std::string();
}

std::span<const ExecModeName> exec_modes() { return kExecModes; }

std::string_view exec_mode_name(ExecMode mode) {
  for (const ExecModeName& one : kExecModes)
    if (one.mode == mode) return one.name;
  return "list";
}

}  // namespace cordon::policy::manifest
