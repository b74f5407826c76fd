#include "policy/approval/journal.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "policy/approval/journal_text.h"
#include "policy/approval/testing_disk.h"
#include "policy/manifest/manifest.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::shell;
using testing::Who;

constexpr std::string_view kPolicy = "entrypoint: ./x\nread:\n  - ./in\n";
const std::string kPath = "/srv/job/m.yaml";

JournalEntry entry() {
  const auto loaded = manifest::parse(kPolicy, "m.yaml");
  if (!loaded) std::abort();
  return {.fingerprint = manifest::fingerprint(loaded->policy),
          .policy = manifest::canonical_yaml(loaded->policy),
          .manifest_path = kPath,
          .stamped_at = "2026-03-01T10:00:00Z",
          .reviewed = Reviewed::kByHuman,
          .pins = {}};
}

class Journal : public testing::DiskOf {
 protected:
  [[nodiscard]] std::string own() const { return at("state/cordon/approvals"); }
  [[nodiscard]] std::string older() const { return at("state/bento/approvals"); }
  [[nodiscard]] std::string entry_path() const { return own() + "/" + journal_entry_name(kPath); }

  [[nodiscard]] JournalReading read(const std::string& approves = entry().fingerprint) const {
    return read_journal({.own = own(), .older = older()}, kPath, approves, me().caller());
  }
  [[nodiscard]] JournalVerdict verdict() const { return read().verdict; }
  void write(const JournalEntry& what) const {
    const auto done = write_journal(own(), what, me().caller());
    ASSERT_TRUE(done) << base::to_string(done.error());
  }
  /// An entry as something else than Cordon would leave it.
  void plant(const std::string& text) const { std::ofstream(entry_path()) << text; }
};
INSTANTIATE_TEST_SUITE_P(As, Journal, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(Journal, GivesBackWhatWasStored) {
  as(me(), [&] {
    EXPECT_EQ(verdict(), JournalVerdict::kAbsent);
    write(entry());
    const JournalReading reading = read();
    ASSERT_EQ(reading.verdict, JournalVerdict::kMatches) << reading.why;
    EXPECT_EQ(*reading.entry, entry());
    EXPECT_EQ(reading.source, JournalSource::kOwn);
    EXPECT_EQ(reading.approved->read.front().written, "./in");
    EXPECT_EQ(mode_of(own()), 0700U);
    EXPECT_EQ(mode_of(at("state")), 0700U);
    EXPECT_EQ(mode_of(entry_path()), 0600U);
    EXPECT_THAT(names_of(own()), ElementsAre(journal_entry_name(kPath)));
  });
}

TEST_P(Journal, StoresPrivatelyWhateverTheUmaskAndTheDefaultAclSay) {
  shell("setfacl -d -m u:60001:rwx,o::rwx " + top());
  as(me(), [&] {
    ::umask(0);
    write(entry());
    EXPECT_EQ(verdict(), JournalVerdict::kMatches) << read().why;
    EXPECT_EQ(mode_of(own()) & 07077U, 0U);
    EXPECT_EQ(mode_of(entry_path()), 0600U);
  });
  as(me(), [&] {
    ::umask(0777);
    write(entry());
    EXPECT_EQ(mode_of(entry_path()), 0600U);
  });
}

TEST_P(Journal, TellsAnotherStampFromThisOne) {
  as(me(), [&] {
    write(entry());
    const JournalReading other = read(std::string(64, 'a'));
    EXPECT_EQ(other.verdict, JournalVerdict::kSomethingElse);
    EXPECT_THAT(other.why, HasSubstr("2026-03-01T10:00:00Z"));
    EXPECT_FALSE(other.entry);
    EXPECT_EQ(read("").verdict, JournalVerdict::kSomethingElse);
  });
}

TEST_P(Journal, TellsAnEntryThatIsAboutAnotherPath) {
  as(me(), [&] {
    JournalEntry wrong = entry();
    write(wrong);
    wrong.manifest_path = "/srv/other.yaml";
    plant(entry_text(wrong));
    EXPECT_EQ(verdict(), JournalVerdict::kSomethingElse);
  });
}

TEST_P(Journal, KeepsAPathThatIsNotText) {
  as(me(), [&] {
    JournalEntry odd = entry();
    odd.manifest_path = "/srv/\xff\xfe.yaml";
    write(odd);
    const auto reading = read_journal({.own = own(), .older = ""}, odd.manifest_path, odd.fingerprint, me().caller());
    EXPECT_EQ(reading.verdict, JournalVerdict::kMatches) << reading.why;
  });
}

TEST_P(Journal, IsNotTrustedWhereOthersCanWriteEvenIfSticky) {
  as(me(), [&] {
    write(entry());
    for (mode_t mode : {0770U, 0702U, 01777U, 01770U}) {
      ASSERT_EQ(::chmod(own().c_str(), mode), 0);
      EXPECT_EQ(verdict(), JournalVerdict::kUntrusted) << mode;
      EXPECT_FALSE(write_journal(own(), entry(), me().caller())) << mode;
    }
    ASSERT_EQ(::chmod(own().c_str(), 0755), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
    for (mode_t mode : {0660U, 0602U}) {
      ASSERT_EQ(::chmod(entry_path().c_str(), mode), 0);
      EXPECT_EQ(verdict(), JournalVerdict::kUntrusted) << mode;
    }
    write(entry());  // replaces it
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
  });
}

TEST_P(Journal, IsNotTrustedWhereAnAclLetsOthersWrite) {
  as(me(), [&] {
    write(entry());
    shell("setfacl -m u:60001:rwx " + own());
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    shell("setfacl -b " + own() + " && setfacl -m u:60001:rw " + entry_path());
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    shell("setfacl -b " + entry_path());
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
  });
}

TEST_P(Journal, IsNeverReachedThroughALinkOfItsOwnNames) {
  as(me(), [&] {
    write(entry());
    ASSERT_EQ(::rename(entry_path().c_str(), at("elsewhere.json").c_str()), 0);
    ASSERT_EQ(::symlink(at("elsewhere.json").c_str(), entry_path().c_str()), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    write(entry());  // replaces the link, and leaves what it led to
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
    ASSERT_EQ(::rename(own().c_str(), at("moved").c_str()), 0);
    ASSERT_EQ(::symlink(at("moved").c_str(), own().c_str()), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    EXPECT_FALSE(write_journal(own(), entry(), me().caller()));
  });
}

TEST_P(Journal, MayStandBehindOnesOwnLinkAbove) {
  as(me(), [&] {
    ASSERT_EQ(::mkdir(at("data").c_str(), 0700), 0);
    ASSERT_EQ(::symlink(at("data").c_str(), at("state").c_str()), 0);
    write(entry());
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
    EXPECT_TRUE(std::filesystem::exists(at("data/cordon/approvals")));
  });
}

TEST_P(Journal, TakesNothingThatIsNotExactlyAnEntry) {
  as(me(), [&] {
    write(entry());
    const auto good = nlohmann::json::parse(entry_text(entry()));
    const auto without = [&](const char* key) {
      auto changed = good;
      changed.erase(key);
      return changed.dump();
    };
    const auto with = [&](const char* key, const nlohmann::json& value) {
      auto changed = good;
      changed[key] = value;
      return changed.dump();
    };
    const std::string doubled = R"({"reviewed":true,)" + good.dump().substr(1);
    for (const std::string& text : {std::string("{"),
                                    std::string("[]"),
                                    std::string("null"),
                                    good.dump() + "x",
                                    doubled,
                                    without("policy"),
                                    without("fingerprint"),
                                    without("manifest_path"),
                                    without("stamped_at"),
                                    without("reviewed"),
                                    with("more", 1),
                                    with("reviewed", "yes"),
                                    with("fingerprint", "ABC"),
                                    with("fingerprint", 7),
                                    with("stamped_at", "yesterday\nand \x1b[2J"),
                                    with("policy", "entrypoint: ./y\n"),
                                    with("policy", "not: a policy"),
                                    with("pins", "x"),
                                    with("pins", {{{"written", "a"}}}),
                                    with("pins", {{{"written", "a"}, {"sha256", "zz"}}}),
                                    std::string(1 << 20, '['),
                                    R"({"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}",
                                    std::string("\xff\xfe")}) {
      plant(text);
      EXPECT_EQ(verdict(), JournalVerdict::kUntrusted) << text.substr(0, 200);
    }
    plant("");
    EXPECT_EQ(verdict(), JournalVerdict::kAbsent);
    plant(good.dump() + std::string(kMostJournalBytes, ' '));
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    plant(good.dump());
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
  });
}

TEST_P(Journal, DoesNotBlockOnWhatIsNotAFile) {
  as(me(), [&] {
    write(entry());
    ::alarm(20);
    ASSERT_EQ(::unlink(entry_path().c_str()), 0);
    ASSERT_EQ(::mkfifo(entry_path().c_str(), 0600), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    ASSERT_EQ(::unlink(entry_path().c_str()), 0);
    ASSERT_EQ(::mkdir(entry_path().c_str(), 0700), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
    EXPECT_FALSE(write_journal(own(), entry(), me().caller()));
    EXPECT_THAT(names_of(own()), ElementsAre(journal_entry_name(kPath)));  // no temporary file
    std::filesystem::remove_all(own());
    std::ofstream(own()) << "a file";
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);
  });
}

TEST_P(Journal, ReadsTheOlderSystemsEntryOnlyWhereItHasNone) {
  as(me(), [&] {
    std::filesystem::create_directories(older());
    ASSERT_EQ(::chmod(older().c_str(), 0700), 0);
    JournalEntry moved = entry();
    moved.stamped_at = "2025-01-01T00:00:00+02:00";
    moved.manifest_path = "m.yaml";
    const std::string path = older() + "/" + journal_entry_name(kPath);
    std::ofstream(path) << entry_text(moved);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    const JournalReading reading = read();
    ASSERT_EQ(reading.verdict, JournalVerdict::kMatches) << reading.why;
    EXPECT_EQ(reading.source, JournalSource::kOlder);
    EXPECT_EQ(reading.entry->stamped_at, moved.stamped_at);

    ASSERT_EQ(::chmod(older().c_str(), 01777), 0);
    EXPECT_EQ(verdict(), JournalVerdict::kUntrusted);

    write(entry());
    EXPECT_EQ(read().source, JournalSource::kOwn);
    EXPECT_EQ(verdict(), JournalVerdict::kMatches);
  });
}

TEST_P(Journal, CoversPinnedContentInItsFingerprint) {
  as(me(), [&] {
    JournalEntry pinned = entry();
    const auto loaded = manifest::parse("entrypoint: ./x\npin: [./x]\n", "m.yaml");
    ASSERT_TRUE(loaded);
    pinned.pins = {{.written = "./x", .sha256 = std::string(64, '1')}};
    pinned.policy = manifest::canonical_yaml(loaded->policy);
    pinned.fingerprint = manifest::fingerprint(loaded->policy, pinned.pins);
    write(pinned);
    EXPECT_EQ(read(pinned.fingerprint).verdict, JournalVerdict::kMatches) << read(pinned.fingerprint).why;
    EXPECT_EQ(read(pinned.fingerprint).entry->pins, pinned.pins);
    JournalEntry forged = pinned;
    forged.pins.front().sha256 = std::string(64, '2');
    plant(entry_text(forged));
    EXPECT_EQ(read(pinned.fingerprint).verdict, JournalVerdict::kUntrusted);
  });
}

TEST_P(Journal, CannotBeWrittenWithoutADirectory) {
  as(me(), [&] {
    EXPECT_FALSE(write_journal("", entry(), me().caller()));
    EXPECT_FALSE(write_journal("relative", entry(), me().caller()));
    std::ofstream(at("file")) << "x";
    EXPECT_FALSE(write_journal(at("file") + "/approvals", entry(), me().caller()));
  });
}

class JournalOfOthers : public testing::Disk, public ::testing::WithParamInterface<Who> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JournalOfOthers);
INSTANTIATE_TEST_SUITE_P(SetUpBy, JournalOfOthers, ::testing::ValuesIn(testing::root_only()), testing::name_of);

TEST_P(JournalOfOthers, IsNotTrustedAndRootsIs) {
  const Who me = testing::user();
  const Who bob = testing::other();
  give_all_to(me);
  const std::string own = at("state/approvals");
  const JournalPlaces places{.own = own, .older = ""};
  as(me, [&] { ASSERT_TRUE(write_journal(own, entry(), me.caller())); });
  const std::string path = own + "/" + journal_entry_name(kPath);
  const auto verdict_with_owner = [&](const std::string& what, const Who& who) {
    EXPECT_EQ(::chown(what.c_str(), who.uid, who.gid), 0);
    EXPECT_EQ(::chmod(what.c_str(), what == path ? 0644 : 0755), 0);
    as(me, [&] {
      const auto expected = who.uid == bob.uid ? JournalVerdict::kUntrusted : JournalVerdict::kMatches;
      EXPECT_EQ(read_journal(places, kPath, entry().fingerprint, me.caller()).verdict, expected) << what << who.name;
    });
  };
  verdict_with_owner(path, bob);
  verdict_with_owner(path, testing::root());
  verdict_with_owner(own, bob);
  verdict_with_owner(own, testing::root());
}

TEST_P(JournalOfOthers, LeadsRootNowhereByAUsersLinkAndMakesNothingInAUsersHome) {
  // sudo that keeps HOME: the state directory is a user's, and so are the links in it.
  const Who bob = testing::other();
  directory("home");
  directory("etc");
  link("home/state", at("etc"));
  ASSERT_EQ(::lchown(at("home").c_str(), bob.uid, bob.gid), 0);
  ASSERT_EQ(::lchown(at("home/state").c_str(), bob.uid, bob.gid), 0);
  EXPECT_FALSE(write_journal(at("home/state/cordon/approvals"), entry(), {.uid = 0, .gid = 0}));
  EXPECT_TRUE(names_of(at("etc")).empty());
  EXPECT_FALSE(write_journal(at("home/.local/cordon/approvals"), entry(), {.uid = 0, .gid = 0}));
  EXPECT_THAT(names_of(at("home")), ElementsAre("state"));
}

}  // namespace
}  // namespace cordon::policy::approval
