#include "planner/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/fake_host_test.h"
#include "planner/planner.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using testing::FakeHost;
using testing::first;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::place_of;
using testing::PolicyMaker;
using testing::steps_of;
using testing::targets;

constexpr std::uint64_t kLandlockWrite = 1ULL << 1, kLandlockExecute = 1ULL << 0;

/// A checkout of "me" with a key beside it, and Cordon's own directories for one run.
FakeHost scene() {
  FakeHost host = FakeHost::debian();
  host.file("/home/me/.ssh/id_ed25519", "key", 1000, 0600);
  host.file("/home/me/p/package.json", "{}", 1000);
  host.file("/home/me/p/.env", "TOKEN=1", 1000, 0600);
  host.file("/home/me/p/.git/HEAD", "ref: refs/heads/main\n", 1000);
  host.file("/home/me/p/.git/config", "", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.directory("/home/me/.npm", 1000);
  for (const char* name : {"tmp", "view-0", "view-1"})
    host.directory(std::string("/home/me/.local/state/cordon/private/1/") + name, 1000, 0700);
  host.directory("/home/me/.local/state/cordon/projects/2/go-build", 1000, 0700);
  return host;
}

policy::Policy command(policy::WorkspaceMode mode) {
  policy::Policy policy = PolicyMaker("/usr/bin/node").exec(policy::ExecMode::kAll).policy;
  policy.command.emplace();
  policy::Command& out = *policy.command;
  out.mode = mode;
  out.workspace = "/home/me/p";
  out.working_directory = "/home/me/p";
  out.home = "/home/me";
  out.temporary = "/home/me/.local/state/cordon/private/1/tmp";
  const policy::PathGrant workspace{
      .written = "/home/me/p", .path = "/home/me/p", .at = {.span = {}, .source = "workspace"}};
  if (mode == policy::WorkspaceMode::kWrite) {
    policy.write.push_back(workspace);
  } else {
    policy.read.push_back(workspace);
  }
  if (mode == policy::WorkspaceMode::kView)
    out.views.push_back({.path = "/home/me/p", .place = "/home/me/.local/state/cordon/private/1/view-0"});
  return policy;
}

const step::PrivateOverlay& only_view(const plan::Plan& plan) {
  static step::PrivateOverlay kept;
  const auto views = steps_of<step::PrivateOverlay>(plan);
  EXPECT_EQ(views.size(), 1U);
  kept = views.empty() ? step::PrivateOverlay{} : views.front();
  return kept;
}

std::uint64_t landlock_access(const plan::Plan& plan, std::string_view target) {
  std::uint64_t out = 0;
  for (const step::Landlock& landlock : steps_of<step::Landlock>(plan)) {
    for (const step::LandlockRule& rule : landlock.rules) {
      if (rule.target == target) out |= rule.access;
    }
  }
  return out;
}

TEST(Command, ShowsItsWorkspaceThroughALayerOfItsOwn) {
  FakeHost host = scene();
  const plan::Plan plan = must_plan(host.plan(command(policy::WorkspaceMode::kView)));
  const step::PrivateOverlay& view = only_view(plan);
  EXPECT_EQ(view.source, "/home/me/p");
  EXPECT_EQ(view.target, "/home/me/p");
  EXPECT_EQ(view.place, "/home/me/.local/state/cordon/private/1/view-0");
  EXPECT_FALSE(view.attributes.noexec);
  EXPECT_TRUE(view.attributes.nosuid);
  EXPECT_FALSE(bind_at(plan, "/home/me/p"));
  EXPECT_EQ(landlock_access(plan, "/home/me/p") & (kLandlockWrite | kLandlockExecute),
            kLandlockWrite | kLandlockExecute);
  EXPECT_EQ(steps_of<step::Execute>(plan).front().working_directory, "/home/me/p");
}

TEST(Command, WritesNothingOfTheHostInAView) {
  FakeHost host = scene();
  const plan::Plan plan = must_plan(host.plan(command(policy::WorkspaceMode::kView)));
  for (const step::Bind& bind : steps_of<step::Bind>(plan)) {
    const bool is_own = bind.source.starts_with("/home/me/.local/state/cordon/");
    EXPECT_TRUE(bind.attributes.read_only || is_own) << bind.source;
  }
  EXPECT_TRUE(steps_of<step::StubOverlay>(plan).empty());
  EXPECT_TRUE(steps_of<step::HoldPoint>(plan).empty());
}

TEST(Command, HasAnEmptyHomeThatItMayExecuteFrom) {
  FakeHost host = scene();
  const plan::Plan plan = must_plan(host.plan(command(policy::WorkspaceMode::kView)));
  const auto homes = steps_of<step::MountTmpfs>(plan);
  ASSERT_EQ(homes.size(), 1U);
  EXPECT_EQ(homes.front().target, "/home/me");
  EXPECT_FALSE(homes.front().attributes.noexec);
  const auto home = place_of<step::MountTmpfs>(plan, [](const auto&) { return true; });
  EXPECT_LT(home, first<step::PrivateOverlay>(plan)) << "the workspace lands in it";
  EXPECT_NE(landlock_access(plan, "/home/me") & kLandlockWrite, 0U);
  const auto tmp = bind_at(plan, "/tmp");
  ASSERT_TRUE(tmp);
  EXPECT_EQ(tmp->source, "/home/me/.local/state/cordon/private/1/tmp");
  EXPECT_FALSE(tmp->attributes.noexec);
}

TEST(Command, HidesWhatIsDeniedInAView) {
  FakeHost host = scene();
  policy::Policy policy = command(policy::WorkspaceMode::kView);
  policy.deny.push_back({.written = ".env", .path = "/home/me/p/.env", .at = {.span = {}, .source = ".env files"}});
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_THAT(targets<step::Mask>(plan), Contains("/home/me/p/.env"));
  EXPECT_LT(first<step::PrivateOverlay>(plan),
            place_of<step::Mask>(plan, [](const step::Mask& mask) { return mask.target == "/home/me/p/.env"; }));
  EXPECT_NE(landlock_access(plan, "/home/me/p") & kLandlockWrite, 0U) << "it is not split entry by entry";
}

TEST(Command, WritesItsWorkspaceItselfWithoutExecutingFromIt) {
  FakeHost host = scene();
  const plan::Plan plan = must_plan(host.plan(command(policy::WorkspaceMode::kWrite)));
  const auto overlays = steps_of<step::StubOverlay>(plan);
  const auto bind = bind_at(plan, "/home/me/p");
  ASSERT_TRUE(bind || !overlays.empty());
  EXPECT_TRUE(bind ? bind->attributes.noexec : overlays.front().attributes.noexec);
  EXPECT_EQ(landlock_access(plan, "/home/me/p") & kLandlockExecute, 0U);
  EXPECT_NE(landlock_access(plan, "/home/me/p") & kLandlockWrite, 0U);
  EXPECT_THAT(targets<step::Pin>(plan), Contains("/home/me/p/.git/hooks")) << "shields hold";
}

TEST(Command, KeepsSourcesReadOnlyWhereTheyAreLive) {
  FakeHost host = scene();
  host.directory("/home/me/p/dist", 1000);
  policy::Policy policy = command(policy::WorkspaceMode::kLive);
  policy.write.push_back({.written = "dist", .path = "/home/me/p/dist", .at = {.span = {}, .source = "profile"}});
  const plan::Plan plan = must_plan(host.plan(policy));
  const auto sources = bind_at(plan, "/home/me/p");
  ASSERT_TRUE(sources);
  EXPECT_TRUE(sources->attributes.read_only);
  const auto dist = bind_at(plan, "/home/me/p/dist");
  ASSERT_TRUE(dist);
  EXPECT_FALSE(dist->attributes.read_only);
  EXPECT_TRUE(dist->attributes.noexec);
}

TEST(Command, PutsACacheOfItsOwnWhereTheToolLooksForIt) {
  FakeHost host = scene();
  policy::Policy policy = command(policy::WorkspaceMode::kView);
  policy.command->places.push_back({.source = "/home/me/.local/state/cordon/projects/2/go-build",
                                    .target = "/home/me/.cache/go-build",
                                    .reason = "profile go: caches"});
  policy.read.push_back({.written = "~/.npm", .path = "/home/me/.npm", .at = {.span = {}, .source = "profile"}});
  policy.command->views.push_back({.path = "/home/me/.npm", .place = "/home/me/.local/state/cordon/private/1/view-1"});
  const plan::Plan plan = must_plan(host.plan(policy));
  const auto cache = bind_at(plan, "/home/me/.cache/go-build");
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->source, "/home/me/.local/state/cordon/projects/2/go-build");
  EXPECT_FALSE(cache->attributes.read_only);
  EXPECT_FALSE(cache->attributes.noexec);
  EXPECT_NE(landlock_access(plan, "/home/me/.cache/go-build") & kLandlockExecute, 0U);
  const auto views = steps_of<step::PrivateOverlay>(plan);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_THAT((std::vector{views[0].target, views[1].target}), Contains("/home/me/.npm"));
}

TEST(Command, HoldsShieldsInAGrantThatTheCallerMadeByHand) {
  FakeHost host = scene();
  policy::Policy policy = command(policy::WorkspaceMode::kView);
  policy.read.push_back({.written = "~/.ssh/id_ed25519",
                         .path = "/home/me/.ssh/id_ed25519",
                         .at = {.span = {}, .source = "--allow-read"}});
  const plan::Refusal refusal = must_refuse(host.plan(policy));
  EXPECT_EQ(refusal.items.front().code, "grant-inside-shield");
}

TEST(Command, RefusesADirectoryOfItsOwnThatIsALinkOrGone) {
  for (const bool link : {false, true}) {
    FakeHost host = scene();
    host.remove("/home/me/.local/state/cordon/private/1/view-0");
    if (link) host.link("/home/me/.local/state/cordon/private/1/view-0", "/home/me/p", 1000);
    const plan::Refusal refusal = must_refuse(host.plan(command(policy::WorkspaceMode::kView)));
    EXPECT_THAT(refusal.items.front().message, HasSubstr("view-0"));
  }
}

TEST(Command, RunsAsTheOwnerOfTheWorkspace) {
  FakeHost host = scene();
  host.facts.uid = 0;
  host.facts.gid = 0;
  const plan::Plan plan = must_plan(host.plan(command(policy::WorkspaceMode::kView)));
  const auto as = steps_of<step::RunAs>(plan);
  ASSERT_EQ(as.size(), 1U);
  EXPECT_EQ(as.front().uid, 1000U);
}

TEST(Command, ShowsAMachinesSettingsOnlyWhereAnybodyMayReadThem) {
  FakeHost host = scene();
  host.file("/etc/npmrc", "registry=…", 0, 0644);
  host.file("/etc/secretrc", "key", 0, 0600);
  policy::Policy policy = command(policy::WorkspaceMode::kView);
  policy.command->base = {"/etc/npmrc", "/etc/secretrc"};
  const plan::Plan plan = must_plan(host.plan(policy));
  EXPECT_TRUE(bind_at(plan, "/etc/npmrc"));
  EXPECT_FALSE(bind_at(plan, "/etc/secretrc"));
}

TEST(Command, FindsTheSettingsThatWereMadeForIt) {
  FakeHost host = scene();
  policy::Policy policy = command(policy::WorkspaceMode::kView);
  policy.command->files = {{.path = "/home/me/.npmrc", .content = "registry=x\n", .reason = "settings"},
                           {.path = "/home/me/p/.npmrc", .content = "never", .reason = "settings"}};
  const plan::Plan plan = must_plan(host.plan(policy));
  const auto made = targets<step::MakeFile>(plan);
  EXPECT_THAT(made, Contains("/home/me/.npmrc"));
  EXPECT_THAT(made, Not(Contains("/home/me/p/.npmrc"))) << "the workspace shows there";
  EXPECT_NE(landlock_access(plan, "/home/me/.npmrc"), 0U);
}

}  // namespace
}  // namespace cordon::planner
