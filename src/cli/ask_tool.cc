#include "cli/ask_tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <variant>

#include "base/text.h"
#include "cli/command.h"
#include "cli/launcher.h"
#include "cli/own_places.h"
#include "cli/surroundings.h"
#include "enforce/supervise/supervise.h"
#include "kernel/file.h"
#include "policy/approval/private_directory.h"
#include "policy/manifest/digest.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace supervise = enforce::supervise;

constexpr std::size_t kMostBytes = 4'096;
constexpr std::uint64_t kPatienceMs = 15'000;

/// PATH without what the project could have put a program into.
host::Caller away_from(host::Caller caller, const std::string& workspace) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return caller;
  std::vector<std::string> kept;
  for (const std::string_view directory : base::split(path->second, ':')) {
    const auto parsed = base::AbsPath::parse(directory);
    const auto root = base::AbsPath::parse(workspace);
    if (parsed && root && !parsed->is_within(*root)) kept.emplace_back(directory);
  }
  path->second = base::join(kept, ":");
  return caller;
}

/// By its links: what the project holds answers nothing.
bool leads_into(const std::string& program, const std::string& workspace) {
  std::error_code failed;
  const auto real = base::AbsPath::parse(std::filesystem::canonical(program, failed).string());
  const auto root = base::AbsPath::parse(workspace);
  return failed || !real || !root || real->is_within(*root);
}

/// The file that the answer is remembered in: another for another program, version or question.
std::string name_for(const std::string& program, const std::vector<std::string>& argv) {
  const auto facts = kernel::statx(kernel::kHere, program.c_str(), 0);
  if (!facts) return {};
  return policy::manifest::sha256_hex(fmt::format("{}\n{}:{}\n{}.{}\n{}\n{}", program, kernel::device_of(*facts),
                                                  facts->stx_ino, facts->stx_mtime.tv_sec, facts->stx_mtime.tv_nsec,
                                                  facts->stx_size, base::join(argv, "\n")));
}

std::string remembered(base::FdView directory, const std::string& name, approval::Caller caller) {
  const approval::Opened file = approval::open_private_file(directory, name, caller);
  if (file.state != approval::Opened::State::kPrivate) return {};
  const auto readable = kernel::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW);
  std::string out(kMostBytes, '\0');
  const auto got = readable ? kernel::pread(*readable, std::as_writable_bytes(std::span(out)), 0)
                            : kernel::Sys<std::size_t>(base::fail(readable.error()));
  out.resize(got ? *got : 0);
  return out;
}

void remember(base::FdView directory, const std::string& name, const std::string& answer) {
  const auto file = kernel::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file || kernel::write_all(*file, std::as_bytes(std::span(answer)))) return;
  static_cast<void>(kernel::unlinkat(directory, name.c_str(), 0));
}

policy::Policy policy_of(const host::Caller& caller, const ToolQuestion& question, const std::string& program,
                         const std::string& home, const std::string& place) {
  policy::Policy out;
  out.entrypoint = {.written = question.argv.front(), .path = program, .at = {.span = {}, .source = "command"}};
  for (std::size_t i = 1; i < question.argv.size(); ++i)
    out.args.push_back({.value = question.argv[i], .at = {.span = {}, .source = "command"}});
  out.exec.mode = policy::ExecMode::kAll;
  out.limits.timeout_ms = kPatienceMs;
  for (const std::string& path : question.toolchains)
    out.read.push_back({.written = path, .path = path, .at = {.span = {}, .source = "toolchain"}});
  const auto set = [&](const char* name, std::string value) {
    out.env.push_back({.name = name, .supplied = std::move(value), .at = {.span = {}, .source = "command"}});
  };
  set("HOME", home);
  if (const auto path = caller.environment.find("PATH"); path != caller.environment.end()) set("PATH", path->second);
  policy::Command command;
  command.mode = policy::WorkspaceMode::kLive;
  command.workspace = place;
  command.working_directory = "/tmp";
  command.home = home;
  out.command = std::move(command);
  return out;
}

std::string output_of(const policy::Policy& policy, const Invocation& invocation) {
  auto host = open_host(invocation);
  if (!host) return {};
  auto decided = verdict(policy, *host, Probing::kAssume);
  if (!decided || !std::holds_alternative<plan::Plan>(*decided)) return {};
  std::string out;
  supervise::Options options;
  options.launcher = launcher_source();
  options.streams = supervise::StreamMode::kCallbacks;
  options.stdin_mode = supervise::StdinMode::kNull;
  options.on_stdout = [&](std::span<const std::byte> chunk) {
    const std::size_t room = kMostBytes - std::min(kMostBytes, out.size());
    out.append(reinterpret_cast<const char*>(chunk.data()), std::min(room, chunk.size()));
  };
  const auto outcome = supervise::run(std::get<plan::Plan>(*decided), std::move(options));
  const bool said = outcome && !outcome->setup_error && outcome->exit_code == 0 && outcome->signal == 0 &&
                    outcome->ended_by == plan::EndedBy::kTarget;
  return said ? out : std::string();
}

}  // namespace

std::string ask_tool(const Invocation& invocation, CommandPlaces& places, const ToolQuestion& question) {
  Invocation away = invocation;
  away.caller = away_from(invocation.caller, question.workspace);
  const LookedUp tool = look_up(away.caller, question.argv.front());
  if (!tool.is_there || leads_into(tool.path, question.workspace)) return {};
  const approval::Caller caller = approval_caller(invocation);
  auto directory = approval::make_private_directory(places.state() + "/tools", caller);
  const std::string name = name_for(tool.path, question.argv);
  if (!directory || name.empty()) return {};
  if (std::string known = remembered(*directory, name, caller); !known.empty()) return known;
  auto place = places.directory("ask");
  if (!place) return {};
  std::string home;
  if (const auto set = away.caller.environment.find("HOME"); set != away.caller.environment.end()) home = set->second;
  std::string answer = output_of(policy_of(away.caller, question, tool.path, home, *place), away);
  if (!answer.empty()) remember(*directory, name, answer);
  return answer;
}

AskTool asking_tools(const Invocation& invocation, CommandPlaces& places, const std::string& workspace,
                     const policy::ecosystem::Effective& effective) {
  return [&](policy::ecosystem::Names argv) {
    ToolQuestion question{.argv = {argv.begin(), argv.end()}, .workspace = workspace, .toolchains = {}};
    for (const policy::ecosystem::Root& root : effective.toolchains)
      if (exists(root.path.str())) question.toolchains.push_back(root.path.str());
    return ask_tool(invocation, places, question);
  };
}

}  // namespace cordon::cli
