// What a run only passed, what its private directories held, and what it named without going there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/draft/fixture_test.h"

namespace cordon::policy::draft {
namespace {

class Ways : public Draft {
 protected:
  void passes(const std::string& path, std::vector<std::string> calls = {"mkdir", "chdir"}) {
    seen(path, plan::kActWrite | plan::kActEnter, std::move(calls));
  }
};

TEST_F(Ways, WhatMkdirFoundStandingIsNoLine) {
  directory("/srv/data");
  passes("/home");
  passes("/home/me/tool");
  passes("/srv/data");
  makes("/home/me/tool/new");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("read /srv/data", "write /home/me/tool/new"));
  EXPECT_TRUE(out.wants.front().only_seen) << "it was not there: a person decides";
}

TEST_F(Ways, WhatIsChangedWhereItStandsIsWritten) {
  directory("/srv/data/x");
  passes("/srv/data/x", {"mkdir", "chdir", "chmod"});
  EXPECT_THAT(lines(propose()), testing::Contains("write /srv/data/x")) << "the control";
}

TEST_F(Ways, ADirectoryOfTheHostsWasNotGivenByAnEmptyHome) {
  directory("/home/me/notes");
  directory("/home/me/made");
  file("/home/me/data.txt");
  reads("/home/me/data.txt");
  writes("/home/me/notes/new");
  makes("/home/me/made");
  writes("/home/me/made/new");
  const Proposal out = propose();
  ASSERT_THAT(lines(out), ElementsAre("read /home/me/data.txt", "write /home/me/made", "write /home/me/notes"));
  EXPECT_TRUE(out.wants[1].was_given) << "the control: the run made it";
  EXPECT_FALSE(out.wants[2].was_given);
}

TEST_F(Ways, ALinkThatIsOnlyNamedNeedsNoLineForWhereItLeads) {
  file("/srv/data/f");
  link("/home/me/tool/l", "/srv/data/f");
  facts.paths.at("/home/me/tool/l").hops = {{.at = "/home/me/tool/l", .target = "/srv/data/f"}};
  seen("/home/me/tool/l", plan::kActProbe, {"lstat", "readlink"});
  EXPECT_THAT(lines(propose()), IsEmpty());
  seen("/home/me/tool/l", plan::kActRead, {"openat"});
  EXPECT_THAT(lines(propose()), ElementsAre("read /home/me/tool/l")) << "the control";
}

TEST_F(Ways, ASecretIsKnownByItsNameInAnySpelling) {
  const std::vector<std::string> secrets = {
      "ID_RSA.bak",    "id_ed25519_work", "db-credentials.old", "MyPasswords.txt", "api_token",   "client_secret",
      ".bash_history", "wallet.dat",      "auth.json",          "hosts.yml",       ".my.cnf~",    ".s3cfg",
      "prod.tfstate",  "shadow",          "private_key.txt",    "tls.key.old",     "server.PEM.1"};
  const std::vector<std::string> plain = {"notes.txt", "identity.txt", "keyboard.map", "host.yml", "README"};
  directory("/srv/data");
  for (const auto* names : {&secrets, &plain}) {
    for (const std::string& name : *names) {
      file("/srv/data/" + name);
      reads("/srv/data/" + name);
    }
  }
  std::vector<std::string> flagged;
  for (const Remark& one : propose().flagged)
    if (one.code == "may-hold-secrets") flagged.push_back(one.path.substr(one.path.rfind('/') + 1));
  EXPECT_THAT(flagged, testing::UnorderedElementsAreArray(secrets));
}

TEST_F(Ways, RulesAreLaidBesideWhatWasReachedAsTheBrokerDoes) {
  Policy base;
  base.network = {{.host = "*.b.invalid", .port = "*", .reason = {}, .at = {}},
                  {.host = "192.0.2.0/24", .port = "80-90", .reason = {}, .at = {}},
                  {.host = "C.invalid", .port = "443", .reason = {}, .at = {}}};
  base.host_services = {{.value = "5432", .at = {}}};
  for (const auto& [host, port, is] :
       std::vector<std::tuple<std::string, std::uint16_t, bool>>{{"a.b.invalid", 9, true},
                                                                 {"b.invalid", 9, false},
                                                                 {"192.0.2.9", 85, true},
                                                                 {"192.0.2.9", 91, false},
                                                                 {"192.0.3.9", 85, false},
                                                                 {"c.INVALID", 443, true},
                                                                 {"localhost", 5432, true},
                                                                 {"127.0.0.1", 5432, true},
                                                                 {"localhost", 5433, false}})
    EXPECT_EQ(lets_through(base, host, port), is) << host << port;
}

}  // namespace
}  // namespace cordon::policy::draft
