// The findings of location.h on real files: real owners, modes, links and access control lists, walked as the user.
#include <gmock/gmock.h>

#include "policy/approval/location.h"
#include "policy/approval/testing_disk.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::shell;
using ::testing::UnorderedElementsAre;
using testing::Who;

AccountFiles accounts_of(const Who& me) {
  const std::string id = std::to_string(me.gid);
  return {.nsswitch = "passwd: files\ngroup: files\n",
          .passwd = "root:x:0:0::/:/\nme:x:" + std::to_string(me.uid) + ":" + id + "::/:/\nbob:x:60001:60001::/:/\n",
          .group = "me:x:" + id + ":\nteam:x:60010:me,bob\n"};
}

class LocationOnDisk : public testing::DiskOf {
 protected:
  LocationOnDisk() {
    directory("d");
    file("d/m.yaml", "entrypoint: ./x\n");
    give_all_to(me());
  }

  /// The codes of the findings, fatal ones with a '!', as the parameter's user sees them.
  static void expect(const std::string& path, const ::testing::Matcher<std::vector<std::string>>& matcher) {
    as(me(), [&] {
      const auto opened = open_manifest(path);
      ASSERT_TRUE(opened) << opened.error().front().message;
      std::vector<std::string> codes;
      for (const Finding& finding : judge_location(*opened, me().caller(), accounts_of(me()))) {
        codes.push_back(finding.code + (finding.fatal ? "!" : ""));
      }
      EXPECT_THAT(codes, matcher);
    });
  }
  [[nodiscard]] std::string manifest() const { return at("d/m.yaml"); }
  void mode(const std::string& name, mode_t bits) const { ASSERT_EQ(::chmod(at(name).c_str(), bits), 0); }
};
INSTANTIATE_TEST_SUITE_P(As, LocationOnDisk, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(LocationOnDisk, OfOnesOwnBelowTheStickyTmpHasNoFindings) { expect(manifest(), IsEmpty()); }

TEST_P(LocationOnDisk, TellsAWritableFile) {
  mode("d/m.yaml", 0664);
  expect(manifest(), ElementsAre("file-writable"));
  mode("d/m.yaml", 0646);
  expect(manifest(), ElementsAre("file-writable"));
}

TEST_P(LocationOnDisk, TellsAWorldWritableDirectoryUnlessSticky) {
  mode("d", 0757);
  expect(manifest(), ElementsAre("directory-world-writable!"));
  mode("d", 01777);
  expect(manifest(), IsEmpty());
}

TEST_P(LocationOnDisk, TellsAGroupWritableDirectoryByItsMembersAndItsSetgidBit) {
  mode("d", 0770);
  expect(manifest(), IsEmpty());  // the user's own group
  mode("d", 02770);
  expect(manifest(), ElementsAre("directory-group-shared!"));
}

TEST_P(LocationOnDisk, ReadsRealAccessControlLists) {
  const std::string dir = at("d");
  shell("setfacl -m u:60001:rwx " + dir);
  expect(manifest(), ElementsAre("directory-acl!"));
  shell("setfacl -m m::r-x " + dir);  // the mask takes it back
  expect(manifest(), IsEmpty());
  shell("setfacl -b " + dir + " && setfacl -m g:60010:-w- " + dir);
  expect(manifest(), ElementsAre("directory-acl!"));
  shell("setfacl -b " + dir + " && setfacl -m u:60001:r-x,g:60010:r-x " + dir);
  expect(manifest(), IsEmpty());
  shell("setfacl -b " + dir + " && setfacl -m u:" + std::to_string(me().uid) + ":rwx,u:0:rwx " + dir);
  expect(manifest(), IsEmpty());  // 0775 by the mask, yet nobody else may write
  shell("setfacl -b " + dir + " && setfacl -m u:60001:rwx " + dir + " && chmod +t " + dir);
  expect(manifest(), IsEmpty());
}

TEST_P(LocationOnDisk, SaysThatAnAclLetsSomebodyWriteTheFile) {
  shell("setfacl -m u:60001:rw " + manifest());
  expect(manifest(), ElementsAre("file-writable"));
}

TEST_P(LocationOnDisk, JudgesTheDirectoriesBehindALinkAsWell) {
  directory("open");
  file("open/m.yaml", "x");
  link("d/l.yaml", at("open/m.yaml"));
  give_all_to(me());
  mode("open", 0777);
  expect(at("d/l.yaml"), ElementsAre("directory-world-writable!"));
}

TEST_P(LocationOnDisk, JudgesTheDirectoriesAboveTheCurrentOne) {
  directory("d/sub");
  file("d/sub/m.yaml", "x");
  give_all_to(me());
  mode("d", 0777);
  as(me(), [&] {
    ASSERT_EQ(::chdir(at("d/sub").c_str()), 0);
    const auto opened = open_manifest("m.yaml");
    ASSERT_TRUE(opened);
    const auto findings = judge_location(*opened, me().caller(), accounts_of(me()));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].path, at("d"));
  });
}

TEST_P(LocationOnDisk, TellsAFileThatWasRemovedOrMovedWhileItWasOpen) {
  as(me(), [&] {
    auto opened = open_manifest(manifest());
    ASSERT_TRUE(opened);
    // What open_manifest() would have seen, had it happened between its walk and its look at /proc.
    ASSERT_EQ(::rename(at("d").c_str(), at("moved").c_str()), 0);
    opened->located = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(opened->file.get()));
    auto findings = judge_location(*opened, me().caller(), accounts_of(me()));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "location-moved");
    ASSERT_EQ(::unlink(at("moved/m.yaml").c_str()), 0);
    opened->facts.links = 0;
    findings = judge_location(*opened, me().caller(), accounts_of(me()));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "file-unlinked");
  });
}

/// What only root can set up: things of somebody else's, seen by the ordinary user.
class LocationOfOthers : public testing::Disk, public ::testing::WithParamInterface<Who> {
 protected:
  LocationOfOthers() : me_(testing::user()), bob_(testing::other()) {
    directory("d");
    file("d/m.yaml", "entrypoint: ./x\n");
    give_all_to(me_);
  }
  void expect(const std::string& path, const ::testing::Matcher<std::vector<std::string>>& matcher) const {
    as(me_, [&] {
      const auto opened = open_manifest(path);
      ASSERT_TRUE(opened) << opened.error().front().message;
      std::vector<std::string> codes;
      for (const Finding& finding : judge_location(*opened, me_.caller(), read_account_files())) {
        codes.push_back(finding.code + (finding.fatal ? "!" : ""));
      }
      EXPECT_THAT(codes, matcher);
    });
  }
  void give(const std::string& name, const Who& who) const {
    ASSERT_EQ(::lchown(at(name).c_str(), who.uid, who.gid), 0);
  }
  void mode(const std::string& name, mode_t bits) const { ASSERT_EQ(::chmod(at(name).c_str(), bits), 0); }

  Who me_, bob_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LocationOfOthers);
INSTANTIATE_TEST_SUITE_P(SetUpBy, LocationOfOthers, ::testing::ValuesIn(testing::root_only()), testing::name_of);

TEST_P(LocationOfOthers, IsFatalForAForeignFileAndNotForRoots) {
  give("d/m.yaml", bob_);
  expect(at("d/m.yaml"), ElementsAre("file-foreign-owner!"));
  give("d/m.yaml", testing::root());
  expect(at("d/m.yaml"), IsEmpty());
}

TEST_P(LocationOfOthers, IsFatalForAForeignDirectoryAndNotForRoots) {
  give("d", bob_);
  expect(at("d/m.yaml"), ElementsAre("directory-foreign-owner!"));
  give("d", testing::root());
  expect(at("d/m.yaml"), IsEmpty());
}

TEST_P(LocationOfOthers, IsFatalForAForeignGroupThatMayWrite) {
  ASSERT_EQ(::lchown(at("d").c_str(), me_.uid, bob_.gid), 0);
  mode("d", 0770);
  expect(at("d/m.yaml"), ElementsAre("directory-group-shared!"));  // bob, by this host's own account files
  mode("d", 0750);
  expect(at("d/m.yaml"), IsEmpty());
}

TEST_P(LocationOfOthers, IsFatalForAPlantedLinkInAStickyDirectory) {
  directory("shared", 01777);
  give("shared", testing::root());
  mode("shared", 01777);
  link("shared/m.yaml", at("d/m.yaml"));
  give("shared/m.yaml", bob_);
  // With fs.protected_symlinks the kernel would refuse to follow it at all: we expand it by hand, and say whose it is.
  expect(at("shared/m.yaml"), ElementsAre("link-foreign-owner!"));
  give("shared/m.yaml", me_);
  expect(at("shared/m.yaml"), IsEmpty());
}

TEST_P(LocationOfOthers, IsFatalForAPlantedLinkInTheMiddleOfThePath) {
  directory("open", 0777);
  link("open/way", at("d"));
  give("open/way", bob_);
  expect(at("open/way/m.yaml"), UnorderedElementsAre("directory-world-writable!", "link-foreign-owner!"));
}

TEST_P(LocationOfOthers, LeavesAForeignLinkAloneThatNobodyCanReplace) {
  directory("closed", 0755);
  link("closed/way", at("d"));
  give("closed/way", bob_);
  give("closed", testing::root());
  expect(at("closed/way/m.yaml"), IsEmpty());
}

}  // namespace
}  // namespace cordon::policy::approval
