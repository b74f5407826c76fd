#include "policy/approval/landings.h"

#include <gmock/gmock.h>

#include "policy/approval/journal.h"
#include "policy/approval/testing_disk.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = LandingReading::State;

const std::string kPath = "/srv/job/m.yaml";

LandingRecord record() {
  return {.fingerprint = std::string(64, 'a'),
          .manifest_path = kPath,
          .landings = {{"read: ./data", "/srv/\xff\"data"}, {"interpreter", "/opt/tool"}}};
}

class Landings : public testing::DiskOf {
 protected:
  [[nodiscard]] std::string place() const { return at("state/cordon/approvals"); }
  [[nodiscard]] std::string file() const { return place() + "/" + journal_entry_name(kPath) + ".leads-to"; }
  [[nodiscard]] LandingReading read(const std::string& path = kPath, char digit = 'a') const {
    return read_landings(place(), path, std::string(64, digit), me().caller());
  }
  void write() const {
    const auto done = write_landings(place(), record(), me().caller());
    ASSERT_TRUE(done) << base::to_string(done.error());
  }
};
INSTANTIATE_TEST_SUITE_P(As, Landings, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(Landings, ComeBackAsTheyWereForTheSameApprovalOfTheSameManifest) {
  as(me(), [&] {
    EXPECT_EQ(read().state, State::kAbsent);
    write();
    ASSERT_EQ(read().state, State::kRead) << read().why;
    EXPECT_EQ(read().record, record());
    EXPECT_EQ(read(kPath, 'b').state, State::kAbsent);
    EXPECT_EQ(read("/srv/other.yaml").state, State::kAbsent);
  });
}

TEST_P(Landings, ThatOthersMayHaveWrittenAreNotBelieved) {
  as(me(), [&] {
    write();
    ASSERT_EQ(::chmod(file().c_str(), 0620), 0);
    EXPECT_EQ(read().state, State::kUntrusted);
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
    ASSERT_EQ(read().state, State::kRead);
    std::ofstream(file()) << "{}";
    EXPECT_EQ(read().state, State::kUntrusted);
  });
}

TEST(LandingChanges, AreSaidOneByOne) {
  const std::vector<Landing> before = {{"read: ./a", "/x"}, {"read: ./b", "/y"}, {"interpreter", "/opt/a"}};
  EXPECT_THAT(landing_changes(before, before), IsEmpty());
  EXPECT_THAT(
      landing_changes(before, {{"read: ./a", "/z"}, {"interpreter", "/opt/a"}, {"read: ./c", "/w"}}),
      ElementsAre("'read: ./a' leads to /z (it led to /x)", "'read: ./b' leads nowhere else any more (it led to /y)",
                  "'read: ./c' leads to /w (it led nowhere else)"));
}

}  // namespace
}  // namespace cordon::policy::approval
