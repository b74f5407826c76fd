#include "policy/ecosystem/registries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::policy::ecosystem {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// "a.example:443@2 b.example:80@3 replaced secrets 1 note"
std::string shown(const RegistryHosts& hosts) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const RegistryHost& one : hosts.hosts)
    add(one.host + ":" + std::to_string(one.port) + "@" + std::to_string(one.at.line));
  if (hosts.tools_own == Default::kReplaced) add("replaced");
  if (hosts.secrets == Secrets::kSome) add("secrets");
  if (!hosts.notes.empty()) add(std::to_string(hosts.notes.size()) + " notes");
  return out;
}

std::string of(RegistryFormat format, std::string_view text) { return shown(read_registries(format, text, "f")); }

TEST(Registries, of_npmrc_are_the_main_one_and_those_of_scopes) {
  EXPECT_EQ(of(RegistryFormat::kNpmrc,
               "; a comment\nregistry=https://npm.corp.example/repo/\n@corp:registry = http://10.0.0.7:4873\n"
               "//npm.corp.example/repo/:_authToken=SECRET\nalways-auth=true\n"),
            "npm.corp.example:443@2 10.0.0.7:4873@3 replaced");
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "@corp:registry=https://npm.corp.example\n"), "npm.corp.example:443@1");
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "registry=\"https://a.example\"\r\n"), "a.example:443@1 replaced");
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "registry=${REGISTRY}\n"), "1 notes");
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "# registry=https://a.example\nother-registry=https://b.example\n"), "");
}

TEST(Registries, of_yarnrc_are_read_in_both_forms) {
  EXPECT_EQ(
      of(RegistryFormat::kYarnrc,
         "npmRegistryServer: \"https://a.example\"\nnpmScopes:\n  corp:\n    npmRegistryServer: https://b.example\n"
         "    npmAuthToken: SECRET\n"),
      "a.example:443@1 b.example:443@4 replaced");
  EXPECT_EQ(of(RegistryFormat::kYarnrc, "registry \"https://c.example\"\n\"@corp:registry\" \"https://d.example\"\n"),
            "c.example:443@1 d.example:443@2 replaced");
}

TEST(Registries, of_pip_conf_are_the_index_and_the_extra_ones_over_several_lines) {
  EXPECT_EQ(
      of(RegistryFormat::kPipConf,
         "[global]\nindex_url = https://user:SECRET@a.example/simple\nextra-index-url =\n  https://b.example/simple\n"
         "  https://c.example:8443/simple\ntimeout = 60\n  https://d.example\n[list]\nformat = columns\n"),
      "a.example:443@2 b.example:443@4 c.example:8443@5 replaced secrets");
}

TEST(Registries, of_uv_toml_are_keys_and_tables) {
  EXPECT_EQ(of(RegistryFormat::kUvToml,
               "index-url = \"https://a.example/simple\"\n"
               "extra-index-url = [\n  \"https://b.example\", # one\n  'https://c.example',\n]\n"),
            "a.example:443@1 b.example:443@2 c.example:443@2 replaced");
  EXPECT_EQ(of(RegistryFormat::kUvToml, "[[index]]\nname = \"x\"\nurl = \"https://a.example\"\ndefault = true\n"),
            "a.example:443@3 replaced");
  EXPECT_EQ(of(RegistryFormat::kUvToml, "[[index]]\nurl = \"https://a.example\"\n[pip]\nindex-strategy = \"x\"\n"),
            "a.example:443@2");
}

TEST(Registries, of_cargo_are_sources_and_registries) {
  EXPECT_EQ(of(RegistryFormat::kCargoToml,
               "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = "
               "\"sparse+https://a.example/index/\"\n[registries.'my own']\nindex = \"https://b.example/git\"\n"
               "token = \"SECRET\"\n"),
            "a.example:443@4 b.example:443@6 replaced");
  EXPECT_EQ(of(RegistryFormat::kCargoToml, "registries.x.index = \"https://c.example\"\n"), "c.example:443@1");
  EXPECT_EQ(of(RegistryFormat::kCargoToml, "[registries.x]\nindex = \"ssh://git@c.example/i\"\n"), "1 notes");
  EXPECT_EQ(of(RegistryFormat::kCargoToml, "[build]\nregistry = \"https://c.example\"\n"), "");
}

TEST(Registries, of_go_are_the_proxies) {
  EXPECT_EQ(of(RegistryFormat::kGoEnv, "GOFLAGS=-mod=mod\nGOPROXY=https://a.example,https://b.example|direct\n"),
            "a.example:443@2 b.example:443@2 replaced");
  EXPECT_EQ(of(RegistryFormat::kGoEnv, "GOPROXY=off\n"), "replaced");
}

TEST(Registries, of_maven_are_mirrors_and_repositories_but_no_server) {
  EXPECT_EQ(
      of(RegistryFormat::kMavenSettings,
         "<?xml version=\"1.0\"?>\n<settings xmlns=\"x\">\n<!-- <mirror><url>https://no.example</url></mirror> -->\n"
         "<servers><server><id>a</id><password>SECRET</password></server></servers>\n<mirrors><mirror>\n<mirrorOf>*"
         "</mirrorOf>\n<url> https://a.example/maven2 </url></mirror></mirrors>\n<profiles><profile><repositories>"
         "<repository><releases/><url>http://b.example:8081/x</url></repository></repositories></profile>"
         "</profiles>\n<proxies><proxy><url>https://p.example</url></proxy></proxies></settings>\n"),
      "a.example:443@7 b.example:8081@8 replaced");
}

TEST(Registries, of_maven_expand_no_entity_and_end_at_a_document_type) {
  EXPECT_EQ(of(RegistryFormat::kMavenSettings,
               "<!DOCTYPE s [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><settings><mirror><url>https://a.example</url>"
               "</mirror></settings>"),
            "1 notes");
  EXPECT_EQ(of(RegistryFormat::kMavenSettings, "<mirror><url>https://&x;.example</url></mirror>"), "1 notes");
  EXPECT_EQ(of(RegistryFormat::kMavenSettings, "<mirror><url><![CDATA[https://a.example]]></url></mirror>"), "1 notes");
  EXPECT_EQ(of(RegistryFormat::kMavenSettings, "<mirror><url>https://a.example"), "a.example:443@1");
  EXPECT_EQ(of(RegistryFormat::kMavenSettings, "<a></b>"), "1 notes");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_EQ(of(RegistryFormat::kMavenSettings, deep), "1 notes");
}

TEST(Registries, of_a_variable_are_all_that_it_lists) {
  EXPECT_EQ(shown(registries_of_variable("PIP_INDEX_URL", "https://a.example/simple")), "a.example:443@0 replaced");
  EXPECT_EQ(shown(registries_of_variable("PIP_EXTRA_INDEX_URL", "https://a.example https://u:p@b.example")),
            "a.example:443@0 b.example:443@0 secrets");
  EXPECT_EQ(shown(registries_of_variable("GOPROXY", "https://a.example,direct")), "a.example:443@0 replaced");
  EXPECT_EQ(shown(registries_of_variable("GOPROXY", "")), "");
  EXPECT_EQ(shown(registries_of_variable("UV_INDEX", "corp=https://a.example b=https://b.example")),
            "a.example:443@0 b.example:443@0");
}

struct Odd {
  const char* name;
  std::string_view address, shown;
};
class OddAddress : public testing::TestWithParam<Odd> {};
TEST_P(OddAddress, never_becomes_a_wider_host) {
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "registry=" + std::string(GetParam().address)), GetParam().shown);
}
INSTANTIATE_TEST_SUITE_P(
    Registries, OddAddress,
    testing::Values(Odd{"wildcard", "https://*", "1 notes"}, Odd{"suffix", "https://.example", "1 notes"},
                    Odd{"block", "https://10.0.0.0/8", "10.0.0.0:443@1 replaced"}, Odd{"none", "https://", "1 notes"},
                    Odd{"upper_case", "https://A.Example", "a.example:443@1 replaced"},
                    Odd{"user", "https://a.example@b.example", "b.example:443@1 replaced secrets"},
                    Odd{"user_with_at", "https://u:p@x@b.example/", "b.example:443@1 replaced secrets"},
                    Odd{"query", "https://b.example?token=x", "b.example:443@1 replaced secrets"},
                    Odd{"port_of_letters", "https://b.example:http", "1 notes"},
                    Odd{"six", "https://[2001:db8::1]:8443/x", "2001:db8::1:8443@1 replaced"},
                    Odd{"file", "file:///srv/mirror", "1 notes"}, Odd{"blank", "https://a.example b", "1 notes"}),
    [](const auto& one) { return one.param.name; });

TEST(Registries, notes_say_no_secret) {
  const auto hosts = read_registries(RegistryFormat::kNpmrc, "registry=ssh://user:SECRET@a.example\n", "f");
  ASSERT_EQ(hosts.notes.size(), 1U);
  EXPECT_THAT(hosts.notes[0].message + hosts.notes[0].hint, Not(HasSubstr("SECRET")));
}

TEST(Registries, a_text_beyond_its_bounds_gives_little) {
  EXPECT_EQ(of(RegistryFormat::kNpmrc, "registry=https://a.example\n" + std::string(kLargestConfiguration, '\n')),
            "1 notes");
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "@s" + std::to_string(i) + ":registry=https://h" + std::to_string(i) + ".example\n";
  const auto hosts = read_registries(RegistryFormat::kNpmrc, many, "f");
  EXPECT_EQ(hosts.hosts.size(), kMostRegistries);
  EXPECT_EQ(hosts.notes.size(), kMostRegistries);
}

}  // namespace
}  // namespace cordon::policy::ecosystem
