#include "policy/network/rule.h"

#include <gtest/gtest.h>

#include <string>

#include "policy/network/matcher.h"

namespace cordon::policy::network {
namespace {

std::string host(std::string_view text) {
  const auto pattern = parse_host(text, SuffixMeaning::kBelowOnly);
  return pattern ? to_string(*pattern) : "(refused)";
}

std::string ports(std::string_view text) {
  const auto range = parse_ports(text);
  return range ? to_string(*range) : "(refused)";
}

TEST(Rule, HostsHaveOneSpelling) {
  EXPECT_EQ(host("Example.com"), "example.com");
  EXPECT_EQ(host("*.example.com"), ".example.com");
  EXPECT_EQ(host(".example.com"), ".example.com");
  EXPECT_EQ(host(".com"), ".com");
  EXPECT_EQ(host("*"), "*");
  EXPECT_EQ(host("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(host("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(host("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(host("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(host("2001:db8::/32"), "2001:db8::/32");
}

TEST(Rule, HostileHostsAreRefused) {
  using namespace std::string_literals;
  for (const std::string& bad : {""s,
                                 "*."s,
                                 "*.com"s,
                                 "**"s,
                                 "a*.com"s,
                                 "*a.com"s,
                                 "a.*.com"s,
                                 "*.*.com"s,
                                 "."s,
                                 ".."s,
                                 "..com"s,
                                 "*.1.2.3.4"s,
                                 ".1.2.3.4"s,
                                 "*.127.1"s,
                                 "a.com."s,
                                 "a.com:443"s,
                                 "https://a.com"s,
                                 "u@a.com"s,
                                 "fe80::1%eth0"s,
                                 "[::1]"s,
                                 "a b"s,
                                 "127.1"s,
                                 "0x7f000001"s,
                                 "017700000001"s,
                                 "2130706433"s,
                                 "192.0.2.01"s,
                                 "::ffff:192.0.2.1"s,
                                 "::192.0.2.1"s,
                                 "2001:DB8::1"s,
                                 "2001:db8:0:0::1"s,
                                 "10.0.0.1/8"s,
                                 "10.0.0.0/33"s,
                                 "10.0.0.0/08"s,
                                 "10.0.0.0/"s,
                                 "10.0.0.0/-1"s,
                                 "::ffff:10.0.0.0/104"s,
                                 "a.com/8"s,
                                 "a\0.com"s,
                                 "a\r\n"s,
                                 "a_b.com"s,
                                 "-a.com"s,
                                 "b\xc3\xbc"
                                 "cher.de"s,
                                 std::string(254, 'a'),
                                 std::string(64, 'a') + ".com"})
    EXPECT_EQ(host(bad), "(refused)") << bad;
}

TEST(Rule, PortsHaveOneSpelling) {
  EXPECT_EQ(ports("443"), "443");
  EXPECT_EQ(ports("8000-8010"), "8000-8010");
  EXPECT_EQ(ports("1-65535"), "*");
  EXPECT_EQ(ports("*"), "*");
  for (const char* bad :
       {"", "0", "65536", "0443", "+1", "-1", "1-", "-", "1-2-3", "2-1", "1 - 2", "http", "4294967297", "1,2", "0-5"})
    EXPECT_EQ(ports(bad), "(refused)") << bad;
}

class Matching : public testing::Test {
 protected:
  void allow(std::string_view host, std::string_view ports, SuffixMeaning meaning = SuffixMeaning::kBelowOnly) {
    rules_.allow.push_back(*parse_rule(host, ports, meaning));
  }
  void deny(std::string_view host, std::string_view ports) {
    rules_.deny.push_back(*parse_rule(host, ports, SuffixMeaning::kWithApex));
  }
  /// "allow 0", "deny 1", "none", with "literal" where the rule names the address.
  std::string decide(std::string_view host, std::uint16_t port) const {
    const auto parsed = parse_client_host(host);
    if (!parsed) return "(refused)";
    const Decision decision = rules_.decide(*parsed, port);
    if (decision.outcome == Outcome::kNoRule) return "none";
    return (decision.outcome == Outcome::kAllowed ? "allow " : "deny ") + std::to_string(decision.rule) +
           (decision.admission == Admission::kByName ? "" : " literal");
  }
  bool tells(std::string_view name) const { return rules_.could_allow(*HostName::parse(name)); }

  Rules rules_;
};

TEST_F(Matching, WithoutRulesNothingIsAllowed) {
  EXPECT_EQ(decide("a.com", 443), "none");
  EXPECT_EQ(decide("192.0.2.1", 443), "none");
  EXPECT_FALSE(tells("a.com"));
}

TEST_F(Matching, NamesTheRuleThatDecides) {
  allow("a.com", "443");
  allow(".b.com", "8000-8010");
  deny("bad.b.com", "*");
  EXPECT_EQ(decide("A.com.", 443), "allow 0");
  EXPECT_EQ(decide("a.com", 80), "none");
  EXPECT_EQ(decide("x.b.com", 8010), "allow 1");
  EXPECT_EQ(decide("x.b.com", 8011), "none");
  EXPECT_EQ(decide("bad.b.com", 8000), "deny 0");
  EXPECT_EQ(decide("x.bad.b.com", 8000), "allow 1");
  EXPECT_EQ(decide("ab.com", 443), "none");
  EXPECT_EQ(decide("a.com.evil.org", 443), "none");
  EXPECT_EQ(decide("evila.com", 443), "none");
}

TEST_F(Matching, OfASuffixCoversTheApexOnlyWhereThatIsMeant) {
  allow("*.manifest.com", "443");
  allow("*.flag.com", "443", SuffixMeaning::kWithApex);
  EXPECT_EQ(decide("manifest.com", 443), "none");
  EXPECT_EQ(decide("a.manifest.com", 443), "allow 0");
  EXPECT_EQ(decide("flag.com", 443), "allow 1");
  EXPECT_EQ(decide("a.b.flag.com", 443), "allow 1");
  EXPECT_EQ(decide("xflag.com", 443), "none");
}

TEST_F(Matching, OfADenyAlwaysCoversTheApex) {
  allow("*", "*");
  deny("*.evil.com", "*");
  EXPECT_EQ(decide("evil.com", 443), "deny 0");
  EXPECT_EQ(decide("a.evil.com", 443), "deny 0");
  EXPECT_EQ(decide("good.com", 443), "allow 0");
}

TEST_F(Matching, ANameNeverCoversItsAddressNorAnAddressItsName) {
  allow("one.one.one.one", "443");
  allow("192.0.2.1", "443");
  EXPECT_EQ(decide("1.1.1.1", 443), "none");
  EXPECT_EQ(decide("192.0.2.1", 443), "allow 1 literal");
  EXPECT_EQ(decide("192.0.2.2", 443), "none");
}

TEST_F(Matching, ABlockOpensPrivateAddressesOnlyWhereItMeansThem) {
  allow("0.0.0.0/0", "443");
  EXPECT_EQ(decide("10.1.2.3", 443), "allow 0");
  allow("10.0.0.0/8", "443");
  EXPECT_EQ(decide("10.1.2.3", 443), "allow 1 literal");
  EXPECT_EQ(decide("1.1.1.1", 443), "allow 0");
}

TEST_F(Matching, ADenyOfAnIpv4BlockHoldsForEveryIpv6FormOfIt) {
  allow("*", "*");
  deny("192.0.2.0/24", "*");
  EXPECT_EQ(decide("192.0.2.7", 1), "deny 0");
  EXPECT_EQ(decide("[64:ff9b::c000:207]", 1), "deny 0");
  EXPECT_EQ(decide("[2002:c000:207::1]", 1), "deny 0");
  EXPECT_EQ(decide("[2606:4700::1]", 1), "allow 0");
}

TEST_F(Matching, DnsTellsOnlyOfNamesWithAPortThatIsOpen) {
  allow("*", "443");
  deny("closed.com", "*");
  deny("half.com", "80");
  EXPECT_FALSE(tells("closed.com"));
  EXPECT_TRUE(tells("half.com"));
  EXPECT_TRUE(tells("any.com"));
  deny("half.com", "400-500");
  EXPECT_FALSE(tells("half.com"));
}

std::string never(const char* host) {
  const auto why = never_reached(parse_host(host, SuffixMeaning::kBelowOnly).value());
  return why ? std::string(class_name(*why)) : "";
}

TEST(NeverReached, AreTheSandboxsOwnLoopbackAndWhatTheGuardNeverDials) {
  for (const char* host : {"localhost", "LocalHost", "db.localhost", ".localhost", "127.0.0.1", "127.9.9.9",
                           "127.0.0.0/8", "127.1.0.0/16", "::1"})
    EXPECT_EQ(never(host), "loopback") << host;
  EXPECT_EQ(never("169.254.169.254"), "metadata");
  EXPECT_EQ(never("169.254.0.0/16"), "link-local");
  EXPECT_EQ(never("fe80::/64"), "link-local");
  EXPECT_EQ(never("0.0.0.0"), "unspecified");
  EXPECT_EQ(never("224.0.0.0/4"), "multicast");
  EXPECT_EQ(never("2002:7f00:1::1"), "loopback") << "6to4 of 127.0.0.1";
}

TEST(NeverReached, IsNothingThatARuleOrAFlagCanOpen) {
  for (const char* host :
       {"*", "a.example", "localhost.example", "mylocalhost", ".example", "10.0.0.1", "10.0.0.0/8", "198.18.0.0/15",
        "fd00::/8", "0.0.0.0/0", "126.0.0.0/7", "::/0", "e000::/3", "fc00::/6", "2001:db8::1", "1.1.1.1"})
    EXPECT_EQ(never(host), "") << host;
}

}  // namespace
}  // namespace cordon::policy::network
