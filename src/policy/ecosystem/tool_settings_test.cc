#include "policy/ecosystem/tool_settings.h"

#include <gtest/gtest.h>

namespace cordon::policy::ecosystem {
namespace {

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
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kCargoToml, "[source\n"), "");
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kCargoToml, "[env]\nTOKEN = \"x\"\n"), "");
}

TEST(ToolSettings, OfCargoSayWhereSourcesAreAndHowItBuilds) {
  const std::string out = settings_without_credentials(RegistryFormat::kCargoToml,
                                                       "[source.crates-io]\n"
                                                       "replace-with = 'mirror'\n"
                                                       "[source.mirror]\n"
                                                       "registry = 'sparse+https://me:SECRET1@crates.example/'\n"
                                                       "[registries.corp]\n"
                                                       "index = 'https://corp.example/index?key=SECRET2'\n"
                                                       "token = 'SECRET3'\n"
                                                       "[registry]\n"
                                                       "token = 'SECRET4'\n"
                                                       "global-credential-providers = ['/home/me/SECRET5']\n"
                                                       "[env]\n"
                                                       "API = 'SECRET6'\n"
                                                       "[http]\n"
                                                       "proxy = 'me:SECRET7@proxy.example:1'\n"
                                                       "[credential-alias]\n"
                                                       "x = ['SECRET8']\n"
                                                       "[build]\n"
                                                       "jobs = 2\n"
                                                       "[target.'cfg(unix)']\n"
                                                       "rustflags = ['-C', 'debuginfo=0']\n");
  EXPECT_EQ(out.find("SECRET"), std::string::npos) << out;
  for (const char* kept : {"replace-with = 'mirror'", "sparse+https://crates.example/", "jobs = 2", "debuginfo=0"})
    EXPECT_NE(out.find(kept), std::string::npos) << kept << "\n" << out;
}

TEST(ToolSettings, OfMavenAreMirrorsAndRepositories) {
  const std::string out = settings_without_credentials(
      RegistryFormat::kMavenSettings,
      "<?xml version='1.0'?><!-- SECRET1 --><settings xmlns='http://maven.example/SECRET9'>"
      "<servers><server><id>m</id><password>SECRET2</password></server></servers>"
      "<proxies><proxy><host>SECRET3</host></proxy></proxies>"
      "<mirrors><mirror a='SECRET4'><id>m</id><mirrorOf>*</mirrorOf><url>https://u:SECRET5@m.example/maven2</url>"
      "<password>SECRET6</password></mirror></mirrors>"
      "<profiles><profile><id>p</id><properties><token>SECRET7</token></properties>"
      "<repositories><repository><id>r</id><url>https://r.example/?t=SECRET8</url></repository></repositories>"
      "</profile></profiles><activeProfiles><activeProfile>p</activeProfile></activeProfiles></settings>");
  EXPECT_EQ(out.find("SECRET"), std::string::npos) << out;
  for (const char* kept : {"<mirror><id>m</id><mirrorOf>*</mirrorOf><url>https://m.example/maven2</url></mirror>",
                           "<activeProfile>p</activeProfile>"})
    EXPECT_NE(out.find(kept), std::string::npos) << kept << "\n" << out;
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kMavenSettings,
                                         "<!DOCTYPE s [<!ENTITY x 'SECRET'>]><settings><mirrors><mirror><id>&x;</id>"
                                         "</mirror></mirrors></settings>")
                .find("SECRET"),
            std::string::npos);
}

TEST(ToolSettings, ALineThatAnotherReaderEndsElsewhereEndsTheFile) {
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, "fund=false\r//r.example/:_authToken=SECRET\r"), "");
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kPipConf, "[global]\ntimeout=15\rproxy=http:u:SECRET\n"), "");
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, "fund=false\r\n"), "fund=false\n");
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, "registry=https://r.example/#SECRET\n"),
            "registry=https://r.example/\n");
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, "registry=https:/h;token=SECRET\n"), "");
  const std::string beside = settings_without_credentials(
      RegistryFormat::kMavenSettings,
      "<settings><mirrors>SECRET<mirror>SECRET<id>m</id>SECRET</mirror></mirrors></settings>");
  EXPECT_EQ(beside, "<settings><mirrors><mirror><id>m</id></mirror></mirrors></settings>");
}

TEST(ToolSettings, AListOverSeveralLinesStaysWhole) {
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kPipConf,
                                         "[global]\nindex-url = https://i.example/simple\nextra-index-url =\n"
                                         "    https://u:SECRET@a.example/simple\nproxy =\n    http://SECRET.example\n"
                                         "trusted-host = a.example\n    b.example\n"),
            "[global]\nindex-url=https://i.example/simple\nextra-index-url=\n    https://a.example/simple\n"
            "trusted-host=a.example\n    b.example\n");
  for (const char* line : {"[//h/:_authToken=SECRET]", "registry=https://h/SECRET:x@y https://z"})
    EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, line), "") << line;
  EXPECT_EQ(settings_without_credentials(RegistryFormat::kNpmrc, "public-hoist-pattern=@types/*"),
            "public-hoist-pattern=@types/*\n");
  const std::string cargo =
      settings_without_credentials(RegistryFormat::kCargoToml,
                                   "[target.x]\nrunner = ['env', 'SECRET']\n[patch.crates-io]\nfoo = { git = "
                                   "'ssh://git@h.example/foo' }\nbar = { git = 'git@h.example:bar' }\n");
  EXPECT_EQ(cargo.find("SECRET"), std::string::npos) << cargo;
  for (const char* kept : {"ssh://git@h.example/foo", "git@h.example:bar"})
    EXPECT_NE(cargo.find(kept), std::string::npos) << kept << cargo;
}

}  // namespace
}  // namespace cordon::policy::ecosystem
