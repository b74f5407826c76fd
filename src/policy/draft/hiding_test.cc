// What a program did to keep something out of its draft, or to get something into it.
#include <algorithm>

#include "policy/draft/fixture_test.h"

namespace cordon::policy::draft {
namespace {

TEST_F(Draft, WhatIsNamedThroughProcIsCountedAsLost) {
  for (const char* path : {"/proc/self/fd/5/g", "/proc/thread-self/cwd/h", "/proc/self/root/etc/i", "/dev/fd/7/j"})
    reads(path);
  reads("/proc/self/fd/5");
  reads("/proc/self/maps");
  reads("/dev/null");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), IsEmpty());
  EXPECT_EQ(out.lost, 4U);
}

TEST_F(Draft, ALinkBelowAGrantIsNotCoveredByIt) {
  directory("/srv/store");
  file("/srv/store/file");
  link("/home/me/tool/d/file", "/srv/store/file");
  reads("/home/me/tool/d/file");
  writes("/home/me/tool/out");
  EXPECT_THAT(lines(propose()), ElementsAre("read /home/me/tool/d/file", "write /home/me/tool"));
}

TEST_F(Draft, ADirectoryThatWasEnteredIsOneThatWasRead) {
  directory("/srv/store");
  seen("/srv/store", plan::kActEnter, {"chdir"});
  const Proposal out = propose();
  ASSERT_THAT(lines(out), ElementsAre("read /srv/store"));
  EXPECT_FALSE(out.wants.front().only_seen);
}

TEST_F(Draft, WhatMayHoldSecretsByItsNameIsFlagged) {
  for (const char* name : {".env", "prod.env", ".npmrc", "id_ed25519", "server.pem", "plain.txt", "token", "secret.txt",
                           "api_key.txt", ".htpasswd", "service-account-1.json", "id_rsa.bak", ".dockercfg",
                           "kubeconfig", ".vault-token", ".aws-creds"}) {
    file(std::string("/home/me/tool/") + name);
    reads(std::string("/home/me/tool/") + name);
  }
  const Proposal out = propose();
  EXPECT_EQ(std::ranges::count(out.flagged, "may-hold-secrets", &Remark::code), 15);
}

}  // namespace
}  // namespace cordon::policy::draft
