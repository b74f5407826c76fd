#include "report/manifest_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/approve_view.h"

namespace cordon::report {
namespace {

plan::RefusedItem refused_write() {
  plan::RefusedItem item;
  item.code = "write-root";
  item.message = "write: / would make everything writable";
  item.mend = "name the directory that it needs";
  item.at = {.file = "m.yaml", .line = 4, .column = 9, .length = 1};
  item.is_grant = true;
  return item;
}

ManifestView fetch() {
  ManifestView view;
  view.file = "m.yaml";
  view.entrypoint = "./fetch.py";
  view.interpreter = "python3";
  view.args = {"--all", "two words"};
  view.program = "/usr/bin/python3.11";
  view.working_directory = "/srv/p";
  view.environment = {"LANG", "TOKEN"};
  view.unset_environment = {"TOKEN"};
  view.grants = {{"read", "./in", "/srv/p/in", false, {}, {}},
                 {"read", "./gone", "/srv/p/gone", true, {}, {}},
                 {"write", "./out", "/srv/p/out", true, {}, {}}};
  view.exec = "none";
  view.limits = {{"timeout", "5m"}};
  view.approval = ApprovalState::kCurrent;
  return view;
}

TEST(ManifestView, SaysThePermissionsInPeoplesWords) {
  EXPECT_EQ(summary_text(fetch(), Style{}),
            "m.yaml\n"
            "  runs         python3 ./fetch.py --all \"two words\"\n"
            "  started as   /usr/bin/python3.11\n"
            "  runs in      /srv/p\n"
            "  may read     ./in  →  /srv/p/in\n"
            "               ./gone  →  /srv/p/gone  (absent)\n"
            "  may write    ./out  →  /srv/p/out  (will be made)\n"
            "  may reach    nothing\n"
            "  may start    no other program\n"
            "  environment  LANG\n"
            "               TOKEN  (not set here)\n"
            "  limits       timeout 5m\n");
}

TEST(ManifestView, ValidateEndsWithOneLineForEachVerdict) {
  const std::string said = validate_text(fetch(), "", Style{});
  EXPECT_THAT(said, testing::EndsWith(
                        "\nrunnable:     yes\ngrants:       yes, but 1 names nothing here\napproval:     current\n"));
  ManifestView whole = fetch();
  whole.grants.erase(whole.grants.begin() + 1);
  EXPECT_THAT(validate_text(whole, "", Style{}), testing::HasSubstr("\ngrants:       yes, all hold here\n"));
}

TEST(ManifestView, ARefusedGrantIsMarkedAndSaidInTheRunsOwnWords) {
  ManifestView view = fetch();
  view.grants.push_back({"write", "/", "/", false, {refused_write()}, {}});
  view.approval = ApprovalState::kUnapproved;
  const std::string said = validate_text(view, "a\nb\nc\nwrite: ['/']\n", Style{});
  EXPECT_THAT(said, testing::HasSubstr("               /  REFUSED\n"));
  EXPECT_THAT(said, testing::HasSubstr("m.yaml:4:9: error: write: / would make everything writable\n"
                                       "  4 | write: ['/']\n"
                                       "    |         ^\n"
                                       "  mend: name the directory that it needs\n"));
  EXPECT_THAT(said, testing::HasSubstr("runnable:     no, a run would be refused\n"));
  EXPECT_THAT(said, testing::HasSubstr("grants:       no, 1 is refused\n"));
  EXPECT_THAT(said, testing::HasSubstr("approval:     unapproved (cordon approve m.yaml)\n"));
  EXPECT_FALSE(grants_hold(view));
}

TEST(ManifestView, ARefusedPermissionThatIsNoPathCountsAmongTheGrants) {
  ManifestView view = fetch();
  view.problems = {refused_write(), refused_write()};
  EXPECT_FALSE(grants_hold(view));
  EXPECT_THAT(validate_text(view, "", Style{}),
              testing::HasSubstr("runnable:     no\ngrants:       no, 2 are refused\n"));
}

TEST(ManifestView, StrictEndsWithWhatItDoesNotLetPass) {
  ManifestView view = fetch();
  view.approval = ApprovalState::kStale;
  view.grants.push_back({"write", "/", "/", false, {refused_write()}, {}});
  view.strict_problems = strict_problems(view);
  EXPECT_THAT(validate_text(view, "", Style{}),
              testing::EndsWith("strict:       no: the approval is stale; 1 grant is refused;\n"
                                "              ./gone names nothing here\n"));
  ManifestView sound = fetch();
  sound.grants.clear();
  sound.strict_problems = strict_problems(sound);
  EXPECT_THAT(validate_text(sound, "", Style{}), testing::EndsWith("strict:       yes\n"));
}

TEST(ManifestView, CalloutsNameTheirLine) {
  ManifestView view = fetch();
  view.callouts = {
      {"exec-all", "it may start any program that it can see", {.file = "m.yaml", .line = 9, .column = 1}}};
  EXPECT_EQ(callouts_text(view, Style{}),
            "\nworth a second look:\n  - line 9: it may start any program that it can see\n");
}

TEST(ManifestView, WhatTheSummarySaysInItsOwnRowIsNoCallout) {
  ManifestView view = fetch();
  view.callouts = {{"env-not-set", "env: TOKEN is not set here", {}}, {"interpreter-resolved", "it is python3.11", {}}};
  EXPECT_EQ(callouts_text(view, Style{}), "");
}

TEST(ManifestView, ANoteAboutALineThatACalloutNamesIsNotToldTwice) {
  ManifestView view = fetch();
  const base::Span line{.file = "m.yaml", .line = 2, .column = 8};
  view.callouts = {{"env-not-set", "env: TOKEN is not set here", line}};
  view.notes = {{"env-not-set", "TOKEN told twice", line}, {"other", "told once", {}}};
  const std::string said = validate_text(view, "", Style{});
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("told twice")));
  EXPECT_THAT(said, testing::HasSubstr("note: told once\n"));
}

TEST(ManifestView, ANoteOfNoLineThatIsACalloutIsNotToldTwice) {
  ManifestView view = fetch();
  view.callouts = {{"git-program", "git runs a", {}}};
  view.notes = {{"git-program", "git runs a", {}}, {"git-program", "git runs b", {}}};
  const std::string said = validate_text(view, "", Style{});
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("note: git runs a")));
  EXPECT_THAT(said, testing::HasSubstr("note: git runs b\n"));
}

TEST(ManifestView, AnotherNoteAboutALineThatACalloutNamesIsTold) {
  ManifestView view = fetch();
  const base::Span line{.file = "m.yaml", .line = 3, .column = 8};
  view.callouts = {{"grant-in-tmp", "read: ./c: every user may make files there", line},
                   {"read-missing", "read: ./d does not exist here", line}};
  view.notes = {{"kernel-files-hidden", "/c/proc is a proc file system of the host and is hidden", line},
                {"missing-read", "told twice", line}};
  const std::string said = validate_text(view, "", Style{});
  EXPECT_THAT(said, testing::HasSubstr("note: /c/proc is a proc file system"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("told twice")));
}

TEST(ManifestView, RelocatableIsSaidOnlyWhereItWasAsked) {
  ManifestView view = fetch();
  EXPECT_THAT(validate_text(view, "", Style{}), testing::Not(testing::HasSubstr("relocatable")));
  view.relocatable = false;
  view.pinned_paths = {"/srv", "~/x"};
  EXPECT_THAT(validate_text(view, "", Style{}),
              testing::HasSubstr("\nrelocatable:  no: tied to this host by /srv, ~/x\n"));
}

TEST(ApproveView, ADiffSaysWhatChangedInSentences) {
  ApproveView view;
  view.file = "m.yaml";
  view.has_previous = true;
  view.previous_at = "2026-01-02T03:04:05Z";
  view.previous_by_human = true;
  view.changes = {{ChangeLine::Effect::kWidens, "now also writes ./out"},
                  {ChangeLine::Effect::kNarrows, "no longer reads ./in"}};
  EXPECT_EQ(review_text(view, Style{}),
            "\nwhat changed since the approval of 2026-01-02T03:04:05Z, given by a person:\n"
            "  + now also writes ./out\n"
            "  - no longer reads ./in\n");
}

}  // namespace
}  // namespace cordon::report
