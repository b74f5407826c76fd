#include "host/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host_testing.h"

namespace cordon::host {
namespace {

using plan::PathState;
using plan::ProgramFact;
using plan::ProgramFormat;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TempTree;

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() { tree.dir("bin"); }

  ProgramFact find(const std::string& asked, const std::string& search_path) const {
    const MountTable mounts = MountTable::read();
    const AccountBook accounts;
    Tree files({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts,
               std::make_shared<PinStore>());
    Resolver resolver(files, accounts, ::geteuid());
    Programs programs(files, resolver, search_path);
    return programs.find(asked, tree.path());
  }
  ProgramFact find(const std::string& asked) const { return find(asked, tree.path("bin") + ":/usr/bin:/bin"); }

  std::string script(std::string_view name, std::string_view text) const { return tree.file(name, text, 0755); }

  TempTree tree;
};

std::vector<std::string> files_of(const ProgramFact& fact) {
  std::vector<std::string> names;
  for (const plan::ProgramHop& hop : fact.hops) names.push_back(hop.file.real);
  return names;
}

std::string real_of(const char* path) {
  char* real = ::realpath(path, nullptr);
  std::string out = real == nullptr ? "" : real;
  ::free(real);
  return out;
}

TEST_F(ProgramsTest, FindsAnElfFileOnThePath) {
  const ProgramFact fact = find("true", "/usr/bin");
  EXPECT_TRUE(fact.found);
  EXPECT_EQ(fact.asked, "true");
  ASSERT_EQ(fact.hops.size(), 1U);
  EXPECT_EQ(fact.hops[0].file.real, "/usr/bin/true");
  EXPECT_EQ(fact.hops[0].format, ProgramFormat::kElf);
  EXPECT_FALSE(fact.hops[0].elf_foreign);
  EXPECT_THAT(fact.hops[0].elf_interpreter, ::testing::StartsWith("/lib"));
}

TEST_F(ProgramsTest, FollowsAShebangToItsInterpreter) {
  script("s", "#!/bin/sh -e\n");
  const ProgramFact fact = find(tree.path("s"));
  EXPECT_THAT(files_of(fact), ElementsAre(tree.path("s"), real_of("/bin/sh")));
  EXPECT_EQ(fact.hops[0].format, ProgramFormat::kScript);
  EXPECT_EQ(fact.hops[0].shebang_interpreter, "/bin/sh");
  EXPECT_EQ(fact.hops[0].shebang_argument, "-e");
  EXPECT_THAT(fact.hops[0].arguments, ElementsAre("-e"));
  EXPECT_FALSE(fact.hops[0].via_env);
  EXPECT_EQ(fact.hops[1].format, ProgramFormat::kElf);
}

TEST_F(ProgramsTest, FollowsEnvThroughThePath) {
  script("s", "#!/usr/bin/env tool\n");
  script("bin/tool", "#!/usr/bin/env -S sh -u\n");
  const ProgramFact fact = find(tree.path("s"));
  EXPECT_THAT(files_of(fact), ElementsAre(tree.path("s"), tree.path("bin/tool"), real_of("/usr/bin/sh")));
  EXPECT_TRUE(fact.hops[0].via_env);
  EXPECT_THAT(fact.hops[0].arguments, IsEmpty());
  EXPECT_TRUE(fact.hops[1].via_env);
  EXPECT_THAT(fact.hops[1].arguments, ElementsAre("-u"));
}

TEST_F(ProgramsTest, LeavesEnvWhereItCannotBeFollowed) {
  for (const char* rest : {"-i sh", "A=1 sh", "-S A=1 sh", "-S sh ${X}"}) {
    const std::string path = script("s" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()),
                                    std::string("#!/usr/bin/env ") + rest + "\n");
    const ProgramFact fact = find(path);
    EXPECT_THAT(files_of(fact), ElementsAre(path, real_of("/usr/bin/env"))) << rest;
    EXPECT_FALSE(fact.hops[0].via_env) << rest;
    ::unlink(path.c_str());
  }
}

TEST_F(ProgramsTest, TakesNoScriptForEnv) {
  script("bin/env", "#!/bin/sh\n");
  script("s", "#!" + tree.path("bin/env") + " sh\n");
  const ProgramFact fact = find(tree.path("s"));
  EXPECT_THAT(files_of(fact), ElementsAre(tree.path("s"), tree.path("bin/env"), real_of("/bin/sh")));
  EXPECT_FALSE(fact.hops[0].via_env);
  EXPECT_THAT(fact.hops[0].arguments, ElementsAre("sh"));
}

TEST_F(ProgramsTest, NamesAnInterpreterThatIsMissing) {
  script("s", "#!/no/such/python\n");
  const ProgramFact fact = find(tree.path("s"));
  EXPECT_TRUE(fact.found);
  ASSERT_EQ(fact.hops.size(), 2U);
  EXPECT_EQ(fact.hops[1].file.state, PathState::kAbsent);
  EXPECT_EQ(fact.hops[1].file.asked, "/no/such/python");
  script("e", "#!/usr/bin/env no-such-tool\n");
  const ProgramFact env = find(tree.path("e"));
  ASSERT_EQ(env.hops.size(), 2U);
  EXPECT_EQ(env.hops[1].file.asked, "no-such-tool");
  EXPECT_EQ(env.hops[1].file.state, PathState::kAbsent);
  EXPECT_TRUE(env.hops[0].via_env);
}

TEST_F(ProgramsTest, SkipsRelativeAndEmptyEntriesOfThePath) {
  script("tool", "#!/bin/sh\n");
  script("bin/tool", "#!/bin/sh\n");
  ASSERT_EQ(::chdir(tree.path().c_str()), 0);
  EXPECT_FALSE(find("tool", ":.:bin::").found) << "the current directory must not choose the program";
  EXPECT_EQ(find("tool", ":bin:" + tree.path("bin")).hops[0].file.real, tree.path("bin/tool"));
  EXPECT_FALSE(find("tool", "").found);
  ASSERT_EQ(::chdir("/"), 0);
}

TEST_F(ProgramsTest, PassesOverCandidatesThatCannotBeExecuted) {
  tree.dir("first");
  tree.file("first/tool", "#!/bin/sh\n", 0644);
  tree.dir("second");
  tree.dir("second/tool");
  script("bin/tool", "#!/bin/sh\n");
  const ProgramFact fact = find("tool", tree.path("first") + ":" + tree.path("second") + ":" + tree.path("bin"));
  EXPECT_EQ(fact.hops[0].file.real, tree.path("bin/tool"));
  EXPECT_THAT(fact.passed_over, ElementsAre(tree.path("first/tool")));
  const ProgramFact none = find("tool", tree.path("first"));
  EXPECT_FALSE(none.found);
  EXPECT_THAT(none.passed_over, ElementsAre(tree.path("first/tool")));
}

TEST_F(ProgramsTest, TakesAPathAsItStands) {
  tree.file("plain", "#!/bin/sh\n", 0644);
  const ProgramFact fact = find("./plain");
  EXPECT_TRUE(fact.found) << "the planner says that it cannot be executed";
  EXPECT_FALSE(fact.hops[0].file.executable);
  EXPECT_EQ(fact.hops[0].file.real, tree.path("plain"));
  EXPECT_FALSE(find("./absent").found);
  for (const char* name : {"", ".", ".."}) EXPECT_FALSE(find(name).found) << name;
}

TEST_F(ProgramsTest, StopsAtFiveInterpreters) {
  script("i0", "#!/bin/sh\n");
  for (int i = 1; i <= 7; ++i) {
    script("i" + std::to_string(i), "#!" + tree.path("i" + std::to_string(i - 1)) + "\n");
  }
  const ProgramFact most = find(tree.path("i4"));
  EXPECT_EQ(most.hops.size(), 6U);
  EXPECT_EQ(most.hops.back().format, ProgramFormat::kElf);
  const ProgramFact more = find(tree.path("i5"));
  EXPECT_EQ(more.hops.size(), 6U);
  EXPECT_EQ(more.hops.back().format, ProgramFormat::kScript);
  script("self", "#!" + tree.path("self") + "\n");
  EXPECT_EQ(find(tree.path("self")).hops.size(), 6U);
}

TEST_F(ProgramsTest, TellsFormatsApart) {
  EXPECT_EQ(find(tree.file("empty", "", 0755)).hops[0].format, ProgramFormat::kEmpty);
  EXPECT_EQ(find(tree.file("text", "echo hi\n", 0755)).hops[0].format, ProgramFormat::kUnknown);
  EXPECT_EQ(find(tree.file("cut", "\177ELF", 0755)).hops[0].format, ProgramFormat::kUnknown);
  EXPECT_EQ(find(tree.file("long", "#!" + std::string(300, 'p') + "\n", 0755)).hops[0].format, ProgramFormat::kUnknown);
  EXPECT_EQ(find(tree.path("bin")).hops[0].format, ProgramFormat::kUnknown);
  std::string foreign("\177ELF\2\1\1", 7);
  foreign.resize(64);
  foreign[16] = 2;       // ET_EXEC
  foreign[18] = '\xf3';  // EM_RISCV
  const ProgramFact other = find(tree.file("foreign", foreign, 0755));
  EXPECT_EQ(other.hops[0].format, ProgramFormat::kElf);
  EXPECT_TRUE(other.hops[0].elf_foreign);
}

TEST_F(ProgramsTest, ReadsNoFifo) {
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0755), 0);
  const ProgramFact fact = find(tree.path("fifo"));
  EXPECT_TRUE(fact.found);
  EXPECT_EQ(fact.hops[0].format, ProgramFormat::kUnknown);
}

TEST_F(ProgramsTest, SaysNothingOfAFileThatItMayNotRead) {
  testing::as_each_user([&] {
    const TempTree own;
    own.file("secret", "#!/bin/sh\n", 0111);
    const MountTable mounts = MountTable::read();
    const AccountBook accounts;
    Tree files({.uid = ::geteuid(), .overrides_modes = false, .dead_mounts = {}, .watch = nullptr}, mounts,
               std::make_shared<PinStore>());
    Resolver resolver(files, accounts, ::geteuid());
    Programs programs(files, resolver, "");
    const ProgramFact fact = programs.find(own.path("secret"), "/");
    EXPECT_TRUE(fact.found);
    EXPECT_EQ(fact.hops[0].format, testing::is_root() ? ProgramFormat::kScript : ProgramFormat::kUnknown);
  });
}

}  // namespace
}  // namespace cordon::host
