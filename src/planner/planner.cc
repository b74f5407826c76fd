#include "planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "plan/wire.h"
#include "planner/agent.h"
#include "planner/aliases.h"
#include "planner/base.h"
#include "planner/command.h"
#include "planner/devices.h"
#include "planner/draft.h"
#include "planner/environment.h"
#include "planner/exec_list.h"
#include "planner/filters.h"
#include "planner/grants.h"
#include "planner/host.h"
#include "planner/identity.h"
#include "planner/kernel_files.h"
#include "planner/known_hosts.h"
#include "planner/landlock.h"
#include "planner/landlock_engine.h"
#include "planner/limits.h"
#include "planner/mounts.h"
#include "planner/nested.h"
#include "planner/network.h"
#include "planner/own_home.h"
#include "planner/own_places.h"
#include "planner/path_text.h"
#include "planner/privileges.h"
#include "planner/program.h"
#include "planner/shields.h"
#include "planner/sockets.h"
#include "planner/stubs.h"
#include "planner/trust.h"
#include "planner/wx.h"

namespace cordon::planner {
namespace {

using plan::Layer;

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kRootBytes = 16 * kMiB;  // the skeleton and a few small files
constexpr std::uint64_t kShmBytes = 256 * kMiB;
constexpr std::uint64_t kTmpBytes = 1024 * kMiB;

void make_point(Draft& draft, const Mount& mount) {
  const Want& want = *mount.want;
  if (want.directory) {
    draft.step(plan::step::MakeDirectory{.target = mount.path, .mode = 0755}, Layer::kFilesystem, want.reason, want.at);
  } else {
    draft.step(plan::step::MakeFile{.target = mount.path, .content = {}, .mode = 0444}, Layer::kFilesystem, want.reason,
               want.at);
  }
}

bool is_noexec(const policy::Policy& policy, const Want& want) {
  if (exec_listed(policy)) return !want.executes;
  return want.access == Access::kWritable && !writes_execute(policy) && want.why != Why::kPlace && !want.executes;
}

void bind(Draft& draft, const Identity& identity, const Mount& mount) {
  const Want& want = *mount.want;
  const bool writable = want.access == Access::kWritable;
  plan::step::Bind bind{
      .source = want.why == Why::kPlace ? want.source : want.path,
      .id = want.id,
      .target = want.path,
      .attributes = {.read_only = !writable, .noexec = is_noexec(draft.policy, want), .nosuid = true, .nodev = true},
      .create = want.create,
      .create_owner_uid = std::nullopt,
      .create_owner_gid = std::nullopt};
  if (!want.create.empty() && identity.run_as) {
    bind.create_owner_uid = identity.uid;
    bind.create_owner_gid = identity.gid;
  }
  draft.step(std::move(bind), Layer::kFilesystem, want.reason, want.at);
}

void mount_all(Draft& draft, const Identity& identity, const Arranged& arranged, bool base) {
  const Stubs stubs(draft, identity, arranged);
  for (const Mount& mount : arranged.mounts) {
    if ((mount.want->why == Why::kBase) != base) continue;
    if (mount.needs_point) make_point(draft, mount);
    switch (mount.act) {
      case MountAct::kBind:
        if (mount.want->view != nullptr)
          mount_view(draft, mount);
        else if (!stubs.mount(draft, mount))
          bind(draft, identity, mount);
        break;
      case MountAct::kHold:
        stubs.hold(draft, mount);
        break;
      case MountAct::kMask:
        draft.step(plan::step::Mask{.target = mount.path, .directory = mount.want->directory}, Layer::kFilesystem,
                   mount.want->reason, mount.want->at);
        break;
      case MountAct::kPin:
        draft.step(plan::step::Pin{.target = mount.path,
                                   .read_only = mount.read_only,
                                   .link = mount.path == mount.want->path ? mount.want->link : std::string()},
                   Layer::kFilesystem, mount.want->reason, mount.want->at);
        break;
    }
  }
}

void mount_own(Draft& draft, const Identity& identity, const Arranged& arranged) {
  const auto point = [&](const char* path) {
    draft.step(plan::step::MakeDirectory{.target = path, .mode = 0755}, Layer::kFilesystem, "base");
  };
  point("/proc");
  draft.step(plan::step::MountProc{}, Layer::kProcesses, "base");
  point("/dev");
  draft.step(plan::step::MountDev{.target = "/dev", .shm_bytes = kShmBytes}, Layer::kFilesystem, "base");
  mount_devices(draft, identity);
  if (mount_command_places(draft, identity, arranged)) return;
  point("/tmp");
  const policy::Limits& limits = draft.policy.limits;
  const bool limited = limits.tmp_bytes != 0;
  draft.step(plan::step::MountTmpfs{.target = "/tmp",
                                    .size_bytes = limited ? limits.tmp_bytes : kTmpBytes,
                                    .mode = 01777,
                                    .attributes = {.read_only = false, .noexec = !starts_anything(draft.policy)}},
             Layer::kFilesystem, limited ? fmt::format("limits.tmp: {}", base::shown(limits.tmp)) : "base",
             limited ? limits.tmp_at.span : base::Span{});
  const std::string home = empty_home(draft.policy, draft.facts, arranged);
  if (home.empty()) return;
  point(home.c_str());
  draft.step(plan::step::MountTmpfs{.target = home,
                                    .size_bytes = kTmpBytes,
                                    .mode = 01777,
                                    .attributes = {.read_only = false, .noexec = !writes_execute(draft.policy)}},
             Layer::kFilesystem, "an empty home of the run's own");
}

void make_links(Draft& draft, const Arranged& arranged, bool base) {
  for (const Link& link : arranged.links) {
    if ((link.reason == "base") != base) continue;
    draft.step(plan::step::MakeSymlink{.target = link.at, .text = link.text}, Layer::kFilesystem, link.reason,
               link.span);
  }
}

void note_environment(Draft& draft, const Environment& environment) {
  for (const policy::EnvGrant* grant : environment.unset) {
    draft.note("env-not-set", fmt::format("env: {} is not set here", base::shown(grant->name)), grant->at.span);
  }
}

void name_requested(Draft& draft) {
  plan::Plan& plan = draft.plan;
  plan.requested = {Layer::kFilesystem, Layer::kProcesses};
  if (!draft.policy.posture.host_network) plan.requested.push_back(Layer::kNetwork);
  if (!starts_anything(draft.policy)) plan.requested.push_back(Layer::kExec);
  plan.requested.insert(plan.requested.end(), {Layer::kSystemCalls, Layer::kLandlock});
  if (draft.policy.limits.timeout_ms != 0 || wants_limits(draft.policy)) plan.requested.push_back(Layer::kLimits);
  plan.requested.push_back(Layer::kPrivileges);
}

void build_base(Draft& draft, const Identity& identity, const Arranged& arranged) {
  draft.plan.steps.reserve(2 * arranged.mounts.size() + 64);  // a step is large, and a plan may have thousands
  enter_namespaces(draft, identity);
  connect_network(draft);
  draft.step(plan::step::BuildRoot{.size_bytes = kRootBytes}, Layer::kFilesystem, "base");
  mount_all(draft, identity, arranged, true);
  make_links(draft, arranged, true);
}

/// A line that gives or takes what the base shows: what is left of the base, the whole plan must say.
bool names_the_base(const policy::Policy& policy, const plan::HostFacts& facts) {
  const StandingBase base(facts);
  const auto names = [&](const policy::PathGrant& grant) {
    const plan::PathFact* fact = fact_of(facts, grant.path);
    return fact != nullptr && (!base.below(fact->real).empty() || within(fact->real, "/usr/local/etc"));
  };
  return std::ranges::any_of(policy.read, names) || std::ranges::any_of(policy.write, names) ||
         std::ranges::any_of(policy.wx, names) || std::ranges::any_of(policy.deny, names) || names(policy.entrypoint);
}

void execute(Draft& draft, const Program& program, Environment environment) {
  note_environment(draft, environment);
  draft.step(plan::step::Execute{.path = program.path,
                                 .argv = program.argv,
                                 .environment = std::move(environment.entries),
                                 .working_directory = program.working_directory},
             Layer::kExec, "entrypoint", draft.policy.entrypoint.at.span);
  draft.plan.timeout_ms = draft.policy.limits.timeout_ms;
  name_requested(draft);
}

void build_on_host(Draft& draft, const Identity& identity, const Program& program, const Arranged& arranged,
                   std::span<const std::string> listed) {
  Environment environment = environment_of(draft.policy, draft.facts);
  set_private_places(draft, environment);
  start_warden(draft, identity);
  plan::step::Landlock landlock = grant_on_host(draft, identity, arranged, program, listed);
  add_cgroup(draft);
  drop_privileges(draft, identity);
  draft.step(std::move(landlock), Layer::kLandlock, "what is not granted is out of reach");
  add_filters(draft);
  execute(draft, program, std::move(environment));
}

void build(Draft& draft, const Identity& identity, const Program& program, const Arranged& arranged,
           std::span<const std::string> listed) {
  if (draft.plan.engine == plan::Engine::kLandlock) return build_on_host(draft, identity, program, arranged, listed);
  Environment environment = environment_of(draft.policy, draft.facts);
  pass_trust(draft, arranged, environment);
  pass_agent(draft, arranged, environment);
  build_base(draft, identity, arranged);
  make_base_files(draft, arranged, identity, environment.home);
  make_known_hosts(draft, arranged);
  mount_own(draft, identity, arranged);
  mount_all(draft, identity, arranged, false);
  make_links(draft, arranged, false);
  make_command_files(draft, arranged);
  make_agent_socket(draft, arranged);
  draft.step(plan::step::EnterRoot{}, Layer::kFilesystem, "base");
  if (!lacks(draft.facts, plan::Feature::kNetNamespace) && !reaches_out(draft.policy)) {
    draft.step(plan::step::Loopback{}, Layer::kNetwork, "the target's own servers");
  }
  add_cgroup(draft);
  drop_privileges(draft, identity);
  restrict_files(draft, arranged, program, listed);
  add_filters(draft);
  execute(draft, program, std::move(environment));
}

/// Where no overlay holds what does not exist, each name of it has a mount point of its own on the host.
void check_holds(Draft& draft) {
  std::map<std::string_view, std::size_t> below;
  std::size_t holds = 0;
  for (const plan::Step& step : draft.plan.steps) {
    const auto* hold = std::get_if<plan::step::HoldPoint>(&step.act);
    if (hold == nullptr) continue;
    ++holds;
    ++below[hold->directory];
  }
  if (holds <= plan::wire::kMostHoldPoints) return;
  const auto most = std::ranges::max_element(below, {}, [](const auto& each) { return each.second; });
  draft.refuse(Code::kTooManySteps, {},
               fmt::format("below what is granted for writing there are {} shielded names that do not exist, {} of "
                           "them in {}; {} can be held on this host",
                           holds, most->second, base::shown(most->first), plan::wire::kMostHoldPoints),
               "grant fewer or narrower directories for writing");
}

/// The launcher takes so many records and no more: each step is one, and each Landlock rule.
void check_size(Draft& draft) {
  std::size_t records = draft.plan.steps.size();
  for (const plan::Step& step : draft.plan.steps) {
    if (const auto* landlock = std::get_if<plan::step::Landlock>(&step.act)) records += landlock->rules.size();
  }
  if (records < plan::wire::kMostRecords) return;
  draft.refuse(Code::kTooManySteps, {}, fmt::format("the plan would have {} steps and rules", records),
               "grant directories instead of single files");
}

}  // namespace

std::vector<plan::Step> beginning(const policy::Policy& policy, const plan::HostFacts& facts) {
  // A list decides which of the base may execute.
  if (names_the_base(policy, facts) || exec_listed(policy)) return {};
  Draft draft{.policy = policy, .facts = facts, .plan = {}, .items = {}};
  std::vector<Want> wants;
  std::vector<Link> links;
  want_base(facts, wants, links);
  hide_what_lets_others_in(facts, wants);
  hide_local_settings(facts, wants);
  if (wants.empty()) return {};
  build_base(draft, decide_identity(policy, facts), arrange(wants, links, writes_execute(policy)));
  return draft.items.empty() ? std::move(draft.plan.steps) : std::vector<plan::Step>();
}

Verdict plan(const policy::Policy& policy, const plan::HostFacts& facts) {
  Memory memory;
  return plan(policy, facts, memory);
}

namespace {

struct Gathered {
  Identity identity;
  Program program;
  std::vector<Want> wants;
  std::vector<Link> links;
  std::vector<std::string> listed;
};

/// All that is wanted, judged; the problems are in the draft.
Gathered gather(Draft& draft, Memory& memory) {
  const policy::Policy& policy = draft.policy;
  const plan::HostFacts& facts = draft.facts;
  Gathered out{.identity = decide_identity(policy, facts), .program = {}, .wants = {}, .links = {}, .listed = {}};
  out.program = find_program(draft, out.identity);
  auto& [identity, program, wants, links, listed] = out;
  want_base(facts, wants, links);
  want_home_links(draft, links);
  want_grants(draft, identity, wants, links);
  want_command(draft, wants, links);
  const policy::shield::Rules& rules = shield_rules(facts, memory);
  const Shields shields(policy, facts, rules);
  guard_own_places(draft, shields, wants);
  want_program(draft, program, wants, links);
  want_trust(draft, shields, wants, links);
  judge_shields(draft, shields, program);
  say_unshieldable(draft, rules);
  want_shields(draft, shields, wants);
  hide_sockets(draft, wants);
  hide_kernel_files(draft, wants);
  hide_what_lets_others_in(facts, wants);
  hide_local_settings(facts, wants);
  check_denials(draft, program, wants);
  check_aliases(draft, rules, wants);
  listed = want_exec_list(draft, identity, wants);
  return out;
}

}  // namespace

std::vector<std::string> engine_listings(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory) {
  if (engine_of(policy) != plan::Engine::kLandlock) return {};
  const auto widened = with_wx(policy);
  Draft draft{.policy = widened ? *widened : policy, .facts = facts, .plan = {}, .items = {}};
  Gathered gathered = gather(draft, memory);
  forget_missing_denials(gathered.wants);
  std::vector<std::string> out = engine_listings(arrange(gathered.wants, gathered.links, writes_execute(policy)));
  std::erase_if(out, [&](const std::string& directory) { return facts.entries.contains(directory); });
  return out;
}

namespace {

Verdict decide(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory) {
  Draft draft{.policy = policy, .facts = facts, .plan = {}, .items = {}};
  draft.plan.engine = engine_of(policy);
  Gathered gathered = gather(draft, memory);
  note_wx(draft);
  if (draft.plan.engine == plan::Engine::kLandlock) {
    check_engine(draft);
  } else {
    check_agent(draft, gathered.identity);
    check_nested_sandbox(draft, gathered.identity);
    check_devices(draft);
    check_network(draft);
  }
  check_limits(draft);
  check_host(draft);
  if (!draft.items.empty()) return plan::Refusal{std::move(draft.items)};
  forget_missing_denials(gathered.wants);
  const Arranged arranged = arrange(gathered.wants, gathered.links, writes_execute(policy));
  build(draft, gathered.identity, gathered.program, arranged, gathered.listed);
  check_size(draft);
  check_holds(draft);
  if (!draft.items.empty()) return plan::Refusal{std::move(draft.items)};
  return std::move(draft.plan);
}

}  // namespace

Verdict plan(const policy::Policy& policy, const plan::HostFacts& facts, Memory& memory) {
  const auto widened = with_wx(policy);
  return decide(widened ? *widened : policy, facts, memory);
}

}  // namespace cordon::planner
