#include "policy/network/name.h"

#include <gtest/gtest.h>

#include <string>

#include "policy/network/idna.h"
#include "policy/network/matcher.h"

namespace cordon::policy::network {
namespace {

std::string parsed(std::string_view text) {
  const auto name = HostName::parse(text);
  return name ? name->str() : "(refused)";
}

TEST(HostNames, AreLowerCasedAndLoseOneTrailingDot) {
  EXPECT_EQ(parsed("Example.COM"), "example.com");
  EXPECT_EQ(parsed("example.com."), "example.com");
  EXPECT_EQ(parsed("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(parsed("a"), "a");
  EXPECT_EQ(parsed("1.2.3.4.example"), "1.2.3.4.example");
  EXPECT_EQ(parsed(std::string(63, 'a') + ".b"), std::string(63, 'a') + ".b");
}

TEST(HostNames, OfHostileSpellingAreRefused) {
  using namespace std::string_literals;
  std::string longest;
  for (int i = 0; i < 127; ++i) longest += "a.";
  ASSERT_EQ(longest.size(), 254U);
  ASSERT_NE(parsed(longest.substr(0, 253)), "(refused)");
  for (const std::string& bad : {""s,
                                 "."s,
                                 ".."s,
                                 "a..b"s,
                                 ".a"s,
                                 "a.."s,
                                 "a\0b"s,
                                 "a\0"s,
                                 "a\r"s,
                                 "a\nb"s,
                                 "a b"s,
                                 "a\tb"s,
                                 "user@a.com"s,
                                 "a:b@c.com"s,
                                 "fe80::1%eth0"s,
                                 "a%2e.com"s,
                                 "a%00.com"s,
                                 "-a.com"s,
                                 "a-.com"s,
                                 "a_b.com"s,
                                 "_tcp.a.com"s,
                                 "a.com:443"s,
                                 "http://a.com"s,
                                 "a/b"s,
                                 "a\\b"s,
                                 "*.a.com"s,
                                 "*"s,
                                 "[::1]"s,
                                 "::1"s,
                                 "1.2.3.4"s,
                                 "127.1"s,
                                 "2130706433"s,
                                 "0177.0.0.1"s,
                                 "0x7f.1"s,
                                 "0x7f000001"s,
                                 "0X7F000001"s,
                                 "a.0x"s,
                                 "a.1"s,
                                 "1.2.3.4."s,
                                 "::ffff:1.2.3.4"s,
                                 "b\xc3\xbc"
                                 "cher.com"s,
                                 "\xd0\xb0pple.com"s,
                                 "a\xe3\x80\x82"
                                 "com"s,
                                 "\xff.com"s,
                                 "a\x7f.com"s,
                                 std::string(64, 'a') + ".com",
                                 longest.substr(0, 253) + "a",
                                 longest.substr(0, 253) + ".."s,
                                 std::string(100'000, 'a'),
                                 std::string(100'000, '.')}) {
    EXPECT_EQ(parsed(bad), "(refused)") << bad;
  }
}

TEST(HostNames, KnowWhatLiesBelowThem) {
  const auto name = HostName::parse("a.example.com");
  EXPECT_TRUE(name->is_below("example.com"));
  EXPECT_TRUE(name->is_below("com"));
  EXPECT_FALSE(name->is_below("a.example.com"));
  EXPECT_FALSE(name->is_below("xample.com"));
  EXPECT_TRUE(HostName::parse("localhost")->is_local());
  EXPECT_TRUE(HostName::parse("a.LocalHost.")->is_local());
  EXPECT_FALSE(HostName::parse("localhost.com")->is_local());
}

TEST(ClientHosts, AreNamesOrCanonicalAddresses) {
  const auto host = [](std::string_view text) {
    const auto parsed = parse_client_host(text);
    return parsed ? to_string(*parsed) : "(refused)";
  };
  EXPECT_EQ(host("A.com"), "a.com");
  EXPECT_EQ(host("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(host("[2001:db8::1]"), "2001:db8::1");
  for (const char* bad :
       {"2001:db8::1", "[2001:DB8::1]", "[192.0.2.1]", "[::ffff:1.2.3.4]", "[::1.2.3.4]", "[fe80::1%1]", "[]", "[",
        "[::1", "::1]", "192.0.2.01", "192.0.2", "[[::1]]", "[::1]]", "[ ::1]", "3221225985"})
    EXPECT_EQ(host(bad), "(refused)") << bad;
}

std::string wire(std::string_view text) {
  const auto spelled = wire_spelling(text);
  return spelled ? *spelled : "(refused)";
}

TEST(WireSpelling, TurnsWhatAPersonTypesIntoWhatIsSent) {
  EXPECT_EQ(wire("B\xc3\xbc"
                 "cher.Example."),
            "xn--bcher-kva.example");
  EXPECT_EQ(wire("*.b\xc3\xbc"
                 "cher.example"),
            "*.xn--bcher-kva.example");
  EXPECT_EQ(wire(".B\xc3\xbc"
                 "cher.example"),
            ".xn--bcher-kva.example");
  EXPECT_EQ(wire("Example.COM."), "example.com");
  EXPECT_EQ(wire("[2001:DB8::1]"), "2001:db8::1");
  EXPECT_EQ(wire("*"), "*");
  EXPECT_EQ(wire("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(wire("fa\xc3\x9f.example"), "xn--fa-hia.example");  // non-transitional: not fass.example
}

TEST(WireSpelling, ShowsAConfusableForWhatItIs) { EXPECT_EQ(wire("\xd0\xb0pple.com"), "xn--pple-43d.com"); }

TEST(WireSpelling, OfDigitsInOtherScriptsIsStillJudgedByTheParser) {
  const std::string mapped = wire("\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1");  // full-width 127
  EXPECT_EQ(mapped, "127.1");
  EXPECT_FALSE(parse_host(mapped, SuffixMeaning::kBelowOnly));
}

TEST(WireSpelling, RefusesWhatIsNoName) {
  using namespace std::string_literals;
  for (const std::string& bad :
       {"xn--\xc3\xbc.com"s, "xn--a-\xc3\xa9.com"s, "a\xe2\x80\x8b.com"s, "a\0b"s, "a\xcc"s, "xn--.com"s,
        "xn--999999999999.com"s, std::string(300, 'a') + "\xc3\xbc", std::string(5000, '\xc3')})
    EXPECT_EQ(wire(bad), "(refused)") << bad;
}

}  // namespace
}  // namespace cordon::policy::network
