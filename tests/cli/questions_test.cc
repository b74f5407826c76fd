// What a person is asked stands on a plain screen, whatever an earlier program left on the terminal: an unfinished
// command in which the question would vanish, colours in which it cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/promise.h"

namespace cordon::test {
namespace {

constexpr std::string_view kPlain = "\x18\x1b\\";

class Questions : public Promise {
 protected:
  /// Where the plain screen stood before the question; npos where it did not.
  [[nodiscard]] std::size_t plain_before(const std::vector<std::string>& words, const std::string& question,
                                         const std::string& term) const {
    Running run = scene.cordon(words).env("TERM", term).pty().start();
    EXPECT_TRUE(run.expect(question)) << run.seen();
    const std::string seen = run.seen();
    run.type("n\n");
    static_cast<void>(run.wait());
    const std::size_t at = seen.find(kPlain);
    return at < seen.find(question) ? at : std::string::npos;
  }
};
INSTANTIATE_TEST_SUITE_P(As, Questions, testing::ValuesIn(identities()), identity_name);

TEST_P(Questions, ApproveAsksOnAPlainScreen) {
  scene.tree().write("work/s.sh", "#!/bin/sh\n", 0755);
  scene.tree().write("work/m.yaml", "entrypoint: ./s.sh\n");
  const std::vector<std::string> words = {"approve", scene.in_work("m.yaml")};
  EXPECT_NE(plain_before(words, "[y/N]", "xterm"), std::string::npos);
  EXPECT_EQ(plain_before(words, "[y/N]", "dumb"), std::string::npos) << "the control: it knows no commands";
}

TEST_P(Questions, TrustAsksOnAPlainScreen) {
  scene.tree().write("work/.cordon.yaml", "profiles:\n  node:\n    {allowRead: [~/data]}\n");
  EXPECT_NE(plain_before({"trust"}, "trust it? [y/N]", "xterm"), std::string::npos);
  EXPECT_EQ(plain_before({"trust"}, "trust it? [y/N]", "dumb"), std::string::npos) << "the control";
}

}  // namespace
}  // namespace cordon::test
