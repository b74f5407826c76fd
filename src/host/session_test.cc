#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "host/host.h"
#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::Availability;
using plan::Feature;
using plan::PathState;
using testing::as_each_user;
using testing::caller;
using testing::in_forked;
using testing::in_user_namespace;
using testing::is_root;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing::TempTree;
using ::testing::UnorderedElementsAre;

plan::Questions paths(std::vector<std::string> all) {
  plan::Questions questions;
  questions.paths = std::move(all);
  return questions;
}

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

TEST(Session, AnswersAsAbsentWhatARunThatGoesOnHasMade) {
  as_each_user([] {
    const TempTree tree;
    tree.dir("project");
    tree.dir("project/.git");
    const std::string point = tree.path("project/.git");
    plan::HostFacts seen;
    Session before(caller({}), {});
    ASSERT_TRUE(before.answer(paths({point}), seen));
    const plan::PathFact there = seen.paths.at(point);
    EXPECT_EQ(there.state, PathState::kPresent) << "the control";
    EXPECT_NE(there.mount, 0U);

    Session session(caller({}), {});
    session.take_as_absent({{.path = point, .id = there.id}});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer(paths({point, point + "/hooks", tree.path("project")}), facts));
    EXPECT_EQ(facts.paths.at(point).state, PathState::kAbsent);
    EXPECT_EQ(facts.paths.at(point).first_absent, point);
    EXPECT_EQ(facts.paths.at(point).id, facts.paths.at(tree.path("project")).id);
    EXPECT_EQ(facts.paths.at(point + "/hooks").first_absent, point);
  });
}

TEST(Session, IntroducesHostAndCaller) {
  as_each_user([] {
    Session session(caller({{"HOME", "/home/me"}, {"PATH", "/usr/bin:/bin"}, {"SUDO_UID", "1234"}}), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer({}, facts));
    EXPECT_THAT(facts.kernel_release, Not(IsEmpty()));
    EXPECT_THAT(facts.machine, Not(IsEmpty()));
    EXPECT_THAT(facts.boot_id, Not(IsEmpty()));
    EXPECT_EQ(facts.uid, ::geteuid());
    EXPECT_EQ(facts.gid, ::getegid());
    EXPECT_EQ(facts.home, "/home/me");
    EXPECT_EQ(facts.search_path, "/usr/bin:/bin");
    EXPECT_EQ(facts.working_directory, "/");
    EXPECT_EQ(facts.sudo_uid.has_value(), ::geteuid() == 0) << "an ordinary user's variable proves nothing";
    EXPECT_GE(facts.landlock_abi, 1);
    ASSERT_EQ(facts.accounts.size(), 1U);
    EXPECT_EQ(facts.accounts[0].uid, ::geteuid());
    for (const plan::FeatureFact& fact : facts.features) EXPECT_EQ(fact.state, Availability::kUnknown);
    EXPECT_THAT(facts.environment, IsEmpty());
  });
}

TEST(Session, TakesHomeFromTheAccountWhereTheVariableIsNoPath) {
  if (!is_root()) {
    // Whatever the account says, a relative HOME is not taken.
    Session session(caller({{"HOME", "relative"}}), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer({}, facts));
    EXPECT_NE(facts.home, "relative");
    return;
  }
  for (const char* home : {"relative", ""}) {
    Session session(caller({{"HOME", home}}), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer({}, facts));
    EXPECT_EQ(facts.home, "/root");
  }
}

TEST(Session, HandsOutOnlyTheVariablesThatAreAskedForAndSet) {
  Session session(caller({{"TOKEN", "secret"}, {"OTHER", "x"}, {"EMPTY", ""}}), {});
  plan::HostFacts facts;
  plan::Questions questions;
  questions.environment = {"TOKEN", "EMPTY", "UNSET"};
  ASSERT_TRUE(session.answer(questions, facts));
  EXPECT_THAT(facts.environment, UnorderedElementsAre(Pair("TOKEN", "secret"), Pair("EMPTY", "")));
}

TEST(Session, AnswersAccountsOnce) {
  Session session(caller(), {});
  plan::HostFacts facts;
  plan::Questions questions;
  questions.accounts = {0, 987654, 0};
  ASSERT_TRUE(session.answer(questions, facts));
  ASSERT_TRUE(session.answer(questions, facts));
  EXPECT_EQ(std::ranges::count(facts.accounts, 0U, &plan::Account::uid), 1);
  const plan::Account none{.name = "", .uid = 987654, .gid = 987654, .groups = {}, .home = "", .shell = ""};
  EXPECT_THAT(facts.accounts, ::testing::Contains(none));
}

TEST(Session, AnswersPathsProgramsAndDirectoriesInOneGo) {
  const TempTree tree;
  tree.file("tool", "#!/bin/sh\n", 0755);
  tree.link("link", "tool");
  Session session(caller({{"PATH", tree.path()}}), {});
  plan::HostFacts facts;
  plan::Questions questions = paths({tree.path("tool"), tree.path("absent"), tree.path("tool")});
  questions.programs = {"tool", "./tool"};
  questions.directories = {tree.path()};
  questions.working_directory = tree.path();
  ASSERT_TRUE(session.answer(questions, facts));
  EXPECT_EQ(facts.paths.at(tree.path("tool")).state, PathState::kPresent);
  EXPECT_EQ(facts.paths.at(tree.path("absent")).state, PathState::kAbsent);
  EXPECT_EQ(facts.programs.at("tool").hops.size(), 2U);
  EXPECT_EQ(facts.programs.at("./tool").hops.at(0).file.real, tree.path("tool"));
  std::vector<std::string> names;
  for (const plan::PathFact& entry : facts.children.at(tree.path())) names.push_back(entry.asked);
  EXPECT_THAT(names, UnorderedElementsAre(tree.path("tool"), tree.path("link")));
  EXPECT_GE(session.pins().count(), 3U);
  EXPECT_TRUE(session.pins().complete());
}

TEST(Session, AsksNothingTwice) {
  const TempTree tree;
  const std::string file = tree.file("file");
  Session session(caller(), {});
  plan::HostFacts facts;
  ASSERT_TRUE(session.answer(paths({file}), facts));
  facts.paths.at(file).mode = 07777;
  ASSERT_TRUE(session.answer(paths({file}), facts));
  EXPECT_EQ(facts.paths.at(file).mode, 07777U);
}

TEST(Session, ListsTheRootDirectory) {
  Session session(caller(), {});
  plan::HostFacts facts;
  plan::Questions questions;
  questions.directories = {"/"};
  ASSERT_TRUE(session.answer(questions, facts));
  std::vector<std::string> names;
  for (const plan::PathFact& entry : facts.children.at("/")) names.push_back(entry.asked);
  EXPECT_THAT(names, IsSupersetOf({"/usr", "/etc", "/proc"}));
}

base::Error listing_error(const std::string& directory) {
  Session session(caller(), {});
  plan::HostFacts facts;
  plan::Questions questions;
  questions.directories = {directory};
  const auto answered = session.answer(questions, facts);
  EXPECT_THAT(facts.children, answered ? ::testing::SizeIs(1) : ::testing::SizeIs(0));
  return answered ? base::Error{} : answered.error();
}

TEST(Session, GivesNoShortListing) {
  as_each_user([] {
    const TempTree tree;
    tree.dir("closed", 0300);
    tree.file("file");
    EXPECT_EQ(listing_error(tree.path()).code, 0);
    EXPECT_EQ(listing_error(tree.path("absent")).code, ENOENT);
    EXPECT_EQ(listing_error(tree.path("absent")).subject, tree.path("absent"));
    EXPECT_EQ(listing_error(tree.path("file")).code, ENOTDIR);
    EXPECT_EQ(listing_error(tree.path("closed")).code, is_root() ? 0 : EACCES);
  });
}

TEST(Session, GivesNoListingThatIsTooLong) {
  const TempTree tree;
  tree.dir("big");
  in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::mount("tmpfs", tree.path("big").c_str(), "tmpfs", 0, nullptr), 0);
    for (std::size_t i = 0; i <= kMostListed; ++i) {
      ASSERT_EQ(::symlink("x", tree.path("big/" + std::to_string(i)).c_str()), 0);
    }
    const base::Error error = listing_error(tree.path("big"));
    EXPECT_EQ(error.code, E2BIG);
    EXPECT_THAT(error.detail, ::testing::HasSubstr(std::to_string(kMostListed)));
  });
}

TEST(Session, ReleasesItsPinsAndStartsAfresh) {
  const TempTree tree;
  const std::string file = tree.file("file");
  Session session(caller(), {});
  plan::HostFacts facts;
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(session.answer(paths({file}), facts));
  EXPECT_GT(open_descriptors(), before);
  session.pins().release();
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(session.pins().count(), 0U);
  const plan::PathFact first = facts.paths.at(file);
  ASSERT_EQ(::unlink(file.c_str()), 0);
  plan::HostFacts again;
  ASSERT_TRUE(session.answer(paths({file}), again));
  EXPECT_EQ(again.paths.at(file).state, PathState::kAbsent);
  EXPECT_EQ(first.state, PathState::kPresent);
}

TEST(Session, KeepsNoDescriptorWhenItEnds) {
  const TempTree tree;
  const std::size_t before = open_descriptors();
  {
    Session session(caller(), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer(paths({tree.file("file")}), facts));
  }
  EXPECT_EQ(open_descriptors(), before);
}

void limit_descriptors(rlim_t soft, rlim_t hard) {
  const rlimit limit{.rlim_cur = soft, .rlim_max = hard};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(Session, RaisesTheSoftLimitOnceAndSaysFromWhat) {
  in_forked([] {
    const TempTree tree;
    std::vector<std::string> all;
    for (int i = 0; i < 200; ++i) all.push_back(tree.file(std::to_string(i)));
    limit_descriptors(128, 1024);
    Session session(caller(), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer(paths({all[0]}), facts));
    EXPECT_EQ(session.pins().limit_before(), std::nullopt) << "not before it is needed";
    ASSERT_TRUE(session.answer(paths(all), facts));
    EXPECT_TRUE(session.pins().complete());
    ASSERT_TRUE(session.pins().limit_before());
    EXPECT_EQ(session.pins().limit_before()->soft, 128U);
    EXPECT_EQ(facts.descriptor_limit, session.pins().limit_before()) << "the target gets back what the caller had";
    rlimit now{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, 1024U);
  });
}

TEST(Session, HoldsWhatMattersWhereDescriptorsAreShort) {
  in_forked([] {
    const TempTree tree;
    tree.dir("d");
    std::vector<std::string> all;
    for (int i = 0; i < 300; ++i) all.push_back(tree.file("d/" + std::to_string(i)));
    limit_descriptors(128, 128);
    Session session(caller(), {});
    plan::HostFacts facts;
    plan::Questions questions = paths(all);
    questions.pin_first.assign(all.begin() + 280, all.end());
    ASSERT_TRUE(session.answer(questions, facts));
    EXPECT_FALSE(session.pins().complete());
    EXPECT_LT(session.pins().count(), 128U);
    for (const std::string& path : all) EXPECT_EQ(facts.paths.at(path).state, PathState::kPresent) << path;
    // The held ones are those that were to be held first: their inode numbers are not given away.
    for (int i = 280; i < 300; ++i) {
      const auto& path = all[static_cast<std::size_t>(i)];
      ASSERT_EQ(::unlink(path.c_str()), 0);
      std::ofstream(path) << "another";
      Session other(caller(), {});
      plan::HostFacts now;
      ASSERT_TRUE(other.answer(paths({path}), now));
      EXPECT_NE(now.paths.at(path).id.inode, facts.paths.at(path).id.inode);
    }
    EXPECT_EQ(facts.paths.size(), 300U);
  });
}

TEST(Session, SeesWhatAMountForbids) {
  const TempTree tree;
  tree.dir("frozen");
  tree.dir("inert");
  in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::mount("tmpfs", tree.path("inert").c_str(), "tmpfs", MS_NOEXEC, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", tree.path("frozen").c_str(), "tmpfs", MS_RDONLY, nullptr), 0);
    tree.file("inert/tool", "#!/bin/sh\n", 0755);
    Session session(caller(), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer(paths({tree.path("frozen"), tree.path("inert"), tree.path("inert/tool")}), facts));
    const plan::PathFact& frozen = facts.paths.at(tree.path("frozen"));
    EXPECT_TRUE(frozen.read_only);
    EXPECT_FALSE(frozen.writable);
    EXPECT_EQ(frozen.filesystem, "tmpfs");
    const plan::PathFact& inert = facts.paths.at(tree.path("inert"));
    EXPECT_TRUE(inert.noexec);
    EXPECT_TRUE(inert.executable) << "a directory is searched all the same";
    EXPECT_TRUE(inert.writable);
    EXPECT_FALSE(facts.paths.at(tree.path("inert/tool")).executable);
  });
}

TEST(Session, KnowsMountsWithoutProc) {
  const TempTree tree;
  tree.dir("inert");
  in_user_namespace(CLONE_NEWNS, [&] {
    ASSERT_EQ(::mount("tmpfs", tree.path("inert").c_str(), "tmpfs", MS_NOEXEC, nullptr), 0);
    ASSERT_EQ(::chroot(tree.path().c_str()), 0);
    ASSERT_EQ(::chdir("/"), 0);
    Session session(caller(), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer(paths({"/inert"}), facts));
    EXPECT_TRUE(facts.paths.at("/inert").noexec);
    EXPECT_EQ(facts.paths.at("/inert").filesystem, "tmpfs");
  });
}

TEST(Session, NamesTheIdsThatAMapMayName) {
  in_user_namespace(0, [] {
    Session session(caller(), {});
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer({}, facts));
    EXPECT_THAT(facts.uid_spans, ::testing::ElementsAre(plan::IdSpan{.first = 0, .count = 1}));
    EXPECT_THAT(facts.gid_spans, ::testing::ElementsAre(plan::IdSpan{.first = 0, .count = 1}));
  });
}

class Remembering : public ::testing::Test {
 protected:
  [[nodiscard]] CacheLocation cache(const char* build = "build") const {
    return {.directory = tree.path("cordon"), .build_id = build};
  }
  [[nodiscard]] plan::HostFacts introduced(const char* build = "build") const {
    Session session(caller(), cache(build));
    plan::HostFacts facts;
    EXPECT_TRUE(session.answer({}, facts));
    return facts;
  }
  TempTree tree;
};

TEST_F(Remembering, CarriesProbesToTheNextSession) {
  Session session(caller(), cache());
  plan::HostFacts facts;
  session.probe(std::array{Feature::kOpenat2, Feature::kLandlock}, facts);
  EXPECT_EQ(facts.feature(Feature::kOpenat2).state, Availability::kYes);
  plan::HostFacts next = introduced();
  EXPECT_EQ(next.feature(Feature::kOpenat2).state, Availability::kYes);
  EXPECT_EQ(next.feature(Feature::kLandlock).state, Availability::kYes);
  EXPECT_EQ(next.feature(Feature::kPidfd).state, Availability::kUnknown);
  EXPECT_EQ(next.landlock_abi, facts.landlock_abi);
  EXPECT_EQ(introduced("other").feature(Feature::kOpenat2).state, Availability::kUnknown);
}

TEST_F(Remembering, TriesAgainWhatTheCacheCallsMissing) {
  // A target that may write the caller's cache says that the host can hold nothing.
  const std::array lied_about = {Feature::kLandlock, Feature::kSeccompFilter, Feature::kUserNotification,
                                 Feature::kPidfd};
  plan::HostFacts lie;
  {
    Session session(caller(), cache());
    ASSERT_TRUE(session.answer({}, lie));
    for (const Feature feature : lied_about) {
      lie.feature(feature) = {
          .state = Availability::kNo, .code = ENOSYS, .operation = "a lie", .cause = "a lie", .mend = "a lie"};
    }
    session.remember(lie);
  }
  const plan::HostFacts next = introduced();
  for (const Feature feature : lied_about) {
    EXPECT_EQ(next.feature(feature).state, Availability::kYes) << plan::feature_name(feature);
  }
  EXPECT_GE(next.landlock_abi, 1);
  std::ifstream in(tree.path("cordon/facts-" + std::to_string(::geteuid()) + ".json"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.find("a lie"), std::string::npos) << "the truth takes its place";
}

TEST_F(Remembering, ARunBehindAFilterChangesNothingForTheNextWithoutOne) {
  {
    Session session(caller(), cache());
    plan::HostFacts facts;
    session.probe(std::array{Feature::kLandlock, Feature::kPidfd}, facts);
  }
  in_forked([&] {
    testing::refuse_call(SYS_landlock_create_ruleset, ENOSYS);
    Session session(caller(), cache());
    plan::HostFacts facts;
    ASSERT_TRUE(session.answer({}, facts));
    EXPECT_EQ(facts.feature(Feature::kLandlock).state, Availability::kNo) << "the filter is there";
    EXPECT_EQ(facts.feature(Feature::kPidfd).state, Availability::kUnknown) << "the cache is of another confinement";
    session.probe(std::array{Feature::kLandlock}, facts);
    EXPECT_EQ(introduced().feature(Feature::kLandlock).state, Availability::kNo);
  });
  const plan::HostFacts after = introduced();
  EXPECT_NE(after.feature(Feature::kLandlock).state, Availability::kNo);
  EXPECT_GE(after.landlock_abi, 1);
}

TEST_F(Remembering, ForgetsWhatARunContradicted) {
  Session session(caller(), cache());
  plan::HostFacts facts;
  session.probe(std::array{Feature::kOpenat2, Feature::kPidfd}, facts);
  session.drop(Feature::kOpenat2, facts);
  EXPECT_EQ(facts.feature(Feature::kOpenat2).state, Availability::kUnknown);
  EXPECT_EQ(introduced().feature(Feature::kOpenat2).state, Availability::kUnknown);
  EXPECT_EQ(introduced().feature(Feature::kPidfd).state, Availability::kYes);
}

TEST_F(Remembering, RemembersWhatASuccessfulRunProved) {
  Session session(caller(), cache());
  plan::HostFacts facts;
  ASSERT_TRUE(session.answer({}, facts));
  facts.feature(Feature::kUserNamespace).state = Availability::kYes;
  session.remember(facts);
  EXPECT_EQ(introduced().feature(Feature::kUserNamespace).state, Availability::kYes);
}

TEST_F(Remembering, KeepsNoPaths) {
  Session session(caller({{"TOKEN", "secret"}}), cache());
  plan::HostFacts facts;
  plan::Questions questions = paths({tree.file("private-name")});
  questions.environment = {"TOKEN"};
  ASSERT_TRUE(session.answer(questions, facts));
  session.probe(std::array{Feature::kOpenat2}, facts);
  std::ifstream in(tree.path("cordon/facts-" + std::to_string(::geteuid()) + ".json"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, Not(IsEmpty()));
  EXPECT_EQ(text.find("private-name"), std::string::npos);
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace cordon::host
