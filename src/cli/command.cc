#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/ask_tool.h"
#include "cli/command_network.h"
#include "cli/git_index.h"
#include "cli/global_config.h"
#include "cli/own_places.h"
#include "cli/project_links.h"
#include "cli/question.h"
#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/ecosystem/tool_settings.h"
#include "policy/manifest/digest.h"
#include "policy/manifest/values.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
using ecosystem::WorkspaceMode;
using policy::PathGrant;

base::Result<void, Stop> refuse(const Arguments& arguments, std::string code, std::string message, std::string mend) {
  return base::fail(stop(
      report::refused_usage(std::move(code), std::move(message), std::move(mend), usage_line(*arguments.command, 78))));
}

/// One command on its way to a policy.
class Setup {
 public:
  Setup(const Invocation& invocation, const Arguments& arguments, Host& host, const std::string& run_id, Output& output)
      : invocation_(invocation), arguments_(arguments), host_(host), run_id_(run_id), output_(output) {}

  base::Result<CommandRun, Stop> go(const policy::Posture& posture);

 private:
  base::Result<void, Stop> find_program();
  base::Result<void, Stop> find_workspace();
  base::Result<void, Stop> choose_profiles();
  base::Result<void, Stop> choose_mode();
  base::Result<void, Stop> make_places();
  base::Result<void, Stop> hold_workspace();
  base::Result<void, Stop> show_workspace();
  base::Result<void, Stop> show_live(const std::string& root);
  base::Result<void, Stop> show_caches();
  base::Result<void, Stop> make_points();
  base::Result<void, Stop> make_point_of(const std::string& path);
  base::Result<void, Stop> show_cache(const ecosystem::Root& cache);
  base::Result<void, Stop> add_view(RunView::What what, const std::string& path, const std::string& origin);
  base::Result<void, Stop> add_view(RunView::What what, const std::string& path, const std::string& origin,
                                    ViewPlace place);
  base::Result<void, Stop> note_view(const RunView& view);
  base::Result<void, Stop> add_flags();
  base::Result<std::string, Stop> absolute(const std::string& flag, const std::string& path) const;
  base::Result<void, Stop> show_tools();
  base::Result<void, Stop> show_toolchain(const ecosystem::Root& root);
  [[nodiscard]] bool is_read_only_here(const std::string& path) const;
  AskTool asking();
  void hide();
  void pass_environment();
  base::Result<void, Stop> supply_environment();
  [[nodiscard]] std::string spelled(const std::string& real) const;
  [[nodiscard]] std::string view_obstacle() const;
  void read(const std::string& path, const std::string& origin);
  base::Result<void, Stop> failed(const base::Error& error) const {
    return base::fail(stop(report::refused(error, "command-places", "")));
  }
  [[nodiscard]] std::string home() const { return own_home(host_.facts); }
  [[nodiscard]] std::string state() const { return state_directory(invocation_.caller, home()); }
  [[nodiscard]] policy::Command& command() { return *run_.policy.command; }

  const Invocation& invocation_;
  const Arguments& arguments_;
  Host& host_;
  const std::string& run_id_;
  Output& output_;
  CommandRun run_;
  std::vector<ecosystem::Directory> upwards_;
  std::vector<base::AbsPath> homes_;
};

base::Result<void, Stop> Setup::find_program() {
  run_.argv = arguments_.after;
  if (run_.argv.empty())
    return refuse(arguments_, "no-command", "nothing stands after --", "cordon run -- npm install");
  const LookedUp found = look_up(invocation_.caller, run_.argv.front());
  run_.policy.entrypoint = {.written = run_.argv.front(), .path = found.path, .at = {.span = {}, .source = "command"}};
  for (std::size_t i = 1; i < run_.argv.size(); ++i)
    run_.policy.args.push_back({.value = run_.argv[i], .at = {.span = {}, .source = "command"}});
  run_.policy.exec.mode = policy::ExecMode::kAll;
  return {};
}

base::Result<void, Stop> Setup::find_workspace() {
  upwards_ = upwards(invocation_.caller.working_directory, invocation_.caller.uid);
  homes_ = homes_of(host_.facts);
  auto root = ecosystem::workspace_root(upwards_, homes_);
  if (!root) return base::fail(stop(report::refused(base::Diagnostics{root.error()})));
  run_.workspace = root->path.str();
  run_.because = root->because;
  const auto facts = kernel::statx(kernel::kHere, run_.workspace.c_str(), 0);
  const host::Caller& caller = invocation_.caller;
  run_.owner = {.uid = caller.uid, .gid = caller.gid};
  if (facts && caller.uid == 0 && !run_.policy.posture.as_root) run_.owner = {facts->stx_uid, facts->stx_gid};
  return {};
}

base::Result<void, Stop> Setup::choose_profiles() {
  run_.detection = ecosystem::detect(run_.argv, upwards_);
  std::vector<const ecosystem::Profile*> profiles = run_.detection.profiles();
  if (arguments_.has("--profile")) {
    const ecosystem::Profile* named = ecosystem::find_profile(arguments_.value("--profile"));
    if (named == nullptr) {
      std::vector<std::string> names;
      for (const ecosystem::Profile& one : ecosystem::profiles()) names.emplace_back(one.name);
      return refuse(arguments_, "unknown-profile",
                    fmt::format("there is no profile {}", base::shown(arguments_.value("--profile"))),
                    fmt::format("one of {}", base::join(names, ", ")));
    }
    profiles = {named};
  }
  ecosystem::Surroundings surroundings{
      .home = {}, .workspace = {}, .homes = homes_, .environment = invocation_.caller.environment, .shields = nullptr};
  if (auto parsed = base::AbsPath::parse(home())) surroundings.home = *parsed;
  if (auto parsed = base::AbsPath::parse(run_.workspace)) surroundings.workspace = *parsed;
  auto effective = ecosystem::effective(profiles, surroundings);
  if (!effective) return base::fail(stop(report::refused(effective.error())));
  run_.effective = std::move(*effective);
  return {};
}

std::string Setup::view_obstacle() const { return obstacle_to_view(host_.facts, state(), run_.workspace); }

base::Result<void, Stop> Setup::choose_mode() {
  WorkspaceMode mode = run_.detection.mode;
  const std::string asked = arguments_.value("--workspace");
  if (!asked.empty()) {
    const auto named = ecosystem::workspace_mode(asked);
    if (!named)
      return refuse(arguments_, "unknown-workspace", fmt::format("--workspace {} is none", base::shown(asked)),
                    "--workspace view, live, write or review");
    mode = *named;
  }
  if (mode == WorkspaceMode::kInteractive) {
    const Answer answer = arguments_.has("--dry-run")
                              ? Answer::kNobody
                              : ask(fmt::format("cordon: may {} change {} itself? Shields hold. [y/N] ",
                                                base::shown(run_.argv.front()), base::shown(run_.workspace)));
    mode = answer == Answer::kYes ? WorkspaceMode::kWrite : WorkspaceMode::kLive;
    if (answer == Answer::kNobody) run_.fallback = "nobody was asked whether it may be written: --workspace write";
  }
  const bool needs_view = mode == WorkspaceMode::kView || mode == WorkspaceMode::kReview;
  if (const std::string obstacle = needs_view ? view_obstacle() : std::string(); !obstacle.empty()) {
    if (!asked.empty())
      return refuse(arguments_, "no-view", fmt::format("there can be no view of the workspace: {}", obstacle),
                    "--workspace live, or --workspace write");
    run_.fallback = obstacle;
    mode = WorkspaceMode::kLive;
  }
  command().mode = in_policy(mode);
  return {};
}

base::Result<void, Stop> Setup::make_places() {
  auto places = CommandPlaces::make(state(), approval_caller(invocation_), run_id_, run_.owner);
  if (!places) return failed(places.error());
  run_.places = std::move(*places);
  auto temporary = run_.places->directory("tmp");
  if (!temporary) return failed(temporary.error());
  command().temporary = *temporary;
  command().home = home();
  command().workspace = run_.workspace;
  return {};
}

base::Result<void, Stop> Setup::hold_workspace() {
  const bool is_view =
      command().mode != policy::WorkspaceMode::kLive && command().mode != policy::WorkspaceMode::kWrite;
  if (!is_view || arguments_.has("--dry-run") || arguments_.command->name == "inspect") return {};
  const auto waiting = [&](pid_t other) {
    output_.say(fmt::format("cordon: waiting for process {}, whose run has the view of {}\n", other,
                            base::shown(run_.workspace)));
  };
  auto held = run_.places->hold_view_of(run_.workspace, waiting);
  if (!held) return failed(held.error());
  if (*held) return {};
  run_.fallback = "another run of the same job has its view";
  if (arguments_.has("--workspace"))
    return refuse(arguments_, "view-held", fmt::format("{} of this workspace", run_.fallback),
                  "one after the other, or --workspace live");
  command().mode = policy::WorkspaceMode::kLive;
  return {};
}

std::string Setup::spelled(const std::string& real) const {
  const auto pwd = invocation_.caller.environment.find("PWD");
  if (pwd == invocation_.caller.environment.end()) return real;
  return as_spelled(real, invocation_.caller.working_directory, pwd->second);
}

void Setup::read(const std::string& path, const std::string& origin) {
  if (path.starts_with("/usr/") && !path.starts_with("/usr/local/etc")) return;  // of the base
  if (!exists(path)) return;
  if (std::ranges::find(run_.policy.read, path, &PathGrant::path) != run_.policy.read.end()) return;
  run_.policy.read.push_back({.written = path, .path = path, .at = {.span = {}, .source = origin}});
}

base::Result<void, Stop> Setup::add_view(RunView::What what, const std::string& path, const std::string& origin) {
  auto place = run_.places->view(path);
  if (!place) return failed(place.error());
  return add_view(what, path, origin, std::move(*place));
}

base::Result<void, Stop> Setup::add_view(RunView::What what, const std::string& path, const std::string& origin,
                                         ViewPlace place) {
  read(path, origin);
  command().views.push_back({.path = path, .place = place.path});
  auto lower = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!lower) return failed(kernel::error_at(lower.error(), path));
  run_.views.push_back({.what = what, .path = path, .place = std::move(place), .lower = std::move(*lower)});
  if (what == RunView::What::kWorkspace) return note_view(run_.views.back());
  return {};
}

/// For whoever comes after a run that was killed: whose changes those are.
base::Result<void, Stop> Setup::note_view(const RunView& view) {
  const auto facts = kernel::statx(view.lower);
  if (!facts) return failed(kernel::error_at(facts.error(), view.path));
  auto noted = run_.places->note(view.place, {.workspace = run_.workspace,
                                              .device = kernel::device_of(*facts),
                                              .inode = facts->stx_ino,
                                              .since = run_.places->began(),
                                              .uid = run_.owner.uid,
                                              .gid = run_.owner.gid,
                                              .command = run_.argv});
  if (!noted) return failed(noted.error());
  return {};
}

/// Below read-only sources: what tools keep there. Directories that hold programs may be changed for the time of the
/// run, and are what they were after it; others are written in place, and nothing in them may be executed.
base::Result<void, Stop> Setup::show_live(const std::string& root) {
  read(root, "workspace");
  constexpr std::array kPrograms = std::to_array<std::string_view>(
      {"node_modules", ".venv", "venv", "target", "vendor", "deps", "_build", ".gradle", ".yarn"});
  const auto levels = levels_down(root, invocation_.caller.working_directory.substr(run_.workspace.size()));
  for (const ecosystem::DeclaredOutput& declared : run_.effective.outputs) {
    const std::string_view name = declared.output->name;
    if (name.find_first_of("*/") != std::string_view::npos) continue;
    if (declared.output->what != ecosystem::OutputClass::kOutput) continue;
    for (const std::string& level : levels) {
      const std::string path = level + "/" + std::string(name);
      if (!is_directory_below(root, path.substr(root.size() + 1))) continue;
      if (std::ranges::find(kPrograms, name) != kPrograms.end()) {
        CORDON_OK(add_view(RunView::What::kPrivate, path, declared.origin));
      } else {
        run_.policy.write.push_back({.written = path, .path = path, .at = {.span = {}, .source = declared.origin}});
      }
    }
  }
  return {};
}

base::Result<void, Stop> Setup::show_workspace() {
  const std::string root = spelled(run_.workspace);
  command().working_directory = root + invocation_.caller.working_directory.substr(run_.workspace.size());
  switch (command().mode) {
    case policy::WorkspaceMode::kView:
    case policy::WorkspaceMode::kReview:
      return add_view(RunView::What::kWorkspace, root, "workspace");
    case policy::WorkspaceMode::kLive:
      return show_live(root);
    case policy::WorkspaceMode::kWrite:
      run_.policy.write.push_back({.written = root, .path = root, .at = {.span = {}, .source = "workspace"}});
      return {};
  }
  return {};
}

/// A cache below it that the host lacks needs a mount point, which only a layer of ours can have.
base::Result<void, Stop> Setup::show_toolchain(const ecosystem::Root& root) {
  const auto needs_point = [&](const ecosystem::Root& cache) {
    return cache.path != root.path && cache.path.is_within(root.path) && !exists(cache.path.str());
  };
  const bool any = is_directory(root.path.str()) && std::ranges::any_of(run_.effective.caches, needs_point);
  if (any && view_obstacle().empty()) return add_view(RunView::What::kPrivate, root.path.str(), root.origin);
  read(root.path.str(), root.origin);
  return {};
}

base::Result<void, Stop> Setup::show_tools() {
  for (const ecosystem::RegistryRole& role : run_.effective.registries) {
    for (const ecosystem::RegistryFileAt& file : role.files) {
      const std::string& path = file.path.str();
      const auto same = [&](const policy::PrivateFile& other) { return other.path == path; };
      if (std::ranges::any_of(command().files, same)) continue;
      std::string text = ecosystem::settings_without_credentials(file.format, small_text(path));
      if (!text.empty()) command().files.push_back({.path = path, .content = std::move(text), .reason = role.origin});
    }
  }
  for (const ecosystem::Root& root : run_.effective.toolchains) CORDON_OK(show_toolchain(root));
  if (const std::string package = package_of(run_.policy.entrypoint.path); !package.empty()) read(package, "command");
  if (const std::string git = repository_of(run_.workspace); !git.empty()) read(git, "repository of the worktree");
  for (const ecosystem::Root& root : run_.effective.read) {
    // What is the machine's own, and not a home's, joins the base.
    if (root.path.str().starts_with("/etc/"))
      command().base.push_back(root.path.str());
    else
      read(root.path.str(), root.origin);
  }
  return {};
}

base::Result<void, Stop> Setup::show_cache(const ecosystem::Root& cache) {
  const std::string& path = cache.path.str();
  if (!exists(path) && is_read_only_here(path)) {
    run_.notes.push_back({.code = "cache-without-place",
                          .text = fmt::format("{} is not there, and cannot be made where what it lies in is read-only",
                                              base::shown(path)),
                          .at = {}});
    return {};
  }
  if (cache.cache == ecosystem::CacheClass::kContent && is_directory(path) && view_obstacle().empty())
    return add_view(RunView::What::kCache, path, cache.origin);
  const std::string name = fmt::format("{}-{}", policy::manifest::sha256_hex(path).substr(0, 12), cache.path.name());
  if (cache.cache == ecosystem::CacheClass::kUnpacked && is_directory(path) && view_obstacle().empty()) {
    auto seen = run_.places->cache_view(run_.workspace, "seen-" + name, path);
    if (!seen) return failed(seen.error());
    return add_view(RunView::What::kPrivate, path, cache.origin, std::move(*seen));
  }
  auto place = run_.places->cache(run_.workspace, name);
  if (!place) return failed(place.error());
  command().places.push_back({.source = *place, .target = path, .reason = cache.origin});
  return {};
}

/// Below a grant for reading that is no view: nothing can be mounted there that the host does not have.
bool Setup::is_read_only_here(const std::string& path) const {
  return std::ranges::any_of(run_.policy.read, [&](const PathGrant& grant) {
    return path.starts_with(grant.path + "/") &&
           std::ranges::find(run_.views, grant.path, &RunView::path) == run_.views.end();
  });
}

base::Result<void, Stop> Setup::show_caches() {
  for (const ecosystem::Root& cache : run_.effective.caches) CORDON_OK(show_cache(cache));
  return {};
}

/// After all that is shown is known.
base::Result<void, Stop> Setup::make_points() {
  std::vector<std::string> inner;
  for (const policy::PrivatePlace& place : command().places) inner.push_back(place.target);
  for (const PathGrant& grant : run_.policy.read) inner.push_back(grant.path);
  for (const PathGrant& grant : run_.policy.write) inner.push_back(grant.path);
  for (const std::string& path : inner) CORDON_OK(make_point_of(path));
  return {};
}

/// What lands in a private place needs a directory there.
base::Result<void, Stop> Setup::make_point_of(const std::string& path) {
  std::string outer, source;
  const auto consider = [&](const std::string& target, const std::string& from) {
    if (!path.starts_with(target + "/") || target.size() <= outer.size()) return;
    outer = target;
    source = from;
  };
  for (const policy::PrivatePlace& place : command().places) consider(place.target, place.source);
  for (const RunView& view : run_.views) {
    const bool has_it = path.starts_with(view.path + "/") && exists(path);
    if (view.what != RunView::What::kWorkspace && !has_it) consider(view.path, view.place.path + "/upper");
  }
  if (outer.empty()) return {};
  const bool directory = !exists(path) || is_directory(path);
  auto made = CommandPlaces::make_point(source, std::string_view(path).substr(outer.size() + 1),
                                        directory ? CommandPlaces::Point::kDirectory : CommandPlaces::Point::kFile);
  if (!made) return failed(made.error());
  return {};
}

/// What must not enter although something around it does.
void Setup::hide() {
  const auto shown = [&](const std::string& path) {
    const auto parsed = base::AbsPath::parse(path);
    const auto holds = [&](const PathGrant& grant) {
      const auto around = base::AbsPath::parse(grant.path);
      return parsed && around && parsed->is_within(*around) && *parsed != *around;
    };
    return std::ranges::any_of(run_.policy.read, holds) || std::ranges::any_of(run_.policy.write, holds);
  };
  const auto deny = [&](const std::string& path, const std::string& origin) {
    if (exists(path) && shown(path))
      run_.policy.deny.push_back({.written = path, .path = path, .at = {.span = {}, .source = origin}});
  };
  for (const ecosystem::Root& file : run_.effective.credentials) deny(file.path.str(), file.origin);
  if (ecosystem::own_code(run_.detection.intent) == ecosystem::OwnCode::kRuns) return;
  const std::string root = spelled(run_.workspace);
  const EnvironmentFiles found = environment_files(root);
  const auto workspace = kernel::openat(kernel::kHere, root.c_str(), O_RDONLY | O_DIRECTORY);
  const Tracked tracked = read_git_index(workspace ? base::FdView(*workspace) : base::FdView());
  for (const std::string& path : found.paths)  // of what git has, every commit holds the text
    if (!tracked.surely_holds(path)) deny(root + "/" + path, ".env files");
  if (!found.whole)
    run_.notes.push_back({.code = "env-files-unchecked",
                          .text = "not all of the workspace was looked at for .env files: those deeper "
                                  "down are seen",
                          .at = {}});
}

void Setup::pass_environment() {
  for (const auto& [name, value] : invocation_.caller.environment) {
    if (!run_.effective.passes(name)) continue;
    run_.policy.env.push_back({.name = name, .supplied = value, .at = {.span = {}, .source = "profile"}});
  }
}

base::Result<void, Stop> Setup::supply_environment() {
  pass_environment();
  auto& env = run_.policy.env;
  const auto set = [&](const std::string& name, std::string value, const char* source) {
    std::erase_if(env, [&](const policy::EnvGrant& grant) { return grant.name == name; });
    env.push_back({.name = name, .supplied = std::move(value), .at = {.span = {}, .source = source}});
  };
  const auto& given = invocation_.caller.environment;
  if (!command().home.empty()) set("HOME", command().home, "command");
  if (const auto path = given.find("PATH"); path != given.end()) set("PATH", path->second, "command");
  set("PWD", command().working_directory, "command");
  set("GIT_OPTIONAL_LOCKS", "0", "command");  // a look at a repository is no change of its index
  for (const std::string& name : arguments_.values("--keep-env")) {
    if (is_reserved_variable(name))
      return refuse(arguments_, "env-reserved", fmt::format("{} is set by the sandbox", base::shown(name)),
                    "leave --keep-env of it out");
    if (const auto value = given.find(name); value != given.end()) set(name, value->second, "--keep-env");
  }
  for (const std::string& entry : arguments_.values("--env")) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return refuse(arguments_, "env-malformed",
                    fmt::format("--env {} is not NAME=VALUE", base::shown(entry.substr(0, equals))),
                    "--env NAME=VALUE");
    const std::string name = entry.substr(0, equals);
    if (is_reserved_variable(name))
      return refuse(arguments_, "env-reserved", fmt::format("{} is set by the sandbox", base::shown(name)),
                    "leave --env of it out");
    set(name, entry.substr(equals + 1), "--env");
  }
  std::ranges::sort(env, {}, &policy::EnvGrant::name);
  return {};
}

base::Result<std::string, Stop> Setup::absolute(const std::string& flag, const std::string& path) const {
  const auto here = base::AbsPath::parse(invocation_.caller.working_directory);
  std::string text = path;
  if (text == "~" || text.starts_with("~/")) text = home() + text.substr(1);
  const auto joined = here && !text.empty() ? here->join(text) : std::nullopt;
  if (joined) return joined->str();
  auto refused = refuse(arguments_, "path-malformed", fmt::format("{} needs a path", flag), flag + " PATH");
  return base::fail(std::move(refused).error());
}

base::Result<void, Stop> Setup::add_flags() {
  const auto add = [&](const char* flag, std::vector<PathGrant>& grants) -> base::Result<void, Stop> {
    for (const std::string& path : arguments_.values(flag)) {
      CORDON_TRY(std::string full, absolute(flag, path));
      grants.push_back({.written = path, .path = std::move(full), .at = {.span = {}, .source = flag}});
    }
    return {};
  };
  CORDON_OK(add("--allow-read", run_.policy.read));
  CORDON_OK(add("--allow-exec", run_.policy.read));
  CORDON_OK(add("--allow-write", run_.policy.write));
  CORDON_OK(add("--deny-read", run_.policy.deny));
  CORDON_OK(add("--deny-exec", run_.policy.deny));
  if (arguments_.has("--timeout")) {
    policy::Limits& limits = run_.policy.limits;
    limits.timeout = arguments_.value("--timeout");
    limits.timeout_at = {.span = {}, .source = "--timeout"};
    const auto parsed = policy::manifest::parse_duration_ms(limits.timeout);
    if (!parsed || *parsed == 0)
      return refuse(arguments_, "bad-timeout", fmt::format("--timeout {} is no time", base::shown(limits.timeout)),
                    "--timeout 90s, 20m or 2h");
    limits.timeout_ms = *parsed;
  }
  // What was named by hand is not hidden by a rule of thumb.
  std::erase_if(run_.policy.deny, [&](const PathGrant& denied) {
    return denied.at.source == ".env files" &&
           std::ranges::find(run_.policy.read, denied.path, &PathGrant::path) != run_.policy.read.end();
  });
  return {};
}

AskTool Setup::asking() {
  return [this](ecosystem::Names argv) {
    ToolQuestion question{.argv = {argv.begin(), argv.end()}, .workspace = run_.workspace, .toolchains = {}};
    for (const ecosystem::Root& root : run_.effective.toolchains)
      if (exists(root.path.str())) question.toolchains.push_back(root.path.str());
    return ask_tool(invocation_, *run_.places, question);
  };
}

base::Result<CommandRun, Stop> Setup::go(const policy::Posture& posture) {
  run_.policy.posture = posture;
  run_.policy.command.emplace();
  CORDON_OK(find_program());
  CORDON_OK(find_workspace());
  CORDON_OK(choose_profiles());
  CORDON_OK(choose_mode());
  CORDON_OK(make_places());
  CORDON_OK(hold_workspace());
  CORDON_OK(show_workspace());
  CORDON_OK(show_tools());
  CORDON_OK(show_caches());
  hide();
  CORDON_OK(add_flags());
  CORDON_OK(make_points());
  CORDON_OK(supply_environment());
  CORDON_OK(allow_network(invocation_, arguments_, run_.effective, asking(), run_.policy));
  CORDON_OK(add_global_config(invocation_, host_.facts, run_.policy.posture));
  return std::move(run_);
}

}  // namespace

base::Result<CommandRun, Stop> set_up_command(const Invocation& invocation, const Arguments& arguments, Host& host,
                                              const policy::Posture& posture, const std::string& run_id,
                                              Output& output) {
  return Setup(invocation, arguments, host, run_id, output).go(posture);
}

}  // namespace cordon::cli
