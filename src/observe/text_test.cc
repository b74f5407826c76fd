// The pure parts: joining, flags, the files of /proc, the bounds.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "observe/lexical.h"
#include "observe/made_links.h"
#include "observe/process_text.h"
#include "observe/store.h"
#include "plan/path_calls.h"

namespace cordon::observe {
namespace {

std::string joined(std::string_view directory, std::string_view path, Root root = Root::kOfTheTarget) {
  std::string out = "what was there before";
  join(directory, path, root, out);
  return out;
}

TEST(Join, MakesPathsNormal) {
  EXPECT_EQ(joined("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(joined("/a/b", "./c//d/."), "/a/b/c/d");
  EXPECT_EQ(joined("/a/b", "../../../../c"), "/c");
  EXPECT_EQ(joined("/a/b", ".."), "/a");
  EXPECT_EQ(joined("/a", ".."), "/");
  EXPECT_EQ(joined("/", "x"), "/x");
  EXPECT_EQ(joined("/a/b", "/../d/"), "/d");
  EXPECT_EQ(joined("/a", "..."), "/a/...");
  EXPECT_EQ(joined("", "//"), "/");
}

TEST(Join, LeavesWhatIsAboveANameThatMayBeALinksOpen) {
  EXPECT_EQ(joined("/a/b", "/c/../d/"), "/c/../d");
  EXPECT_EQ(joined("/a/b", "../c/.././../d"), "/a/c/../../d");
  EXPECT_EQ(joined("/a/b", "c/.."), "/a/b/c/..");
  EXPECT_TRUE(climbs("/c/../d"));
  EXPECT_TRUE(climbs("/c/.."));
  EXPECT_FALSE(climbs("/c/..d/...")) << "the control";
}

TEST(Join, KeepsWithinADirectoryThatIsTheRoot) {
  EXPECT_EQ(joined("/a/b", "/c", Root::kDirectory), "/a/b/c");
  EXPECT_EQ(joined("/a/b", "../../../c", Root::kDirectory), "/a/b/c");
  EXPECT_EQ(joined("/a/b", "..", Root::kDirectory), "/a/b");
}

TEST(MadeLinks, LeadWhereTheirTextSays) {
  using Last = MadeLinks::Last;
  MadeLinks links;
  EXPECT_EQ(links.led_to("/w/l", Last::kFollowed), std::nullopt);
  EXPECT_TRUE(links.add("/w/l", "/etc"));
  EXPECT_TRUE(links.add("/w/d/m", "../l/apt"));
  EXPECT_TRUE(links.add("/w/loop", "loop"));
  EXPECT_EQ(links.led_to("/w/l/x", Last::kKept), "/etc/x");
  EXPECT_EQ(links.led_to("/w/l", Last::kKept), std::nullopt);
  EXPECT_EQ(links.led_to("/w/l/../x", Last::kFollowed), "/etc/../x");
  EXPECT_EQ(links.led_to("/w/d/m/y", Last::kFollowed), "/w/d/../l/apt/y") << "the host says what is above";
  EXPECT_EQ(links.led_to("/w/lx", Last::kFollowed), std::nullopt);
  EXPECT_TRUE(links.led_to("/w/loop", Last::kFollowed)) << "and ends";
  links.move("/w/l", "/w/n");
  EXPECT_EQ(links.led_to("/w/l/x", Last::kFollowed), std::nullopt);
  EXPECT_EQ(links.led_to("/w/n/x", Last::kFollowed), "/etc/x");
  links.forget("/w/n");
  EXPECT_EQ(links.led_to("/w/n/x", Last::kFollowed), std::nullopt);
}

TEST(IsPlace, TellsNamesFromOtherThings) {
  EXPECT_TRUE(is_place("/a"));
  EXPECT_FALSE(is_place("/a (deleted)"));
  EXPECT_FALSE(is_place("socket:[17]"));
  EXPECT_FALSE(is_place("(unreachable)/a"));
  EXPECT_FALSE(is_place(""));
}

TEST(ActsOfOpen, AreWritingWhereAFlagSaysSo) {
  EXPECT_EQ(acts_of_open(O_RDONLY | O_CLOEXEC | O_NOFOLLOW), plan::kActRead);
  EXPECT_EQ(acts_of_open(O_RDONLY | O_DIRECTORY), plan::kActEnumerate);
  EXPECT_EQ(acts_of_open(O_RDONLY | O_TRUNC), plan::kActWrite);
  EXPECT_EQ(acts_of_open(O_WRONLY | O_TMPFILE), plan::kActWrite);
  EXPECT_EQ(acts_of_open(O_ACCMODE), plan::kActWrite);
  EXPECT_EQ(acts_of_open(O_PATH | O_DIRECTORY | O_RDWR), plan::kActProbe);
}

std::string stat_line(std::string_view name) {
  std::string out = fmt::format("17 ({}) S", name);
  for (int field = 4; field <= 52; ++field) out += fmt::format(" {}", 1000 + field);
  return out + "\n";
}

TEST(Image, IsReadBehindTheLastParenthesis) {
  for (const char* name : {"sh", "a) R 1 2 3", "(", "x\ny"}) {
    const auto image = parse_image(stat_line(name));
    ASSERT_TRUE(image) << name;
    EXPECT_EQ(image->started, 1022U);
    EXPECT_EQ(image->addresses, (std::array<std::uint64_t, 5>{1028, 1048, 1049, 1050, 1051}));
  }
  for (const char* bad : {"", ")", "1 (x) S", "1 (x) S 1 2 3"}) EXPECT_FALSE(parse_image(bad)) << bad;
  const std::string whole = stat_line("x");
  for (std::size_t size = 0; size < whole.size() - 12; ++size) parse_image(whole.substr(0, size));
}

TEST(ProcessOfAThread, StandsInItsStatus) {
  EXPECT_EQ(parse_process("Name:\tx\nUmask:\t0022\nTgid:\t4711\nNgid:\t0\n"), 4711);
  EXPECT_FALSE(parse_process("Name:\tTgid:\t1\n"));
  EXPECT_FALSE(parse_process("Name:\tx\nTgid:\tx\n"));
}

TEST(Loader, IsWhatIsMappedAtTheBaseAddress) {
  const std::array<std::uint64_t, 6> words{AT_PAGESZ, 4096, AT_BASE, 0x7f00'0000'1000, AT_NULL, 0};
  const auto auxv = std::as_bytes(std::span(words));
  EXPECT_EQ(loader_address(auxv), 0x7f00'0000'1000U);
  EXPECT_EQ(loader_address(auxv.first(20)), 0U);
  EXPECT_EQ(loader_address({}), 0U);
  constexpr std::string_view kMaps =
      "00400000-00401000 r--p 00000000 fe:01 12    /usr/bin/x\n"
      "7f0000001000-7f0000002000 r--p 00000000 fe:01 13    /usr/lib/ld with blank.so\n"
      "7f0000003000-7f0000004000 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(mapped_at(kMaps, 0x7f00'0000'1000), "/usr/lib/ld with blank.so");
  EXPECT_EQ(mapped_at(kMaps, 0x400000), "/usr/bin/x");
  EXPECT_EQ(mapped_at(kMaps, 0x7f00'0000'3000), "");
  EXPECT_EQ(mapped_at(kMaps, 0x7f00'0000'0000), "");
}

TEST(Arguments, AreCappedInNumberAndLength) {
  using namespace std::string_view_literals;
  EXPECT_EQ(parse_arguments("a\0\0b\0"sv).list, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_FALSE(parse_arguments("a\0"sv).cut);
  EXPECT_TRUE(parse_arguments(std::string(kMostArgumentBytes + 1, 'x')).cut);
  std::string many;
  for (std::size_t i = 0; i <= kMostArguments; ++i) many += "x\0"sv;
  EXPECT_TRUE(parse_arguments(many).cut);
  EXPECT_EQ(parse_arguments(many).list.size(), kMostArguments);
}

TEST(Interpreters, AreWhatTheKernelPutBeforeTheName) {
  using List = std::vector<std::string>;
  EXPECT_EQ(interpreters("/x/script", {"/bin/sh", "/x/script", "a"}), (List{"/x/script", "/bin/sh"}));
  EXPECT_EQ(interpreters("s", {"/usr/bin/env", "-S python3", "s"}), (List{"s", "/usr/bin/env"}));
  EXPECT_EQ(interpreters("s", {"/bin/one", "/bin/two", "s"}), (List{"s", "/bin/two", "/bin/one"}));
  EXPECT_EQ(interpreters("/bin/ls", {"ls", "/bin/ls"}), List{});
  EXPECT_EQ(interpreters("/bin/ls", {"/bin/ls", "/bin/ls"}), List{});
  EXPECT_EQ(interpreters("/bin/ls", {}), List{});
  EXPECT_EQ(interpreters("", {"/bin/sh", ""}), List{});
}

TEST(Store, KeepsEachPathOnceWithItsWitnesses) {
  Store store;
  const auto sh = store.program("/bin/sh"), ls = store.program("/bin/ls");
  EXPECT_EQ(store.program("/bin/sh"), sh);
  store.add("/a", plan::kActRead, sh, 4);
  store.add("/b", plan::kActRead, sh, 4);
  store.add("/a", plan::kActWrite, ls, 7);
  store.add("/a", plan::kActWrite, ls, 7);
  const auto got = store.take(plan::Watching::kPaths);
  ASSERT_EQ(got.paths.size(), 2U);
  EXPECT_EQ(got.paths[0], (plan::ObservedPath{.path = "/a",
                                              .acts = plan::kActRead | plan::kActWrite,
                                              .count = 3,
                                              .programs = {"/bin/sh", "/bin/ls"},
                                              .calls = {plan::kPathCalls[4].name, plan::kPathCalls[7].name}}));
  EXPECT_TRUE(got.complete);
}

TEST(Store, CountsWhatHasNoRoom) {
  Store store({.paths = 2, .programs = 1, .bytes = 1000});
  for (const char* path : {"/a", "/b", "/c", "/c", "/a"}) store.add(path, plan::kActRead, 0, 4);
  store.add({.path = "/bin/a"});
  store.add({.path = "/bin/b"});
  store.add({.path = "/bin/a"});
  const auto got = store.take(plan::Watching::kPaths);
  EXPECT_EQ(got.paths.size(), 2U);
  EXPECT_EQ(got.programs.size(), 1U);
  EXPECT_EQ(got.programs[0].count, 2U);
  EXPECT_EQ(got.losses, (std::vector<plan::Loss>{{.why = "too-many", .count = 3}}));
  EXPECT_FALSE(got.complete);
}

TEST(Store, IsBoundedInBytes) {
  Store store({.paths = 1000, .programs = 1000, .bytes = 10'000});
  for (int i = 0; i < 100; ++i) store.add(fmt::format("/{}/{}", i, std::string(1000, 'x')), plan::kActRead, 0, 4);
  const auto got = store.take(plan::Watching::kPaths);
  EXPECT_EQ(got.paths.size(), 9U);
  EXPECT_EQ(got.lost, 91U);
}

TEST(Store, KeepsTheFirstEightWitnesses) {
  Store store;
  for (int i = 0; i < 20; ++i) store.add("/a", plan::kActRead, store.program(fmt::format("/bin/{}", i)), 4);
  const auto got = store.take(plan::Watching::kPaths);
  ASSERT_EQ(got.paths[0].programs.size(), 8U);
  EXPECT_EQ(got.paths[0].programs[7], "/bin/7");
}

}  // namespace
}  // namespace cordon::observe
