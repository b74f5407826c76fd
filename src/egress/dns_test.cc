#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "egress/dns_answerer.h"

namespace cordon::egress {
namespace {

using namespace std::string_literals;
using policy::network::HostName;
using policy::network::parse_address;

std::vector<std::byte> bytes(const std::string& text) {
  const auto view = std::as_bytes(std::span(text.data(), text.size()));
  return {view.begin(), view.end()};
}

std::string wire_name(const std::string& dotted) {
  std::string out;
  std::size_t at = 0;
  while (at < dotted.size()) {
    const std::size_t dot = std::min(dotted.find('.', at), dotted.size());
    out += static_cast<char>(dot - at);
    out += dotted.substr(at, dot - at);
    at = dot + 1;
  }
  return out + '\0';
}

std::string u16(unsigned value) { return {static_cast<char>(value >> 8), static_cast<char>(value & 0xff)}; }

const std::string kEdns = "\0\0\x29\x10\0\0\0\0\0\0\0"s;

/// Header words: flags, questions, answers, authority, additional.
std::string query(const std::string& name, unsigned type, unsigned additional = 0, const std::string& tail = "",
                  unsigned flags = 0x0100, unsigned questions = 1, unsigned answers = 0) {
  return u16(0x1234) + u16(flags) + u16(questions) + u16(answers) + u16(0) + u16(additional) + name + u16(type) +
         u16(1) + tail;
}

struct Answer {
  bool silent = false;
  unsigned rcode = 0, answers = 0, additional = 0;
  std::string data;  ///< of the one record
  DnsEvent event = DnsEvent::kNone;
  std::string name;
};

class Dns : public testing::Test {
 protected:
  void allow(std::string_view host, std::string_view ports) {
    rules_.allow.push_back(*policy::network::parse_rule(host, ports, policy::network::SuffixMeaning::kBelowOnly));
  }
  void deny(std::string_view host) {
    rules_.deny.push_back(*policy::network::parse_rule(host, "*", policy::network::SuffixMeaning::kWithApex));
  }
  Answer ask_raw(const std::string& text) {
    DnsAnswerer answerer(rules_, gate_, ipv6_, names_, "Build-7");
    const DnsReply reply = answerer.answer(bytes(text));
    Answer out{.silent = reply.bytes.empty(), .event = reply.event, .name = reply.name};
    if (out.silent) return out;
    EXPECT_GE(reply.bytes.size(), 12U);
    EXPECT_LE(reply.bytes.size(), 512U);
    const auto at = [&](std::size_t i) { return static_cast<unsigned>(reply.bytes[i]); };
    EXPECT_EQ(at(0) << 8 | at(1), 0x1234U);
    EXPECT_EQ(at(2) & 0x80U, 0x80U);
    out.rcode = at(3) & 0xf;
    out.answers = at(6) << 8 | at(7);
    out.additional = at(10) << 8 | at(11);
    const std::size_t tail = std::size_t{out.additional} * 11;
    if (out.answers == 1) {
      std::size_t record = 12;
      while (at(record) != 0) record += 1 + at(record);
      record += 5;
      const std::size_t size = at(record + 10) << 8 | at(record + 11);
      EXPECT_EQ(record + 12 + size + tail, reply.bytes.size());
      for (std::size_t i = 0; i < size; ++i) out.data += static_cast<char>(reply.bytes[record + 12 + i]);
    }
    return out;
  }
  Answer ask(const std::string& name, unsigned type = 1) { return ask_raw(query(wire_name(name), type)); }

  policy::network::Rules rules_;
  Gate gate_ = Gate::kAbsent;
  Ipv6 ipv6_ = Ipv6::kPresent;
  NameTable names_{100};
};

TEST_F(Dns, AGrantedNameGetsAnAddressOfItsOwn) {
  allow("a.com", "443");
  allow(".b.com", "80");
  EXPECT_EQ(ask("a.com").data, "\xc6\x12\0\x02"s);
  EXPECT_EQ(ask("x.b.com").data, "\xc6\x12\0\x03"s);
  EXPECT_EQ(ask("A.COM").data, "\xc6\x12\0\x02"s);
  EXPECT_EQ(ask("a.com", 28).data, "\xfd\x63\x6f\x72\x64\x6e\0\0\0\0\0\0\0\0\0\x02"s);
  EXPECT_EQ(names_.find(*parse_address("198.18.0.3"))->str(), "x.b.com");
  EXPECT_EQ(names_.find(*parse_address("fd63:6f72:646e::2"))->str(), "a.com");
}

TEST_F(Dns, AnythingElseDoesNotExistAndIsRecorded) {
  allow("a.com", "443");
  deny("bad.a.com");
  for (const char* name : {"b.com", "com", "x.a.com", "a.com.evil.org", "secret-data.attacker.example"}) {
    const Answer answer = ask(name);
    EXPECT_EQ(answer.rcode, 3U) << name;
    EXPECT_EQ(answer.event, DnsEvent::kDenied) << name;
    EXPECT_EQ(answer.name, name);
  }
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(Dns, OtherTypesOfAGrantedNameAreEmptyAndNoError) {
  allow("a.com", "443");
  for (const unsigned type : {2U, 5U, 6U, 13U, 15U, 16U, 33U, 64U, 65U, 255U, 257U, 65280U}) {
    const Answer answer = ask("a.com", type);
    EXPECT_EQ(answer.rcode, 0U) << type;
    EXPECT_EQ(answer.answers, 0U) << type;
    EXPECT_EQ(answer.event, DnsEvent::kNone) << type;
  }
  EXPECT_EQ(ask("_http._tcp.a.com", 33).rcode, 0U);
  EXPECT_EQ(ask("_http._tcp.b.com", 33).rcode, 3U);
}

TEST_F(Dns, WithoutIpv6ThereIsNoAddressOfIt) {
  allow("a.com", "443");
  ipv6_ = Ipv6::kAbsent;
  EXPECT_EQ(ask("a.com", 28).answers, 0U);
  EXPECT_EQ(ask("a.com", 28).rcode, 0U);
  EXPECT_EQ(ask("a.com").answers, 1U);
}

TEST_F(Dns, WithAGateEveryNameIsToldThatIsNotDenied) {
  gate_ = Gate::kAttached;
  deny("*.evil.com");
  EXPECT_EQ(ask("any.org").answers, 1U);
  EXPECT_EQ(ask("evil.com").rcode, 3U);
  EXPECT_EQ(ask("x.evil.com").rcode, 3U);
}

TEST_F(Dns, LocalhostIsTheSandboxItself) {
  EXPECT_EQ(ask("localhost").data, "\x7f\0\0\x01"s);
  EXPECT_EQ(ask("a.localhost", 28).data, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"s);
}

TEST_F(Dns, TheHostsOwnNameIsTheSandboxItselfUnlessARuleIsAboutIt) {
  EXPECT_EQ(ask("build-7").data, "\x7f\0\0\x01"s);
  EXPECT_EQ(ask("build-8").rcode, 3U);
  allow("build-7", "443");
  EXPECT_EQ(ask("build-7").data, "\xc6\x12\0\x02"s);
}

TEST_F(Dns, APointerOfAnAddressGivesItsName) {
  allow("*", "443");
  ask("a.com");
  EXPECT_EQ(ask("2.0.18.198.in-addr.arpa", 12).data, wire_name("a.com"));
  EXPECT_EQ(ask("2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.e.6.4.6.2.7.f.6.3.6.d.f.ip6.arpa", 12).data,
            wire_name("a.com"));
  for (const char* name : {"3.0.18.198.in-addr.arpa", "1.0.18.198.in-addr.arpa", "1.1.1.1.in-addr.arpa",
                           "2.0.18.in-addr.arpa", "256.0.18.198.in-addr.arpa", "in-addr.arpa", "a.com"})
    EXPECT_EQ(ask(name, 12).rcode, 3U) << name;
}

TEST_F(Dns, APointerQuestionForAPatternIsNoNameThatARuleCouldAllow) {
  for (const auto& wire : {"\x01*\0"s, "\x04.com\0"s,
                           "\x09"
                           "0.0.0.0/0\0"s})
    EXPECT_EQ(ask_raw(query(wire, 12)).event, DnsEvent::kMalformed) << wire;
  EXPECT_EQ(ask("1.1.1.1.in-addr.arpa", 12).event, DnsEvent::kDenied);
}

TEST_F(Dns, AFullTableIsAServerFailureAndAnEvent) {
  allow("*", "443");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ask("h" + std::to_string(i) + ".com").rcode, 0U);
  const Answer answer = ask("one-more.com");
  EXPECT_EQ(answer.rcode, 2U);
  EXPECT_EQ(answer.event, DnsEvent::kFull);
  EXPECT_EQ(answer.name, "one-more.com");
  EXPECT_EQ(ask("h7.com").rcode, 0U);
  EXPECT_EQ(names_.size(), 100U);
}

TEST_F(Dns, EdnsIsAnswered) {
  allow("a.com", "443");
  const Answer answer = ask_raw(query(wire_name("a.com"), 1, 1, kEdns));
  EXPECT_EQ(answer.additional, 1U);
  EXPECT_EQ(answer.answers, 1U);
  const Answer newer = ask_raw(query(wire_name("a.com"), 1, 1, "\0\0\x29\x10\0\0\x01\0\0\0\0"s));
  EXPECT_EQ(newer.additional, 1U);
  EXPECT_EQ(newer.answers, 0U);
  EXPECT_EQ(ask_raw(query(wire_name("a.com"), 1, 1, "\0\0\x29\x10\0\0\0\0\0\0\x04\0\x0a\0\0"s)).answers, 1U);
}

TEST_F(Dns, NamesThatAreNoneAreRefusedAndPrintable) {
  allow("*", "443");
  for (const std::string& name : {"\x03"
                                  "a.b\x03"
                                  "com\0"s,
                                  "\x01\0\x03"
                                  "com\0"s,
                                  "\x02"
                                  "a\n\x03"
                                  "com\0"s,
                                  "\x05"
                                  "a%eth\x01"
                                  "a\0"s,
                                  "\x01-\0"s,
                                  "\x02"
                                  "a_\0"s,
                                  "\x01\xff\0"s,
                                  "\x03"
                                  "127\x01"
                                  "1\0"s,
                                  "\x07"
                                  "1.2.3.4\0"s,
                                  "\x04"
                                  "0x7f\0"s,
                                  "\0"s,
                                  "\x06"
                                  "user@a\x03"
                                  "com\0"s}) {
    const Answer answer = ask_raw(query(name, 1));
    EXPECT_EQ(answer.rcode, 3U) << name;
    EXPECT_EQ(answer.event, DnsEvent::kMalformed);
    for (const char c : answer.name) EXPECT_TRUE(c > 0x20 && c < 0x7f);
  }
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(Dns, BytesThatAreNoQuestionAreRefused) {
  allow("*", "443");
  const std::string good = query(wire_name("a.com"), 1);
  const std::string label63 = std::string(1, '\x3f') + std::string(63, 'a');
  const std::string self = "\xc0\x0c"s;
  struct Row {
    std::string bytes;
    unsigned rcode;
  };
  for (const Row& row : {Row{query(self, 1), 1},  // points to itself
                         Row{query("\x01"
                                   "a\xc0\x0c"s,
                                   1),
                             1},  // a loop
                         Row{query("\xc0\xff"s, 1), 1},
                         Row{query("\x41"
                                   "a"s,
                                   1),
                             1},  // pointers and reserved lengths
                         Row{query(label63 + label63 + label63 + label63 + "\0"s, 1), 1},  // 257 bytes
                         Row{query(wire_name("a.com"), 1, 0, "", 0x0100, 0), 1},
                         Row{query(wire_name("a.com"), 1, 0, "", 0x0100, 2), 1},
                         Row{query(wire_name("a.com"), 1, 0, "", 0x0100, 65535), 1},
                         Row{query(wire_name("a.com"), 1, 0, "", 0x0100, 1, 1), 1},
                         Row{query(wire_name("a.com"), 1, 2, kEdns + kEdns), 1},
                         Row{query(wire_name("a.com"), 1, 65535, kEdns), 1},
                         Row{query(wire_name("a.com"), 1, 1, ""), 1},
                         Row{query(wire_name("a.com"), 1, 1, "\0\0\x29\x10\0\0\0\0\0\xff\xff"s), 1},
                         Row{query(wire_name("a.com"), 1, 1,
                                   "\x01"
                                   "a\0\0\x29\x10\0\0\0\0\0\0\0"s),
                             1},
                         Row{good + "x", 1},
                         Row{good + kEdns, 1},
                         Row{good.substr(0, good.size() - 1), 1},
                         Row{good.substr(0, 14), 1},
                         Row{good.substr(0, 12), 1},
                         Row{query(wire_name("a.com"), 1, 0, "", 0x2900), 4},
                         Row{query(wire_name("a.com"), 1, 0, "", 0x7900), 4}}) {
    const Answer answer = ask_raw(row.bytes);
    EXPECT_FALSE(answer.silent);
    EXPECT_EQ(answer.rcode, row.rcode) << testing::PrintToString(row.bytes);
    EXPECT_EQ(answer.event, DnsEvent::kMalformed);
  }
  EXPECT_TRUE(ask_raw("").silent);
  EXPECT_TRUE(ask_raw(good.substr(0, 11)).silent);
  EXPECT_TRUE(ask_raw(query(wire_name("a.com"), 1, 0, "", 0x8100)).silent);  // an answer
  EXPECT_TRUE(ask_raw(good + std::string(5000, 'x')).silent);
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(Dns, AnotherClassIsRefused) {
  allow("*", "443");
  std::string chaos = query(wire_name("version.bind"), 16);
  chaos.back() = '\x03';
  EXPECT_EQ(ask_raw(chaos).rcode, 5U);
}

TEST(NameTables, NeverGiveAnAddressTwice) {
  NameTable names(200'000);
  for (int i = 0; i < 70'000; ++i)
    ASSERT_EQ(names.number_of(*HostName::parse("h" + std::to_string(i))), static_cast<std::size_t>(i));
  EXPECT_EQ(to_string(names.ipv4(0)), "198.18.0.2");
  EXPECT_EQ(to_string(names.ipv4(65'534)), "198.19.0.0");
  EXPECT_EQ(names.find(names.ipv4(69'999))->str(), "h69999");
  EXPECT_EQ(names.find(names.ipv6(69'999))->str(), "h69999");
  EXPECT_EQ(names.find(names.ipv4(70'000)), nullptr);
  for (const char* other : {"198.18.0.0", "198.18.0.1", "198.17.255.255", "198.20.0.2", "fd63:6f72:646e::1",
                            "fd63:6f72:646e::1:0:0:2", "fd63:6f72:646e:1::2", "::2", "1.1.1.1"})
    EXPECT_EQ(names.find(*policy::network::read_address(other)), nullptr) << other;
  for (int i = 70'000; i < 131'000; ++i) names.number_of(*HostName::parse("h" + std::to_string(i)));
  EXPECT_FALSE(names.number_of(*HostName::parse("beyond")));
  EXPECT_TRUE(is_synthetic(names.ipv4(130'999)));
  EXPECT_TRUE(is_synthetic(*parse_address("198.18.0.1")));
  EXPECT_FALSE(is_synthetic(*parse_address("198.20.0.1")));
}

}  // namespace
}  // namespace cordon::egress
