#include "cli/command_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/own_places.h"
#include "cli/project_entries.h"
#include "policy/approval/trust_store.h"

namespace cordon::cli {
namespace {

namespace config = policy::config;
namespace approval = policy::approval;

constexpr std::size_t kMostTold = 20;
constexpr std::size_t kMostChanges = 5;

std::string some_of(const std::vector<std::string>& asks) {
  std::vector<std::string> shown(asks.begin(),
                                 asks.begin() + static_cast<std::ptrdiff_t>(std::min(asks.size(), kMostChanges)));
  for (std::string& one : shown) {
    constexpr std::size_t kLongest = 160;
    if (one.size() > kLongest) one = base::escape(one.substr(0, kLongest)) + "…";
  }
  std::string out = base::join(shown, ", ");
  if (asks.size() > kMostChanges) out += fmt::format(" and {} more", asks.size() - kMostChanges);
  return out;
}

bool is_same_file(const ConfigFile& one, const ConfigFile& other) {
  return one.id.device == other.id.device && one.id.inode == other.id.inode;
}

bool is_built_in(std::string_view name) {
  const auto names = built_in_profiles();
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string trust_directory(const Invocation& invocation, const plan::HostFacts& facts) {
  const std::string state = state_directory(invocation.caller, own_home(facts));
  return state.empty() ? state : state + "/trust";
}

std::vector<std::string> canonical_asks(const config::Config& file) {
  std::set<std::string> out;
  for (const config::Ask& ask : config::asks_of(file, built_in_profiles())) out.insert(config::canonical(ask));
  return {out.begin(), out.end()};
}

std::string changes_in_words(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  const config::AskChanges changes = config::compare(before, now);
  std::vector<std::string> words;
  if (!changes.more.empty()) words.push_back("it now also asks: " + some_of(changes.more));
  if (!changes.fewer.empty()) words.push_back("it no longer asks: " + some_of(changes.fewer));
  return words.empty() ? "it asks for the same" : base::join(words, "; ");
}

base::Result<ConfigFiles, Stop> ConfigFiles::read(const Invocation& invocation, const Arguments& arguments,
                                                  const plan::HostFacts& facts, const CommandPlace& place) {
  ConfigFiles out;
  out.facts_ = &facts;
  if (auto home = base::AbsPath::parse(own_home(facts))) out.places_.home = *home;
  if (auto here = base::AbsPath::parse(place.working_directory)) out.places_.working_directory = *here;
  CORDON_TRY(out.user_, user_config(invocation, facts, For::kCommand));
  if (arguments.has("--config")) {
    CORDON_TRY(out.named_, named_config(invocation, arguments.value("--config")));
  }
  CORDON_TRY(out.project_, project_config(invocation, place.working_directory, place.workspace, place.owner));
  if (!out.project_) return out;
  // Named by hand it is trusted, and once is enough; it is a project's file all the same.
  const bool named = out.named_ && is_same_file(*out.named_, *out.project_);
  if (named) out.named_.reset();
  const std::vector<std::string> asks = canonical_asks(out.project_->config);
  if (named || arguments.has("--trust-project-config")) {
    out.trusted_ = {asks.begin(), asks.end()};
    return out;
  }
  const approval::TrustReading known =
      approval::read_trust(trust_directory(invocation, facts), out.project_->real_path, approval_caller(invocation));
  out.trust_unusable_ = known.state == approval::TrustReading::State::kUntrusted;
  if (known.state != approval::TrustReading::State::kRead) return out;
  if (known.record.sha256 == out.project_->sha256)
    out.trusted_ = {known.record.asks.begin(), known.record.asks.end()};
  else
    out.changed_ = changes_in_words(known.record.asks, asks);
  return out;
}

base::Result<bool, Stop> ConfigFiles::has(const std::string& profile) const {
  for (const MaybeConfig* file : {&user_, &named_})
    if (*file && (*file)->config.find(profile) != nullptr) return true;
  const config::Block* block = project_ ? project_->config.find(profile) : nullptr;
  if (block == nullptr) return false;
  const config::Ask chosen{profile, std::string(config::kProfiles.name), {}, block->at};
  if (is_built_in(profile) || trusted_.contains(config::canonical(chosen))) return true;
  Stop refused = config_refusal(
      project_->path, "profile-not-trusted",
      fmt::format("the profile {} is a project's own, and nobody trusted its file", base::quote(profile)),
      fmt::format("read it, and trust it: cordon trust {}", base::shown(project_->path)));
  refused.refused.items.front().at = block->at.span;
  refused.source = project_->text;
  return base::fail(std::move(refused));
}

config::Merged ConfigFiles::merged(const std::vector<std::string>& profiles) const {
  std::vector<config::Layer> layers;
  const auto add = [&](const MaybeConfig& file, config::Layer::May may) {
    if (!file) return;
    layers.push_back({.config = &file->config,
                      .may = may,
                      .trusted = may == config::Layer::May::kTrusted ? trusted_ : std::set<std::string>(),
                      .directory = base::AbsPath::parse(file->directory).value_or(base::AbsPath())});
  };
  add(user_, config::Layer::May::kAll);
  add(project_, config::Layer::May::kTrusted);
  add(named_, config::Layer::May::kAll);
  return config::merge(layers, profiles, built_in_profiles(), places_);
}

void ConfigFiles::hold_project(config::Merged& merged, std::vector<plan::Note>& notes) const {
  if (!project_) return;
  const auto of_project = [](const config::Path& entry) { return entry.project; };
  if (std::ranges::none_of(merged.read, of_project) && std::ranges::none_of(merged.write, of_project) &&
      std::ranges::none_of(merged.execute, of_project))
    return;
  std::vector<std::string> written;
  for (const config::Path& entry : merged.write) written.push_back(entry.path);
  const ProjectEntries judge(*facts_, project_->directory, std::move(written));
  const auto hold = [&](std::vector<config::Path>& entries, EntryIs use) {
    std::erase_if(entries, [&](const config::Path& entry) {
      if (!entry.project) return false;
      const std::string why = judge.why_not(entry.path, use);
      if (why.empty()) return false;
      notes.push_back(
          {.code = "project-entry-held",
           .text = fmt::format("{}: {} does not count: {}", origin_words(entry.at), base::shown(entry.written), why),
           .at = {}});
      return true;
    });
  };
  hold(merged.read, EntryIs::kSeen);
  hold(merged.execute, EntryIs::kSeen);
  hold(merged.write, EntryIs::kWritten);
}

void ConfigFiles::tell_ignored(const config::Merged& merged, std::vector<plan::Note>& notes) const {
  if (!project_) return;
  const std::string path = base::shown(project_->path);
  if (!changed_.empty())
    notes.push_back({.code = "project-config-changed",
                     .text = fmt::format("{} changed since it was trusted, and is trusted no more: {}", path, changed_),
                     .at = {}});
  if (trust_unusable_)
    notes.push_back(
        {.code = "trust-unusable",
         .text = fmt::format("what was trusted of {} cannot be believed: others could have written it", path),
         .at = {}});
  const std::string name(base::AbsPath::parse(project_->path).value_or(base::AbsPath()).name());
  for (std::size_t i = 0; i < std::min(merged.ignored.size(), kMostTold); ++i) {
    const config::Ask& ask = merged.ignored[i];
    notes.push_back({.code = "project-config-ignored",
                     .text = fmt::format("ignored of {}:{}: {}", name, ask.at.span.line, config::in_words(ask)),
                     .at = {}});
  }
  if (merged.ignored.empty()) return;
  const std::size_t more = merged.ignored.size() - std::min(merged.ignored.size(), kMostTold);
  notes.push_back({.code = "project-config-only-narrows",
                   .text = fmt::format("{}a project's file only narrows; to have {} of {}: cordon trust",
                                       more == 0 ? "" : fmt::format("and {} more: ", more),
                                       merged.ignored.size() == 1 ? "that" : "those", path),
                   .at = {}});
}

CommandConfig ConfigFiles::of(const std::vector<std::string>& profiles) const {
  CommandConfig out;
  // What every command has by its profile, it has by that profile's block as well.
  std::vector<std::string> names = {"generic"};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  out.merged = merged(profiles);
  for (std::size_t before = 0; before != out.merged.bases.size();) {
    before = out.merged.bases.size();
    std::vector<std::string> with = profiles;
    for (const policy::Text& base : out.merged.bases) with.push_back(base.value);
    out.merged = merged(with);
  }
  for (const policy::Text& base : out.merged.bases) add(base.value);
  for (const std::string& profile : profiles) add(profile);
  out.merged = merged(names);
  hold_project(out.merged, out.notes);
  tell_ignored(out.merged, out.notes);
  if (project_) out.project = project_->directory;
  return out;
}

}  // namespace cordon::cli
