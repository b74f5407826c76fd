#include "egress/records.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "egress/config.h"
#include "egress/lookup_wire.h"
#include "egress/tally.h"

namespace cordon::egress {
namespace {

using policy::network::HostName;
using policy::network::parse_address;
using policy::network::parse_block;
using policy::network::parse_rule;
using policy::network::SuffixMeaning;

const std::vector<Record> kRecords = {
    Ready{confine::kAllChecks, 7, 2'000},
    Heartbeat{9, 3},
    Row{4, Verdict::kUnreachable, Via::kProxy, DecidedBy::kAllowRule, 443, 2, ECONNREFUSED, 5, 1ULL << 40, 7,
        "a.example"},
    Row{5, Verdict::kGuardBlocked, Via::kTransparent, DecidedBy::kAllowRule, 443, 0, 4, 1, 0, 0, "b.example",
        parse_address("10.1.2.3")},
    Row{6, Verdict::kGuardBlocked, Via::kTransparent, DecidedBy::kAllowRule, 443, 0, 5, 1, 0, 0, "c.example",
        parse_address("fd00::1")},
    Question{77, 443, 50'000, *parse_address("2001:db8::1"), "b.example"},
    QuestionGone{77},
    Failed{EPERM, "seccomp"},
    Finished{},
    Answer{77, GateAnswer::kRun},
    Finish{},
    Finish{.parting = Parting::kWhenDelivered},
};

TEST(Records, ComeBackAsTheyWent) {
  for (const Record& record : kRecords) {
    const auto bytes = encode(record);
    EXPECT_LE(bytes.size(), kMostRecordBytes);
    const auto again = decode_record(bytes);
    ASSERT_TRUE(again.has_value()) << record.index();
    EXPECT_TRUE(*again == record) << record.index();
  }
}

TEST(Records, OfAnyOtherLengthAreNotTaken) {
  for (const Record& record : kRecords) {
    auto bytes = encode(record);
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_record(bytes)) << record.index();
    bytes.pop_back();
    while (!bytes.empty()) {
      bytes.pop_back();
      EXPECT_FALSE(decode_record(bytes)) << record.index();
    }
  }
}

TEST(Records, WithValuesThatDoNotExistAreNotTaken) {
  auto bytes = encode(kRecords[2]);
  bytes[4] = std::byte{200};  // the kind
  EXPECT_FALSE(decode_record(bytes));
  bytes = encode(kRecords[2]);
  for (const std::size_t at : {10U, 11U, 12U}) {  // verdict, way, decider
    auto wrong = bytes;
    wrong[at] = std::byte{99};
    EXPECT_FALSE(decode_record(wrong)) << at;
  }
  bytes[10] = std::byte{0};
  EXPECT_FALSE(decode_record(bytes));
  bytes = encode(kRecords[2]);
  bytes[0] = std::byte{0};
  EXPECT_FALSE(decode_record(bytes));
  bytes = encode(kRecords[2]);
  bytes.back() = std::byte{1};  // an address of one byte
  bytes.push_back(std::byte{9});
  EXPECT_FALSE(decode_record(bytes));
}

TEST(Records, OfEachKindAreTheSeedsOfTheFuzzer) {
  std::set<std::size_t> kinds;
  for (const auto& seed :
       std::filesystem::directory_iterator("../../fuzz/corpus/egress_records")) {  // from build/PRESET
    std::ifstream in(seed.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const auto record = decode_record(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(record) << seed.path() << " is of an older format";
    kinds.insert(record->index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Record>);
}

Row denied(const std::string& host, std::uint16_t port) {
  return {.verdict = Verdict::kDenied, .port = port, .host = host};
}

TEST(Tallies, CountEachDestinationInOneRow) {
  Tally tally(100);
  const auto first = tally.count(denied("a.example", 443));
  EXPECT_EQ(tally.count(denied("a.example", 443)), first);
  EXPECT_NE(tally.count(denied("a.example", 80)), first);
  tally.add_bytes(first, 10, 20);
  tally.release_bytes();
  std::size_t news = 0;
  while (tally.has_news()) {
    const Row row = tally.news();
    if (row.id == first) {
      EXPECT_EQ(row.count, 2U);
      EXPECT_EQ(row.bytes_out, 10U);
      EXPECT_EQ(row.bytes_in, 20U);
    }
    tally.told();
    ++news;
  }
  EXPECT_EQ(news, 2U);
  tally.add_bytes(first, 1, 0);
  EXPECT_FALSE(tally.has_news());
  tally.release_bytes();
  EXPECT_TRUE(tally.has_news());
}

TEST(Tallies, LoseNoCountInAFloodOfNames) {
  Tally tally(16);
  for (int i = 0; i < 10'000; ++i) tally.count(denied("h" + std::to_string(i), static_cast<std::uint16_t>(i)));
  std::uint64_t total = 0, rows = 0;
  for (; tally.has_news(); tally.told(), ++rows) total += tally.news().count;
  EXPECT_EQ(total, 10'000U);
  EXPECT_EQ(rows, 13U) << "a quarter is kept for what is reached";
}

TEST(Tallies, NameWhatWasReachedAfterAFloodOfRefusals) {
  Tally tally(16);
  for (int i = 1; i < 10'000; ++i) tally.count(denied("192.0.2.1", static_cast<std::uint16_t>(i)));
  const auto id = tally.count({.verdict = Verdict::kAdmitted, .port = 443, .host = "drop.example"});
  bool named = false;
  for (; tally.has_news(); tally.told())
    named = named || (tally.news().id == id && tally.news().host == "drop.example");
  EXPECT_TRUE(named);
}

TEST(Tallies, NameAPublishedPortAfterAFloodOfWhatWasReached) {
  Tally tally(16);
  for (int i = 1; i < 10'000; ++i)
    tally.count({.verdict = Verdict::kAdmitted, .port = static_cast<std::uint16_t>(i), .host = "a.example"});
  const auto id =
      tally.count({.verdict = Verdict::kAdmitted, .via = Via::kPublished, .port = 5173, .host = "localhost"});
  bool named = false;
  for (; tally.has_news(); tally.told()) named = named || (tally.news().id == id && tally.news().port == 5173);
  EXPECT_TRUE(named);
}

TEST(Tallies, NameConnectionsAfterAFloodOfDnsQuestions) {
  Tally tally(100);
  for (int i = 0; i < 10'000; ++i) {
    Row row = denied("h" + std::to_string(i), 0);
    row.via = Via::kDns;
    tally.count(row);
  }
  const auto id = tally.count(denied("evil.example", 443));
  bool named = false;
  for (; tally.has_news(); tally.told())
    named = named || (tally.news().id == id && tally.news().host == "evil.example");
  EXPECT_TRUE(named);
}

Config sample() {
  Config config;
  config.rules.allow = {*parse_rule("a.example", "443", SuffixMeaning::kBelowOnly),
                        *parse_rule("*.b.example", "8000-8010", SuffixMeaning::kWithApex),
                        *parse_rule("*", "22", SuffixMeaning::kBelowOnly),
                        *parse_rule("10.0.0.0/8", "*", SuffixMeaning::kBelowOnly),
                        *parse_rule("2001:db8::1", "1", SuffixMeaning::kBelowOnly)};
  config.rules.deny = {*parse_rule("*.evil.example", "*", SuffixMeaning::kWithApex)};
  config.opened = {*parse_block("10.0.0.0/8"), *parse_block("fd00::/8")};
  config.host_services = {80, 5432};
  config.listeners = {{ListenerRole::kRedirect, policy::network::Family::kIpv6},
                      {ListenerRole::kDnsUdp, {}},
                      {ListenerRole::kPublished, {}}};
  config.inner_ipv4 = 128;
  config.inner_ipv6 = 7;
  config.upstream = Upstream{
      *HostName::parse("proxy.example"), 3128, "Basic dTpw", {*parse_rule("c.example", "*", SuffixMeaning::kWithApex)}};
  config.gate = Gate::kAttached;
  config.ipv6 = Ipv6::kAbsent;
  config.bounds.connections = 77;
  return config;
}

TEST(Configuration, ComesBackAsItWent) {
  const Config config = sample();
  const auto again = decode_config(encode(config));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->rules.allow, config.rules.allow);
  EXPECT_EQ(again->rules.deny, config.rules.deny);
  EXPECT_EQ(again->opened, config.opened);
  EXPECT_EQ(again->listeners, config.listeners);
  EXPECT_EQ(again->inner_ipv4, config.inner_ipv4);
  EXPECT_EQ(again->inner_ipv6, config.inner_ipv6);
  EXPECT_EQ(again->upstream, config.upstream);
  EXPECT_EQ(again->gate, config.gate);
  EXPECT_EQ(again->ipv6, config.ipv6);
  EXPECT_EQ(again->bounds, config.bounds);
  EXPECT_TRUE(decode_config(encode(Config{})).has_value());
}

/// CORDON_REGENERATE=1 writes them.
TEST(Configuration, OfThisFormatAreTheSeedsOfTheFuzzer) {
  const std::map<std::string, Config> seeds = {{"small", Config{}}, {"full", sample()}};
  for (const auto& [name, config] : seeds) {
    const std::string path = "../../fuzz/corpus/egress_config/" + name;  // from build/PRESET
    const auto bytes = encode(config);
    if (std::getenv("CORDON_REGENERATE") != nullptr) {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    std::ifstream in(path, std::ios::binary);
    const std::string there{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(there.size(), bytes.size()) << path;
    EXPECT_TRUE(decode_config(std::as_bytes(std::span(there)))) << path << " is of an older format";
  }
}

TEST(Configuration, ThatIsNotExactlyOneIsNotTaken) {
  const auto good = encode(sample());
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_config(longer));
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_FALSE(decode_config(std::span(good).first(size))) << size;
  Config config = sample();
  config.bounds.connections = 0;
  EXPECT_FALSE(decode_config(encode(config)));
  config = sample();
  config.upstream->authorization = "Basic x\r\nEvil: 1";
  EXPECT_FALSE(decode_config(encode(config)));
  config = sample();
  config.upstream->port = 0;
  EXPECT_FALSE(decode_config(encode(config)));
  config = sample();
  config.listeners[0].role = static_cast<ListenerRole>(9);
  EXPECT_FALSE(decode_config(encode(config)));
  config = sample();
  config.inner_ipv6 = kMostInnerSockets + 1;
  EXPECT_FALSE(decode_config(encode(config)));
  config = sample();
  config.rules.allow[0].host.name = "Not.Canonical";
  EXPECT_FALSE(decode_config(encode(config)));
  config.rules.allow[0].host.name = "127.1";
  EXPECT_FALSE(decode_config(encode(config)));
}

TEST(Configuration, WithOneByteChangedIsRefusedOrAnotherWholeOne) {
  const auto good = encode(sample());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::byte byte : {std::byte{0}, std::byte{0xff}, good[at] ^ std::byte{1}}) {
      auto bytes = good;
      bytes[at] = byte;
      if (const auto config = decode_config(bytes)) {
        ASSERT_EQ(encode(*config), bytes) << at;
      }
    }
  }
}

TEST(LookupWire, TakesOnlyWhatItsOtherEndSays) {
  const auto question = make_question(5, *HostName::parse("a.example"), LookupFamily::kAny, 9);
  LookupQuestion into;
  EXPECT_EQ(name_in(std::as_bytes(std::span(&question, 1)), into)->str(), "a.example");
  EXPECT_EQ(into.id, 5U);
  LookupAnswer answer{.id = 5, .status = LookupStatus::kOk, .count = 1};
  answer.addresses[0] = {1, {0x20, 1}};
  const auto bytes = [&] { return std::as_bytes(std::span(&answer, 1)); };
  EXPECT_EQ(to_string(addresses_in(*read_answer(bytes()))[0]), "2001::");
  EXPECT_FALSE(read_answer(bytes().first(bytes().size() - 1)));
  answer.count = kMostAddresses + 1;
  EXPECT_FALSE(read_answer(bytes()));
  answer.count = 1;
  answer.addresses[0].family = 2;
  EXPECT_FALSE(read_answer(bytes()));
  answer.addresses[0].family = 0;
  answer.status = static_cast<LookupStatus>(77);
  EXPECT_FALSE(read_answer(bytes()));
}

}  // namespace
}  // namespace cordon::egress
