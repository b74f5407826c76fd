#include "policy/ecosystem/effective.h"

#include <algorithm>
#include <set>

#include "base/path_order.h"
#include "base/text.h"
#include "policy/ecosystem/places.h"

namespace cordon::policy::ecosystem {
namespace {

/// Puts the profiles together, one after the other.
class Combining {
 public:
  explicit Combining(const Surroundings& surroundings) : surroundings_(surroundings) {}

  void add(const Profile& profile);
  base::Result<Effective, base::Diagnostics> finish();

 private:
  using Roots = std::vector<Root>;

  void add_seen(const Profile& profile, std::span<const Place> places, std::string_view key, Roots& out);
  void add_caches(const Profile& profile);
  void add_credentials(const Profile& profile);
  void add_registries(const Profile& profile);
  void add_movers(const Profile& profile, std::span<const Place> places);
  void pass(std::string_view variable, std::string origin);

  /// False where it is refused, which is said.
  bool is_accepted(const Located& located, Use use);

  const Surroundings& surroundings_;
  Effective out_;
  base::Diagnostics refused_;
  std::set<std::string> refused_variables_;
};

std::string origin_of(const Profile& profile, std::string_view key) {
  return "profile " + std::string(profile.name) + ": " + std::string(key);
}

void add_root(std::vector<Root>& out, Root root) {
  if (std::ranges::find(out, root.path, &Root::path) == out.end()) out.push_back(std::move(root));
}

void add_text(std::vector<NamedText>& out, std::string_view value, std::string origin) {
  if (std::ranges::find(out, value, &NamedText::value) == out.end())
    out.push_back({std::string(value), std::move(origin)});
}

Use use_of(CacheClass cache) { return cache == CacheClass::kContent ? Use::kPromoted : Use::kOwn; }

/// What lies below another of the list is there already.
void drop_inner(std::vector<Root>& roots) {
  std::vector<Root> out;
  for (Root& root : roots)
    if (out.empty() || !root.path.is_within(out.back().path)) out.push_back(std::move(root));
  roots = std::move(out);
}

void sort(std::vector<Root>& roots) {
  std::ranges::sort(roots, base::path_before, [](const Root& root) -> std::string_view { return root.path.str(); });
}

bool Combining::is_accepted(const Located& located, Use use) {
  if (located.variable.empty()) return true;
  const std::string why = why_not(located.path, use, surroundings_);
  if (why.empty()) return true;
  if (refused_variables_.insert(located.variable).second)
    refused_.push_back({.severity = base::Severity::kError,
                        .code = "moved-root",
                        .at = {},
                        .message = located.variable + " is " + base::quote(located.value) +
                                   ", so a tool's files would stand at " + base::shown(located.path.str()) + ": " + why,
                        .hint = "unset " + located.variable + ", or let it name a directory that is the tool's own"});
  return false;
}

void Combining::add_seen(const Profile& profile, std::span<const Place> places, std::string_view key, Roots& out) {
  for (const Place& place : places) {
    const auto located = locate(place, surroundings_);
    // What lies in the workspace is seen with it.
    if (!located || (!located->variable.empty() && located->path.is_within(surroundings_.workspace) &&
                     located->path != surroundings_.workspace))
      continue;
    if (is_accepted(*located, Use::kSeen))
      add_root(out, {located->path, CacheClass::kMutable, origin_of(profile, key), located->variable});
  }
  add_movers(profile, places);
}

void Combining::add_caches(const Profile& profile) {
  for (const Place& place : profile.caches) {
    const auto located = locate(place, surroundings_);
    if (!located || !is_accepted(*located, use_of(place.cache))) continue;
    const bool inside = !located->variable.empty() && located->path.is_within(surroundings_.workspace);
    add_root(inside ? out_.moved_outputs : out_.caches,
             {located->path, place.cache, origin_of(profile, "caches"), located->variable});
  }
  add_movers(profile, profile.caches);
}

void Combining::add_credentials(const Profile& profile) {
  const std::string origin = origin_of(profile, "config_with_credentials");
  for (const Place& place : profile.credentials) {
    if (const auto path = usual(place, surroundings_)) add_root(out_.credentials, {*path, {}, origin, {}});
    const auto moved = locate(place, surroundings_);
    if (moved && !moved->variable.empty())
      add_root(out_.credentials, {moved->path, CacheClass::kMutable, origin, moved->variable});
  }
}

void Combining::add_registries(const Profile& profile) {
  for (const Registry& registry : profile.registries) {
    RegistryRole role{&registry, {}, origin_of(profile, "registries")};
    for (const RegistryFile& file : registry.files)
      if (const auto located = locate(file.place, surroundings_)) role.files.push_back({file.format, located->path});
    out_.registries.push_back(std::move(role));
  }
}

void Combining::pass(std::string_view variable, std::string origin) {
  add_text(out_.environment, variable, std::move(origin));
}

/// The tool has to look where the grant went.
void Combining::add_movers(const Profile& profile, std::span<const Place> places) {
  for (const Place& place : places)
    for (const Mover& mover : place.moved_by) pass(mover.variable, origin_of(profile, "moved places"));
}

void Combining::add(const Profile& profile) {
  out_.profiles.emplace_back(profile.name);
  add_seen(profile, profile.toolchains, "toolchains", out_.toolchains);
  add_seen(profile, profile.installs, "installs", out_.installs);
  add_seen(profile, profile.read, "read", out_.read);
  add_caches(profile);
  add_credentials(profile);
  add_registries(profile);
  for (const Output& output : profile.outputs) out_.outputs.push_back({&output, origin_of(profile, "outputs")});
  for (const auto name : profile.temporary) add_text(out_.temporary, name, origin_of(profile, "temporary"));
  for (const auto host : profile.domains) add_text(out_.domains, host, origin_of(profile, "domains"));
  for (const auto name : profile.environment) pass(name, origin_of(profile, "environment"));
}

base::Result<Effective, base::Diagnostics> Combining::finish() {
  if (!refused_.empty()) return base::fail(std::move(refused_));
  for (auto* roots : {&out_.toolchains, &out_.read, &out_.caches, &out_.credentials, &out_.moved_outputs}) sort(*roots);
  drop_inner(out_.toolchains);
  drop_inner(out_.read);
  drop_inner(out_.moved_outputs);
  std::ranges::sort(out_.environment, {}, &NamedText::value);
  return std::move(out_);
}

}  // namespace

std::vector<std::string_view> moving_variables() {
  std::set<std::string_view> out(standard_variables().begin(), standard_variables().end());
  const auto add = [&](const Place& place) {
    for (const Mover& mover : place.moved_by) out.insert(mover.variable);
  };
  for (const Profile& profile : profiles()) {
    for (const auto places : {profile.toolchains, profile.read, profile.credentials, profile.caches})
      for (const Place& place : places) add(place);
    for (const Registry& registry : profile.registries)
      for (const RegistryFile& file : registry.files) add(file.place);
  }
  return {out.begin(), out.end()};
}

bool Effective::passes(std::string_view variable) const {
  return std::ranges::any_of(environment, [&](const NamedText& name) {
    const std::string_view pattern = name.value;
    return pattern.ends_with('*') ? variable.starts_with(pattern.substr(0, pattern.size() - 1)) : variable == pattern;
  });
}

base::Result<Effective, base::Diagnostics> effective(std::span<const Profile* const> profiles,
                                                     const Surroundings& surroundings) {
  Combining combining(surroundings);
  std::set<const Profile*> done;
  for (const Profile* profile : profiles)
    if (profile != &generic_profile() && done.insert(profile).second) combining.add(*profile);
  combining.add(generic_profile());
  return combining.finish();
}

}  // namespace cordon::policy::ecosystem
