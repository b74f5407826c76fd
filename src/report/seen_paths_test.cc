#include "report/seen_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/inside.h"

namespace cordon::report {
namespace {

namespace step = plan::step;
using plan::ObservedPath;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

plan::Step asked(step::Any act, std::uint32_t line) {
  plan::Step out{.act = std::move(act)};
  out.at.line = line;
  return out;
}

/// /usr of the base, /home/me/ro to read, /home/me/rw to write, secrets masked in both.
plan::Plan made() {
  plan::Plan plan;
  const auto bind = [](const std::string& path, bool read_only) {
    return step::Bind{.source = path, .target = path, .attributes = {.read_only = read_only}};
  };
  plan.steps = {
      {.act = step::MakeDirectory{.target = "/home"}},
      {.act = step::MakeSymlink{.target = "/bin", .text = "usr/bin"}},
      {.act = bind("/usr", true)},
      {.act = step::MountProc{}},
      {.act = step::MountTmpfs{.target = "/tmp"}},
      asked(bind("/home/me/ro", true), 3),
      asked(bind("/home/me/rw", false), 4),
      asked(step::Mask{.target = "/home/me/ro/.ssh"}, 0),
      asked(step::Pin{.target = "/home/me/rw/.git", .read_only = true}, 0),
  };
  return plan;
}

plan::Observations saw(std::vector<ObservedPath> paths) {
  return {.watching = plan::Watching::kPaths, .paths = std::move(paths)};
}
ObservedPath path(std::string text, std::uint32_t acts, std::uint64_t count = 1) {
  return {.path = std::move(text), .acts = acts, .count = count};
}
HostPaths host(const std::vector<std::string>& paths) {
  HostPaths out;
  for (const std::string& one : paths) out[one] = {.real = one};
  return out;
}

TEST(Inside, TellsWhatAPlanShows) {
  const Inside inside(made());
  EXPECT_EQ(inside.at("/"), Sight::kOwn);
  EXPECT_EQ(inside.at("/home"), Sight::kOwn);
  EXPECT_EQ(inside.at("/home/me"), Sight::kOwn) << "a parent of what is mounted";
  EXPECT_EQ(inside.at("/home/me/other"), Sight::kAbsent);
  EXPECT_EQ(inside.at("/opt"), Sight::kAbsent);
  EXPECT_EQ(inside.at("/usr/bin/x"), Sight::kOwn);
  EXPECT_EQ(inside.at("/home/me/ro/a"), Sight::kReadable);
  EXPECT_EQ(inside.at("/home/me/rw/a"), Sight::kWritable);
  EXPECT_EQ(inside.at("/home/me/ro/.ssh/id"), Sight::kHidden);
  EXPECT_EQ(inside.at("/home/me/rw/.git/config"), Sight::kHeld);
  EXPECT_EQ(inside.at("/tmp/x"), Sight::kScratch);
  EXPECT_EQ(inside.at("/proc/1/maps"), Sight::kOwn);
  EXPECT_EQ(inside.resolved("/bin/sh"), "/usr/bin/sh");
  EXPECT_EQ(inside.resolved("/bin"), "/usr/bin");
  EXPECT_EQ(inside.resolved("/binary"), "/binary");
}

TEST(PathDenials, AReadOfWhatIsNotThereIsALineForIt) {
  const auto got = path_denials(made(), saw({path("/opt/tool/data", plan::kActRead, 3)}), host({"/opt/tool/data"}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0], (Denial{.act = "read",
                            .subject = "/opt/tool/data",
                            .count = 3,
                            .grant = "read: [/opt/tool/data]",
                            .why = "no line grants it",
                            .path = "/opt/tool/data"}));
}

TEST(PathDenials, WhatIsNowhereOrVisibleIsNone) {
  const auto all =
      saw({path("/opt/gone", plan::kActRead), path("/usr/lib/x", plan::kActRead), path("/home/me/ro/x", plan::kActRead),
           path("/home/me/rw/x", plan::kActWrite), path("/proc/self/exe", plan::kActProbe),
           path("/bin/sh", plan::kActExecute), path("/tmp/made", plan::kActWrite)});
  EXPECT_THAT(path_denials(made(), all, host({"/usr/lib/x", "/home/me/ro/x", "/home/me/rw/x", "/tmp/made"})),
              IsEmpty());
}

TEST(PathDenials, ThePrivateTmpItselfIsNotDenied) {
  EXPECT_THAT(path_denials(made(), saw({path("/tmp", plan::kActEnter | plan::kActEnumerate)}), host({"/tmp"})),
              IsEmpty());
  EXPECT_EQ(path_denials(made(), saw({path("/tmp/theirs", plan::kActRead)}), host({"/tmp/theirs"})).size(), 1U)
      << "the control";
}

TEST(PathDenials, AWriteIntoAReadGrantIsALineForItsDirectory) {
  const auto got =
      path_denials(made(), saw({path("/home/me/ro/x/.cache/f", plan::kActWrite)}), host({"/home/me/ro/x/.cache"}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].grant, "write: [/home/me/ro/x/.cache]");
  EXPECT_THAT(got[0].why, HasSubstr("a cache"));
  HostPaths unwritable = host({"/home/me/ro/x/.cache"});
  unwritable.begin()->second.writable = false;
  EXPECT_THAT(path_denials(made(), saw({path("/home/me/ro/x/.cache/f", plan::kActWrite)}), unwritable), IsEmpty())
      << "it could not be written outside either";
}

TEST(PathDenials, AReadLineGrantsNoWritingBelowIt) {
  const auto got =
      path_denials(made(), saw({path("/opt/tool", plan::kActEnumerate, 9), path("/opt/tool/log/f", plan::kActWrite)}),
                   host({"/opt/tool", "/opt/tool/log", "/opt/tool/log/f"}));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].grant, "read: [/opt/tool]");
  EXPECT_EQ(got[1].grant, "write: [/opt/tool/log]");
  const auto reads =
      path_denials(made(), saw({path("/opt/tool", plan::kActEnumerate, 9), path("/opt/tool/log/f", plan::kActRead)}),
                   host({"/opt/tool", "/opt/tool/log", "/opt/tool/log/f"}));
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[1].grant, "") << "the control";
}

TEST(PathDenials, WhoOnlyNamesALinkGoesNowhere) {
  HostPaths there = host({"/opt/x"});
  there["/home/me/ro/l"] = {.real = "/opt/x"};
  there["/home/me/rw/l"] = {.real = "/opt/x"};
  const auto named = [](const std::string& at, std::uint32_t acts, std::vector<std::string> calls) {
    ObservedPath out = path(at, acts);
    out.calls = std::move(calls);
    return saw({std::move(out)});
  };
  EXPECT_THAT(path_denials(made(), named("/home/me/ro/l", plan::kActProbe, {"lstat", "readlink"}), there), IsEmpty());
  EXPECT_THAT(path_denials(made(), named("/home/me/rw/l", plan::kActWrite, {"symlinkat", "unlink"}), there), IsEmpty());
  EXPECT_EQ(path_denials(made(), named("/home/me/ro/l", plan::kActProbe, {"lstat", "newfstatat"}), there).size(), 1U)
      << "the control";
  const auto write = path_denials(made(), named("/home/me/rw/l", plan::kActWrite, {"openat"}), there);
  ASSERT_EQ(write.size(), 1U);
  EXPECT_EQ(write[0].grant, "write: [/opt/x]") << "where it leads";
}

TEST(PathDenials, ADirectoryThatMkdirFoundStandingIsNotWritten) {
  HostPaths there = host({"/home/me/ro/x"});
  there.at("/home/me/ro/x").directory = true;
  ObservedPath one = path("/home/me/ro/x", plan::kActWrite | plan::kActEnter);
  one.calls = {"mkdir", "chdir"};
  EXPECT_THAT(path_denials(made(), saw({one}), there), IsEmpty());
  one.calls = {"mkdir", "chdir", "chmod"};
  EXPECT_EQ(path_denials(made(), saw({one}), there).size(), 1U) << "the control";
}

TEST(PathDenials, ALockFileIsToldAsOne) {
  const auto got =
      path_denials(made(), saw({path("/home/me/ro/yarn.lock", plan::kActWrite)}), host({"/home/me/ro/yarn.lock"}));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_THAT(got[0].why, HasSubstr("a lock file"));
}

TEST(PathDenials, WhatIsShieldedIsToldAndNeverGranted) {
  const auto got =
      path_denials(made(),
                   saw({path("/home/me/ro/.ssh/id", plan::kActRead), path("/home/me/rw/.git/hooks/x", plan::kActWrite),
                        path("/home/me/ro/.ssh", plan::kActProbe)}),
                   host({"/home/me/ro/.ssh/id", "/home/me/rw/.git/hooks"}));
  ASSERT_EQ(got.size(), 2U);
  for (const Denial& one : got) {
    EXPECT_EQ(one.grant, "");
    EXPECT_THAT(one.why, HasSubstr("shielded"));
  }
}

TEST(PathDenials, ManyInOneDirectoryAreOneLine) {
  std::vector<ObservedPath> paths;
  std::vector<std::string> there;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    there.push_back(std::string("/opt/tool/lib/") + name);
    paths.push_back(path(there.back(), plan::kActRead));
  }
  const auto got = path_denials(made(), saw(paths), host(there));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].grant, "read: [/opt/tool/lib]");
  EXPECT_EQ(got[0].count, 5U);
}

TEST(PathDenials, ManyInADirectoryThatMayNotBeWholeAreListed) {
  std::vector<ObservedPath> paths;
  std::vector<std::string> there;
  for (const char* directory : {"/opt/tool/lib/", "/opt/tool/share/"}) {
    for (const char* name : {"a", "b", "c", "d"}) {
      there.push_back(std::string(directory) + name);
      paths.push_back(path(there.back(), plan::kActRead));
    }
  }
  Wholes wholes;
  EXPECT_EQ(path_denials(made(), saw(paths), host(there), &wholes).size(), 2U);
  EXPECT_THAT(wholes.suggested, ElementsAre("/opt/tool/lib", "/opt/tool/share"));
  wholes.refused.insert("/opt/tool/lib");
  const auto got = path_denials(made(), saw(paths), host(there), &wholes);
  EXPECT_EQ(got.size(), 5U);
  EXPECT_THAT(wholes.suggested, ElementsAre("/opt/tool/share"));
  wholes.none = true;
  EXPECT_EQ(path_denials(made(), saw(paths), host(there), &wholes).size(), 8U);
}

TEST(Inside, TellsWhetherSomethingBelowIsShielded) {
  const Inside inside(made());
  EXPECT_TRUE(inside.shields_below("/home/me/ro"));
  EXPECT_TRUE(inside.shields_below("/home/me"));
  EXPECT_FALSE(inside.shields_below("/home/me/ro/.ssh")) << "it is the shield";
  EXPECT_FALSE(inside.shields_below("/usr"));
}

TEST(PathDenials, WhatWasUsedComesBeforeWhatWasLookedAt) {
  const auto got =
      path_denials(made(), saw({path("/opt/a/probed", plan::kActProbe, 100), path("/opt/b/read", plan::kActRead)}),
                   host({"/opt/a/probed", "/opt/b/read"}));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].subject, "/opt/b/read");
}

TEST(PathDenials, ALinkThatLeadsOutIsTold) {
  HostPaths there = host({"/home/me/ro/link"});
  there.begin()->second.real = "/opt/elsewhere/file";
  const auto got = path_denials(made(), saw({path("/home/me/ro/link", plan::kActRead)}), there);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].subject, "/home/me/ro/link");
}

TEST(PathDenials, APathThatNoManifestCanNameHasNoLine) {
  const auto got = path_denials(made(), saw({path("/opt/x/\xff", plan::kActRead), path("/opt/x/a b", plan::kActRead)}),
                                host({"/opt/x/\xff", "/opt/x/a b"}));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].grant, "");
  EXPECT_EQ(got[1].grant, "read: [\"/opt/x/a b\"]");
}

TEST(PathsToAsk, AreThoseThatMayBeMissingAndFew) {
  std::vector<ObservedPath> paths = {path("/usr/lib/x", plan::kActRead), path("/opt/a", plan::kActProbe),
                                     path("/opt/b/c", plan::kActWrite)};
  EXPECT_THAT(paths_to_ask(made(), saw(paths)), ElementsAre("/opt/b/c", "/opt/b", "/opt/a"));
  for (int i = 0; i < 2'000; ++i) paths.push_back(path("/opt/" + std::to_string(i), plan::kActRead));
  EXPECT_EQ(paths_to_ask(made(), saw(paths)).size(), kMostPathsAsked);
}

TEST(Symptoms, AreSaidOfARunThatFailed) {
  Report report{.ending = Ending::kExited, .exit_code = 127};
  report.denials.push_back({.act = "connect", .subject = "a.example:443"});
  std::vector<std::string> codes;
  for (const plan::Note& note : symptoms(report)) codes.push_back(note.code);
  EXPECT_THAT(codes, ElementsAre("symptom-network", "symptom-127"));
  report.exit_code = 0;
  EXPECT_THAT(symptoms(report), IsEmpty());
}

}  // namespace
}  // namespace cordon::report
