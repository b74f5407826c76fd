// Promise: what the global configuration opens is opened for every run, the plan says whose word it was, and a
// configuration that somebody else can write is not believed.

#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class GlobalConfig : public Promise {
 protected:
  std::string configure(const std::string& text) const {
    return scene.tree().write("home/.config/cordon/config.yaml", text, 0644);
  }
  Finished says(const std::string& command, const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> args{command};
    args.insert(args.end(), flags.begin(), flags.end());
    args.push_back(scene.manifest("entrypoint: ./act\nnetwork: [{host: mirror.example, port: '443'}]\n"));
    return scene.cordon(args).run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, GlobalConfig, testing::ValuesIn(identities()), identity_name);

TEST_P(GlobalConfig, OpensAddressesForEveryRunAndIsNamed) {
  EXPECT_THAT(says("inspect").out, Not(HasSubstr("names may lead to"))) << "the control: without it";
  const std::string file = configure("allow_address:\n  - 10.0.0.0/8\n");
  const Finished plan = says("inspect", {"--allow-address", "192.168.0.0/16"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_TRUE(plan.says("names may lead to 10.0.0.0/8, because " + file + ":2 says so")) << plan;
  EXPECT_TRUE(plan.says("names may lead to 192.168.0.0/16, because --allow-address says so")) << plan;
  const auto json = nlohmann::json::parse(says("inspect", {"--json"}).out);
  EXPECT_THAT(json.dump(), HasSubstr(R"("allow_address":["10.0.0.0/8"])"));
}

TEST_P(GlobalConfig, ThatOthersCanWriteIsRefused) {
  const std::string file = configure("allow_address: [10.0.0.0/8]\n");
  EXPECT_EQ(says("inspect").code, 0) << "the control: while it is only theirs";
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  for (const char* command : {"inspect", "validate"}) {
    const Finished refused = says(command);
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_TRUE(refused.says("is not only yours")) << refused;
  }
  const Finished run = says("run", {"--allow-unapproved"});
  EXPECT_EQ(run.code, 125) << run;
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(scene.tree().path("home/.config/cordon").c_str(), 0777), 0);
  EXPECT_EQ(says("inspect").code, 125) << "its directory counts too";
}

TEST_P(GlobalConfig, ThatIsWrongIsRefusedWithItsPlace) {
  configure("allow_address: [127.0.0.0/8]\nalow: 1\n");
  const Finished refused = says("inspect");
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("config.yaml:1:")) << refused;
  EXPECT_TRUE(refused.says("which is never reached")) << refused;
  EXPECT_TRUE(refused.says("config.yaml:2:")) << refused;
}

}  // namespace
}  // namespace cordon::test
