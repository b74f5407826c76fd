#include "planner/aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using plan::AliasKind;
using plan::AliasScanEnd;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must_plan;
using testing::must_refuse;
using ::testing::Not;
using testing::note_codes;
using testing::PolicyMaker;
using testing::with_script;

FakeHost host_with_data(std::uint32_t uid = 1000) {
  FakeHost host = with_script("#!/bin/sh", uid);
  host.directory("/home/me/.ssh", 1000);
  host.file("/home/me/.netrc", "k", 1000);
  host.file("/home/me/data/key", "k", 1000);
  host.file("/home/me/data/old/key", "k", 1000);
  host.directory("/srv/x", 1000);
  return host;
}

PolicyMaker reads(const std::string& path) {
  PolicyMaker maker("/home/me/p/run");
  maker.read(path);
  return maker;
}

void accept(PolicyMaker& maker, const std::string& tree) {
  maker.policy.posture.accept_alias.push_back({tree, tree, {{}, "--accept-alias"}});
}

plan::Alias hard_link(const std::string& path) { return {path, "/home/me/.ssh/id", AliasKind::kHardLink}; }

const plan::AliasQuestion& asked(FakeHost& host, const PolicyMaker& maker) {
  return host.know(maker.policy).aliases->asked;
}

std::vector<std::string> trees(const plan::AliasQuestion& question) {
  std::vector<std::string> out;
  for (const plan::ExposedTree& tree : question.exposed) out.push_back(tree.path);
  return out;
}

TEST(Aliases, WhatIsGrantedIsSearchedAndWhatLiesInItNotTwice) {
  FakeHost host = host_with_data();
  EXPECT_THAT(trees(asked(host, reads("/home/me/data").read("/home/me/data/old").write("/srv/x"))),
              ElementsAre("/home/me/data", "/home/me/p/run", "/srv/x"));
}

TEST(Aliases, TheSystemsPackagesAreNotSearched) {
  FakeHost host = host_with_data();
  EXPECT_THAT(trees(asked(host, reads("/usr"))), ElementsAre("/home/me/p/run"));
}

TEST(Aliases, ValidateSearchesGrantsAlone) {
  FakeHost host = host_with_data();
  PolicyMaker maker = reads("/srv/x");
  maker.policy.posture.alias_search = policy::AliasSearch::kQuick;
  const plan::AliasQuestion& question = asked(host, maker);
  EXPECT_THAT(trees(question), ElementsAre("/srv/x"));
  EXPECT_EQ(question.effort, plan::AliasEffort::kQuick);
}

TEST(Aliases, OnlyHiddenPathsNearWhatIsShownAreAskedAbout) {
  FakeHost host = host_with_data();
  EXPECT_THAT(asked(host, reads("/srv/x")).hidden, IsEmpty());
  FakeHost broad = host_with_data();
  EXPECT_THAT(asked(broad, reads("/home/me")).hidden, AllOf(Contains("/home/me/.ssh"), Contains("/home/me/.netrc")));
}

TEST(Aliases, OnlyWhatStandsIsLookedFor) {
  FakeHost host = host_with_data();
  EXPECT_THAT(asked(host, reads("/home/me")).credentials, ElementsAre("/home/me/.netrc", "/home/me/.ssh"));
  FakeHost bare = with_script("#!/bin/sh", 1000);
  EXPECT_FALSE(bare.know(reads("/home/me").policy).aliases.has_value());
}

TEST(Aliases, TheMachinesOwnAreAskedForWhereAPolicyCouldShowThemAndForRootAlways) {
  const auto asks = [](std::uint32_t uid, const std::string& read) {
    FakeHost host = host_with_data(uid);
    return host.know(reads(read).policy).names.contains("/etc");
  };
  EXPECT_FALSE(asks(1000, "/srv/x"));
  EXPECT_TRUE(asks(1000, "/etc"));
  EXPECT_TRUE(asks(1000, "/etc/shadow"));
  EXPECT_TRUE(asks(1000, "/"));
  EXPECT_TRUE(asks(0, "/srv/x"));
}

TEST(Aliases, OfTheMachinesOwnKeysRootLooksForOtherNames) {
  FakeHost root = host_with_data(0);
  EXPECT_THAT(asked(root, reads("/srv/x")).credentials, Contains("/etc/shadow"));
  FakeHost user = host_with_data();
  EXPECT_THAT(asked(user, reads("/srv/x")).credentials, Not(Contains("/etc/shadow")));
}

TEST(Aliases, WhatDenyNamesIsLookedForToo) {
  FakeHost host = host_with_data();
  const plan::AliasQuestion& question = asked(host, reads("/home/me").deny("/home/me/data/key"));
  EXPECT_THAT(question.credentials, Contains("/home/me/data/key"));
  EXPECT_THAT(question.hidden, Contains("/home/me/data/key"));
}

plan::Alias start_up(const std::string& path) { return {path, "/home/me/.bashrc", AliasKind::kHardLink}; }

FakeHost with_more_stores() {
  FakeHost host = host_with_data();
  host.file("/home/me/.bashrc", "b", 1000);
  host.directory("/home/me/.mozilla", 1000);
  host.directory("/home/me/.vim", 1000);
  return host;
}

TEST(Aliases, AnotherNameOfAReadableFileMattersWhereItCanBeWritten) {
  FakeHost host = with_more_stores();
  EXPECT_THAT(asked(host, reads("/srv/x")).credentials, Contains("/home/me/.bashrc"));
  host.aliases.found = {start_up("/srv/x/b")};
  must_plan(host.plan(reads("/srv/x").policy));
  FakeHost written = with_more_stores();
  written.aliases.found = {start_up("/srv/x/b")};
  const plan::RefusedItem item =
      must_refuse(written.plan(PolicyMaker("/home/me/p/run").write("/srv/x").policy)).items.at(0);
  EXPECT_THAT(item.message, HasSubstr("which no run may change"));
}

TEST(Aliases, OtherNamesOfWhatStartsAtLoginAreLookedFor) {
  FakeHost host = with_more_stores();
  host.directory("/home/me/.config/autostart", 1000);
  host.directory("/home/me/.config/systemd", 1000);
  host.directory("/home/me/.bashrc.d", 1000);
  const PolicyMaker writes = PolicyMaker("/home/me/p/run").write("/srv/x");
  for (const char* path : {".config/autostart", ".config/systemd", ".bashrc.d"}) {
    EXPECT_THAT(asked(host, writes).credentials, Contains("/home/me/" + std::string(path)));
    EXPECT_THAT(asked(host, writes).only_mounts, Not(Contains("/home/me/" + std::string(path))));
  }
  EXPECT_THAT(asked(host, reads("/srv/x")).credentials, Contains("/home/me/.config/systemd"));
  EXPECT_THAT(asked(host, reads("/srv/x")).credentials, Not(Contains("/home/me/.bashrc.d")));
  FakeHost linked = host;
  linked.facts.aliases.reset();
  linked.aliases.found = {{"/srv/x/b", "/home/me/.bashrc.d/a", AliasKind::kHardLink}};
  must_plan(linked.plan(reads("/srv/x").policy));
  linked.facts.aliases.reset();
  EXPECT_THAT(must_refuse(linked.plan(writes.policy)).items.at(0).message, HasSubstr("which no run may change"));
}

TEST(Aliases, OtherNamesOfACheckoutsShieldsAreLookedForWhereItIsWritten) {
  FakeHost host = host_with_data();
  host.directory("/home/me/p", 1000);
  host.directory("/home/me/p/.git/hooks", 1000);
  host.file("/home/me/p/.git/config", "", 1000);
  host.file("/home/me/p/.envrc", "", 1000);
  host.directory("/home/me/p/.vscode", 1000);
  host.file("/home/me/p/tool", "", 1000);
  host.link("/home/me/.local/bin/tool", "/home/me/p/tool", 1000);
  const PolicyMaker writes = PolicyMaker("/home/me/p/run").write("/home/me/p");
  for (const char* path : {".git/hooks", ".git/config", ".envrc", ".vscode", "tool"}) {
    EXPECT_THAT(asked(host, writes).credentials, Contains("/home/me/p/" + std::string(path)));
  }
  EXPECT_THAT(asked(host, reads("/home/me/p")).credentials, Not(Contains("/home/me/p/.envrc")));
  // Its own name is none.
  host.aliases.found = {{"/home/me/p/.git/hooks/pre-commit", "/home/me/p/.git/hooks/pre-commit", AliasKind::kHardLink}};
  host.facts.aliases.reset();
  must_plan(host.plan(writes.policy));
  host.aliases.found = {{"/home/me/p/pc", "/home/me/p/.git/hooks/pre-commit", AliasKind::kHardLink}};
  host.facts.aliases.reset();
  EXPECT_THAT(must_refuse(host.plan(writes.policy)).items.at(0).message, HasSubstr("which no run may change"));
}

TEST(Aliases, OfLargeStoresMountsAloneAreLookedFor) {
  FakeHost host = with_more_stores();
  const plan::AliasQuestion& question = asked(host, reads("/srv/x"));
  EXPECT_THAT(question.only_mounts,
              AllOf(Contains("/home/me/.mozilla"), Contains("/home/me/.vim"), Not(Contains("/run"))));
  EXPECT_THAT(question.credentials, Not(Contains("/home/me/.mozilla")));
}

TEST(Aliases, AStoreThatALineNamesExactlyIsNotLookedFor) {
  FakeHost host = host_with_data();
  const plan::AliasQuestion& question = asked(host, reads("/home/me/.ssh"));
  EXPECT_THAT(question.credentials, Not(Contains("/home/me/.ssh")));
  EXPECT_THAT(question.hidden, Not(Contains("/home/me/.ssh")));
  FakeHost whole = host_with_data();
  EXPECT_THAT(asked(whole, reads("/home/me")).credentials, Contains("/home/me/.ssh")) << "the control";
}

TEST(Aliases, ANameIsRefusedWithBothEndsItsLineAndATreeThatWouldBeAccepted) {
  FakeHost host = host_with_data();
  host.aliases.found = {hard_link("/home/me/data/key")};
  PolicyMaker maker = reads("/home/me/data");
  const plan::RefusedItem item = must_refuse(host.plan(maker.policy)).items.at(0);
  EXPECT_EQ(item.code, "credential-alias");
  EXPECT_THAT(item.message, AllOf(HasSubstr("read: /home/me/data: "), HasSubstr("/home/me/data/key"),
                                  HasSubstr("/home/me/.ssh/id"), HasSubstr("hard link")));
  EXPECT_THAT(item.mend, ::testing::EndsWith("--accept-alias /home/me/data"));
  EXPECT_EQ(item.at.line, 2U);
  EXPECT_TRUE(item.is_grant);
  accept(maker, "/home/me/data");
  EXPECT_THAT(must_plan(host.plan(maker.policy)).accepted_aliases, ElementsAre(hard_link("/home/me/data/key")));
}

TEST(Aliases, NothingFoundPlansAndCarriesNothing) {
  FakeHost host = host_with_data();
  EXPECT_THAT(must_plan(host.plan(reads("/home/me/data").policy)).accepted_aliases, IsEmpty());
}

TEST(Aliases, TheSuggestionIsTheTreeThatNamesShare) {
  FakeHost host = host_with_data();
  host.aliases.found = {hard_link("/home/me/data/old/a"), hard_link("/home/me/data/old/b")};
  PolicyMaker maker = reads("/home/me");
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  for (const auto& item : refusal.items)
    EXPECT_THAT(item.mend, ::testing::EndsWith("--accept-alias /home/me/data/old"));
  accept(maker, "/home/me/data/old");
  EXPECT_EQ(must_plan(host.plan(maker.policy)).accepted_aliases.size(), 2U);
}

TEST(Aliases, TheSuggestionHoldsNoStoreAndIsNeverTheRoot) {
  FakeHost host = host_with_data();
  host.aliases.found = {hard_link("/home/me/key"), {"/mnt/h/.ssh", "/home/me/.ssh", AliasKind::kBindMount}};
  host.directory("/mnt/h/.ssh", 1000);
  PolicyMaker maker = reads("/");
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  ASSERT_EQ(refusal.items.size(), 2U);
  EXPECT_THAT(refusal.items[0].mend, ::testing::EndsWith("--accept-alias /home/me/key"));
  EXPECT_THAT(refusal.items[1].mend, ::testing::EndsWith("--accept-alias /mnt/h"));
  accept(maker, "/home/me/key");
  accept(maker, "/mnt/h");
  EXPECT_EQ(must_plan(host.plan(maker.policy)).accepted_aliases.size(), 2U);
}

TEST(Aliases, TheSuggestionCanBePasted) {
  FakeHost host = host_with_data();
  host.aliases.found = {hard_link("/home/me/data/it's here/key")};
  const plan::Refusal refusal = must_refuse(host.plan(reads("/home/me/data").policy));
  EXPECT_THAT(refusal.items.at(0).mend, HasSubstr(R"(--accept-alias '/home/me/data/it'\''s here)"));
}

TEST(Aliases, ATreeThatHoldsOrIsAStoreIsRefusedEvenWhereNothingWasFound) {
  for (const char* tree : {"/", "/home", "/home/me", "/home/me/.ssh", "/home/me/.ssh/keys"}) {
    FakeHost host = host_with_data();
    PolicyMaker maker = reads("/srv/x");
    accept(maker, tree);
    EXPECT_EQ(must_refuse(host.plan(maker.policy)).items.at(0).code, "accept-alias-too-broad") << tree;
  }
}

TEST(Aliases, AnAcceptedTreeIsJudgedWhereItReallyIs) {
  FakeHost host = host_with_data();
  host.link("/srv/link", "/home/me/.ssh", 1000);
  PolicyMaker maker = reads("/srv/x");
  accept(maker, "/srv/link");
  EXPECT_EQ(must_refuse(host.plan(maker.policy)).items.at(0).code, "accept-alias-too-broad");
}

TEST(Aliases, AnotherTreeThanTheNamesAcceptsNothing) {
  FakeHost host = host_with_data();
  host.aliases.found = {hard_link("/home/me/data/key")};
  PolicyMaker maker = reads("/home/me/data");
  accept(maker, "/home/me/data/old");
  EXPECT_EQ(must_refuse(host.plan(maker.policy)).items.at(0).code, "credential-alias");
}

TEST(Aliases, ASearchThatDidNotEndRefuses) {
  for (const AliasScanEnd end : {AliasScanEnd::kTooMany, AliasScanEnd::kTooDeep, AliasScanEnd::kTooLong,
                                 AliasScanEnd::kMountTable, AliasScanEnd::kCannotBeRead}) {
    FakeHost host = host_with_data();
    host.aliases.end = end;
    host.aliases.where = "/home/me/data/old";
    const plan::RefusedItem item = must_refuse(host.plan(reads("/home/me/data").policy)).items.at(0);
    EXPECT_EQ(item.code, "credential-aliases-unchecked");
    EXPECT_EQ(item.at.line, 2U);
  }
}

TEST(Aliases, ValidatesBudgetIsToldAndRefusesNothing) {
  FakeHost host = host_with_data();
  host.aliases.end = AliasScanEnd::kPartial;
  EXPECT_THAT(note_codes(must_plan(host.plan(reads("/home/me/data").policy))), Contains("credential-aliases-partial"));
}

TEST(Aliases, AStoreThatTheCallerMayNotReadIsTold) {
  FakeHost host = host_with_data();
  host.aliases.unread = {"/home/me/.docker"};
  EXPECT_THAT(note_codes(must_plan(host.plan(reads("/home/me/data").policy))), Contains("credential-store-unread"));
}

TEST(Aliases, ManyNamesAreCounted) {
  FakeHost host = host_with_data();
  for (int i = 0; i < 20; ++i) host.aliases.found.push_back(hard_link("/home/me/data/" + std::to_string(i)));
  const plan::Refusal refusal = must_refuse(host.plan(reads("/home/me/data").policy));
  ASSERT_EQ(refusal.items.size(), 9U);
  EXPECT_THAT(refusal.items.back().message, HasSubstr("12 more"));
}

TEST(Aliases, AnAnswerToAnotherQuestionIsNone) {
  FakeHost host = host_with_data();
  plan::HostFacts facts = host.know(reads("/home/me/data").policy);
  facts.aliases->asked.exposed.clear();
  EXPECT_EQ(must_refuse(plan(reads("/home/me/data").policy, facts)).items.at(0).code, "credential-aliases-unchecked");
  facts.aliases.reset();
  EXPECT_EQ(must_refuse(plan(reads("/home/me/data").policy, facts)).items.at(0).code, "credential-aliases-unchecked");
}

}  // namespace
}  // namespace cordon::planner
