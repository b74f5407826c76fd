#include "cli/options.h"

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/profile.h"

namespace cordon::cli {
namespace {

constexpr OptionRow kJson{"--json", "", "say it as JSON on standard output"};
constexpr OptionRow kAcceptAlias{"--accept-alias", "TREE",
                                 "let the target have other names of hidden credentials that stand in TREE",
                                 Times::kMany, Complete::kFile};

constexpr OptionRow kAllowAddress{"--allow-address", "BLOCK",
                                  "let granted names lead to these addresses of an inner network", Times::kMany};
constexpr OptionRow kAsk{"--ask", "", "ask at the terminal about each host and port that no rule covers"};
constexpr OptionRow kUpstreamProxy{"--upstream-proxy", "URL",
                                   "reach granted names through this proxy (none: not even the environment's)"};
constexpr OptionRow kProxyEnv{"--proxy-env", "", "tell the target of a proxy: HTTP_PROXY and its kind"};

constexpr OptionRow kEngine{"--engine", "ENGINE",
                            "auto, namespace or landlock: by what the run is held (auto: what this host lets be)"};

constexpr OptionRow of_command(std::string_view name, std::string_view value, std::string_view help,
                               Times times = Times::kOnce, Complete complete = Complete::kNothing,
                               std::string_view brief = {}) {
  return {name, value, help, times, complete, Door::kCommand, brief};
}
constexpr OptionRow kProfile =
    of_command("--profile", "NAME", "the ecosystem's profile, instead of what the command says", Times::kOnce,
               Complete::kNothing, "-p");
constexpr OptionRow kWorkspace =
    of_command("--workspace", "MODE", "view, live, write or review: what of the workspace the command may write");
constexpr OptionRow kAllowDomain = of_command("--allow-domain", "HOST", "reach this HOST or HOST:PORT too (443)",
                                              Times::kMany, Complete::kNothing, "-n");
constexpr OptionRow kAllowFetch =
    of_command("--allow-fetch", "HOST", "as --allow-domain", Times::kMany, Complete::kNothing, "-f");
constexpr OptionRow kDenyDomain = of_command("--deny-domain", "HOST", "do not reach this host of the profile",
                                             Times::kMany, Complete::kNothing, "-N");
constexpr OptionRow kAllowRead =
    of_command("--allow-read", "PATH", "show this file or directory too", Times::kMany, Complete::kFile);
constexpr OptionRow kAllowWrite =
    of_command("--allow-write", "PATH", "let the command write there", Times::kMany, Complete::kFile, "-w");
constexpr OptionRow kAllowWx = of_command("--allow-wx", "PATH", "let the command write there and start what it wrote",
                                          Times::kMany, Complete::kFile);
constexpr OptionRow kAllow = of_command(
    "--allow", "WHAT", "nested-sandbox: user namespaces inside, for Chromium and what drives it", Times::kMany);
constexpr OptionRow kAgent =
    of_command("--agent", "ssh", "let the command sign with the keys of your ssh agent", Times::kMany);
constexpr OptionRow kDevice =
    of_command("--device", "PATH", "let the command use this device: /dev/kvm", Times::kMany, Complete::kFile);
constexpr OptionRow kCache =
    of_command("--cache", "KIND", "private (caches of this run's project), or shared: your own, written in place");
constexpr OptionRow kAllowExec =
    of_command("--allow-exec", "PATH", "show this tree, to be executed from", Times::kMany, Complete::kFile, "-e");
constexpr OptionRow kDenyRead =
    of_command("--deny-read", "PATH", "hide this path", Times::kMany, Complete::kFile, "-r");
constexpr OptionRow kDenyExec =
    of_command("--deny-exec", "PATH", "hide this program", Times::kMany, Complete::kFile, "-E");
constexpr OptionRow kKeepEnv = of_command("--keep-env", "NAME", "pass this variable of yours", Times::kMany);
constexpr OptionRow kTimeout = of_command("--timeout", "TIME", "end the run after this long: 90s, 20m, 2h");
constexpr OptionRow kMemory = of_command("--memory", "SIZE", "at most this much memory, and no swap: 512M, 2G");
constexpr OptionRow kCpu = of_command("--cpu", "PERCENT", "at most this share of one CPU: 50%, 200%");
constexpr OptionRow kPids = of_command("--pids", "N", "at most this many processes and threads");
constexpr OptionRow kConfig =
    of_command("--config", "FILE", "a configuration of yours for this run", Times::kOnce, Complete::kFile, "-c");
constexpr OptionRow kTrustProject =
    of_command("--trust-project-config", "", "believe the project's configuration for this run, all of it");
constexpr OptionRow kPublish =
    of_command("--publish", "PORT", "let this host reach what the command listens on at this port", Times::kMany);
constexpr OptionRow kHostService =
    of_command("--host-service", "PORT", "reach what listens on this port of this host's own loopback", Times::kMany);
constexpr OptionRow kNoProxy = of_command("--no-proxy", "", "reach any host on port 443 (not limited to hosts)");

constexpr OptionRow kAllNetwork =
    of_command("--allow-all-network", "", "this host's own network, loopback and all: no rule holds and none is kept");
constexpr OptionRow kInsecure =
    of_command("--allow-insecure-linux-network", "", "taken for the sake of older scripts; weakens nothing");

constexpr std::array kOfBoth = {
    OptionRow{"--env", "NAME=VALUE", "the value of a name (that the manifest lists)", Times::kMany},
    kProfile,
    kWorkspace,
    kAllowDomain,
    kAllowFetch,
    kDenyDomain,
    kNoProxy,
    kAllNetwork,
    kInsecure,
    kPublish,
    kHostService,
    kAllowRead,
    kCache,
    kAllowWrite,
    kAllowWx,
    kAllow,
    kDevice,
    kAgent,
    kAllowExec,
    kDenyRead,
    kDenyExec,
    kKeepEnv,
    kTimeout,
    kMemory,
    kCpu,
    kPids,
    kConfig,
    kTrustProject,
    kAsk,
    kAllowAddress,
    kUpstreamProxy,
    kProxyEnv,
    kAcceptAlias,
};

template <std::size_t... Sizes>
constexpr auto joined(const std::array<OptionRow, Sizes>&... parts) {
  std::array<OptionRow, (Sizes + ...)> out{};
  auto* at = out.data();
  ((at = std::ranges::copy(parts, at).out), ...);
  return out;
}

constexpr auto kRunFlags = joined(
    std::array{OptionRow{"--strict", "", "every layer of the sandbox, or nothing is run"},
               OptionRow{"--allow-degraded", "", "run with what this host can hold, naming what it cannot"},
               OptionRow{"--allow-unapproved", "", "run although nobody approved the manifest as it is now",
                         Times::kOnce, Complete::kNothing, Door::kManifest}},
    kOfBoth,
    std::array{
        kEngine,
        OptionRow{"--dry-run", "", "show the plan of an approved manifest and run nothing (inspect needs no approval)"},
        OptionRow{"--report", "FILE", "write what became of the run to FILE, as JSON", Times::kOnce, Complete::kFile},
        OptionRow{"--record-exec", "", "record every program that is started"},
        OptionRow{"--explain", "", "watch the run, and say at its end what it asked for and did not get"},
        OptionRow{"--audit", "", "as --explain"},
        OptionRow{"--audit-log", "FILE", "as --explain, and write each denial to FILE, as a line of JSON", Times::kOnce,
                  Complete::kFile},
        OptionRow{"--as-root", "", "stay root although the entrypoint belongs to somebody else"},
        OptionRow{"--run-id", "ID", "name the run's scope (needs limits)"},
        OptionRow{"--json", "", "stream the run as JSON lines: output, then one verdict, refusal or failure"}});
constexpr std::array kValidateFlags = {
    OptionRow{"--strict", "", "fail where the stamp, the program or a grant does not hold here (for CI)"},
    OptionRow{"--relocatable", "", "fail where a path ties the manifest to this host"},
    kAcceptAlias,
    kJson,
};
constexpr std::array kProfileFlags = {
    OptionRow{"--interpreter", "PROGRAM", "what the script is run by, where its first line does not say"},
    OptionRow{"--out", "FILE", "where the draft goes (SCRIPT.manifest.yaml; - for standard output)", Times::kOnce,
              Complete::kFile},
    OptionRow{"--allow-network", "", "let the watched run reach any host (asked at a terminal)"},
    OptionRow{"--check", "MANIFEST", "run what it names under it, and fail where it asks for more", Times::kOnce,
              Complete::kFile},
    kAllowAddress,
    kUpstreamProxy,
    kAcceptAlias,
    kJson,
};
constexpr std::array kApproveFlags = {
    OptionRow{"--yes", "", "stamp without asking"},
    OptionRow{"--pin", "", "let the stamp cover the entrypoint's content too"},
    kAcceptAlias,
};
constexpr std::array kTrustFlags = {
    OptionRow{"--yes", "", "trust it without asking"},
    OptionRow{"--list", "", "show what is trusted"},
    OptionRow{"--forget", "", "trust it no more"},
};
constexpr auto kInspectFlags =
    joined(std::array{OptionRow{"--strict", "", "plan as run --strict would"},
                      OptionRow{"--allow-degraded", "", "plan as run --allow-degraded would"}},
           kOfBoth, std::array{kEngine, OptionRow{"--as-root", "", "plan as run --as-root would"}, kJson});
constexpr std::array kJsonOnlyFlags = {kJson};
constexpr std::array kChangesFlags = {
    OptionRow{"--diff", "", "show what text files would become, line by line"},
    kJson,
};

constexpr std::array kCommands = {
    CommandRow{"run", "MANIFEST | -- COMMAND", Operands::kRun, Complete::kFile,
               "run a manifest's program under its approved permissions, or a command under its ecosystem's profile",
               kRunFlags, JsonShape::kStream, run},
    CommandRow{"profile", "SCRIPT", Operands::kRun, Complete::kFile,
               "run a program watched, and draft its manifest from what it asks for", kProfileFlags,
               JsonShape::kDocument, profile},
    CommandRow{"validate", "MANIFEST", Operands::kOne, Complete::kFile,
               "what a manifest grants here, and whether it would run", kValidateFlags, JsonShape::kDocument, validate},
    CommandRow{"approve", "MANIFEST", Operands::kOne, Complete::kFile, "read the permissions, then stamp them",
               kApproveFlags, JsonShape::kNone, approve},
    CommandRow{"inspect", "MANIFEST | -- COMMAND", Operands::kRun, Complete::kFile,
               "the plan of a run, step by step; runs nothing", kInspectFlags, JsonShape::kDocument, inspect},
    CommandRow{"explain", "ID", Operands::kOptional, Complete::kNothing,
               "what the last run (or that one) was denied, and the smallest line for each", kJsonOnlyFlags,
               JsonShape::kDocument, explain},
    CommandRow{"changes", "[ID] [apply|discard]", Operands::kWords, Complete::kNothing,
               "what runs changed beside their outputs, kept for a week", kChangesFlags, JsonShape::kDocument, changes},
    CommandRow{"trust", "FILE", Operands::kOptional, Complete::kFile,
               "read what a project's configuration asks for, then trust exactly that", kTrustFlags, JsonShape::kNone,
               trust},
    CommandRow{"doctor", "", Operands::kNone, Complete::kNothing,
               "what this host can hold, and the mend for what it cannot", kJsonOnlyFlags, JsonShape::kDocument,
               doctor},
    CommandRow{"profiles", "NAME", Operands::kOptional, Complete::kNothing,
               "what each ecosystem's commands may have, or all that one of them may", kJsonOnlyFlags,
               JsonShape::kDocument, profiles},
    CommandRow{
        "version", "", Operands::kNone, Complete::kNothing, "which cordon this is", {}, JsonShape::kNone, version},
    CommandRow{"completion",
               "bash|zsh|fish",
               Operands::kOne,
               Complete::kShell,
               "a completion script for a shell",
               {},
               JsonShape::kNone,
               completion},
    CommandRow{"help",
               "COMMAND",
               Operands::kOptional,
               Complete::kCommand,
               "this list, or a command's flags",
               {},
               JsonShape::kNone,
               help},
};

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }

const CommandRow* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandRow::name);
  return found == kCommands.end() ? nullptr : &*found;
}

const OptionRow* find_option(const CommandRow& command, std::string_view name) {
  const auto found = std::ranges::find(command.options, name, &OptionRow::name);
  return found == command.options.end() ? nullptr : &*found;
}

std::string names_of(const OptionRow& option) {
  return (option.brief.empty() ? "" : std::string(option.brief) + ", ") + std::string(option.name);
}

}  // namespace cordon::cli
