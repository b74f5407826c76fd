// `cordon profile --check`: whatever a run asked for and was refused is a difference, not only what no line names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileCheck : public Promise {
 protected:
  /// work/s.sh in bash under these lines, checked.
  [[nodiscard]] Finished checked(const std::string& text, const std::string& lines) const {
    scene.tree().write("work/s.sh", "#!/bin/bash\n" + text, 0755);
    return scene.cordon({"profile", "--check", scene.approved("entrypoint: ./s.sh\n" + lines)}).run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, ProfileCheck, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfileCheck, AProgramThatTheListHasNotIsADifference) {
  const Finished more = checked("/usr/bin/date; /usr/bin/id; exit 0\n", "exec: [/usr/bin/date]\n");
  EXPECT_EQ(more.code, 4) << more;
  EXPECT_THAT(more.err, AllOf(HasSubstr("exec /usr/bin/id"), Not(HasSubstr("exec /usr/bin/date"))));
  const Finished same = checked("/usr/bin/date; exit 0\n", "exec: [/usr/bin/date]\n");
  EXPECT_EQ(same.code, 0) << "the control" << same;
}

TEST_P(ProfileCheck, WhatAShieldRefusesBelowAGrantIsADifference) {
  scene.tree().write("work/.git/hooks/kept", "x");
  scene.tree().write("work/.git/plain", "x");
  const Finished hook = checked("echo x >.git/hooks/pre-commit; exit 0\n", "write: [.]\n");
  EXPECT_EQ(hook.code, 4) << hook;
  EXPECT_THAT(hook.err, HasSubstr(".git/hooks/pre-commit"));
  scene.tree().write("home/.ssh/id_rsa", "secret");
  scene.tree().write("home/plain", "x");
  const Finished key = checked("read x <\"$HOME/.ssh/id_rsa\"; exit 0\n", "read: [\"~\"]\nenv: [HOME]\n");
  EXPECT_EQ(key.code, 4) << key;
  EXPECT_THAT(key.err, HasSubstr(".ssh/id_rsa"));
  const Finished plain = checked("read x <\"$HOME/plain\"; exit 0\n", "read: [\"~\"]\nenv: [HOME]\n");
  EXPECT_EQ(plain.code, 0) << "the control" << plain;
  const Finished beside = checked("echo y >.git/plain; read x <.git/plain; exit 0\n", "write: [.]\n");
  EXPECT_EQ(beside.code, 0) << "the control: beside what is shielded" << beside;
}

TEST_P(ProfileCheck, ADeniedPathIsADifference) {
  scene.tree().write("work/data/secret", "x");
  scene.tree().write("work/data/plain", "x");
  const Finished denied = checked("read x <data/secret; exit 0\n", "read: [./data]\ndeny: [./data/secret]\n");
  EXPECT_EQ(denied.code, 4) << denied;
  const Finished plain = checked("read x <data/plain; exit 0\n", "read: [./data]\ndeny: [./data/secret]\n");
  EXPECT_EQ(plain.code, 0) << "the control" << plain;
}

TEST_P(ProfileCheck, ALinkThatIsNotGivenIsADifferenceThoughWhereItLeadsIs) {
  scene.tree().write("work/data/cfg.json", "{}");
  std::filesystem::create_symlink("data/cfg.json", scene.in_work("cfg.json"));
  const Finished link = checked("read x <cfg.json; exit 0\n", "read: [./data]\n");
  EXPECT_EQ(link.code, 4) << link;
  const Finished given = checked("read x <cfg.json; exit 0\n", "read: [./data, ./cfg.json]\n");
  EXPECT_EQ(given.code, 0) << "the control" << given;
}

TEST_P(ProfileCheck, AListingThatShowsLessThanStandsThereIsADifference) {
  scene.tree().write("work/data/a", "x");
  scene.tree().write("work/data/b", "x");
  const Finished part = checked("for f in data/*; do read x <$f; done; exit 0\n", "read: [./data/a]\n");
  EXPECT_EQ(part.code, 4) << part;
  const Finished whole = checked("for f in data/*; do read x <$f; done; exit 0\n", "read: [./data]\n");
  EXPECT_EQ(whole.code, 0) << "the control" << whole;
}

/// Each rule is laid beside what was reached as the broker lays it, and not as text.
TEST_P(ProfileCheck, WhatARuleLetsThroughIsNoDifferenceHoweverItIsWritten) {
  const std::string reach =
      "exec 3<>/dev/tcp/192.0.2.7/8080; exec 3<>/dev/tcp/a.b.invalid/443; exec 3<>/dev/tcp/C.invalid/443; exit 0\n";
  const Finished all = checked(reach,
                               "network:\n  - {host: 192.0.2.0/24, port: 8000-9000}\n"
                               "  - {host: '*.b.invalid', port: '*'}\n  - {host: c.INVALID, port: 443}\n");
  EXPECT_EQ(all.code, 0) << all;
  const Finished less = checked(reach,
                                "network:\n  - {host: 192.0.2.0/24, port: 9000-9001}\n"
                                "  - {host: '*.b.invalid', port: '*'}\n  - {host: c.invalid, port: 443}\n");
  EXPECT_EQ(less.code, 4) << "the control" << less;
  EXPECT_THAT(less.err, AllOf(HasSubstr("192.0.2.7"), Not(HasSubstr("a.b.invalid"))));
}

TEST_P(ProfileCheck, AReachForAServerOfTheHostsIsADifferenceUnlessItIsGiven) {
  const std::string reach = "exec 3<>/dev/tcp/127.0.0.1/5432; exit 0\n";
  const Finished more = checked(reach, "");
  EXPECT_EQ(more.code, 4) << more;
  EXPECT_THAT(more.err, HasSubstr("127.0.0.1:5432"));
  const Finished given = checked(reach, "host_services: [5432]\n");
  EXPECT_EQ(given.code, 0) << "the control" << given;
  EXPECT_EQ(checked("exit 0\n", "host_services: [5432]\n").code, 0);
}

TEST_P(ProfileCheck, ALinkThatTheProgramMakesInItsOwnGrantIsNoDifference) {
  scene.tree().write("home/kept/f", "x");
  scene.tree().make_directory("work/out");
  const std::string led = scene.tree().path("home/kept/f");
  const Finished made = checked("exec /bin/ln -sn " + led + " out/l\n", "write: [./out]\nexec: all\n");
  EXPECT_EQ(made.code, 0) << made;
  const Finished again = checked("/bin/readlink out/l; /bin/rm out/l; /bin/ln -sn " + led + " out/l; exit 0\n",
                                 "write: [./out]\nexec: all\n");
  EXPECT_EQ(again.code, 0) << "it stands already, and its text is read" << again;
  const Finished followed = checked("/bin/cat out/l; exit 0\n", "write: [./out]\nexec: all\n");
  EXPECT_EQ(followed.code, 4) << "the control: what it leads to" << followed;
}

TEST_P(ProfileCheck, MkdirOnItsWayThroughStandingDirectoriesIsNoDifference) {
  scene.tree().make_directory("work/out");
  const Finished same =
      checked("/bin/mkdir -p " + scene.in_work("out/a/b") + "; exit 0\n", "write: [./out]\nexec: all\n");
  EXPECT_EQ(same.code, 0) << same;
  const Finished more =
      checked("/bin/mkdir -p " + scene.in_work("other/a") + "; exit 0\n", "write: [./out]\nexec: all\n");
  EXPECT_EQ(more.code, 4) << "the control" << more;
}

TEST_P(ProfileCheck, WhatLiesAboveALinkIsToldByTheHostsLinks) {
  scene.tree().write("home/far/beside.txt", "x");
  scene.tree().make_directory("home/far/in");
  scene.tree().write("work/beside.txt", "x");
  scene.tree().link("work/l", scene.tree().path("home/far/in"));
  const std::string lines = "read: [./beside.txt, ./l]\n";
  const Finished far = checked("read x <l/../beside.txt; exit 0\n", lines);
  EXPECT_EQ(far.code, 4) << far;
  EXPECT_THAT(far.err, HasSubstr("far/beside.txt"));
  scene.tree().make_directory("work/d");
  const Finished here = checked("read x <d/../beside.txt; exit 0\n", lines + "write: [./d]\n");
  EXPECT_EQ(here.code, 0) << "the control" << here;
}

TEST_P(ProfileCheck, ALinkThatTheRunMadeAndRemovedHidesNothing) {
  scene.tree().write("home/far/secret.txt", "x");
  scene.tree().make_directory("work/out");
  const auto through = [&](const std::string& target) {
    return checked("/bin/ln -s " + target + " out/l; /bin/cat out/l/secret.txt; /bin/rm out/l; exit 0\n",
                   "write: [./out]\nexec: all\n");
  };
  const Finished far = through(scene.tree().path("home/far"));
  EXPECT_EQ(far.code, 4) << far;
  EXPECT_THAT(far.err, HasSubstr("far/secret.txt"));
  EXPECT_EQ(through(scene.in_work("out")).code, 0) << "the control";
}

}  // namespace
}  // namespace cordon::test
