#include "audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "corpus_test_files.h"

namespace cordon::shields {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using shield::Deny;

constexpr std::string_view kCommon = R"(# This file is overwritten
# by others.
include disable-common.local

# History files in $HOME
blacklist-nolog ${HOME}/.one_history
#blacklist ${HOME}/.commented
blacklist /tmp/elsewhere
# a remark that is the title of the next lines
blacklist ${HOME}/.unjudged

# KDE config
blacklist ${HOME}/.config/kwinrc

# top secret
# and more of it
blacklist ${HOME}/*.kdbx
read-only ${HOME}/.two # why
noblacklist ${HOME}/.three
)";

TEST(FirejailCommon, gives_home_paths_of_sections_in_scope) {
  const Reading reading = read_firejail_common(kCommon);
  EXPECT_EQ(reading.seen, 5U);
  EXPECT_THAT(reading.candidates, ElementsAre(Candidate{".one_history", Deny::kAll, false, false, 6},
                                              Candidate{"*.kdbx", Deny::kAll, true, false, 17},
                                              Candidate{".two", Deny::kWrite, false, false, 18}));
}

TEST(FirejailCommon, names_sections_that_nobody_has_judged) {
  EXPECT_THAT(read_firejail_common(kCommon).unknown_sections,
              ElementsAre("# a remark that is the title of the next lines"));
  EXPECT_THAT(read_firejail_common("blacklist ${HOME}/.a\n").unknown_sections, ElementsAre(""));
}

TEST(FirejailPrograms, gives_paths_with_a_name_like_that_of_a_store) {
  const Reading reading =
      read_firejail_programs("blacklist ${HOME}/.config/KeePass\nblacklist ${HOME}/.steam\nblacklist ${HOME}/.*coin\n");
  EXPECT_EQ(reading.seen, 3U);
  EXPECT_THAT(reading.candidates, ElementsAre(Candidate{".config/KeePass", Deny::kAll, false, false, 1},
                                              Candidate{".*coin", Deny::kAll, true, false, 3}));
}

TEST(AppArmor, gives_every_alternative_with_what_is_denied) {
  const Reading reading = read_apparmor(R"(  # deny @{HOME}/.comment mrwkl,
  audit deny @{HOME}/bin/{,**} wl,
  deny @{HOME}/.*history mrwkl,
  audit deny @{HOME}/.kde{,4}/share/apps/kmail{,2}/{,**} mrwkl,
  audit deny @{HOME}/.config/ w,
  audit deny @{run}/user/[0-9]*/keyring** mrwkl,
)");
  EXPECT_EQ(reading.seen, 6U);
  EXPECT_THAT(reading.candidates, ElementsAre(Candidate{"bin", Deny::kWrite, false, true, 2},
                                              Candidate{".*history", Deny::kAll, true, false, 3},
                                              Candidate{".kde/share/apps/kmail", Deny::kAll, false, true, 4},
                                              Candidate{".kde/share/apps/kmail2", Deny::kAll, false, true, 4},
                                              Candidate{".kde4/share/apps/kmail", Deny::kAll, false, true, 4},
                                              Candidate{".kde4/share/apps/kmail2", Deny::kAll, false, true, 4}));
}

Corpus small_corpus() {
  const std::vector<File> files{{"a", R"(home:
  - {class: hidden, kind: directory, holds: credentials, paths: {.keys: K, .tool/secret: S}}
  - {class: hidden, kind: file, holds: credentials, paths: {.netrc: N}}
  - {class: read-only, kind: directory, paths: {.start: S, .tool: T}}
)"}};
  const auto corpus = read_corpus(files);
  EXPECT_TRUE(corpus) << said(corpus.error());
  return corpus ? *corpus : Corpus{};
}

struct Case {
  const char* path;
  Deny deny;
  Verdict verdict;
  bool directory = false;
};

TEST(Judge, tells_what_the_corpus_lacks) {
  const Corpus corpus = small_corpus();
  for (const Case& one :
       {Case{".keys", Deny::kAll, Verdict::kCovered}, Case{".keys/inside", Deny::kAll, Verdict::kCovered},
        Case{".keys/*.pem", Deny::kAll, Verdict::kCovered}, Case{".start", Deny::kWrite, Verdict::kCovered},
        Case{".start/x", Deny::kWrite, Verdict::kCovered}, Case{".keys", Deny::kWrite, Verdict::kCovered},
        Case{".start", Deny::kAll, Verdict::kWeaker}, Case{".start/*", Deny::kAll, Verdict::kWildcard},
        Case{".tool/secret", Deny::kAll, Verdict::kCovered}, Case{".tool", Deny::kAll, Verdict::kWeaker},
        Case{".other", Deny::kAll, Verdict::kMissing}, Case{".key", Deny::kAll, Verdict::kMissing},
        Case{".key*", Deny::kAll, Verdict::kWildcard}, Case{".netrc", Deny::kAll, Verdict::kCovered},
        Case{".netrc", Deny::kAll, Verdict::kNarrowed, true}})
    EXPECT_EQ(
        judge({one.path, one.deny, std::string_view(one.path).find('*') != std::string_view::npos, one.directory, 1},
              corpus),
        one.verdict)
        << one.path;
  const std::vector<File> part{{"a", "home:\n  - {class: hidden, kind: file, holds: history, paths: {.d/part: P}}\n"}};
  EXPECT_EQ(judge({".d", Deny::kAll, false, false, 1}, *read_corpus(part)), Verdict::kNarrowed);
}

TEST(Differences, stand_once_each) {
  const Reading reading =
      read_firejail_programs("blacklist ${HOME}/.pass\nread-only ${HOME}/.pass\nblacklist ${HOME}/.auth\n");
  EXPECT_THAT(
      differences("list", reading, small_corpus()),
      ElementsAre(Difference{"list", ".auth", Verdict::kMissing}, Difference{"list", ".pass", Verdict::kMissing}));
}

TEST(Accepted, differences_are_read_with_their_reason) {
  const auto accepted = read_accepted({"a", R"(accepted:
  - source: list
    verdict: wildcard
    why: a rule is one path
    paths: [.a*, .b*]
)"});
  ASSERT_TRUE(accepted) << said(accepted.error());
  EXPECT_THAT(*accepted, ElementsAre(Difference{"list", ".a*", Verdict::kWildcard},
                                     Difference{"list", ".b*", Verdict::kWildcard}));
}

TEST(Accepted, differences_without_a_reason_a_list_or_an_order_are_refused) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"accepted:\n  - {source: a, verdict: missing, paths: [.a]}\n", "a:2: [key-missing] \"why\""},
           {"accepted:\n  - {source: a, verdict: missing, why: \"\", paths: [.a]}\n", "a:2: [what]"},
           {"accepted:\n  - {verdict: missing, why: W, paths: [.a]}\n", "a:2: [key-missing]"},
           {"accepted:\n  - {source: a, verdict: fine, why: W, paths: [.a]}\n", "a:2: [unknown-word]"},
           {"accepted:\n  - {source: a, verdict: missing, why: W, paths: [.b, .a]}\n", "a:2: [unsorted]"},
           {"accepted:\n  - {source: a, verdict: missing, why: W, paths: [.a], who: me}\n", "a:2: [unknown-key]"},
           {"differences: []\n", "[unknown-key]"}}) {
    const auto accepted = read_accepted({"a", text});
    ASSERT_FALSE(accepted) << text;
    EXPECT_THAT(said(accepted.error()), HasSubstr(message));
  }
}

TEST(Compare, finds_what_nobody_accepted_and_what_is_no_difference_any_more) {
  const Difference known{"l", ".a", Verdict::kMissing};
  const Difference fresh{"l", ".b", Verdict::kMissing};
  const Difference stale{"l", ".c", Verdict::kMissing};
  const Difference other_verdict{"l", ".a", Verdict::kWeaker};
  EXPECT_THAT(compare({known, fresh}, {stale, known}).fresh, ElementsAre(fresh));
  EXPECT_THAT(compare({known, fresh}, {stale, known}).stale, ElementsAre(stale));
  EXPECT_THAT(compare({other_verdict}, {known}).fresh, ElementsAre(other_verdict));
  EXPECT_THAT(compare({known}, {known}).fresh, IsEmpty());
}

TEST(VerdictName, is_the_word_of_the_accepted_file) {
  EXPECT_EQ(verdict_name(Verdict::kNarrowed), "narrowed");
  EXPECT_EQ(verdict_name(Verdict::kCovered), "covered");
}

}  // namespace
}  // namespace cordon::shields
