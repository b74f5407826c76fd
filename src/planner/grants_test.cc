#include "planner/grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/fake_host_test.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

namespace step = plan::step;
using testing::bind_at;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::execute_of;
using testing::FakeHost;
using testing::has_mask;
using testing::has_pin;
using ::testing::HasSubstr;
using testing::must_plan;
using testing::Node;
using ::testing::Not;
using testing::note_codes;
using testing::place_of;
using testing::PolicyMaker;
using testing::steps_of;
using testing::targets;
using testing::with_script;

constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

TEST(Base, AMergedUsrKeepsItsLinks) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/usr")->attributes.read_only);
  EXPECT_FALSE(bind_at(plan, "/usr/bin"));
  EXPECT_FALSE(bind_at(plan, "/bin"));
  EXPECT_THAT(steps_of<step::MakeSymlink>(plan), Contains(step::MakeSymlink{.target = "/bin", .text = "usr/bin"}));
}

TEST(Base, AnUnmergedUsrKeepsItsDirectories) {
  FakeHost host = with_script("#!/bin/sh");
  for (const char* path : {"/bin", "/lib", "/lib64", "/sbin"}) host.remove(path);
  host.program("/bin/sh", "ELF:" + std::string(kLoader));
  host.file(kLoader, "ELF", 0, 0755);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/bin"));
  EXPECT_TRUE(bind_at(plan, "/lib64"));
  EXPECT_THAT(targets<step::MakeSymlink>(plan), Not(Contains("/bin")));
}

TEST(Base, OfEtcOnlyTheListAndOnlyWhatAnybodyMayRead) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.at("/etc/timezone").mode = 0640;
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_TRUE(bind_at(plan, "/etc/ld.so.cache"));
  EXPECT_TRUE(bind_at(plan, "/etc/ssl/certs"));
  for (const char* never : {"/etc", "/etc/shadow", "/etc/passwd", "/etc/timezone", "/etc/ssl"}) {
    EXPECT_FALSE(bind_at(plan, never)) << never;
  }
  EXPECT_THAT(steps_of<step::MakeSymlink>(plan),
              Contains(step::MakeSymlink{.target = "/etc/localtime", .text = "/usr/share/zoneinfo/UTC"}));
}

TEST(Base, OnlyWhatAnybodyMayReadOutsideOfEtcToo) {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/lib32", 0, 0750);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").policy));
  EXPECT_FALSE(bind_at(plan, "/lib32"));
  host.at("/lib32").mode = 0755;
  host.facts.paths.clear();
  EXPECT_TRUE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/lib32"));
}

FakeHost with_local_settings() {
  FakeHost host = with_script("#!/bin/sh", 0);
  host.file("/usr/local/etc/x.key", "key", 0, 0600);
  host.file("/usr/local/etc/app/settings", "text");
  return host;
}

TEST(Base, TheHostsOwnSettingsAreHidden) {
  FakeHost host = with_local_settings();
  EXPECT_TRUE(has_mask(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/usr/local/etc"));
  FakeHost plain = with_script("#!/bin/sh", 0);
  EXPECT_FALSE(has_mask(must_plan(plain.plan(PolicyMaker("/home/me/p/run").policy)), "/usr/local/etc"));
}

TEST(Base, TheHostsOwnSettingsAreShownAsFarAsALineNamesThem) {
  for (const char* read : {"/usr/local/etc", "/usr/local", "/"}) {
    FakeHost host = with_local_settings();
    EXPECT_FALSE(has_mask(must_plan(host.plan(PolicyMaker("/home/me/p/run").read(read).policy)), "/usr/local/etc"))
        << read;
  }
  FakeHost host = with_local_settings();
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/usr/local/etc/app/settings").policy));
  EXPECT_FALSE(has_mask(plan, "/usr/local/etc"));
  EXPECT_FALSE(has_mask(plan, "/usr/local/etc/app"));
  EXPECT_TRUE(has_mask(plan, "/usr/local/etc/x.key"));
}

TEST(Base, WhatJavaReadsIsShownAndWhatLetsOthersInIsNot) {
  const std::string settings = "/etc/java-17-openjdk", management = settings + "/management";
  for (const std::string& read : {std::string("/usr/share"), management, std::string("/etc")}) {
    FakeHost host = with_script("#!/bin/sh", 0);
    host.file(settings + "/security/java.security", "text");
    host.file(management + "/jmxremote.password", "secret", 0, 0600);
    const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read(read).policy));
    EXPECT_TRUE(bind_at(plan, settings) || bind_at(plan, "/etc")) << read;
    EXPECT_EQ(has_mask(plan, management), read == "/usr/share") << read;
  }
}

TEST(Base, NamesAreSynthesisedAndNoNameCanForgeALine) {
  FakeHost host = with_script("#!/bin/sh");
  const auto passwd = [&] {
    for (const step::MakeFile& file :
         steps_of<step::MakeFile>(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)))) {
      if (file.target == "/etc/passwd") return file.content;
    }
    return std::string();
  };
  EXPECT_THAT(passwd(), HasSubstr("me:x:1000:1000::/tmp:/bin/sh\n"));
  for (plan::Account& account : host.facts.accounts) account.name = "x:0:0\nroot2";
  EXPECT_THAT(passwd(), HasSubstr("user:x:1000:1000::/tmp:/bin/sh\n"));
  EXPECT_THAT(passwd(), Not(HasSubstr("root2")));
}

TEST(Base, AGrantOfEtcShowsTheHostsOwnFiles) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/etc").policy));
  EXPECT_TRUE(bind_at(plan, "/etc"));
  EXPECT_FALSE(bind_at(plan, "/etc/ld.so.cache"));
  EXPECT_THAT(targets<step::MakeFile>(plan), Not(Contains("/etc/passwd")));
}

TEST(Grants, ASpellingThroughLinksWorksAndTheRealPathIsMounted) {
  FakeHost host = FakeHost::debian();
  host.directory("/data/me", 1000);
  host.remove("/home/me");
  host.link("/home/me", "/data/me");
  host.program("/data/me/run", "#!/bin/sh\n", 1000);
  host.directory("/data/me/real", 1000);
  host.link("/data/me/l", "real", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/run").read("/home/me/l").policy));
  EXPECT_TRUE(bind_at(plan, "/data/me/real"));
  EXPECT_THAT(targets<step::MakeSymlink>(plan), ::testing::IsSupersetOf({"/home/me", "/data/me/l"}));
  EXPECT_EQ(execute_of(plan).argv.at(1), "/home/me/run") << "as spelled";
  EXPECT_EQ(execute_of(plan).working_directory, "/data/me");
}

TEST(Grants, AMissingReadIsANoteAndAMissingWriteIsMade) {
  FakeHost host = with_script("#!/bin/sh");
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/none").write("/home/me/a/b").policy));
  EXPECT_THAT(note_codes(plan), ::testing::IsSupersetOf({"missing-read", "makes-directory"}));
  const auto bind = bind_at(plan, "/home/me/a/b");
  ASSERT_TRUE(bind);
  EXPECT_THAT(bind->create, ElementsAre("a", "b"));
  EXPECT_EQ(bind->id, host.facts.paths.at("/home/me/a/b").id) << "the deepest directory that exists";
  EXPECT_FALSE(bind->create_owner_uid);
}

TEST(Grants, ADirectoryThatIsMadeUnderTheNameOfAFileIsSaid) {
  FakeHost host = with_script("#!/bin/sh");
  const auto codes = [&](const char* path) {
    return note_codes(must_plan(host.plan(PolicyMaker("/home/me/p/run").write(path).policy)));
  };
  EXPECT_THAT(codes("/home/me/out.txt"), Contains("write-looks-like-file"));
  EXPECT_THAT(codes("/home/me/out"), Not(Contains("write-looks-like-file")));
}

TEST(Grants, ANameWithAPatternInItThatExistsIsAName) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/[id]", 1000);
  EXPECT_TRUE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/[id]/out").policy)),
                      "/home/me/[id]/out"));
}

TEST(Grants, WhatCannotBeLookedAtIsNamedWithTheDirectoryThatForbidsIt) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/shut", 0, 0700);
  const auto verdict = host.plan(PolicyMaker("/home/me/p/run").read("/shut/x").policy);
  EXPECT_THAT(testing::must_refuse(verdict).items.front().message, HasSubstr("in /shut you may not look at x"));
}

TEST(Grants, ASingleFileMayBeWritten) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/log", "x", 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/log").policy));
  EXPECT_FALSE(bind_at(plan, "/home/me/log")->attributes.read_only);
  EXPECT_THAT(targets<step::MakeFile>(plan), Contains("/home/me/log")) << "its mount point";
}

TEST(Grants, WhatIsHeldBelowAWriteGrantIsPinned) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/p/a/b/secret", "x", 1000);
  host.directory("/home/me/p/c/ro", 1000);
  const plan::Plan plan = must_plan(host.plan(
      PolicyMaker("/home/me/p/run").write("/home/me/p").read("/home/me/p/c/ro").deny("/home/me/p/a/b/secret").policy));
  for (const char* pinned : {"/home/me/p/a", "/home/me/p/a/b", "/home/me/p/c"})
    EXPECT_TRUE(has_pin(plan, pinned)) << pinned;
  EXPECT_TRUE(has_mask(plan, "/home/me/p/a/b/secret"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/c/ro")->attributes.read_only);
  EXPECT_TRUE(bind_at(plan, "/home/me/p/run")->attributes.read_only) << "the entrypoint too";
  const auto pin = place_of<step::Pin>(plan, [](const step::Pin& act) { return act.target == "/home/me/p/a/b"; });
  const auto mask = place_of<step::Mask>(plan, [](const step::Mask&) { return true; });
  EXPECT_LT(pin, mask);
}

TEST(Grants, TheManifestIsHeldReadOnlyWhereItCouldBeWritten) {
  FakeHost host = with_script("#!/bin/sh");
  host.file("/home/me/p/run.manifest.yaml", "x", 1000);
  EXPECT_FALSE(bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").policy)), "/home/me/p/run.manifest.yaml"));
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p").policy));
  ASSERT_TRUE(bind_at(plan, "/home/me/p/run.manifest.yaml"));
  EXPECT_TRUE(bind_at(plan, "/home/me/p/run.manifest.yaml")->attributes.read_only);
}

TEST(Grants, ADeniedPathThatNothingShowsNeedsNoMask) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/srv/d/x", 0);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").deny("/srv/d").deny("/usr/bin/perl").deny("/srv/none").policy));
  EXPECT_FALSE(has_mask(plan, "/srv/d"));
  EXPECT_TRUE(has_mask(plan, "/usr/bin/perl"));
  EXPECT_THAT(note_codes(plan), Contains("deny-missing"));
}

TEST(Grants, ReadOfTheRootIsItsChildrenWithoutWhatIsOurs) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/mnt", Node::Kind::kDeadMount);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/").policy));
  for (const char* shown : {"/etc", "/home", "/opt", "/srv", "/usr", "/var"})
    EXPECT_TRUE(bind_at(plan, shown)) << shown;
  for (const char* ours : {"/", "/proc", "/sys", "/dev", "/tmp", "/mnt", "/bin"})
    EXPECT_FALSE(bind_at(plan, ours)) << ours;
  EXPECT_THAT(note_codes(plan), Contains("left-out"));
}

TEST(Grants, TheSandboxesOwnDeviceNodesNeedNoGrant) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/dev/null", Node::Kind::kDevice);
  const plan::Plan plan =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/dev/null").write("/dev/null").policy));
  EXPECT_THAT(note_codes(plan), ElementsAre("already-there", "already-there"));
}

TEST(Grants, SomebodyElsesLinkCountsOnlyIfTheTargetIsNotTheirs) {
  // Root runs what belongs to "me" as "me": links of theirs are no other user's.
  FakeHost host = with_script("#!/bin/sh", 0);
  host.directory("/home/me/p/real", 1000);
  host.link("/home/me/p/l", "real", 1000);
  EXPECT_TRUE(
      bind_at(must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/l").policy)), "/home/me/p/real"));
  PolicyMaker kept("/home/me/p/run");
  kept.read("/home/me/p/l").policy.posture.as_root = true;
  EXPECT_EQ(testing::must_refuse(host.plan(kept.policy)).items.at(0).code, "path-planted");
}

TEST(Grants, ALinkThatAnEarlierRunCouldHaveLeftLeadsNowhere) {
  FakeHost host = with_script("#!/bin/sh");
  host.directory("/home/me/p/out", 1000);
  host.directory("/home/me/p/out/inside", 1000);
  host.directory("/home/me/letters", 1000);
  host.link("/home/me/p/out/data", "/home/me/letters", 1000);
  host.link("/home/me/p/out/near", "inside", 1000);
  const auto refusal_of = [&](const PolicyMaker& maker) {
    return testing::must_refuse(host.plan(maker.policy)).items.at(0).code;
  };
  EXPECT_EQ(refusal_of(PolicyMaker("/home/me/p/run").write("/home/me/p/out").read("/home/me/p/out/data")),
            "path-planted");
  EXPECT_EQ(refusal_of(PolicyMaker("/home/me/p/run").write("/home/me/p/out").write("/home/me/p/out/data")),
            "path-planted");
  // Without the write grant it is the user's own link, and one that stays inside gains nothing.
  must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/home/me/p/out/data").policy));
  must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/p/out").read("/home/me/p/out/near").policy));
}

TEST(Sockets, ABroadGrantHidesTheOnesThatNoLineNames) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/run/docker.sock", Node::Kind::kSocket);
  host.special("/run/user/1000/bus", Node::Kind::kSocket, 1000);
  host.file("/run/snapd.socket", "no socket");
  const plan::Plan hidden = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/run").policy));
  EXPECT_TRUE(has_mask(hidden, "/run/docker.sock"));
  EXPECT_TRUE(has_mask(hidden, "/run/user/1000/bus"));
  EXPECT_FALSE(has_mask(hidden, "/run/snapd.socket"));
  EXPECT_THAT(note_codes(hidden), Contains("socket-hidden"));
  const plan::Plan named =
      must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/run").read("/run/docker.sock").policy));
  EXPECT_FALSE(has_mask(named, "/run/docker.sock"));
  EXPECT_TRUE(has_mask(named, "/run/user/1000/bus"));
}

TEST(Sockets, ANarrowGrantAsksForNone) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/run/docker.sock", Node::Kind::kSocket);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").read("/srv").policy));
  EXPECT_FALSE(has_mask(plan, "/run/docker.sock"));
  EXPECT_FALSE(host.facts.paths.contains("/run/docker.sock"));
}

TEST(Sockets, BelowAWriteGrantTheChainIsPinnedToo) {
  FakeHost host = with_script("#!/bin/sh");
  host.special("/home/me/.colima/default/docker.sock", Node::Kind::kSocket, 1000);
  const plan::Plan plan = must_plan(host.plan(PolicyMaker("/home/me/p/run").write("/home/me/.colima").policy));
  EXPECT_TRUE(has_mask(plan, "/home/me/.colima/default/docker.sock"));
  EXPECT_TRUE(has_pin(plan, "/home/me/.colima/default"));
}

}  // namespace
}  // namespace cordon::planner
