#include "policy/ssh/known_hosts.h"

#include <gmock/gmock.h>

namespace cordon::policy::ssh {
namespace {

using network::Rule;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Rule> rules(std::vector<std::pair<const char*, const char*>> all) {
  std::vector<Rule> out;
  for (const auto& [host, port] : all)
    out.push_back(*network::parse_rule(host, port, network::SuffixMeaning::kBelowOnly));
  return out;
}

std::vector<std::string> lines(std::string_view text, std::vector<std::pair<const char*, const char*>> all) {
  const auto parsed = rules(std::move(all));
  return known_hosts(text, parsed);
}

TEST(KnownHosts, OfAGrantedHostAreItsOwnNamesAndKeysAlone) {
  constexpr std::string_view kText =
      "# a comment\n\n"
      "b.example,secret.inner,10.0.0.1 ssh-ed25519 AAAA someone@somewhere\n"
      "other.example ssh-ed25519 BBBB\n"
      "  B.example\tssh-rsa CCCC=\r\n";
  EXPECT_THAT(lines(kText, {{"b.example", "22"}}),
              ElementsAre("b.example ssh-ed25519 AAAA", "b.example ssh-rsa CCCC="));
  EXPECT_THAT(lines(kText, {{"b.example", "443"}}), IsEmpty());
  EXPECT_THAT(lines(kText, {{"10.0.0.1", "22"}}), ElementsAre("10.0.0.1 ssh-ed25519 AAAA"));
  EXPECT_THAT(lines(kText, {{".example", "*"}}),
              ElementsAre("b.example ssh-ed25519 AAAA", "other.example ssh-ed25519 BBBB", "b.example ssh-rsa CCCC="));
  EXPECT_THAT(lines(kText, {}), IsEmpty());
}

TEST(KnownHosts, ThatAreHashedAreFoundByTheNameOfARule) {
  // Made by ssh-keygen -H for b.example and [c.example]:2222.
  constexpr std::string_view kText =
      "|1|KhvzZKlKb8sVv4sTyRT/0DVY+vw=|H6CRMK+Fm0t6HUj/VdGBoQMt1S0= ssh-ed25519 AAAA\n"
      "|1|b0UuqhsWtq55kIPgwB3qdifvAxQ=|V6AOq0w72xQLo5TElwY5CzlRw0k= ssh-ed25519 BBBB\n";
  EXPECT_THAT(lines(kText, {{"b.example", "22"}}), ElementsAre("b.example ssh-ed25519 AAAA"));
  EXPECT_THAT(lines(kText, {{"c.example", "2222"}}), ElementsAre("[c.example]:2222 ssh-ed25519 BBBB"));
  EXPECT_THAT(lines(kText, {{"c.example", "22"}}), IsEmpty());
  EXPECT_THAT(lines(kText, {{".example", "22"}, {"*", "*"}}), IsEmpty()) << "nobody named it";
}

TEST(KnownHosts, PatternsNegationsAndMarkersMeanWhatTheyMeanToSsh) {
  constexpr std::string_view kText =
      "@cert-authority *.corp.example ssh-ed25519 CA\n"
      "@revoked b.example ssh-rsa OLD\n"
      "*.example,!b.example ssh-ed25519 WIDE\n"
      "h?st.example ssh-ed25519 ONE\n"
      "[b.example]:2222,[b.example]:22x ssh-ed25519 PORT\n";
  EXPECT_THAT(lines(kText, {{"git.corp.example", "22"}}),
              ElementsAre("@cert-authority git.corp.example ssh-ed25519 CA", "git.corp.example ssh-ed25519 WIDE"));
  EXPECT_THAT(lines(kText, {{"b.example", "22"}}), ElementsAre("@revoked b.example ssh-rsa OLD"));
  EXPECT_THAT(lines(kText, {{"host.example", "22"}}),
              ElementsAre("host.example ssh-ed25519 WIDE", "host.example ssh-ed25519 ONE"));
  EXPECT_THAT(lines(kText, {{"b.example", "2000-3000"}}), ElementsAre("[b.example]:2222 ssh-ed25519 PORT"));
}

TEST(KnownHosts, WhatIsNoLineIsPassedOver) {
  for (const std::string& bad :
       {std::string("b.example"), std::string("b.example ssh-ed25519"), std::string("b.example ssh-ed25519 A\x1b[2J"),
        std::string("@other b.example ssh-ed25519 AAAA"), std::string("b.example ssh\x01 AAAA"),
        std::string("|1|x|y ssh-ed25519 AAAA"), std::string("|1|b0UuqhsWtq55kIPgwB3qdifvAxQ=| ssh-ed25519 AAAA"),
        std::string("|1|b0Uu|V6AOq0w72xQLo5TElwY5CzlRw0k=|z ssh-ed25519 AAAA"),
        "b.example ssh-ed25519 " + std::string(20'000, 'A')})
    EXPECT_THAT(lines(bad + "\n", {{"b.example", "22"}}), IsEmpty()) << bad.substr(0, 60);
}

}  // namespace
}  // namespace cordon::policy::ssh
