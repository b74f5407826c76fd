// Exact texts: what each profile is on one machine, beside tests/golden/profile. CORDON_REGENERATE=1 writes them anew;
// look at the diff before you commit it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "policy/ecosystem/effective.h"

namespace cordon::policy::ecosystem {
namespace {

namespace fs = std::filesystem;

fs::path golden() {
  return fs::path(__FILE__).parent_path().parent_path().parent_path().parent_path() / "tests/golden/profile";
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void add(std::string& out, std::string_view title, const std::vector<Root>& roots) {
  for (const Root& root : roots)
    out += fmt::format("{} {}{}{}\n", title, root.path.str(),
                       title == "cache" ? " " + std::string(to_string(root.cache)) : "",
                       root.variable.empty() ? "" : " by " + root.variable);
}

void add(std::string& out, std::string_view title, const std::vector<NamedText>& texts) {
  for (const NamedText& text : texts) out += fmt::format("{} {}\n", title, text.value);
}

std::string shown(const Effective& all) {
  std::string out;
  add(out, "run", all.toolchains);
  add(out, "read", all.read);
  add(out, "cache", all.caches);
  add(out, "kept-out", all.credentials);
  for (const DeclaredOutput& one : all.outputs) {
    constexpr std::string_view kClasses[]{"output",  "lock",   "manifest", "where-ignored",
                                          "program", "marked", "generated"};
    out += fmt::format("{} {}{} {}\n", kClasses[static_cast<std::size_t>(one.output->what)], one.output->name,
                       one.output->kind == OutputKind::kDirectory ? "/" : "", fmt::join(one.output->keys, " "));
  }
  add(out, "beside-sources", all.temporary);
  for (const RegistryRole& role : all.registries) {
    out += fmt::format("registry {} [{}]\n", role.registry->role, fmt::join(role.registry->hosts, " "));
    for (const RegistryFileAt& file : role.files)
      out += fmt::format("  says {} {}\n", to_string(file.format), file.path.str());
  }
  add(out, "host", all.domains);
  add(out, "environment", all.environment);
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, is_what_a_profile_grants_here) {
  Surroundings surroundings;
  surroundings.home = *base::AbsPath::parse("/home/u");
  surroundings.working_directory = surroundings.workspace = *base::AbsPath::parse("/home/u/p");
  surroundings.environment = {{"JAVA_HOME", "/opt/jdk"}, {"GOPATH", "/data/go"}};
  const Profile* const profile = find_profile(GetParam());
  const auto all = effective({&profile, 1}, surroundings);
  ASSERT_TRUE(all);
  const fs::path path = golden() / (GetParam() + ".txt");
  if (std::getenv("CORDON_REGENERATE") != nullptr) std::ofstream(path, std::ios::binary) << shown(*all);
  EXPECT_EQ(contents(path), shown(*all)) << path << " is out of date: run this test with CORDON_REGENERATE=1";
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const Profile& profile : profiles()) out.emplace_back(profile.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Profiles, Golden, testing::ValuesIn(names()), [](const auto& one) { return one.param; });

TEST(GoldenFiles, are_of_profiles_that_exist) {
  for (const auto& entry : fs::directory_iterator(golden()))
    EXPECT_NE(find_profile(entry.path().stem().string()), nullptr) << entry.path();
}

}  // namespace
}  // namespace cordon::policy::ecosystem
