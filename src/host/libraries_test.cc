#include "host/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "host/elf_testing.h"
#include "host/host_testing.h"

namespace cordon::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::elf_file;
using testing::ElfSpec;
using ::testing::IsEmpty;
using testing::TempTree;
using ::testing::UnorderedElementsAre;

class LibrariesTest : public ::testing::Test {
 protected:
  LibrariesTest() {
    for (const char* name : {"bin", "lib", "other"}) tree.dir(name);
  }

  plan::LibraryFact find(const std::string& program, const std::string& library_path = "") const {
    const MountTable mounts = MountTable::read();
    const AccountBook accounts;
    Tree files({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts,
               std::make_shared<PinStore>());
    Resolver resolver(files, accounts, ::geteuid());
    return Libraries(files, resolver).find(program, library_path);
  }
  std::string elf(std::string_view name, const ElfSpec& spec) const { return tree.file(name, elf_file(spec), 0755); }
  static ElfSpec needs(std::vector<std::string> names, std::string runpath = "") {
    return {.needed = std::move(names), .rpath = {}, .runpath = std::move(runpath), .interpreter = {}};
  }

  TempTree tree;
};

std::vector<std::string> files_of(const plan::LibraryFact& fact) {
  std::vector<std::string> out;
  for (const plan::PathFact& file : fact.files) out.push_back(file.real);
  return out;
}

TEST_F(LibrariesTest, FindsThoseOfARealProgramAndTheirs) {
  const plan::LibraryFact fact = find("/usr/bin/env");
  EXPECT_TRUE(fact.whole);
  EXPECT_THAT(fact.missing, IsEmpty());
  const auto libc =
      std::ranges::find_if(fact.files, [](const plan::PathFact& f) { return f.real.contains("libc.so"); });
  EXPECT_NE(libc, fact.files.end());
  // libc needs the loader by its name.
  EXPECT_GE(fact.files.size(), 2U);
}

TEST_F(LibrariesTest, FollowsARunpathFromTheProgramAndItsLibraries) {
  const std::string program = elf("bin/program", needs({"liba.so"}, "$ORIGIN/../lib"));
  elf("lib/liba.so", needs({"libb.so"}, "${ORIGIN}/../other"));
  elf("other/libb.so", needs({}));
  EXPECT_THAT(files_of(find(program)), ElementsAre(tree.path("lib/liba.so"), tree.path("other/libb.so")));
}

TEST_F(LibrariesTest, ARunpathIsNotHandedOnAndARpathIs) {
  elf("lib/liba.so", needs({"libb.so"}));
  elf("lib/libb.so", needs({}));
  const std::string runpath = elf("bin/runpath", needs({"liba.so"}, tree.path("lib")));
  EXPECT_THAT(find(runpath).missing, ElementsAre("libb.so"));
  ElfSpec old = needs({"liba.so"});
  old.rpath = tree.path("lib");
  EXPECT_THAT(files_of(find(elf("bin/rpath", old))), ElementsAre(tree.path("lib/liba.so"), tree.path("lib/libb.so")));
}

TEST_F(LibrariesTest, TheVariableComesBeforeTheRunpath) {
  const std::string program = elf("bin/program", needs({"liba.so"}, tree.path("lib")));
  elf("lib/liba.so", needs({}));
  elf("other/liba.so", needs({}));
  EXPECT_THAT(files_of(find(program)), ElementsAre(tree.path("lib/liba.so")));
  EXPECT_THAT(files_of(find(program, "relative:" + tree.path("other"))), ElementsAre(tree.path("other/liba.so")));
}

TEST_F(LibrariesTest, PassesOverWhatTheLoaderWouldNotMap) {
  const std::string program = elf("bin/program", needs({"liba.so"}, tree.path("lib") + ":" + tree.path("other")));
  tree.file("lib/liba.so", "no library");
  elf("other/liba.so", needs({}));
  EXPECT_THAT(files_of(find(program)), ElementsAre(tree.path("other/liba.so")));
}

TEST_F(LibrariesTest, TakesEachOnceAndEndsACircle) {
  const std::string runpath = tree.path("lib");
  const std::string program = elf("bin/program", needs({"liba.so", "liba2.so"}, runpath));
  elf("lib/liba.so", needs({"libb.so"}, runpath));
  elf("lib/libb.so", needs({"liba.so"}, runpath));
  tree.link("lib/liba2.so", "liba.so");
  EXPECT_THAT(files_of(find(program)), ElementsAre(tree.path("lib/liba.so"), tree.path("lib/libb.so")));
}

TEST_F(LibrariesTest, LooksNowhereForRelativeAndUnknownPlaces) {
  const std::string program =
      elf("bin/program", needs({"dir/liba.so", "libb.so"}, "lib:$LIB:$ORIGIN$X::" + tree.path()));
  const plan::LibraryFact fact = find(program);
  EXPECT_THAT(fact.missing, UnorderedElementsAre("dir/liba.so", "libb.so"));
  EXPECT_TRUE(fact.whole);
}

TEST_F(LibrariesTest, SaysWhereItIsNotTheWholeTruth) {
  EXPECT_FALSE(find(tree.path("bin/absent")).whole);
  EXPECT_FALSE(find(tree.file("bin/script", "#!/bin/sh\n", 0755)).whole);
  const std::string many = elf("bin/many", needs({"liba.so"}, std::string(70, ':') + tree.path("lib")));
  elf("lib/liba.so", needs({}));
  EXPECT_FALSE(find(many).whole);
}

TEST_F(LibrariesTest, SaysWhereItLookedBeforeAndAtAFind) {
  const std::string program = elf("bin/program", needs({"liba.so"}, "$ORIGIN/../absent:" + tree.path("lib") + ":/end"));
  elf("lib/liba.so", needs({}));
  const plan::LibraryFact fact = find(program, tree.path("other"));
  EXPECT_THAT(fact.searched, UnorderedElementsAre(tree.path("other"), tree.path("bin/../absent"), tree.path("lib")));
}

TEST_F(LibrariesTest, AllProgramsShareOneBudget) {
  const MountTable mounts = MountTable::read();
  const AccountBook accounts;
  Tree files({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts,
             std::make_shared<PinStore>());
  Resolver resolver(files, accounts, ::geteuid());
  Libraries libraries(files, resolver);
  std::string places;
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) places += "/n" + std::to_string(i) + ":";
  for (int i = 0; i < 500; ++i) names.push_back("libabsent" + std::to_string(i) + ".so");
  const std::string hostile = elf("bin/hostile", needs(names, places + "/end"));
  const std::string again = elf("bin/again", needs(names, places + "/end"));
  EXPECT_FALSE(libraries.find(hostile, "").whole && libraries.find(again, "").whole);
  EXPECT_FALSE(libraries.find("/usr/bin/env", "").whole) << "nothing is left";
  EXPECT_TRUE(find("/usr/bin/env").whole);
}

TEST_F(LibrariesTest, IsBoundedByTheNumberOfLibraries) {
  // Each needs the next: a chain that its maker can make as long as he likes.
  const std::string runpath = tree.path("lib");
  for (std::size_t i = 0; i < kMostLibraries + 8; ++i) {
    elf("lib/l" + std::to_string(i), needs({"l" + std::to_string(i + 1)}, runpath));
  }
  const plan::LibraryFact fact = find(elf("bin/program", needs({"l0"}, runpath)));
  EXPECT_FALSE(fact.whole);
  EXPECT_EQ(fact.files.size(), kMostLibraries);
}

}  // namespace
}  // namespace cordon::host
