// Services on the host's own addresses, which are public ones here: what a sandbox reaches of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "egress/sandbox.h"
#include "policy/network/address_class.h"

namespace cordon::test {
namespace {

using base::Fd;
using egress::Verdict;
using testing::ElementsAre;

void greet(const Fd& client) { write_all(client, "hello"); }

class OwnAddresses : public testing::Test {
 protected:
  Sandbox box_;
};

TEST_F(OwnAddresses, TheHostsOwnAddressesAreNotDialledWhateverTheyAre) {
  std::atomic<int> came = 0;
  const auto count = [&](const Fd& client) {
    ++came;
    greet(client);
  };
  const Server own4(kOwn4, 8443, count), own6(kOwn6, 8443, count), inner(kOwnPrivate4, 8443, count);
  const Server server(kPublic4, 8443, greet);
  box_.allow("*", "*");
  box_.allow("10.0.0.0/8", "*");
  box_.hosts["own.example"] = {kOwn4, kOwn6};
  box_.hosts["closed.example"] = {kOwn4};
  box_.hosts["translated.example"] = {"2002:5db8:d801::"};  // 6to4 of kOwn4
  box_.hosts["mixed.example"] = {kOwn4, kPublic4};
  box_.start();
  for (const char* name : {"own.example", "translated.example"})
    EXPECT_EQ(read_all(box_.reach(name, 8443)), "(reset)") << name;
  EXPECT_EQ(read_all(box_.reach("closed.example", 8444)), "(reset)");
  for (const char* address : {kOwn4, kOwn6, kOwnPrivate4})
    EXPECT_EQ(read_all(box_.connect(address, 8443)), "(reset)") << address;
  EXPECT_EQ(read_all(box_.reach("mixed.example", 8443)), "hello");
  EXPECT_EQ(came, 0) << "nobody there sees as much as a connection";
  std::map<std::string, std::string> led_to;
  for (const auto& [id, row] : box_.finish()) {
    if (row.verdict != Verdict::kGuardBlocked) continue;
    led_to[row.host] = row.address ? to_string(*row.address) : "";
    EXPECT_EQ(row.detail, static_cast<std::uint32_t>(policy::network::AddressClass::kThisMachine)) << row.host;
  }
  EXPECT_EQ(led_to.size(), 6U);
  EXPECT_EQ(led_to["closed.example"], kOwn4) << "and not whether somebody listens";
}

TEST_F(OwnAddresses, AnAddressOfTheHostsOwnIsDialledWhereARuleOrTheOperatorNamesIt) {
  const Server own4(kOwn4, 8443, greet), own6(kOwn6, 8443, greet);
  box_.allow(kOwn4, "8443");
  box_.allow("own.example", "8443");
  box_.hosts["own.example"] = {kOwn6};
  box_.config.opened = {*policy::network::parse_block("2606:2800:220::ff/128")};
  box_.start();
  EXPECT_EQ(read_all(box_.connect(kOwn4, 8443)), "hello");
  EXPECT_EQ(read_all(box_.reach("own.example", 8443)), "hello");
}

TEST_F(OwnAddresses, AnUpstreamProxyMayBeTheHostsOwnAndIsNotAskedForItsAddresses) {
  const Server upstream(kOwn4, 3128, [&](const Fd& client) {
    read_some(client, 12);
    write_all(client, "HTTP/1.1 200 OK\r\n\r\nhello");
    read_all(client);
  });
  box_.allow("*", "8443");
  box_.config.upstream = egress::Upstream{*policy::network::parse_address(kOwn4), 3128, "", {}};
  box_.start();
  const Fd through = box_.reach("a.example", 8443);
  EXPECT_EQ(read_some(through, 5), "hello");
  EXPECT_EQ(read_all(box_.connect(kOwn6, 8443)), "(reset)");
  EXPECT_THAT(box_.summary(),
              ElementsAre("admitted a.example:8443 1", std::string("guard-blocked ") + kOwn6 + ":8443 1"));
}

}  // namespace
}  // namespace cordon::test
