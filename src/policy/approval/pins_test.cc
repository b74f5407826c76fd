#include "policy/approval/pins.h"

#include <gmock/gmock.h>

#include "policy/approval/testing_disk.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Pins : public testing::DiskOf {
 protected:
  [[nodiscard]] Policy pinning(const std::vector<std::string>& names) const {
    Policy policy;
    for (const std::string& name : names) {
      PathGrant pin{.written = "./" + name, .path = name.starts_with('/') ? name : at(name), .at = {}};
      pin.at.span = {.file = "m.yaml", .line = static_cast<std::uint32_t>(policy.pin.size() + 1), .column = 3};
      policy.pin.push_back(pin);
    }
    return policy;
  }
  [[nodiscard]] std::string code_of(const std::string& name) const {
    const auto pins = read_pins(pinning({name}));
    return pins ? "" : pins.error().front().code;
  }
};
INSTANTIATE_TEST_SUITE_P(As, Pins, ::testing::ValuesIn(testing::everybody()), testing::name_of);

TEST_P(Pins, AreDigestsOfTheContentAlsoBehindALink) {
  file("x.py", "print(1)\n");
  file("big", std::string(300'000, 'b'));
  file("empty", "");
  link("l.py", "x.py");
  give_all_to(me());
  as(me(), [&] {
    const auto pins = read_pins(pinning({"x.py", "big", "empty", "l.py"}));
    ASSERT_TRUE(pins);
    EXPECT_THAT(*pins, ElementsAre(PinnedContent{"./x.py", manifest::sha256_hex("print(1)\n")},
                                   PinnedContent{"./big", manifest::sha256_hex(std::string(300'000, 'b'))},
                                   PinnedContent{"./empty", manifest::sha256_hex("")},
                                   PinnedContent{"./l.py", manifest::sha256_hex("print(1)\n")}));
  });
}

TEST_P(Pins, OfNoneAreNone) {
  const auto pins = read_pins(Policy{});
  ASSERT_TRUE(pins);
  EXPECT_THAT(*pins, IsEmpty());
}

TEST_P(Pins, ThatCannotBeTakenAreNamedAllAtOnceEachAtItsLine) {
  directory("d");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0666), 0);
  link("loop", "loop");
  give_all_to(me());
  as(me(), [&] {
    ::alarm(20);
    const auto pins = read_pins(pinning({"gone", "d", "fifo", "/dev/zero", "loop"}));
    ASSERT_FALSE(pins);
    std::vector<std::string> codes;
    for (const auto& problem : pins.error()) codes.push_back(std::to_string(problem.at.line) + " " + problem.code);
    EXPECT_THAT(codes, ElementsAre("1 pin-missing", "2 pin-not-regular", "3 pin-not-regular", "4 pin-not-regular",
                                   "5 pin-unreadable"));
    EXPECT_THAT(pins.error().front().message, HasSubstr("./gone does not exist: " + at("gone")));
  });
}

TEST_P(Pins, AreBoundedOneByOneAndTogether) {
  const auto sparse = [&](const std::string& name, std::uint64_t size) {
    file(name, "");
    ASSERT_EQ(::truncate(at(name).c_str(), static_cast<off_t>(size)), 0);
  };
  sparse("most", kMostPinnedBytes);
  sparse("more", kMostPinnedBytes + 1);
  give_all_to(me());
  as(me(), [&] {
    EXPECT_EQ(code_of("more"), "pin-too-large");
    const auto pins = read_pins(pinning({"most", "most", "most", "most", "most"}));
    ASSERT_FALSE(pins);
    ASSERT_EQ(pins.error().size(), 1U);
    EXPECT_EQ(pins.error().front().code, "pin-too-large");
    EXPECT_EQ(pins.error().front().at.line, 5U);
  });
}

TEST(ChangedPins, AreToldFromTheRecord) {
  const std::vector<PinnedContent> recorded = {{"./a", "1"}, {"./b", "2"}, {"./c", "3"}};
  EXPECT_THAT(changed_pins(recorded, recorded), IsEmpty());
  const auto changes = changed_pins(recorded, {{"./a", "1"}, {"./b", "9"}, {"./d", "4"}});
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(to_sentence(changes[0]), "the pinned file ./b changed since it was approved");
  EXPECT_EQ(to_sentence(changes[1]), "the file ./c was pinned when it was approved and is not now");
  EXPECT_EQ(to_sentence(changes[2]), "the file ./d is pinned now and was not when it was approved");
  EXPECT_THAT(to_sentence({.written = "./e\n"}), HasSubstr("\"./e\\n\""));
}

}  // namespace
}  // namespace cordon::policy::approval
