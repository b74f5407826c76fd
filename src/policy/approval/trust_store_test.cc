#include "policy/approval/trust_store.h"

#include <gmock/gmock.h>

#include "policy/approval/journal.h"
#include "policy/approval/testing_disk.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = TrustReading::State;

const std::string kFile = "/srv/p\xff/.cordon.yaml";

TrustRecord record(const std::string& path = kFile, char digit = 'a') {
  return {.path = path,
          .sha256 = std::string(64, digit),
          .trusted_at = "2026-01-01T00:00:00Z",
          .asks = {R"("node" allowDomains "a.x")", R"("node" env "A=\"b")"}};
}

class TrustStore : public testing::DiskOf {
 protected:
  [[nodiscard]] std::string place() const { return at("state/cordon/trust"); }
  [[nodiscard]] std::string file() const { return place() + "/" + journal_entry_name(kFile); }
  [[nodiscard]] TrustReading read(const std::string& path = kFile) const {
    return read_trust(place(), path, me().caller());
  }
  void write(const TrustRecord& one = record()) const {
    const auto done = write_trust(place(), one, me().caller());
    ASSERT_TRUE(done) << base::to_string(done.error());
  }
};
INSTANTIATE_TEST_SUITE_P(As, TrustStore, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(TrustStore, GivesBackWhatWasWrittenAndTheLastOfTwo) {
  as(me(), [&] {
    EXPECT_EQ(read().state, State::kAbsent);
    write();
    ASSERT_EQ(read().state, State::kRead) << read().why;
    EXPECT_EQ(read().record, record());
    EXPECT_EQ(read("/srv/other").state, State::kAbsent);
    write(record(kFile, 'b'));
    EXPECT_EQ(read().record, record(kFile, 'b'));
    write(record("/a"));
    EXPECT_THAT(all_trust(place(), me().caller()), ElementsAre(record("/a"), record(kFile, 'b')));
  });
}

TEST_P(TrustStore, IsPrivate) {
  as(me(), [&] {
    write();
    struct ::stat directory{}, one{};
    ASSERT_EQ(::stat(place().c_str(), &directory), 0);
    ASSERT_EQ(::stat(file().c_str(), &one), 0);
    EXPECT_EQ(directory.st_mode & 07777U, 0700U);
    EXPECT_EQ(one.st_mode & 07777U, 0600U);
  });
}

TEST_P(TrustStore, ForgetsOneAndSaysWhetherThereWasOne) {
  as(me(), [&] {
    EXPECT_FALSE(forget_trust(place(), kFile, me().caller()).value());
    write();
    EXPECT_TRUE(forget_trust(place(), kFile, me().caller()).value());
    EXPECT_FALSE(forget_trust(place(), kFile, me().caller()).value());
    EXPECT_EQ(read().state, State::kAbsent);
  });
}

TEST_P(TrustStore, ThatOthersMayHaveWrittenIsNotBelieved) {
  as(me(), [&] {
    write();
    ASSERT_EQ(::chmod(file().c_str(), 0620), 0);
    EXPECT_EQ(read().state, State::kUntrusted);
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
    ASSERT_EQ(read().state, State::kRead);
    ASSERT_EQ(::chmod(place().c_str(), 0770), 0);
    EXPECT_EQ(read().state, State::kUntrusted);
    EXPECT_THAT(all_trust(place(), me().caller()), IsEmpty());
    EXPECT_FALSE(forget_trust(place(), kFile, me().caller()).has_value());
    ASSERT_EQ(::chmod(place().c_str(), 0700), 0);
    ASSERT_EQ(::rename(file().c_str(), at("elsewhere").c_str()), 0);
    ASSERT_EQ(::symlink(at("elsewhere").c_str(), file().c_str()), 0);
    EXPECT_NE(read().state, State::kRead) << "through a link";
  });
}

TEST_P(TrustStore, ThatIsDamagedOrOfAnotherFileIsNotBelieved) {
  as(me(), [&] {
    write(record("/a"));
    const std::string other = place() + "/" + journal_entry_name("/a");
    ASSERT_EQ(::rename(other.c_str(), file().c_str()), 0);
    EXPECT_EQ(read().state, State::kUntrusted) << "of another file, under this one's name";
    for (const char* text : {"", "{}", "[]", R"({"format":1,"path":"2f61","sha256":"aa","trusted_at":"","asks":[]})",
                             R"({"format":2,"path":"","sha256":"","trusted_at":"","asks":[]})", "\xff"}) {
      std::ofstream(file()) << text;
      EXPECT_EQ(read().state, State::kUntrusted) << text;
    }
  });
}

}  // namespace
}  // namespace cordon::policy::approval
