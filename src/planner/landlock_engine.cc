#include "planner/landlock_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "plan/not_held.h"
#include "planner/base.h"
#include "planner/host.h"
#include "planner/landlock.h"
#include "planner/landlock_rights.h"
#include "planner/network.h"
#include "planner/path_text.h"
#include "policy/shield/rules.h"

namespace cordon::planner {
namespace {

using plan::Feature;
using plan::Layer;

constexpr int kLeastEngineAbi = 3;  // before, truncate(2) of readable files cannot be closed (Linux 6.2)
constexpr std::string_view kTemporary = "/tmp";
constexpr std::uint64_t kReads = kReadFile | kReadDir;
constexpr std::uint64_t kWrites = kReads | kWriteFile | kTruncate | kChange;
constexpr std::uint64_t kBindTcp = 1ULL << 0, kConnectTcp = 1ULL << 1;  // ABI 4

std::uint64_t handled_by_engine(int abi) {
  std::uint64_t handled = kExecute | kWrites | kMakeChar | kMakeBlock;
  if (abi >= 5) handled |= kIoctlDev;
  return handled;
}

void refuse(Draft& draft, std::string_view code, const base::Span& at, std::string_view asked, std::string mend) {
  const plan::NotHeld& missing = plan::not_held(code);
  draft.refuse(Code::kEngineCannotHold, at,
               fmt::format("{} needs what the landlock engine does not hold ({}): {}", asked, code, missing.what),
               std::move(mend));
  draft.items.back().layer = missing.layer;
}

void lack(Draft& draft, std::string_view code, std::string mend = {}) {
  const plan::NotHeld& missing = plan::not_held(code);
  draft.plan.degradations.push_back({.layer = missing.layer,
                                     .state = plan::LayerState::kDegraded,
                                     .what = std::string(missing.what),
                                     .mend = std::move(mend),
                                     .code = std::string(code)});
}

constexpr std::string_view kNamespaceMend = "a host with user namespaces: cordon doctor says how";

void check_network_of_engine(Draft& draft) {
  const policy::Policy& policy = draft.policy;
  const auto each = [&](const auto& entries, std::string_view key) {
    for (const auto& entry : entries)
      refuse(draft, "network", entry.at.span, key, std::string(kNamespaceMend) + ", or leave the line out");
  };
  each(policy.network, "network:");
  each(policy.publish, "publish:");
  each(policy.host_services, "host_services:");
  if (policy.posture.ask) refuse(draft, "network", {}, "--ask", "leave --ask out");
}

/// What stands between the target and the rest.
void check_kernel(Draft& draft) {
  const plan::HostFacts& facts = draft.facts;
  const int abi = landlock_abi(facts);
  if (abi < kLeastEngineAbi) {
    const plan::FeatureFact& fact = facts.feature(Feature::kLandlock);
    draft.refuse(Code::kFeatureMissing, {},
                 abi == 0 ? std::string("the landlock engine needs Landlock, which this host does not have")
                          : fmt::format("the landlock engine needs Landlock ABI {}, and this kernel has {}",
                                        kLeastEngineAbi, abi),
                 abi == 0 && !fact.mend.empty() ? fact.mend : "Linux 6.2 or later with Landlock");
    draft.items.back().feature = Feature::kLandlock;
  }
  if (lacks(facts, Feature::kSeccompFilter)) {
    draft.refuse(Code::kFeatureMissing, {}, "the landlock engine needs filters of system calls",
                 facts.feature(Feature::kSeccompFilter).mend);
    draft.items.back().feature = Feature::kSeccompFilter;
  }
}

/// Of the grants that hold something hidden: the directories on the way to it, by grant.
std::map<std::string, std::set<std::string>> ways_of(const Arranged& arranged) {
  std::map<std::string, std::set<std::string>> out;
  for (const Mount& mount : arranged.mounts) {
    // A socket cannot be connected to: none can be made.
    if (mount.act != MountAct::kMask || mount.want->why == Why::kSocket) continue;
    for (const Mount* around = arranged.showing(parent_of(mount.path)); around != nullptr;) {
      if (around->act == MountAct::kBind) {
        auto& way = out[around->path];
        way.insert(around->path);
        for (std::string& directory : between(around->path, mount.path)) way.insert(std::move(directory));
      }
      around = around->path == "/" ? nullptr : arranged.showing(parent_of(around->path));
    }
  }
  return out;
}

class Granting {
 public:
  Granting(Draft& draft, const Identity& identity, const Arranged& arranged)
      : draft_(draft), identity_(identity), arranged_(arranged), ways_(ways_of(arranged)) {
    for (const Mount& mount : arranged.mounts) {
      if (mount.act == MountAct::kMask) masked_.insert(mount.path);
    }
  }

  void grant(const Mount& mount, std::uint64_t access) {
    const Want& want = *mount.want;
    if (ways_.contains(mount.path)) return split(mount, access);
    plan::step::Grant grant{.source = want.why == Why::kPlace ? want.source : want.path,
                            .id = want.id,
                            .access = want.directory ? access & handled_ : access & handled_ & kFileRights,
                            .create = want.create,
                            .create_owner_uid = std::nullopt,
                            .create_owner_gid = std::nullopt};
    if (!want.create.empty() && identity_.run_as) {
      grant.create_owner_uid = identity_.uid;
      grant.create_owner_gid = identity_.gid;
    }
    draft_.step(std::move(grant), Layer::kFilesystem, want.reason, want.at);
  }

  void add(std::string_view target, std::uint64_t access) {
    rules_.push_back({.target = std::string(target), .access = access & handled_, .object = kIfThere});
  }

  std::vector<plan::step::LandlockRule> take() { return std::move(rules_); }
  [[nodiscard]] std::uint64_t handled() const { return handled_; }

 private:
  static constexpr auto kIfThere = plan::step::RuleFor::kTargetIfThere;

  /// A rule for each entry beside what is hidden, instead of one for all.
  void split(const Mount& mount, std::uint64_t access) {
    const Want& want = *mount.want;
    const auto& way = ways_.at(mount.path);
    // Listing reaches down as every right does: given where nothing is hidden but files.
    const bool lists = !hides_directories(mount.path);
    if (lists) rules_.push_back({.target = mount.path, .access = kReadDir, .object = kIfThere});
    for (const std::string& directory : way) {
      const auto entries = draft_.facts.entries.find(directory);
      if (entries == draft_.facts.entries.end() || !entries->second) return too_much(want, directory);
      for (const std::string& name : *entries->second) {
        std::string path = (directory == "/" ? "" : directory) + "/" + name;
        if (way.contains(path) || masked_.contains(path)) continue;
        if (count_++ == kMostSiblings) return too_much(want, directory);
        rules_.push_back({.target = std::move(path), .access = access & handled_, .object = kIfThere});
      }
    }
    if (want.why != Why::kBase && !lists)
      draft_.note("landlock-split",
                  fmt::format("{}: directories on the way to what is hidden cannot be listed: {}", want.reason,
                              base::shown(base::join(std::vector<std::string>(way.begin(), way.end()), ", "))),
                  want.at);
  }

  [[nodiscard]] bool hides_directories(std::string_view grant) const {
    return std::ranges::any_of(arranged_.mounts, [&](const Mount& mount) {
      return mount.act == MountAct::kMask && mount.want->directory && within(mount.path, grant);
    });
  }

  void too_much(const Want& want, const std::string& directory) {
    refuse(draft_, "hidden-in-read", want.at, fmt::format("{} ({})", want.reason, base::shown(directory)),
           "grant what the program reads in it, one by one");
    draft_.items.back().is_grant = true;
  }

  Draft& draft_;
  const Identity& identity_;
  const Arranged& arranged_;
  std::map<std::string, std::set<std::string>> ways_;
  std::unordered_set<std::string> masked_;
  std::vector<plan::step::LandlockRule> rules_;
  std::uint64_t handled_ = handled_by_engine(landlock_abi(draft_.facts));
  std::size_t count_ = 0;
};

/// The writable bind that `path` lies in, or nothing.
const Mount* writable_around(const Arranged& arranged, const std::string& path) {
  const Mount* around = path == "/" ? nullptr : arranged.showing(parent_of(path));
  const bool writable =
      around != nullptr && around->act == MountAct::kBind && around->want->access == Access::kWritable;
  return writable ? around : nullptr;
}

/// Of a name directly in a write grant: the report looks for it when the run is over. Names of a home's stores it does
/// not look for.
bool is_looked_for(const Mount& hold, const Mount& around) {
  if (parent_of(hold.path) != around.path || hold.want->hidden_when_made) return false;
  constexpr std::array kOfGit =
      std::to_array<std::string_view>({".git", "HEAD", "commondir", "config", "objects", "refs"});
  const std::string_view name = name_of(hold.path);
  if (std::ranges::find(kOfGit, name) != kOfGit.end()) return true;
  policy::shield::Texts texts;
  const auto rules = policy::shield::workspace_rules_at(around.path, texts);
  return std::ranges::any_of(rules, [&](const auto& rule) { return within(rule.path, hold.path); });
}

/// What mounts would hide or hold read-only where the target may write.
void check_write_grants(Draft& draft, const Arranged& arranged) {
  std::set<std::string_view> said;
  bool absent = false;
  for (const Mount& mount : arranged.mounts) {
    const bool held = mount.act == MountAct::kMask || mount.act == MountAct::kPin || mount.act == MountAct::kHold ||
                      mount.want->access == Access::kReadOnly;
    const Mount* around = held ? writable_around(arranged, mount.path) : nullptr;
    if (around == nullptr || mount.want->why == Why::kSocket) continue;
    if (mount.act == MountAct::kPin && !mount.read_only && mount.path != mount.want->path) continue;  // a way to it
    if (mount.act == MountAct::kHold && is_looked_for(mount, *around)) {
      absent = true;
      continue;
    }
    if (!said.insert(around->path).second) continue;
    refuse(draft, "held-in-write", around->want->at,
           fmt::format("{}, which holds {} ({}),", around->want->reason, base::shown(mount.path), mount.want->reason),
           "grant the directories that the program writes to, one by one");
    draft.items.back().is_grant = true;
  }
  if (absent) lack(draft, "absent-names");
}

void add_private_directory(Draft& draft, const Identity& identity, std::uint64_t handled) {
  const plan::PathFact* parent = fact_of(draft.facts, kTemporary);
  const bool usable =
      parent != nullptr && parent->state == plan::PathState::kPresent && is_directory(*parent) && parent->hops.empty();
  if (!usable) {
    draft.refuse(Code::kPathCannotBeChecked, {}, "/tmp, where the run's own directory is made, cannot be used",
                 "make /tmp a directory that you can write to");
    return;
  }
  const std::uint64_t execute = starts_anything(draft.policy) ? kExecute : 0;
  plan::step::PrivateDirectory own{.parent = parent->real,
                                   .id = parent->id,
                                   .name = draft.facts.private_name,
                                   .access = (kWrites | execute) & handled,
                                   .owner_uid = std::nullopt,
                                   .owner_gid = std::nullopt};
  if (identity.run_as) {
    own.owner_uid = identity.uid;
    own.owner_gid = identity.gid;
  }
  draft.step(std::move(own), Layer::kFilesystem, "home and temporary files of the run's own");
}

void add_fixed_rules(Granting& granting) {
  for (const std::string_view node : {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"})
    granting.add(node, kReadFile | kWriteFile | kTruncate | kIoctlDev);
  for (const std::string_view node : {"/dev/random", "/dev/urandom"}) granting.add(node, kReadFile);
  // Not for writing: uid 0 without a single capability may otherwise write what is the machine's.
  granting.add("/proc", kReads);
  for (const std::string_view file : base_files()) granting.add(file, kReadFile);
}

void say_what_is_not_held(Draft& draft) {
  for (const plan::NotHeld& one : plan::not_held()) {
    if (one.missing == plan::Missing::kAlways) lack(draft, one.code);
  }
  if (!scopes_signals(draft.facts)) lack(draft, "no-signals", "Linux 6.12 or later");
  if (lacks(draft.facts, Feature::kUserNotification)) lack(draft, "no-attributes");
  if (draft.facts.uid != 0) lack(draft, "bounding-set");
  if (exec_listed(draft.policy)) lack(draft, "loader-starts");
  if (!draft.policy.command) return;
  lack(draft, "no-views");
  if (!draft.policy.write.empty()) lack(draft, "written-outputs-run");
}

}  // namespace

plan::Engine engine_of(const policy::Policy& policy) {
  return policy.posture.engine == policy::EngineChoice::kLandlock ? plan::Engine::kLandlock : plan::Engine::kNamespace;
}

std::vector<std::string> engine_questions(const policy::Policy& policy) {
  if (engine_of(policy) != plan::Engine::kLandlock) return {};
  return {std::string(kTemporary)};
}

std::vector<std::string> engine_listings(const Arranged& arranged) {
  std::set<std::string> out;
  for (const auto& [grant, way] : ways_of(arranged)) out.insert(way.begin(), way.end());
  return {out.begin(), out.end()};
}

void check_engine(Draft& draft) {
  const policy::Policy& policy = draft.policy;
  check_kernel(draft);
  if (policy.posture.strict)
    draft.refuse(Code::kEngineCannotHold, {}, "--strict asks for every layer, and the landlock engine has not all",
                 std::string(kNamespaceMend) + ", or leave --strict out");
  check_network_of_engine(draft);
  for (const auto* asked : {&policy.devices, &policy.allow, &policy.agent}) {
    for (const policy::Text& one : *asked)
      draft.refuse(Code::kEngineCannotHold, one.at.span,
                   fmt::format("the landlock engine has no {}", base::shown(one.value)), std::string(kNamespaceMend));
  }
  if (policy.posture.host_network)
    draft.refuse(Code::kEngineCannotHold, {}, "the landlock engine has no network but the run's own loopback",
                 std::string(kNamespaceMend));
  if (policy.limits.tmp_bytes != 0)
    refuse(draft, "tmp-size", policy.limits.tmp_at.span, "limits.tmp", "leave the line out");
  if (policy.posture.home == policy::HomeShown::kEmpty)
    refuse(draft, "empty-home", {}, "a draft", std::string(kNamespaceMend));
  if (policy.command && !policy.command->views.empty())
    refuse(draft, "views", {}, "the workspace", "--workspace live or --workspace write");
  if (exec_listed(policy) && !policy.posture.allow_degraded)
    refuse(draft, "loader-starts", policy.exec.at.span, "exec: a list", "--allow-degraded, or exec: none");
}

void start_warden(Draft& draft, const Identity& identity) {
  plan::step::StartWarden warden;
  if (identity.run_as) {
    warden.set_groups = true;
    warden.groups = identity.groups;
    note_run_as(draft, identity);
  }
  draft.step(std::move(warden), Layer::kProcesses, "no namespaces; ends the run");
}

plan::step::Landlock grant_on_host(Draft& draft, const Identity& identity, const Arranged& arranged,
                                   const Program& program, std::span<const std::string> listed) {
  check_write_grants(draft, arranged);
  Granting granting(draft, identity, arranged);
  const std::string loader = loader_of(draft.facts, program);
  // Under exec: none one execve is to come: the program's, which opens its loader as well.
  const bool single =
      exec_closed(draft.policy) && (!loader.empty() || program.chain.hops.back().elf_interpreter.empty());
  const std::uint64_t reads = kReads | (single || exec_listed(draft.policy) ? 0 : kExecute);
  // In command mode what is granted for writing are outputs: what was built is run.
  const std::uint64_t writes = kWrites | kIoctlDev | (starts_anything(draft.policy) ? kExecute : 0);
  for (const Mount& mount : arranged.mounts) {
    if (mount.act != MountAct::kBind) continue;
    const std::uint64_t wx = mount.want->executes && !exec_closed(draft.policy) ? kExecute : 0;
    granting.grant(mount, mount.want->access == Access::kWritable ? writes | wx : reads);
  }
  add_private_directory(draft, identity, granting.handled());
  add_fixed_rules(granting);
  if (single) {
    granting.add(program.path, kExecute | kReadFile);
    if (!loader.empty()) granting.add(loader, kExecute | kReadFile);
  }
  for (const std::string& path : listed) granting.add(path, kExecute | kReadFile);
  say_what_is_not_held(draft);
  const int abi = landlock_abi(draft.facts);
  return {.handled_access = granting.handled(),
          .scoped = scopes_signals(draft.facts) ? kScopes : 0,
          .handled_network = abi >= 4 ? kBindTcp | kConnectTcp : 0,
          .abi = abi,
          .rules = granting.take()};
}

void set_private_places(const Draft& draft, Environment& environment) {
  const std::string own = std::string(kTemporary) + "/" + draft.facts.private_name;
  const auto set = [&](std::string_view name, const std::string& value) {
    const std::string prefix = std::string(name) + "=";
    const auto is_it = [&](const std::string& entry) { return entry.starts_with(prefix); };
    const auto listed = std::ranges::find(draft.policy.env, name, &policy::EnvGrant::name);
    if (listed != draft.policy.env.end() && !draft.policy.command) return;  // the manifest says what it is
    std::erase_if(environment.entries, is_it);
    environment.entries.push_back(prefix + value);
  };
  set("HOME", own + "/home");
  set("GIT_CONFIG_NOSYSTEM", "1");  // git gives up where it may not read what stands in /etc
  for (const std::string_view name : {"TMPDIR", "TMP", "TEMP"}) set(name, own + "/tmp");
  std::ranges::sort(environment.entries);
  environment.home = own + "/home";
}

}  // namespace cordon::planner
