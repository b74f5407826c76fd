#include <gtest/gtest.h>

#include "base/abs_path.h"
#include "base/diagnostic.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/text.h"

namespace cordon::base {
namespace {

TEST(Quote, EscapesWhatCouldForgeATerminal) {
  EXPECT_EQ(quote("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(quote("\x1b[2J"), "\"\\x1b[2J\"");
  EXPECT_EQ(quote("x\xe2\x80\xaey"), "\"x\\u202ey\"");
  EXPECT_EQ(quote("\xff\""), "\"\\xff\\\"\"");
  EXPECT_EQ(quote("back\\slash"), "\"back\\\\slash\"");
}

TEST(Quote, LeavesLettersOfAnyScriptAlone) { EXPECT_EQ(quote("été-日本-עברית"), "\"été-日本-עברית\""); }

TEST(Shown, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(shown("/usr/bin/env"), "/usr/bin/env");
  EXPECT_EQ(shown("/a b"), "\"/a b\"");
  EXPECT_EQ(shown(""), "\"\"");
}

TEST(Shown, EscapesWhatLooksLikeABlank) {
  EXPECT_EQ(shown("a\u00a0b"), "\"a\\xa0b\"");
  EXPECT_EQ(shown("k\u2800"), "\"k\\u2800\"");
  EXPECT_FALSE(find_unsafe_rune("a\u00a0b")) << "a manifest may hold it";
}

TEST(Runes, RefusesOverlongSurrogatesAndTruncated) {
  EXPECT_FALSE(is_valid_utf8("\xc0\xaf"));
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xe2\x80"));
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));
  EXPECT_TRUE(is_valid_utf8("\xf4\x8f\xbf\xbf"));
}

TEST(Runes, KnowsInvisibleOnes) {
  for (char32_t rune : {0x00adU, 0x200bU, 0x202eU, 0x2066U, 0xfeffU, 0xe0001U, 0x85U, 0x7fU})
    EXPECT_TRUE(is_unsafe_rune(rune)) << static_cast<unsigned>(rune);
  for (char32_t rune : {0x41U, 0xe9U, 0x5d0U, 0x20U, 0x1f600U})
    EXPECT_FALSE(is_unsafe_rune(rune)) << static_cast<unsigned>(rune);
}

TEST(AbsPathTest, NormalisesLexically) {
  EXPECT_EQ(AbsPath::parse("//a/./b/../c/")->str(), "/a/c");
  EXPECT_EQ(AbsPath::parse("/../..")->str(), "/");
  EXPECT_FALSE(AbsPath::parse("a/b"));
  EXPECT_FALSE(AbsPath::parse(""));
  EXPECT_FALSE(AbsPath::parse(std::string_view("/a\0b", 4)));
}

TEST(AbsPathTest, WithinCountsWholeComponents) {
  const AbsPath home = *AbsPath::parse("/home/u");
  EXPECT_TRUE(AbsPath::parse("/home/u/x")->is_within(home));
  EXPECT_TRUE(home.is_within(home));
  EXPECT_FALSE(AbsPath::parse("/home/user2")->is_within(home));
  EXPECT_EQ(home.parent().str(), "/home");
  EXPECT_EQ(home.name(), "u");
}

TEST(DidYouMean, SuggestsOnlyWhatIsNear) {
  constexpr std::string_view kKeys[] = {"entrypoint", "interpreter", "read"};
  EXPECT_EQ(did_you_mean("entrypont", kKeys), "entrypoint");
  EXPECT_EQ(did_you_mean("raed", kKeys), "read");
  EXPECT_EQ(did_you_mean("entry", kKeys), "entrypoint");
  EXPECT_FALSE(did_you_mean("zzz", kKeys));
}

TEST(ParseDecimal, TakesOnlyTheCanonicalSpelling) {
  EXPECT_EQ(parse_decimal("65535"), 65535U);
  for (std::string_view bad : {"", "+1", "-1", "01", "1 ", "0x1", "99999999999999999999"})
    EXPECT_FALSE(parse_decimal(bad)) << bad;
}

TEST(Render, ShowsLineCaretAndHint) {
  const Diagnostic unknown{.code = "unknown-key",
                           .at = {"m.yaml", 2, 1, 4},
                           .message = "unknown key \"raed\"",
                           .hint = "did you mean \"read\"?"};
  EXPECT_EQ(render(unknown, "entrypoint: x\nraed: [a]\n"),
            "m.yaml:2:1: error: unknown key \"raed\"\n  2 | raed: [a]\n    | ^^^^\n  hint: did you mean \"read\"?\n");
}

TEST(Render, PutsTheCaretRightUnderEscapedText) {
  const Diagnostic bad{.at = {"m", 1, 3, 1}, .message = "x"};
  EXPECT_EQ(render(bad,
                   "\x1b"
                   "ab"),
            "m:1:3: error: x\n  1 | \\x1bab\n    |      ^\n");
}

TEST(Wrap, NoLineEndsInABlank) {
  EXPECT_EQ(wrap("a  ->  b", 80, 2), "a  ->  b") << "blanks within a line stay";
  EXPECT_EQ(wrap("aaaa  ->  bbbb", 10, 2), "aaaa  ->\n  bbbb");
  EXPECT_EQ(wrap("aaaa  bbbb", 6, 0), "aaaa\nbbbb");
}

TEST(ResultTest, CarriesEitherSide) {
  const auto half = [](int n) -> Result<int, std::string> {
    if (n % 2 != 0) return fail(std::string("odd"));
    return n / 2;
  };
  EXPECT_EQ(*half(4), 2);
  EXPECT_EQ(half(3).error(), "odd");
}

TEST(ErrorText, NamesCallSubjectAndErrno) {
  EXPECT_EQ(to_string(Error{.operation = "openat2", .subject = "/x", .code = 2}),
            "openat2 \"/x\": No such file or directory (ENOENT)");
}

}  // namespace
}  // namespace cordon::base
