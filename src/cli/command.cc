#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "cli/ask_tool.h"
#include "cli/command_config.h"
#include "cli/command_environment.h"
#include "cli/command_grants.h"
#include "cli/command_network.h"
#include "cli/command_on_host.h"
#include "cli/engine.h"
#include "cli/git_index.h"
#include "cli/own_places.h"
#include "cli/project_links.h"
#include "cli/question.h"
#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/ecosystem/tool_settings.h"
#include "policy/manifest/digest.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
using ecosystem::WorkspaceMode;
using policy::PathGrant;

/// Of what is never taken away for a deny: then the run is refused instead.
constexpr const char* kWorkspaceOrigin = "workspace";

/// One command on its way to a policy.
class Setup {
 public:
  Setup(const Invocation& invocation, const Arguments& arguments, Host& host, const std::string& run_id, Output& output)
      : invocation_(invocation), arguments_(arguments), host_(host), run_id_(run_id), output_(output) {}

  base::Result<CommandRun, Stop> go(const policy::Posture& posture);

 private:
  base::Result<void, Stop> find_program();
  base::Result<void, Stop> find_workspace();
  base::Result<std::vector<std::string>, Stop> profile_names(const ConfigFiles& files);
  base::Result<void, Stop> choose_profiles();
  base::Result<void, Stop> choose_mode();
  base::Result<void, Stop> make_places();
  base::Result<void, Stop> hold_workspace();
  base::Result<void, Stop> show_workspace();
  base::Result<void, Stop> show_live(const std::string& root);
  base::Result<void, Stop> show_installs();
  base::Result<void, Stop> make_points();
  base::Result<void, Stop> make_point_of(const std::string& path);
  base::Result<void, Stop> show_cache(const ecosystem::Root& cache);
  base::Result<void, Stop> add_view(RunView::What what, const std::string& path, const std::string& origin);
  base::Result<void, Stop> add_view(RunView::What what, const std::string& path, const std::string& origin,
                                    ViewPlace place);
  base::Result<void, Stop> note_view(const RunView& view);
  base::Result<void, Stop> show_tools();
  base::Result<void, Stop> show_toolchain(const ecosystem::Root& root);
  [[nodiscard]] bool is_read_only_here(const std::string& path) const;
  void hide();
  [[nodiscard]] std::string spelled(const std::string& real) const { return as_spelled(real, invocation_.caller); }
  [[nodiscard]] std::string view_obstacle() const {
    const std::string none = no_views(run_.policy.posture);
    return none.empty() ? obstacle_to_view(host_.facts, state(), run_.workspace) : none;
  }
  [[nodiscard]] bool is_denied(const std::string& path) const {
    return std::ranges::any_of(denied_, [&](const std::string& one) { return policy::config::lies_in(path, one); });
  }
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
  std::uint32_t workspace_owner_ = 0;
  CommandConfig config_;
  std::vector<std::string> denied_;  ///< what a profile may not show
};

base::Result<void, Stop> Setup::find_program() {
  run_.argv = arguments_.after;
  if (run_.argv.empty()) return refuse_value("no-command", "nothing stands after --", "cordon run -- npm install");
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
  workspace_owner_ = facts ? facts->stx_uid : caller.uid;
  if (facts && caller.uid == 0 && !run_.policy.posture.as_root) run_.owner = {facts->stx_uid, facts->stx_gid};
  return {};
}

base::Result<std::vector<std::string>, Stop> Setup::profile_names(const ConfigFiles& files) {
  std::vector<std::string> names;
  if (!arguments_.has("--profile")) {
    for (const ecosystem::Profile* one : run_.detection.profiles()) names.emplace_back(one->name);
    return names;
  }
  const std::string word = arguments_.value("--profile");
  const ecosystem::Profile* built_in = ecosystem::profile_called(word);
  CORDON_TRY(const bool in_file, files.has(word));
  if (in_file || built_in != nullptr) {
    run_.chosen = in_file ? word : std::string(built_in->name);
    return std::vector<std::string>{run_.chosen};
  }
  for (const ecosystem::Profile& one : ecosystem::profiles()) names.emplace_back(one.name);
  auto refused = refuse_value("unknown-profile", fmt::format("there is no profile {}", base::shown(word)),
                              fmt::format("one of {}, or one of your configuration", base::join(names, ", ")));
  return base::fail(std::move(refused).error());
}

base::Result<void, Stop> Setup::choose_profiles() {
  run_.detection = ecosystem::detect(run_.argv, upwards_);
  CORDON_TRY(const ConfigFiles files,
             ConfigFiles::read(invocation_, arguments_, host_.facts,
                               {invocation_.caller.working_directory, run_.workspace, workspace_owner_}));
  CORDON_TRY(std::vector<std::string> names, profile_names(files));
  config_ = files.of(names);
  run_.notes = config_.notes;
  run_.ignored = config_.merged.ignored;
  CORDON_TRY(denied_, denied_places(arguments_, config_.merged, {invocation_.caller.working_directory, home()}));
  for (const policy::Text& base : config_.merged.bases) names.push_back(base.value);
  std::vector<const ecosystem::Profile*> profiles;
  for (const std::string& name : names)
    if (const ecosystem::Profile* one = ecosystem::find_profile(name)) profiles.push_back(one);
  ecosystem::Surroundings surroundings{
      .home = {}, .workspace = {}, .homes = homes_, .environment = invocation_.caller.environment, .shields = nullptr};
  if (auto parsed = base::AbsPath::parse(home())) surroundings.home = *parsed;
  if (auto parsed = base::AbsPath::parse(run_.workspace)) surroundings.workspace = *parsed;
  auto effective = ecosystem::effective(profiles, surroundings);
  if (!effective) return base::fail(stop(report::refused(effective.error())));
  run_.effective = std::move(*effective);
  return {};
}

base::Result<void, Stop> Setup::choose_mode() {
  WorkspaceMode mode = run_.detection.mode;
  const std::string asked = arguments_.value("--workspace");
  if (!asked.empty()) {
    const auto named = ecosystem::workspace_mode(asked);
    if (!named)
      return refuse_value("unknown-workspace", fmt::format("--workspace {} is none", base::shown(asked)),
                          "--workspace view, live, write or review");
    mode = *named;
  }
  if (mode == WorkspaceMode::kInteractive) {
    const Answer answer =
        arguments_.has("--dry-run")
            ? Answer::kNobody
            : ask(invocation_, fmt::format("cordon: may {} change {} itself? Shields hold. [y/N] ",
                                           base::shown(run_.argv.front()), base::shown(run_.workspace)));
    mode = answer == Answer::kYes ? WorkspaceMode::kWrite : WorkspaceMode::kLive;
    if (answer == Answer::kNobody) run_.fallback = "nobody was asked whether it may be written: --workspace write";
  }
  const bool needs_view = mode == WorkspaceMode::kView || mode == WorkspaceMode::kReview;
  const bool serves = asked.empty() && mode == WorkspaceMode::kView && arguments_.has("--publish");
  const std::string no_view = serves ? std::string(kServerIsLive) : std::string();
  if (const std::string obstacle = needs_view && !serves ? view_obstacle() : no_view; !obstacle.empty()) {
    if (!asked.empty())
      return refuse_value("no-view", fmt::format("there can be no view of the workspace: {}", obstacle),
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
  const auto waiting = [&](pid_t other) { output_.say(waiting_words(other, run_.workspace)); };
  auto held = run_.places->hold_view_of(run_.workspace, waiting);
  if (!held) return failed(held.error());
  if (*held) return {};
  run_.fallback = "another run of the same job has its view";
  if (arguments_.has("--workspace"))
    return refuse_value("view-held", fmt::format("{} of this workspace", run_.fallback),
                        "one after the other, or --workspace live");
  command().mode = policy::WorkspaceMode::kLive;
  return {};
}

void Setup::read(const std::string& path, const std::string& origin) {
  if (path.starts_with("/usr/") && !path.starts_with("/usr/local/etc")) return;  // of the base
  if (!exists(path) || (origin != kWorkspaceOrigin && is_denied(path))) return;
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
  read(root, kWorkspaceOrigin);
  const auto levels = levels_down(root, invocation_.caller.working_directory.substr(run_.workspace.size()));
  if (!no_views(run_.policy.posture).empty()) {
    write_in_place(run_, levels, [this](const std::string& path) { return is_denied(path); });
    return {};
  }
  const Tracked tracked = tracked_in(root);
  for (const ecosystem::DeclaredOutput& declared : run_.effective.outputs) {
    const std::string_view name = declared.output->name;
    if (name.find_first_of("*/") != std::string_view::npos) continue;
    if (declared.output->what != ecosystem::OutputClass::kOutput) continue;
    for (const std::string& level : levels) {
      const std::string path = level + "/" + std::string(name);
      if (is_denied(path) || !is_directory_below(root, path.substr(root.size() + 1))) continue;
      const bool is_source = tracked.holds(path.substr(root.size() + 1));
      if (is_source || holds_programs(name)) {
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
      return add_view(RunView::What::kWorkspace, root, kWorkspaceOrigin);
    case policy::WorkspaceMode::kLive:
      return show_live(root);
    case policy::WorkspaceMode::kWrite:
      run_.policy.write.push_back({.written = root, .path = root, .at = {.span = {}, .source = kWorkspaceOrigin}});
      return {};
  }
  return {};
}

/// A cache below it that the host lacks needs a mount point, which only a layer of ours can have.
base::Result<void, Stop> Setup::show_toolchain(const ecosystem::Root& root) {
  const auto needs_point = [&](const ecosystem::Root& cache) {
    return cache.path != root.path && cache.path.is_within(root.path) && !exists(cache.path.str());
  };
  if (is_directory(root.path.str()) && std::ranges::any_of(run_.effective.caches, needs_point) &&
      view_obstacle().empty())
    return add_view(RunView::What::kPrivate, root.path.str(), root.origin);
  read(root.path.str(), root.origin);
  return {};
}

base::Result<void, Stop> Setup::show_tools() {
  for (const ecosystem::RegistryRole& role : run_.effective.registries) {
    for (const ecosystem::RegistryFileAt& file : role.files) {
      const std::string& path = file.path.str();
      const auto same = [&](const policy::PrivateFile& other) { return other.path == path; };
      if (std::ranges::any_of(command().files, same)) continue;  // a project's deny does not undo the user's settings
      std::string text = ecosystem::settings_without_credentials(file.format, small_text(path));
      command().files.push_back({.path = path, .content = std::move(text), .reason = role.origin});
    }
  }
  for (const ecosystem::Root& root : run_.effective.toolchains) CORDON_OK(show_toolchain(root));
  if (const std::string package = package_of(run_.policy.entrypoint.path, run_.workspace); !package.empty())
    read(package, "command");
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
  if (is_denied(path)) return {};
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
  if (cache.cache == ecosystem::CacheClass::kContent && !exists(path) && path.starts_with(home() + "/"))
    run_.fresh_caches.push_back({.path = path, .place = *place});
  return {};
}

/// Below a grant for reading that is no view: nothing can be mounted there that the host does not have.
bool Setup::is_read_only_here(const std::string& path) const {
  return std::ranges::any_of(run_.policy.read, [&](const PathGrant& grant) {
    return path.starts_with(grant.path + "/") &&
           std::ranges::find(run_.views, grant.path, &RunView::path) == run_.views.end();
  });
}

/// Programs for a person go where that person's own shell finds them: only at the end, and only after a question.
base::Result<void, Stop> Setup::show_installs() {
  if (run_.detection.intent != ecosystem::Intent::kTool) return {};
  for (const ecosystem::Root& root : run_.effective.installs) {
    const std::string& path = root.path.str();
    const bool given = std::ranges::find(run_.policy.write, path, &PathGrant::path) != run_.policy.write.end();
    const bool can_be = !given && !is_denied(path) && is_directory(path) && view_obstacle().empty();
    if (can_be) CORDON_OK(add_view(RunView::What::kInstalls, path, root.origin));
  }
  return {};
}

/// After all that is shown is known.
base::Result<void, Stop> Setup::make_points() {
  std::erase_if(command().places, [&](const policy::PrivatePlace& place) {
    if (exists(place.target) || !is_read_only_here(place.target)) return false;
    run_.notes.push_back({.code = "cache-without-place",
                          .text = fmt::format("{} is not there, and cannot be made where what it lies in is read-only",
                                              base::shown(place.target)),
                          .at = {}});
    return true;
  });
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
  // To git a tracked file that is hidden is one that was changed.
  const bool is_git = run_.detection.decided_by == "git" || run_.detection.decided_by.starts_with("git ");
  const Tracked tracked = tracked_in(root);
  for (const std::string& path : found.paths)
    if (!is_git || !tracked.surely_holds(path)) deny(root + "/" + path, ".env files");
  if (!found.whole)
    run_.notes.push_back({.code = "env-files-unchecked",
                          .text = "not all of the workspace was looked at for .env files: those deeper "
                                  "down are seen",
                          .at = {}});
}

base::Result<CommandRun, Stop> Setup::go(const policy::Posture& posture) {
  run_.policy.posture = posture;
  run_.policy.posture.engine = settled(posture, host_.facts);
  run_.policy.command.emplace();
  CORDON_OK(find_program());
  CORDON_OK(find_workspace());
  CORDON_OK(choose_profiles());
  CORDON_OK(choose_mode());
  CORDON_OK(make_places());
  CORDON_OK(hold_workspace());
  CORDON_OK(show_workspace());
  CORDON_OK(show_tools());
  CORDON_TRY(const bool shared, shares_caches(arguments_));
  for (const ecosystem::Root& cache : run_.effective.caches) {
    if (!shared) CORDON_OK(show_cache(cache));
    if (shared && !is_denied(cache.path.str())) share_cache(cache, run_.policy);
  }
  add_config_grants(config_.merged, run_.policy);
  hide();
  CORDON_OK(add_flag_grants(arguments_, {invocation_.caller.working_directory, home()}, run_.policy));
  add_config_denies(config_.merged, run_.workspace, homes_, run_.policy, run_.notes);
  CORDON_OK(show_installs());
  if (auto made = make_settings(command()); !made) return base::fail(failed(made.error()).error());
  CORDON_OK(make_points());
  CORDON_OK(supply_environment(invocation_, arguments_, run_.effective, config_.merged, run_.policy));
  CORDON_TRY(std::vector<plan::Note> told,
             allow_network(invocation_, arguments_, run_.effective, config_.merged,
                           asking_tools(invocation_, *run_.places, run_.workspace, run_.effective), run_.policy));
  std::ranges::move(told, std::back_inserter(run_.notes));
  std::ranges::copy(config_.merged.allow_address, std::back_inserter(run_.policy.posture.allow_address));
  if (run_.policy.posture.engine != posture.engine) run_.notes.push_back(chosen_note(host_.facts));
  leave_out_on_host(run_);
  return std::move(run_);
}

}  // namespace

base::Result<CommandRun, Stop> set_up_command(const Invocation& invocation, const Arguments& arguments, Host& host,
                                              const policy::Posture& posture, const std::string& run_id,
                                              Output& output) {
  return Setup(invocation, arguments, host, run_id, output).go(posture);
}

}  // namespace cordon::cli
