#include "policy/network/guard.h"

#include <gtest/gtest.h>

#include <string>

#include "policy/network/synthetic.h"

namespace cordon::policy::network {
namespace {

Address address(std::string_view text) { return read_address(text).value(); }

std::string class_of(std::string_view text) { return std::string(class_name(classify(address(text), {}))); }

struct Row {
  const char* address;
  const char* address_class;
};

class Classes : public testing::TestWithParam<Row> {};

TEST_P(Classes, AreThoseOfTheRegistries) { EXPECT_EQ(class_of(GetParam().address), GetParam().address_class); }

INSTANTIATE_TEST_SUITE_P(
    Ipv4, Classes,
    testing::Values(Row{"0.0.0.0", "unspecified"}, Row{"0.1.2.3", "reserved"}, Row{"1.1.1.1", "public"},
                    Row{"9.255.255.255", "public"}, Row{"10.0.0.0", "private"}, Row{"10.255.255.255", "private"},
                    Row{"11.0.0.0", "public"}, Row{"100.63.255.255", "public"}, Row{"100.64.0.0", "carrier-nat"},
                    Row{"100.127.255.255", "carrier-nat"}, Row{"100.100.100.200", "metadata"},
                    Row{"127.0.0.1", "loopback"}, Row{"127.255.255.255", "loopback"}, Row{"168.63.129.16", "metadata"},
                    Row{"169.254.0.1", "link-local"}, Row{"169.254.169.254", "metadata"},
                    Row{"169.254.170.2", "metadata"}, Row{"172.15.255.255", "public"}, Row{"172.16.0.0", "private"},
                    Row{"172.31.255.255", "private"}, Row{"172.32.0.0", "public"}, Row{"192.0.0.1", "reserved"},
                    Row{"192.0.0.192", "metadata"}, Row{"192.0.2.1", "documentation"}, Row{"192.88.99.1", "reserved"},
                    Row{"192.168.1.1", "private"}, Row{"192.169.0.0", "public"}, Row{"198.17.255.255", "public"},
                    Row{"198.18.0.1", "benchmarking"}, Row{"198.19.255.255", "benchmarking"},
                    Row{"198.20.0.0", "public"}, Row{"198.51.100.9", "documentation"},
                    Row{"203.0.113.9", "documentation"}, Row{"223.255.255.255", "public"},
                    Row{"224.0.0.1", "multicast"}, Row{"239.255.255.255", "multicast"}, Row{"240.0.0.1", "reserved"},
                    Row{"255.255.255.255", "reserved"}));

INSTANTIATE_TEST_SUITE_P(
    Ipv6, Classes,
    testing::Values(Row{"::", "unspecified"}, Row{"::1", "loopback"}, Row{"2606:4700::1", "public"},
                    Row{"fe80::1", "link-local"}, Row{"febf::1", "link-local"}, Row{"fec0::1", "reserved"},
                    Row{"fc00::1", "unique-local"}, Row{"fdff::1", "unique-local"}, Row{"fd00:ec2::254", "metadata"},
                    Row{"ff02::1", "multicast"}, Row{"2001:db8::1", "documentation"}, Row{"3fff::1", "documentation"},
                    Row{"2001:2::1", "benchmarking"}, Row{"2001:10::1", "reserved"}, Row{"2001:200::1", "public"},
                    Row{"100::1", "reserved"}, Row{"5f00::1", "reserved"}, Row{"4000::1", "reserved"},
                    Row{"::2:1", "reserved"}));

// What carries an IPv4 address is judged by it, in every form.
INSTANTIATE_TEST_SUITE_P(
    Embedded, Classes,
    testing::Values(
        Row{"::ffff:127.0.0.1", "loopback"}, Row{"::ffff:169.254.169.254", "metadata"}, Row{"::127.0.0.1", "loopback"},
        Row{"::10.0.0.1", "reserved"}, Row{"::ffff:0:127.0.0.1", "loopback"}, Row{"2002:7f00:1::", "loopback"},
        Row{"2002:a9fe:a9fe::1", "metadata"}, Row{"2002:808:808::1", "public"}, Row{"2002:a00:1::1", "private"},
        Row{"64:ff9b::7f00:1", "loopback"}, Row{"64:ff9b::a9fe:a9fe", "metadata"}, Row{"64:ff9b::808:808", "public"},
        Row{"64:ff9b::a00:1", "private"}, Row{"64:ff9b:1::808:808", "private"}, Row{"64:ff9b:1::a9fe:a9fe", "metadata"},
        Row{"64:ff9b:1:7f00:0:100::", "loopback"}, Row{"64:ff9b:1:fffe:7f:0:100::", "loopback"},
        Row{"2001:0:7f00:1::", "loopback"},              // Teredo: server 127.0.0.1
        Row{"2001:0:808:808:0:0:f5ff:fffe", "private"},  // client 10.0.0.1
        Row{"2001:0:808:808:0:0:f7f7:f7f7", "public"},   // client 8.8.8.8
        Row{"2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "metadata"}, Row{"2606:4700::5efe:10.0.0.1", "private"},
        Row{"2606:4700::200:5efe:127.0.0.1", "loopback"}, Row{"2606:4700::5efe:8.8.8.8", "public"}));

TEST(Guard, NeverClassesAreBlockedWhateverWasSaid) {
  Guard guard;
  guard.allowed = {*parse_block("0.0.0.0/0"), *parse_block("::/0")};
  for (const char* one :
       {"127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "fe80::1",
        "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:a9fe:a9fe::1", "fec0::1", "ff02::1"})
    EXPECT_FALSE(guard.check(address(one), Admission::kByAddress).dial) << one;
}

TEST(Guard, PrivateAddressesNeedALiteralOrTheOperator) {
  Guard guard;
  for (const char* one : {"10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "fd12::1", "203.0.113.1", "198.18.5.5",
                          "2001:db8::1", "64:ff9b::a00:1"}) {
    EXPECT_FALSE(guard.check(address(one), Admission::kByName).dial) << one;
    EXPECT_TRUE(guard.check(address(one), Admission::kByAddress).dial) << one;
    EXPECT_TRUE(guard.check(address(one), Admission::kByBlock).dial) << one;
  }
  guard.allowed = {*parse_block("10.0.0.0/8")};
  EXPECT_TRUE(guard.check(address("10.0.0.1"), Admission::kByName).dial);
  EXPECT_TRUE(guard.check(address("64:ff9b::a00:1"), Admission::kByName).dial);
  EXPECT_FALSE(guard.check(address("192.168.0.1"), Admission::kByName).dial);
  EXPECT_FALSE(guard.check(address("64:ff9b::c0a8:1"), Admission::kByName).dial);
  EXPECT_TRUE(guard.check(address("1.1.1.1"), Admission::kByName).dial);
}

TEST(Guard, TheMachinesOwnAddressesNeedARuleForExactlyThemOrTheOperator) {
  Guard guard;
  for (const char* one : {"1.1.1.1", "10.0.0.1", "2606:4700::1", "fd12::1", "::ffff:1.1.1.1", "2002:101:101::1"}) {
    guard.own = {address(one), address("1.1.1.1")};
    for (const Admission admission : {Admission::kByName, Admission::kByBlock}) {
      const GuardVerdict verdict = guard.check(address(one), admission);
      EXPECT_FALSE(verdict.dial) << one;
      EXPECT_EQ(class_name(verdict.address_class), one == std::string("::ffff:1.1.1.1") ? "reserved" : "this-machine");
    }
  }
  guard.own = {address("10.0.0.1"), address("127.0.0.1")};
  EXPECT_TRUE(guard.check(address("10.0.0.1"), Admission::kByAddress).dial);
  EXPECT_FALSE(guard.check(address("127.0.0.1"), Admission::kByAddress).dial) << "never";
  EXPECT_TRUE(guard.check(address("10.0.0.2"), Admission::kByBlock).dial);
  guard.allowed = {*parse_block("10.0.0.1/32"), *parse_block("127.0.0.0/8")};
  EXPECT_TRUE(guard.check(address("10.0.0.1"), Admission::kByName).dial);
  EXPECT_FALSE(guard.check(address("127.0.0.1"), Admission::kByName).dial) << "never";
}

TEST(Guard, KnowsThePrefixesOfTheHostsOwnNat64) {
  const std::array answers = {address("2606:4700:64::c000:aa"), address("2606:4700:64::c000:ab")};
  Guard guard;
  guard.prefixes = nat64_prefixes(answers);
  guard.nat64 = Nat64::kKnown;
  ASSERT_EQ(guard.prefixes.size(), 1U);
  EXPECT_EQ(guard.prefixes[0], (Nat64Prefix{address("2606:4700:64::"), 96}));
  EXPECT_FALSE(guard.check(address("2606:4700:64::a9fe:a9fe"), Admission::kByAddress).dial);
  EXPECT_FALSE(guard.check(address("2606:4700:64::a00:1"), Admission::kByName).dial);
  EXPECT_TRUE(guard.check(address("2606:4700:64::808:808"), Admission::kByName).dial);
}

TEST(Guard, FindsPrefixesOfEveryLength) {
  // RFC 6052, 2.4: 192.0.0.170 (c0 00 00 aa) behind 2606:4700::.
  const std::pair<const char*, unsigned> rows[] = {
      {"2606:4700:c000:aa::", 32},      {"2606:4700:1c0:0:aa::", 40},          {"2606:4700:122:c000:0:aa00::", 48},
      {"2606:4700:122:3c0:0:aa::", 56}, {"2606:4700:122:344:c0:0:aa00:0", 64}, {"2606:4700:122:344::c000:aa", 96}};
  for (const auto& [answer, length] : rows) {
    const std::array answers = {address(answer)};
    const auto found = nat64_prefixes(answers);
    ASSERT_FALSE(found.empty()) << answer;
    EXPECT_EQ(found[0], (Nat64Prefix{masked(address(answer), length), length})) << answer;
  }
}

TEST(Guard, WithoutAnAnswerOfNat64TreatsIpv6AsPrivate) {
  Guard guard;
  guard.nat64 = Nat64::kInconclusive;
  EXPECT_FALSE(guard.check(address("2606:4700::1"), Admission::kByName).dial);
  EXPECT_TRUE(guard.check(address("1.1.1.1"), Admission::kByName).dial);
  EXPECT_TRUE(guard.check(address("64:ff9b::101:101"), Admission::kByName).dial);
}

TEST(Synthetic, AddressesAreNoHostsOfTheWorld) {
  EXPECT_EQ(classify(kOwnIpv4, {}), AddressClass::kBenchmarking);
  EXPECT_EQ(classify(kOwnIpv6, {}), AddressClass::kUniqueLocal);
  EXPECT_TRUE(kSyntheticIpv4.contains(kOwnIpv4));
  EXPECT_TRUE(kSyntheticIpv6.contains(kOwnIpv6));
}

TEST(Blocks, KnowWhatTheyHold) {
  EXPECT_TRUE(parse_block("10.0.0.0/8")->contains(address("10.255.0.1")));
  EXPECT_FALSE(parse_block("10.0.0.0/8")->contains(address("11.0.0.1")));
  EXPECT_FALSE(parse_block("0.0.0.0/0")->contains(address("::1")));
  EXPECT_TRUE(parse_block("10.1.0.0/16")->is_within(*parse_block("10.0.0.0/8")));
  EXPECT_FALSE(parse_block("10.0.0.0/8")->is_within(*parse_block("10.1.0.0/16")));
  for (const char* bad : {"10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/08", "/8", "a/8", "::ffff:0:0/96x"})
    EXPECT_FALSE(parse_block(bad)) << bad;
}

}  // namespace
}  // namespace cordon::policy::network
