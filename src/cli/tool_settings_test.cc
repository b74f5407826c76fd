#include "cli/tool_settings.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

using policy::ecosystem::RegistryFormat;

TEST(ToolSettings, KeepWhereARegistryIsAndNotWhatOpensIt) {
  const std::string text =
      "; a comment\n"
      "registry = https://me:secret@mirror.example/npm/\n"
      "@corp:registry=https://npm.corp.example/\n"
      "//mirror.example/npm/:_authToken=npm_SECRET\n"
      "_auth=c2VjcmV0\n"
      "//npm.corp.example/:_password=c2VjcmV0\n"
      "email=me@example.com\n"
      "always-auth=true\n"
      "save-exact=true\n";
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, text),
            "registry=https://mirror.example/npm/\n"
            "@corp:registry=https://npm.corp.example/\n"
            "save-exact=true\n");
}

TEST(ToolSettings, KeepAPipIndexAndItsSection) {
  const std::string text =
      "[global]\n"
      "index-url = https://user:pw@pypi.corp.example/simple\n"
      "extra-index-url = https://a.example/simple https://u:p@b.example/simple\n"
      "client-cert = /home/me/key.pem\n";
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kPipConf, text),
            "[global]\n"
            "index-url=https://pypi.corp.example/simple\n"
            "extra-index-url=https://a.example/simple https://b.example/simple\n");
}

TEST(ToolSettings, LeaveOutWhatCannotBeTold) {
  for (const char* line :
       {"registry=https://${TOKEN}.example/", "registry=https://a@b@c/x@y", "registry=a@b", "//r/:_authToken=x",
        "registry=https://r.example/?token=x", "token=x", "proxy=http://u:p@proxy:1", "registry"}) {
    EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, line), "") << line;
  }
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kMavenSettings, "<settings/>"), "");
}

}  // namespace
}  // namespace cordon::cli
