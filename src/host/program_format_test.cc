#include "host/program_format.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

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

}  // namespace
}  // namespace cordon::host
