#include "policy/approval/approve.h"

#include <gmock/gmock.h>

#include "policy/approval/journal_text.h"
#include "policy/approval/testing_stamp.h"

namespace cordon::policy::approval {
namespace {

using manifest::StampState;
using testing::Approval;
using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Approve : public testing::StampDisk {};
INSTANTIATE_TEST_SUITE_P(As, Approve, ::testing::ValuesIn(testing::everybody()), testing::name_of);

std::vector<std::string> sentences(const ApproveReview& review) {
  std::vector<std::string> out;
  for (const auto& change : review.changes) out.push_back(change.sentence);
  return out;
}

TEST_P(Approve, StampsAndKeepsEveryOtherByte) {
  as(me(), [&] {
    Approval first = approval();
    EXPECT_EQ(first.review().stamp, StampState::kUnapproved);
    EXPECT_EQ(first.review().journal, JournalVerdict::kAbsent);
    EXPECT_EQ(first.review().journal_note, "");
    EXPECT_FALSE(first.review().already_approved);
    const auto stamped = first.stamp();
    ASSERT_TRUE(stamped) << stamped.error().front().message;
    EXPECT_FALSE(stamped->journal_failure);
    EXPECT_FALSE(stamped->clamped);
    EXPECT_EQ(stamped->real_path, path());

    const std::string text = text_of(path());
    EXPECT_THAT(text, StartsWith(std::string(kText)));
    EXPECT_EQ(first.manifest().text, text);
    EXPECT_EQ(mode_of(path()), 0644U);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));

    const Approval again = approval();
    ASSERT_TRUE(again.policy().provenance);
    EXPECT_EQ(again.policy().provenance->generated_by, "cordon approve");
    EXPECT_EQ(again.policy().provenance->generated_at, "2026-03-01T10:00:00Z");
    EXPECT_EQ(again.policy().provenance->approves, stamped->fingerprint);
    EXPECT_EQ(again.review().stamp, StampState::kCurrent);
    EXPECT_EQ(again.review().journal, JournalVerdict::kMatches);
    EXPECT_TRUE(again.review().already_approved);
    EXPECT_EQ(again.review().previous_reviewed, Reviewed::kByHuman);
  });
}

TEST_P(Approve, LeavesAManifestFileThatCanBeStampedOnceMore) {
  as(me(), [&] {
    Approval first = approval();
    ASSERT_EQ(first.stamp_code(), "");
    ASSERT_EQ(first.stamp_code(), "");
    EXPECT_EQ(first.manifest().text, text_of(path()));
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
  });
}

TEST_P(Approve, ShowsWhatChangedSinceThisHostApprovedIt) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    std::string text = text_of(path());
    text.replace(text.find("read: [./in]"), 12, "read: [./in]\nwrite: [./out]");
    rewrite(text);
    const Approval again = approval();
    EXPECT_EQ(again.review().stamp, StampState::kStale);
    EXPECT_FALSE(again.review().already_approved);
    ASSERT_TRUE(again.review().has_previous);
    EXPECT_EQ(again.review().previous_at, "2026-03-01T10:00:00Z");
    EXPECT_THAT(sentences(again.review()), ElementsAre(HasSubstr("now also writes ./out")));
  });
}

TEST_P(Approve, ReviewsAnewWhereThisHostNeverMadeTheStamp) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    std::filesystem::remove_all(journal().own);
    const Approval again = approval();
    EXPECT_EQ(again.review().stamp, StampState::kCurrent);
    EXPECT_FALSE(again.review().already_approved);
    EXPECT_FALSE(again.review().has_previous);
    EXPECT_THAT(again.review().journal_note, HasSubstr("not made on this host"));
  });
}

TEST_P(Approve, ReviewsAnewWhereTheStampWasForgedForAnotherPolicy) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    // A stamp is unkeyed: whoever edits the manifest can restamp it. Only this host's record tells.
    auto loaded = manifest::parse("entrypoint: ./x\nexec: all\n", "m.yaml");
    ASSERT_TRUE(loaded);
    const auto forged =
        manifest::with_provenance("entrypoint: ./x\nexec: all\n", {.generated_by = "cordon approve",
                                                                   .generated_at = "2026-03-01T10:00:00Z",
                                                                   .approves = manifest::fingerprint(loaded->policy),
                                                                   .blocked_hosts = {}});
    ASSERT_TRUE(forged);
    rewrite(*forged);
    const Approval again = approval();
    EXPECT_EQ(again.review().stamp, StampState::kCurrent);
    EXPECT_EQ(again.review().journal, JournalVerdict::kSomethingElse);
    EXPECT_FALSE(again.review().already_approved);
    EXPECT_THAT(sentences(again.review()), IsEmpty());
    EXPECT_THAT(again.review().journal_note, HasSubstr("not the one that was made here"));
    EXPECT_THAT(again.review().journal_note, HasSubstr("read the whole policy"));
  });
}

TEST_P(Approve, DiffsAgainstNothingThatWasPlanted) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    ASSERT_EQ(::chmod(journal().own.c_str(), 01777), 0);
    const Approval again = approval();
    EXPECT_EQ(again.review().journal, JournalVerdict::kUntrusted);
    EXPECT_FALSE(again.review().has_previous);
    EXPECT_FALSE(again.review().already_approved);
    EXPECT_THAT(again.review().journal_note, HasSubstr("is writable by others"));
  });
}

TEST_P(Approve, TakesTheStampAndTheRecordOfTheOlderSystem) {
  as(me(), [&] {
    const auto loaded = manifest::parse(kText, "m.yaml");
    ASSERT_TRUE(loaded);
    const std::string fingerprint = manifest::fingerprint(loaded->policy);
    const auto stamped = manifest::with_provenance(kText, {.generated_by = "bento approve",
                                                           .generated_at = "2025-01-01T00:00:00Z",
                                                           .approves = fingerprint,
                                                           .blocked_hosts = {"a.example:443"}});
    ASSERT_TRUE(stamped);
    rewrite(*stamped);
    ASSERT_EQ(::mkdir(at("older").c_str(), 0700), 0);
    const std::string entry = at("older") + "/" + journal_entry_name(path());
    std::ofstream(entry) << entry_text({.fingerprint = fingerprint,
                                        .policy = manifest::canonical_yaml(loaded->policy),
                                        .manifest_path = path(),
                                        .stamped_at = "2025-01-01T00:00:00Z",
                                        .reviewed = Reviewed::kByHuman,
                                        .pins = {}});
    ASSERT_EQ(::chmod(entry.c_str(), 0600), 0);
    EXPECT_TRUE(approval().review().already_approved);
    EXPECT_EQ(approval().review().journal_source, JournalSource::kOlder);

    rewrite(*stamped + "write: [./out]\n");
    Approval moved = approval();
    EXPECT_EQ(moved.review().stamp, StampState::kStale);
    EXPECT_THAT(sentences(moved.review()), ElementsAre(HasSubstr("./out")));
    ASSERT_EQ(moved.stamp_code(), "");
    const Approval after = approval();
    EXPECT_EQ(after.review().journal_source, JournalSource::kOwn);
    EXPECT_THAT(after.policy().provenance->blocked_hosts, ElementsAre("a.example:443"));
    EXPECT_EQ(after.policy().provenance->generated_by, "cordon approve");
  });
}

TEST_P(Approve, ReviewsAndClampsAFileThatOthersMayWrite) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
    Approval again = approval();
    EXPECT_EQ(again.review().stamp, StampState::kCurrent);
    EXPECT_FALSE(again.review().already_approved);
    EXPECT_TRUE(again.review().will_clamp);
    const auto stamped = again.stamp();
    ASSERT_TRUE(stamped);
    EXPECT_TRUE(stamped->clamped);
    EXPECT_EQ(stamped->mode, 0644U);
    EXPECT_EQ(mode_of(path()), 0644U);
    EXPECT_TRUE(approval().review().already_approved);
  });
}

TEST_P(Approve, RefusesWhereTheLocationIsUnsafeAndWritesNothing) {
  as(me(), [&] {
    ASSERT_EQ(::chmod(at("d").c_str(), 0777), 0);
    Approval refused = approval();
    EXPECT_TRUE(refused.review().fatal);
    EXPECT_FALSE(refused.review().already_approved);
    EXPECT_EQ(refused.stamp_code(), "directory-world-writable");
    expect_untouched();
    EXPECT_FALSE(std::filesystem::exists(journal().own));
  });
}

TEST_P(Approve, NeverCallsAnApprovedManifestDoneWhereItsLocationBecameUnsafe) {
  as(me(), [&] {
    ASSERT_EQ(approval().stamp_code(), "");
    ASSERT_EQ(::chmod(at("d").c_str(), 0777), 0);
    EXPECT_FALSE(approval().review().already_approved);
  });
}

TEST_P(Approve, CoversPinnedContentAndTellsWhichFileChanged) {
  as(me(), [&] {
    std::ofstream(at("d/x")) << "print(1)\n";
    std::ofstream(at("d/y")) << "2\n";
    rewrite("entrypoint: ./x\npin: [./x, ./y]\n");
    ASSERT_EQ(approval().stamp_code(), "");
    EXPECT_TRUE(approval().review().already_approved);
    std::ofstream(at("d/x")) << "print(2)\n";
    const Approval again = approval();
    EXPECT_EQ(again.review().stamp, StampState::kStale);
    EXPECT_THAT(sentences(again.review()), IsEmpty());
    ASSERT_EQ(again.review().pin_changes.size(), 1U);
    EXPECT_EQ(to_sentence(again.review().pin_changes[0]), "the pinned file ./x changed since it was approved");
  });
}

TEST_P(Approve, LeavesTheStampAndSaysSoWhereTheJournalCannotBeWritten) {
  as(me(), [&] {
    std::ofstream(at("state")) << "not a directory";
    const auto stamped = approval().stamp();
    ASSERT_TRUE(stamped);
    ASSERT_TRUE(stamped->journal_failure);
    EXPECT_THAT(base::to_string(*stamped->journal_failure), HasSubstr("state"));
    EXPECT_EQ(Approval(path(), {}, me().caller()).review().stamp, StampState::kCurrent);
  });
}

TEST_P(Approve, RefusesATextThatItsProvenanceWouldMakeTooLong) {
  as(me(), [&] {
    const std::string text = std::string(kText) + "#" + std::string(kMostManifestBytes - kText.size() - 1, 'x');
    rewrite(text);
    EXPECT_NE(approval().stamp_code(), "");
    EXPECT_EQ(text_of(path()), text);
    EXPECT_THAT(names_of(at("d")), ElementsAre("m.yaml"));
  });
}

}  // namespace
}  // namespace cordon::policy::approval
