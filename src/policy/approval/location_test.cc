#include "policy/approval/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace cordon::policy::approval {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Caller kAlice{.uid = 1000, .gid = 1000};
constexpr uid_t kBob = 1001;

AccountFiles host() {
  return {.nsswitch = "passwd: files\ngroup: files\n",
          .passwd = "root:x:0:0::/:/\nalice:x:1000:1000::/:/\nbob:x:1001:1001::/:/\n",
          .group = "alice:x:1000:\nteam:x:2000:alice,bob\n"};
}

WalkStep directory(const std::string& path, uid_t owner, std::uint32_t mode, gid_t group = 1000) {
  WalkStep step;
  step.path = path;
  step.facts = {.id = {.inode = 1, .type = S_IFDIR}, .owner = owner, .group = group, .mode = mode, .links = 2};
  step.acl.owning_group_write = (mode & S_IWGRP) != 0;
  return step;
}

WalkStep link(const std::string& path, uid_t owner, const WalkStep& holder) {
  WalkStep step;
  step.kind = WalkStep::Kind::kLink;
  step.path = path;
  step.target = "elsewhere";
  step.facts = {.id = {.inode = 2, .type = S_IFLNK}, .owner = owner, .mode = 0777, .links = 1};
  step.holder = holder.facts;
  step.holder_acl = holder.acl;
  return step;
}

ManifestFile sound() {
  ManifestFile manifest;
  manifest.real_path = manifest.located = "/home/alice/m.yaml";
  manifest.facts = {.id = {.inode = 9, .type = S_IFREG}, .owner = 1000, .group = 1000, .mode = 0644, .links = 1};
  manifest.walk = {directory("/", 0, 0755, 0), directory("/home", 0, 0755, 0), directory("/home/alice", 1000, 0700)};
  return manifest;
}

std::vector<Finding> judge(const ManifestFile& manifest) { return judge_location(manifest, kAlice, host()); }

/// The codes of the findings, fatal ones with a '!'.
std::vector<std::string> codes(const ManifestFile& manifest) {
  std::vector<std::string> out;
  for (const Finding& finding : judge(manifest)) out.push_back(finding.code + (finding.fatal ? "!" : ""));
  return out;
}

std::vector<std::string> codes_with(const WalkStep& step) {
  ManifestFile manifest = sound();
  manifest.walk.push_back(step);
  return codes(manifest);
}

AclFacts acl_of(std::vector<AclWriter> writers) {
  return {.state = AclFacts::State::kExtended, .writers = std::move(writers), .owning_group_write = false};
}

TEST(Location, OfOnesOwnUnderRootsDirectoriesHasNoFindings) { EXPECT_THAT(codes(sound()), IsEmpty()); }

TEST(Location, ThatOthersMayWriteInIsFatalUnlessSticky) {
  EXPECT_THAT(codes_with(directory("/d", 1000, 0757)), ElementsAre("directory-world-writable!"));
  EXPECT_THAT(codes_with(directory("/d", 1000, 01777)), IsEmpty());
  EXPECT_THAT(codes_with(directory("/d", 0, 0757)), ElementsAre("directory-world-writable!"));
}

TEST(Location, OfASharedGroupIsFatalOfAPrivateOneSilentElseNoted) {
  EXPECT_THAT(codes_with(directory("/d", 1000, 0770, 2000)), ElementsAre("directory-group-shared!"));
  EXPECT_THAT(codes_with(directory("/d", 1000, 0770, 1000)), IsEmpty());
  EXPECT_THAT(codes_with(directory("/d", 1000, 0770, 4711)), ElementsAre("directory-group-unknown"));
  EXPECT_THAT(codes_with(directory("/d", 1000, 01770, 2000)), IsEmpty());
}

TEST(Location, ThatIsSetUpForSharingIsFatalWhoeverIsInTheGroup) {
  EXPECT_THAT(codes_with(directory("/d", 1000, 02770, 1000)), ElementsAre("directory-group-shared!"));
  EXPECT_THAT(codes_with(directory("/d", 1000, 02750, 1000)), IsEmpty());
}

TEST(Location, OfAnotherUserIsFatalOfRootNot) {
  EXPECT_THAT(codes_with(directory("/d", kBob, 0755)), ElementsAre("directory-foreign-owner!"));
  EXPECT_THAT(codes_with(directory("/d", kBob, 01777)), ElementsAre("directory-foreign-owner!"));
  EXPECT_THAT(codes_with(directory("/d", 0, 0755)), IsEmpty());
}

TEST(Location, WhoseAclNamesOthersWithWriteIsFatal) {
  WalkStep named = directory("/d", 1000, 0775);
  named.acl = acl_of({{AclWriter::Kind::kUser, kBob}});
  EXPECT_THAT(codes_with(named), ElementsAre("directory-acl!"));
  named.acl = acl_of({{AclWriter::Kind::kGroup, 1000}});
  EXPECT_THAT(codes_with(named), ElementsAre("directory-acl!"));
  named.facts.mode |= S_ISVTX;
  EXPECT_THAT(codes_with(named), IsEmpty());
}

TEST(Location, WhoseAclNamesOnlyTheCallerAndRootIsSilent) {
  // With an ACL the group bits of the mode are its mask: 0775 alone does not mean that the group may write.
  WalkStep named = directory("/d", 1000, 0775, 2000);
  named.acl = acl_of({{AclWriter::Kind::kUser, 1000}, {AclWriter::Kind::kUser, 0}});
  EXPECT_THAT(codes_with(named), IsEmpty());
  named.acl.owning_group_write = true;
  EXPECT_THAT(codes_with(named), ElementsAre("directory-group-shared!"));
}

TEST(Location, WhoseAclCannotBeReadIsFatal) {
  WalkStep unreadable = directory("/d", 1000, 0755);
  unreadable.acl = {.state = AclFacts::State::kUnreadable, .code = EIO, .writers = {}};
  EXPECT_THAT(codes_with(unreadable), ElementsAre("location-unreadable!"));
}

TEST(Location, ReachedByAnotherUsersLinkInAWritableDirectoryIsFatalEvenIfSticky) {
  EXPECT_THAT(codes_with(link("/tmp/l", kBob, directory("/tmp", 0, 01777))), ElementsAre("link-foreign-owner!"));
  EXPECT_THAT(codes_with(link("/tmp/l", 1000, directory("/tmp", 0, 01777))), IsEmpty());
  EXPECT_THAT(codes_with(link("/tmp/l", 0, directory("/tmp", 0, 01777))), IsEmpty());
  EXPECT_THAT(codes_with(link("/srv/l", kBob, directory("/srv", 0, 0755))), IsEmpty());
  EXPECT_THAT(codes_with(link("/srv/l", kBob, directory("/srv", 0, 0775, 1000))), ElementsAre("link-foreign-owner!"));
  WalkStep holder = directory("/srv", 0, 0755);
  holder.acl = acl_of({{AclWriter::Kind::kUser, kBob}});
  EXPECT_THAT(codes_with(link("/srv/l", kBob, holder)), ElementsAre("link-foreign-owner!"));
}

TEST(Location, OfAFileThatOthersMayWriteIsNotedOfAnotherUserFatal) {
  ManifestFile manifest = sound();
  manifest.facts.mode = 0664;
  EXPECT_THAT(codes(manifest), ElementsAre("file-writable"));
  manifest.facts.mode = 0646;
  EXPECT_THAT(codes(manifest), ElementsAre("file-writable"));
  manifest.facts.owner = kBob;
  EXPECT_THAT(codes(manifest), ElementsAre("file-foreign-owner!", "file-writable"));
  manifest.facts.owner = 0;
  manifest.facts.mode = 0644;
  EXPECT_THAT(codes(manifest), IsEmpty());
}

TEST(Location, ThatTheKernelTellsDifferentlyOrNotAtAllIsFatal) {
  ManifestFile manifest = sound();
  manifest.located = "/home/alice/elsewhere/m.yaml";
  EXPECT_THAT(codes(manifest), ElementsAre("location-moved!"));
  manifest.located = "";
  EXPECT_THAT(codes(manifest), ElementsAre("location-unreadable!"));
  manifest.located = "/home/alice/m.yaml (deleted)";
  manifest.facts.links = 0;
  EXPECT_THAT(codes(manifest), ElementsAre("file-unlinked!"));
}

TEST(Location, IsForeignToRootWhereItIsAUsers) {
  const auto findings = judge_location(sound(), {.uid = 0, .gid = 0}, host());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].code, "directory-foreign-owner");
  EXPECT_EQ(findings[1].code, "file-foreign-owner");
}

TEST(Location, NamesAllTheDirectoriesOfOneOwnerAtOnce) {
  ManifestFile manifest = sound();
  manifest.walk.push_back(directory("/d", kBob, 0755));
  manifest.walk.push_back(directory("/d/e", kBob, 0755));
  manifest.walk.push_back(directory("/d/e/f", kBob, 0755));
  const auto findings = judge(manifest);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message,
            "the directories /d, /d/e, /d/e/f belong to user 1001 (bob), who can replace what is in them");
}

TEST(Findings, NameThePathThePersonAndTheMend) {
  ManifestFile manifest = sound();
  manifest.walk.push_back(directory("/d\n", kBob, 0757));
  const auto findings = judge(manifest);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].path, "/d\n");
  EXPECT_EQ(findings[0].message, "the directory \"/d\\n\" belongs to user 1001 (bob), who can replace what is in it");
  EXPECT_THAT(findings[1].remedy, HasSubstr("chmod o-w \"/d\\n\""));
  EXPECT_TRUE(has_fatal(findings));
  const auto shown = to_diagnostic(findings[0], "m.yaml");
  EXPECT_EQ(shown.severity, base::Severity::kError);
  EXPECT_EQ(shown.at.file, "m.yaml");
  EXPECT_EQ(shown.hint, findings[0].remedy);
}

TEST(Findings, ThatAreNotFatalAreWarnings) {
  ManifestFile manifest = sound();
  manifest.facts.mode = 0664;
  const auto findings = judge(manifest);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_FALSE(has_fatal(findings));
  EXPECT_EQ(to_diagnostic(findings[0], "m.yaml").severity, base::Severity::kWarning);
}

}  // namespace
}  // namespace cordon::policy::approval
