#include "policy/approval/accounts.h"

#include <gtest/gtest.h>

namespace cordon::policy::approval {
namespace {

constexpr Caller kAlice{.uid = 1000, .gid = 1000};

AccountFiles small_host() {
  return {.nsswitch = "passwd: files systemd\ngroup: files\nhosts: files dns\n",
          .passwd =
              "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n"
              "bob:x:1001:1001::/home/bob:/bin/sh\n",
          .group = "root:x:0:\nalice:x:1000:\nbob:x:1001:\nteam:x:2000:alice,bob\nmine:x:2001:alice,root\n"};
}

GroupPrivacy judge(const AccountFiles& host, gid_t group) { return judge_group(host, group, kAlice); }

TEST(GroupMembers, AreProvenToBeTheCallerAloneOrWithRoot) {
  EXPECT_EQ(judge(small_host(), 1000), GroupPrivacy::kPrivate);
  EXPECT_EQ(judge(small_host(), 2001), GroupPrivacy::kPrivate);
}

TEST(GroupMembers, AreProvenToBeOthersByPrimaryGroupOrByName) {
  EXPECT_EQ(judge(small_host(), 1001), GroupPrivacy::kShared);
  EXPECT_EQ(judge(small_host(), 2000), GroupPrivacy::kShared);
}

TEST(GroupMembers, AddUpOverLinesOfOneNumber) {
  AccountFiles host = small_host();
  *host.group += "again:x:1000:bob\n";
  EXPECT_EQ(judge(host, 1000), GroupPrivacy::kShared);
}

TEST(GroupMembers, ThatShareTheCallersNumberAreTheCaller) {
  AccountFiles host = small_host();
  *host.passwd += "alice2:x:1000:1000::/home/alice:/bin/sh\ntoor:x:0:0::/root:/bin/sh\n";
  *host.group += "both:x:2002:alice2,toor\n";
  EXPECT_EQ(judge(host, 2002), GroupPrivacy::kPrivate);
}

TEST(GroupMembers, WithoutAnAccountProveNothing) {
  AccountFiles host = small_host();
  *host.group += "later:x:2003:carol\n";
  EXPECT_EQ(judge(host, 2003), GroupPrivacy::kUnknown);
}

TEST(GroupMembers, CannotBeToldWhereAPasswordLetsPeopleJoin) {
  AccountFiles host = small_host();
  *host.group += "club:$6$salt$hash:2004:\nlocked:!:2005:\nstar:*:2006:alice\n";
  EXPECT_EQ(judge(host, 2004), GroupPrivacy::kUnknown);
  EXPECT_EQ(judge(host, 2005), GroupPrivacy::kPrivate);
  EXPECT_EQ(judge(host, 2006), GroupPrivacy::kPrivate);
}

TEST(GroupMembers, OfAnUnlistedNumberAreUnknownUnlessItIsTheCallersOwn) {
  EXPECT_EQ(judge(small_host(), 7777), GroupPrivacy::kUnknown);
  EXPECT_EQ(judge_group(small_host(), 7777, {.uid = 1000, .gid = 7777}), GroupPrivacy::kPrivate);
}

TEST(GroupMembers, AreUnknownWhereAnotherSourceMayNameMore) {
  for (const char* nsswitch : {
           "passwd: files ldap\ngroup: files\n",
           "passwd: files\ngroup: files sss\n",
           "passwd: files\ngroup: compat\n",
           "passwd: files\ngroup: files\ninitgroups: files ldap\n",
           "passwd: files\ngroup: files\ngroup: nis\n",
           "passwd: files\n",
           "group: files\n",
           "passwd:\ngroup: files\n",
           "passwd: files [NOTFOUND=return\ngroup: files\n",
           "",
       }) {
    AccountFiles host = small_host();
    host.nsswitch = nsswitch;
    EXPECT_EQ(judge(host, 1000), GroupPrivacy::kUnknown) << nsswitch;
  }
}

TEST(GroupMembers, AreToldThroughActionsCommentsAndOddSpacing) {
  for (const char* nsswitch : {
           "passwd: files [ NOTFOUND=return ] systemd\ngroup:files [SUCCESS=merge] systemd\n",
           "# group: ldap\n  passwd :\tfiles # ldap\r\ngroup: files\ninitgroups: files\n",
       }) {
    AccountFiles host = small_host();
    host.nsswitch = nsswitch;
    EXPECT_EQ(judge(host, 1000), GroupPrivacy::kPrivate) << nsswitch;
  }
}

TEST(GroupMembers, AreUnknownWhereAFileCannotBeReadOrTaken) {
  for (auto AccountFiles::* missing : {&AccountFiles::nsswitch, &AccountFiles::passwd, &AccountFiles::group}) {
    AccountFiles host = small_host();
    (host.*missing).reset();
    EXPECT_EQ(judge(host, 1000), GroupPrivacy::kUnknown);
  }
  for (const char* line : {"+::::::\n", "-bob\n", "+@netgroup:::\n", "  +\n", "no colons\n", "dave:x:abc:1000::/:/\n",
                           "dave:x:99999999999:1000::/:/\n", "dave:x::1000::/:/\n"}) {
    AccountFiles host = small_host();
    *host.passwd += line;
    EXPECT_EQ(judge(host, 1000), GroupPrivacy::kUnknown) << line;
  }
  for (const char* line : {"+:::\n", "short:x:5\n", "odd:x:-1:\n", "spaced:x:2009:alice bob\n"}) {
    AccountFiles host = small_host();
    *host.group += line;
    EXPECT_EQ(judge(host, 1000), GroupPrivacy::kUnknown) << line;
  }
}

TEST(GroupMembers, AreToldPastCommentsBlankLinesAndLeadingZeros) {
  AccountFiles host = small_host();
  *host.passwd += "\n# a comment\n";
  *host.group += "\nzeros:x:0002010:bob\n";
  EXPECT_EQ(judge(host, 1000), GroupPrivacy::kPrivate);
  EXPECT_EQ(judge(host, 2010), GroupPrivacy::kShared);
}

TEST(AccountNames, StandBesideTheNumberAndAreQuoted) {
  AccountFiles host = small_host();
  *host.passwd += "e\x1b[2Jvil:x:1002:1002::/:/\n";
  EXPECT_EQ(shown_user(host, 1000), "1000 (alice)");
  EXPECT_EQ(shown_user(host, 1002), "1002 (\"e\\x1b[2Jvil\")");
  EXPECT_EQ(shown_user(host, 4711), "4711");
  EXPECT_EQ(shown_group(host, 2000), "2000 (team)");
  EXPECT_EQ(shown_group({}, 2000), "2000");
}

TEST(AccountFilesOfThisHost, CanBeRead) {
  const AccountFiles host = read_account_files();
  ASSERT_TRUE(host.passwd);
  EXPECT_NE(host.passwd->find("root:"), std::string::npos);
  ASSERT_TRUE(host.group);
}

}  // namespace
}  // namespace cordon::policy::approval
