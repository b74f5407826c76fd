#include "host/program_format.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "host/elf_testing.h"

namespace cordon::host {
namespace {

using std::string_literals::operator""s;

ShebangLine line(std::string interpreter, std::optional<std::string> argument = std::nullopt) {
  return {.interpreter = std::move(interpreter), .argument = std::move(argument)};
}

TEST(Shebang, ReadsWhatTheKernelReads) {
  struct Case {
    std::string head;
    std::optional<ShebangLine> want;
  };
  const std::vector<Case> cases = {
      {"#!/bin/sh\n", line("/bin/sh")},
      {"#!/bin/sh", line("/bin/sh")},
      {"#!  \t/bin/sh  \n", line("/bin/sh")},
      {"#!/bin/sh -e\n", line("/bin/sh", "-e")},
      {"#!/bin/sh -e", line("/bin/sh", "-e")},
      {"#!/bin/sh\t -e  -x \t\nmore", line("/bin/sh", "-e  -x")},
      {"#!/bin/sh \nmore", line("/bin/sh")},
      {"#!/bin/sh\r\n", line("/bin/sh\r")},
      {"#!bin/relative\n", line("bin/relative")},
      {"#!/bin/sh\n#!/bin/other\n", line("/bin/sh")},
      // An empty argument, because the buffer's NUL follows the blank: passed on by the kernel too.
      {"#!/bin/sh ", line("/bin/sh", "")},
      // A NUL ends the name; without a newline before it the line is the whole buffer.
      {"#!/bin/sh\0 -e\n"s, line("/bin/sh")},
      {"#!/bin/sh a\0b\n"s, line("/bin/sh", "a")},
      {"#!", std::nullopt},
      {"#!\n", std::nullopt},
      {"#!   \t\n/bin/sh\n", std::nullopt},
      {"#!\0/bin/sh\n"s, std::nullopt},
      {" #!/bin/sh\n", std::nullopt},
      {"#", std::nullopt},
      {"", std::nullopt},
      {"\177ELF", std::nullopt},
  };
  for (const Case& one : cases) EXPECT_EQ(parse_shebang(one.head), one.want) << ::testing::PrintToString(one.head);
}

TEST(Shebang, CutsTheArgumentButNeverTheInterpreter) {
  // 256 bytes are read, the last is never part of the line.
  const std::string longest(253, 'p');
  EXPECT_EQ(parse_shebang("#!" + longest + "\n"), line(longest));
  EXPECT_EQ(parse_shebang("#!" + longest + " -e\n"), line(longest));
  EXPECT_EQ(parse_shebang("#!" + longest + "p\n"), std::nullopt) << "the newline is not within the buffer";
  EXPECT_EQ(parse_shebang("#!" + std::string(300, 'p') + "\n"), std::nullopt);
  EXPECT_EQ(parse_shebang("#!/bin/sh " + std::string(300, 'a') + "\n"), line("/bin/sh", std::string(245, 'a')));
  EXPECT_EQ(parse_shebang("#!" + std::string(300, ' ') + "/bin/sh\n"), std::nullopt);
}

TEST(EnvArgument, FollowsNamesAndSplitStrings) {
  struct Case {
    std::string_view argument;
    std::optional<EnvCommand> want;
  };
  const std::vector<Case> cases = {
      {"python3", EnvCommand{"python3", {}}},
      {"/usr/bin/python3", EnvCommand{"/usr/bin/python3", {}}},
      // Without -S the whole argument is the name, blanks included: env finds no such program.
      {"python3 -u", EnvCommand{"python3 -u", {}}},
      {"-S python3 -u", EnvCommand{"python3", {"-u"}}},
      {"-Spython3 -u", EnvCommand{"python3", {"-u"}}},
      {"--split-string=node --flag", EnvCommand{"node", {"--flag"}}},
      {"-S  a \t b\n", EnvCommand{"a", {"b"}}},
      {"-S a 'b c' \"d e\"", EnvCommand{"a", {"b c", "d e"}}},
      {"-S a b\"c\"d ''", EnvCommand{"a", {"bcd", ""}}},
      {"-S a b\\_c", EnvCommand{"a", {"b", "c"}}},
      {"-S a \"b\\_c\"", EnvCommand{"a", {"b c"}}},
      {"-S a \\t\\n\\\\\\#\\$", EnvCommand{"a", {"\t\n\\#$"}}},
      {"-S a '\\n\\'' b", EnvCommand{"a", {"\\n'", "b"}}},
      {"-S a b # c", EnvCommand{"a", {"b"}}},
      {"-S a b#c", EnvCommand{"a", {"b#c"}}},
      {"-S a b\\cd e", EnvCommand{"a", {"b"}}},
      {"-S a '$HOME'", EnvCommand{"a", {"$HOME"}}},
      {"-S a ${HOME}", std::nullopt},
      {"-S a \"$HOME\"", std::nullopt},
      {"-S A=1 python3", std::nullopt},
      {"-S -i python3", std::nullopt},
      {"-S 'unclosed", std::nullopt},
      {"-S a \\q", std::nullopt},
      {"-S a \\", std::nullopt},
      {"-S \"a\\c\"", std::nullopt},
      {"-S", std::nullopt},
      {"-S # nothing", std::nullopt},
      {"-i", std::nullopt},
      {"-", std::nullopt},
      {"--", std::nullopt},
      {"A=1", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& one : cases) EXPECT_EQ(parse_env_argument(one.argument), one.want) << one.argument;
}

/// Reads of a string.
ReadAt reads(const std::string& bytes) {
  return [&bytes](std::uint64_t offset, std::span<std::byte> into) {
    if (offset > bytes.size() || into.size() > bytes.size() - offset) return false;
    std::memcpy(into.data(), bytes.data() + offset, into.size());
    return true;
  };
}

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
T& at(std::string& bytes, std::size_t offset) {
  return *reinterpret_cast<T*>(bytes.data() + offset);
}

/// A header, one PT_INTERP, its text.
std::string small_elf(std::string_view interpreter) {
  std::string bytes(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
  auto& header = at<Elf64_Ehdr>(bytes, 0);
  header = at<Elf64_Ehdr>(*std::make_unique<std::string>(own_program().substr(0, sizeof(Elf64_Ehdr))), 0);
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phnum = 1;
  auto& segment = at<Elf64_Phdr>(bytes, sizeof(Elf64_Ehdr));
  segment.p_type = PT_INTERP;
  segment.p_offset = bytes.size();
  segment.p_filesz = interpreter.size() + 1;
  bytes += interpreter;
  bytes.push_back('\0');
  return bytes;
}

TEST(Elf, ReadsTheInterpreterOfOurOwnProgram) {
  const std::string program = own_program();
  const auto facts = read_elf(reads(program));
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->foreign);
}

TEST(Elf, ReadsASmallOne) {
  const std::string program = small_elf("/lib64/ld.so");
  EXPECT_EQ(read_elf(reads(program)), (ElfFacts{.foreign = false, .interpreter = "/lib64/ld.so"}));
}

TEST(Elf, KnowsForeignOnes) {
  std::string other = small_elf("/x");
  at<Elf64_Ehdr>(other, 0).e_machine = EM_RISCV;
  EXPECT_TRUE(read_elf(reads(other)).value().foreign);
  std::string narrow = small_elf("/x");
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(read_elf(reads(narrow)).value().foreign);
  std::string big = small_elf("/x");
  big[EI_DATA] = ELFDATA2MSB;
  EXPECT_TRUE(read_elf(reads(big)).value().foreign);
}

TEST(Elf, RefusesWhatTheKernelWould) {
  const auto with = [](const auto& change) {
    std::string bytes = small_elf("/lib64/ld.so");
    change(bytes);
    return read_elf(reads(bytes));
  };
  const auto header = [](std::string& bytes) -> Elf64_Ehdr& { return at<Elf64_Ehdr>(bytes, 0); };
  const auto segment = [](std::string& bytes) -> Elf64_Phdr& { return at<Elf64_Phdr>(bytes, sizeof(Elf64_Ehdr)); };
  EXPECT_TRUE(with([](std::string&) {}));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.resize(3); }));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.resize(40); }));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.resize(sizeof(Elf64_Ehdr) + 8); }));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.pop_back(); }));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.back() = 'x'; })) << "not ended by a NUL";
  EXPECT_FALSE(with([&](std::string& bytes) { header(bytes).e_type = ET_REL; }));
  EXPECT_FALSE(with([&](std::string& bytes) { header(bytes).e_phnum = 0; }));
  EXPECT_FALSE(with([&](std::string& bytes) { header(bytes).e_phnum = 0xffff; }));
  EXPECT_FALSE(with([&](std::string& bytes) { header(bytes).e_phentsize = 32; }));
  EXPECT_FALSE(with([&](std::string& bytes) { header(bytes).e_phoff = ~std::uint64_t{0}; }));
  EXPECT_FALSE(with([&](std::string& bytes) { segment(bytes).p_offset = ~std::uint64_t{0} - 2; }));
  EXPECT_FALSE(with([&](std::string& bytes) { segment(bytes).p_filesz = 1; }));
  EXPECT_FALSE(with([&](std::string& bytes) { segment(bytes).p_filesz = std::uint64_t{1} << 40U; }));
  EXPECT_FALSE(read_elf(reads("")));
}

/// Where the dynamic section of elf_file() stands.
constexpr std::size_t kDynamic = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);

TEST(ElfNeeds, ReadsNamesAndWhereToLook) {
  const std::string bytes = testing::elf_file(
      {.needed = {"liba.so.1", "libb.so"}, .rpath = "/opt/x", .runpath = "$ORIGIN/../lib", .interpreter = "/ld.so"});
  EXPECT_EQ(read_elf_needs(reads(bytes)),
            (ElfNeeds{.names = {"liba.so.1", "libb.so"}, .rpath = "/opt/x", .runpath = "$ORIGIN/../lib"}));
  EXPECT_EQ(read_elf(reads(bytes)), (ElfFacts{.foreign = false, .interpreter = "/ld.so"}));
}

TEST(ElfNeeds, ReadsThoseOfARealProgram) {
  std::ifstream file("/usr/bin/env", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(read_elf_needs(reads(bytes)).value().names, std::vector<std::string>{"libc.so.6"});
}

TEST(ElfNeeds, AreNoneOfAStaticProgram) { EXPECT_EQ(read_elf_needs(reads(small_elf("/x"))), ElfNeeds{}); }

TEST(ElfNeeds, ReadsALongNameWhole) {
  const std::string longest(4000, 'n');
  EXPECT_EQ(
      read_elf_needs(reads(testing::elf_file({.needed = {longest}, .rpath = {}, .runpath = {}, .interpreter = {}})))
          .value()
          .names.front(),
      longest);
}

TEST(ElfNeeds, RefusesWhatIsHostile) {
  const auto with = [](const auto& change) {
    std::string bytes = testing::elf_file({.needed = {"liba.so.1"}, .rpath = {}, .runpath = {}, .interpreter = {}});
    change(bytes);
    return read_elf_needs(reads(bytes)).has_value();
  };
  const auto load = [](std::string& bytes) -> Elf64_Phdr& { return at<Elf64_Phdr>(bytes, sizeof(Elf64_Ehdr)); };
  const auto table = [](std::string& bytes) -> Elf64_Phdr& {
    return at<Elf64_Phdr>(bytes, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
  };
  const auto entry = [](std::string& bytes, std::size_t index) -> Elf64_Dyn& {
    return at<Elf64_Dyn>(bytes, kDynamic + index * sizeof(Elf64_Dyn));
  };
  EXPECT_TRUE(with([](std::string&) {}));
  EXPECT_FALSE(with([](std::string& bytes) { at<Elf64_Ehdr>(bytes, 0).e_machine = EM_RISCV; }));
  EXPECT_FALSE(with([&](std::string& bytes) { table(bytes).p_filesz = std::uint64_t{1} << 40U; }));
  EXPECT_FALSE(with([&](std::string& bytes) { table(bytes).p_offset = ~std::uint64_t{0} - 8; }));
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 0).d_un.d_val = 1'000'000; })) << "past the strings";
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 0).d_un.d_val = ~std::uint64_t{0}; }));
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 1).d_un.d_val = 0; })) << "strings that are not mapped";
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 1).d_un.d_val = ~std::uint64_t{0} - 1; }));
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 1).d_tag = DT_DEBUG; })) << "no strings at all";
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 2).d_un.d_val = ~std::uint64_t{0}; })) << "their size";
  EXPECT_FALSE(with([&](std::string& bytes) { entry(bytes, 2).d_un.d_val = 4; })) << "a name that does not end";
  EXPECT_FALSE(with([&](std::string& bytes) { load(bytes).p_offset = ~std::uint64_t{0} - 2; }));
  EXPECT_FALSE(with([&](std::string& bytes) { load(bytes).p_filesz = 8; }));
  EXPECT_FALSE(with([](std::string& bytes) { bytes.resize(kDynamic + 8); }));
  const std::vector<std::string> many(kMostNeeds + 1, "libx.so");
  EXPECT_FALSE(
      read_elf_needs(reads(testing::elf_file({.needed = many, .rpath = {}, .runpath = {}, .interpreter = {}}))));
}

struct CacheEntry {
  std::uint32_t flags;
  std::string name, file;
};

std::string cache_file(const std::vector<CacheEntry>& entries) {
  std::string out = "glibc-ld.so.cache1.1";
  testing::append(out, static_cast<std::uint32_t>(entries.size()));
  out.resize(48, '\0');
  std::string strings;
  const std::size_t texts = 48 + 24 * entries.size();
  for (const CacheEntry& entry : entries) {
    testing::append(out, entry.flags);
    testing::append(out, static_cast<std::uint32_t>(texts + strings.size()));
    strings += entry.name + '\0';
    testing::append(out, static_cast<std::uint32_t>(texts + strings.size()));
    strings += entry.file + '\0';
    out.resize(out.size() + 12, '\0');
  }
  return out + strings;
}

#if defined(__x86_64__)
constexpr std::uint32_t kOurs = 0x0303;
#else
constexpr std::uint32_t kOurs = 0x0a03;
#endif

TEST(LoaderCacheFile, NamesTheFilesOfThisMachine) {
  const std::string bytes = cache_file({{kOurs, "liba.so.1", "/usr/lib/x/liba.so.1"},
                                        {kOurs, "liba.so.1", "/usr/lib/glibc-hwcaps/liba.so.1"},
                                        {0x0003, "libold.so", "/usr/lib32/libold.so"},
                                        {kOurs, "librelative.so", "lib/librelative.so"}});
  const LoaderCache cache = parse_loader_cache(bytes);
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.count("liba.so.1"), 2U);
  EXPECT_EQ(parse_loader_cache("ld.so-1.7.0 an older table" + bytes), cache);
}

TEST(LoaderCacheFile, LeavesOutWhatDoesNotLieInIt) {
  std::string bytes = cache_file({{kOurs, "liba.so.1", "/usr/lib/liba.so.1"}});
  at<std::uint32_t>(bytes, 20) = 0xffffffff;
  EXPECT_EQ(parse_loader_cache(bytes).size(), 1U) << "a count that lies";
  std::string far = bytes;
  at<std::uint32_t>(far, 48 + 8) = 0xfffffff0;
  EXPECT_TRUE(parse_loader_cache(far).empty());
  EXPECT_TRUE(parse_loader_cache(bytes.substr(0, bytes.size() - 1)).empty()) << "a name that does not end";
  EXPECT_TRUE(parse_loader_cache(bytes.substr(0, 30)).empty());
  EXPECT_TRUE(parse_loader_cache("").empty());
  EXPECT_TRUE(parse_loader_cache("no cache").empty());
}

}  // namespace
}  // namespace cordon::host
