#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/command_config.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/own_places.h"
#include "cli/project_entries.h"
#include "cli/state.h"
#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/approval/trust_store.h"
#include "policy/ecosystem/workspace.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;
namespace config = policy::config;
namespace ecosystem = policy::ecosystem;

/// One `cordon trust`.
class Trusting {
 public:
  Trusting(Context& context, const Arguments& arguments, const Host& host)
      : context_(context),
        arguments_(arguments),
        host_(host),
        store_(trust_directory(context.invocation, host.facts)),
        caller_(approval_caller(context.invocation)) {}

  base::Result<void, Stop> list();
  base::Result<void, Stop> forget();
  base::Result<void, Stop> trust();

 private:
  base::Result<ConfigFile, Stop> file();
  base::Result<std::string, Stop> path_of_operand() const;
  void show(const ConfigFile& file, const std::vector<config::Ask>& asks);
  base::Result<void, Stop> store(const ConfigFile& file, std::vector<std::string> asks);
  void say(const std::string& line) { context_.output.print(line + "\n"); }

  Context& context_;
  const Arguments& arguments_;
  const Host& host_;
  std::string store_;
  approval::Caller caller_;
};

base::Result<std::string, Stop> Trusting::path_of_operand() const {
  const auto here = base::AbsPath::parse(context_.invocation.caller.working_directory);
  const auto path = here && !arguments_.operand().empty() ? here->join(arguments_.operand()) : std::nullopt;
  if (path) return path->str();
  return base::fail(stop(refused_one("path-malformed", "that is no path", "cordon trust FILE")));
}

/// The one that is named, else the one that a command here would read.
base::Result<ConfigFile, Stop> Trusting::file() {
  const Invocation& invocation = context_.invocation;
  const std::string& here = invocation.caller.working_directory;
  const auto owner_of = [&](const std::string& directory) {
    const auto facts = kernel::statx(kernel::kHere, directory.c_str(), 0);
    return facts ? facts->stx_uid : invocation.caller.uid;
  };
  MaybeConfig found;
  std::string what = "no project's configuration stands here or above, up to the workspace's root";
  if (!arguments_.operands.empty()) {
    CORDON_TRY(const std::string path, path_of_operand());
    const std::string directory = base::AbsPath::parse(path).value_or(base::AbsPath()).parent().str();
    CORDON_TRY(found, project_config_at(invocation, path, owner_of(directory)));
    what = fmt::format("{} does not exist", base::shown(path));
  } else {
    const std::vector<base::AbsPath> homes = homes_of(host_.facts);
    auto root = ecosystem::workspace_root(upwards(here, invocation.caller.uid), homes);
    if (!root) return base::fail(stop(report::refused(base::Diagnostics{root.error()})));
    CORDON_TRY(found, project_config(invocation, here, root->path.str(), owner_of(root->path.str())));
  }
  if (found) return std::move(*found);
  return base::fail(stop(refused_one("config-missing", what, "cordon trust FILE")));
}

void Trusting::show(const ConfigFile& file, const std::vector<config::Ask>& asks) {
  config::Places places;
  if (auto home = base::AbsPath::parse(own_home(host_.facts))) places.home = *home;
  if (auto here = base::AbsPath::parse(file.directory)) places.working_directory = *here;
  std::vector<std::string> written;
  for (const config::Ask& ask : asks)
    if (const auto path = ask.key == "allowWrite" ? config::expand(ask.value, places) : std::nullopt)
      written.push_back(path->str());
  const ProjectEntries judge(host_.facts, file.directory, std::move(written));
  say(fmt::format("{} asks for more than a project may say unasked:", base::shown(file.path)));
  for (const config::Ask& ask : asks) {
    const std::string whose = ask.profile.empty() ? "every command" : base::shown(ask.profile);
    say(fmt::format("  {}: {}  (line {})", whose, config::in_words(ask, config::Length::kWhole), ask.at.span.line));
    const auto keys = config::block_keys();
    const auto key = std::ranges::find(keys, ask.key, &config::BlockKey::name);
    if (key == keys.end() || key->holds != config::Holds::kPaths) continue;
    const auto path = config::expand(ask.value, places);
    if (!path) continue;
    const EntryIs use = ask.key == "allowWrite" ? EntryIs::kWritten : EntryIs::kSeen;
    if (const std::string why = judge.why_not(path->str(), use); !why.empty())
      say(fmt::format("    it will not count: {}", why));
    else if (const std::string look = judge.callout(path->str()); !look.empty())
      say(fmt::format("    look twice: {}", look));
  }
}

base::Result<void, Stop> Trusting::store(const ConfigFile& file, std::vector<std::string> asks) {
  const approval::TrustRecord record{
      .path = file.real_path, .sha256 = file.sha256, .trusted_at = now_rfc3339(), .asks = std::move(asks)};
  if (auto written = approval::write_trust(store_, record, caller_); !written)
    return base::fail(stop(report::refused(written.error(), "trust-not-written", "")));
  say(fmt::format("trusted, as long as {} stays as it is", base::shown(file.path)));
  return {};
}

base::Result<void, Stop> Trusting::trust() {
  CORDON_TRY(const ConfigFile found, file());
  const std::vector<config::Ask> asks = config::asks_of(found.config, built_in_profiles());
  std::vector<std::string> texts = canonical_asks(found.config);
  if (texts.empty()) {
    say(fmt::format("{} only narrows: there is nothing to trust", base::shown(found.path)));
    return {};
  }
  const approval::TrustReading known = approval::read_trust(store_, found.real_path, caller_);
  const bool read = known.state == approval::TrustReading::State::kRead;
  if (read && known.record.sha256 == found.sha256 && known.record.asks == texts) {
    say(fmt::format("{} is trusted as it is", base::shown(found.path)));
    return {};
  }
  show(found, asks);
  if (read) say(fmt::format("since it was trusted: {}", changes_in_words(known.record.asks, texts)));
  CORDON_OK(consent(context_, arguments_, "cordon: trust it? [y/N] ", "trust it without asking"));
  return store(found, std::move(texts));
}

base::Result<void, Stop> Trusting::list() {
  for (const approval::TrustRecord& record : approval::all_trust(store_, caller_)) {
    const auto file = approval::open_manifest(record.path);
    const char* state = !file ? "gone" : file->digest == record.sha256 ? "as trusted" : "changed: trusted no more";
    say(fmt::format("{}  {}  {} entr{}  {}", base::shown(record.path), record.trusted_at, record.asks.size(),
                    record.asks.size() == 1 ? "y" : "ies", state));
    for (const std::string& ask : record.asks) say("  " + ask);
  }
  return {};
}

/// A file that is gone, or no longer readable, is forgotten by its path.
base::Result<void, Stop> Trusting::forget() {
  std::string path;
  if (arguments_.operands.empty()) {
    CORDON_TRY(const ConfigFile found, file());
    path = found.real_path;
  } else {
    CORDON_TRY(path, path_of_operand());
  }
  auto done = approval::forget_trust(store_, path, caller_);
  if (done && !*done) done = approval::forget_trust(store_, approval::way_to(path).real, caller_);
  if (!done) return base::fail(stop(report::refused(done.error(), "trust-not-forgotten", "")));
  if (!*done)
    return base::fail(stop(refused_one("not-trusted", fmt::format("{} is not trusted", base::shown(path)),
                                       "cordon trust --list shows what is")));
  say(fmt::format("{} is trusted no more", base::shown(path)));
  return {};
}

}  // namespace

int trust(Context& context, const Arguments& arguments) {
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, false, why.refused, why.source, "nothing was changed");
  };
  if (arguments.has("--list") && (arguments.has("--forget") || !arguments.operands.empty()))
    return stopped(stop(report::refused_usage("flags-contradict", "--list stands alone", "cordon trust --list",
                                              usage_line(*arguments.command, 78))));
  const auto host = open_host(context.invocation);
  if (!host) return stopped(host.error());
  Trusting trusting(context, arguments, *host);
  auto done = arguments.has("--list")     ? trusting.list()
              : arguments.has("--forget") ? trusting.forget()
                                          : trusting.trust();
  if (!done) return stopped(done.error());
  return context.output.broken() ? kRefused : 0;
}

}  // namespace cordon::cli
