// npx, npm create, npm's approval of install scripts, yarn, pnpm and bun: the tools and one package from the registry,
// the twin in the project's own scripts.
#include <cstdlib>

#include "ecosystems/checkout.h"
#include "ecosystems/registry/reached.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NodeTools : public Promise {
 protected:
  /// As `npm install --global` with a prefix in the home leaves it.
  void install(const std::string& package) const {
    const Finished done =
        with_client(
            scene.outside({"/bin/sh", "-c", "npm install --global --silent --prefix \"$HOME/.npm-global\" " + package}))
            .timeout(120'000)
            .run();
    ASSERT_EQ(done.code, 0) << done;
  }
  [[nodiscard]] Finished run(const Checkout& project, const std::vector<std::string>& argv) const {
    return with_client(project.command(argv, "", registry_flags())).run();
  }
  [[nodiscard]] Command with_client(Command command) const {
    command.env("PATH", scene.home() + "/.npm-global/bin:/usr/local/bin:/usr/bin:/bin")
        .env("npm_config_registry", registry())
        .env("npm_config_update_notifier", "false");
    if (const char* certificates = std::getenv("NODE_EXTRA_CA_CERTS")) command.env("NODE_EXTRA_CA_CERTS", certificates);
    return command;
  }
  /// A project whose own scripts are the twin: one that most tools run unasked, and one that is asked for.
  static void project_with_twin(const Checkout& project) {
    project.file("package.json",
                 R"({"name": "p", "version": "1.0.0", "license": "MIT", "scripts": {"postinstall": "sh evil.sh",)"
                 R"( "use": "sh evil.sh && node use.js"}})"
                 "\n");
    project.file("use.js", "console.log(require('semver').valid('1.2.3'))\n");
    project.plant("dist");
  }
  /// Adds a package, runs what uses it, and finds what the tool leaves.
  void adds_and_uses(const std::string& tool, const std::string& lock, const std::vector<std::string>& outputs) const {
    std::vector<std::string> all = outputs;
    all.emplace_back("dist");
    const Checkout project(scene, all);
    project_with_twin(project);
    if (lock == "yarn.lock") project.file(lock, "");
    project.commit();
    const Finished added = run(project, {tool, "add", "semver"});
    EXPECT_EQ(added.code, 0) << added;
    EXPECT_THAT(project.read("package.json").value_or(""), HasSubstr("\"semver\":")) << added;
    EXPECT_THAT(project.read(lock).value_or(""), HasSubstr("semver")) << added;
    const Finished installed = run(project, {tool, "install"});
    EXPECT_EQ(installed.code, 0) << installed;
    for (const std::string& output : outputs) EXPECT_TRUE(project.has(output)) << output << installed;
    const Finished used = run(project, {tool, "run", "use"});
    EXPECT_THAT(used.out, HasSubstr("1.2.3\n")) << used;
    project.expect_held({"package.json", lock});
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NodeTools);
INSTANTIATE_TEST_SUITE_P(As, NodeTools, testing::ValuesIn(registry_identities()), identity_name);

TEST_P(NodeTools, NpxRunsAToolThatIsNotInstalled) {
  const Checkout project(scene);
  project_with_twin(project);
  project.commit();
  const Finished ran = run(project, {"npx", "--yes", "semver", "1.2.3"});
  EXPECT_EQ(ran.out, "1.2.3\n") << ran;
  const Finished again = run(project, {"npx", "--yes", "--offline", "semver", "1.2.4"});
  EXPECT_EQ(again.out, "1.2.4\n") << "it was kept for this project" << again;
  EXPECT_FALSE(scene.tree().exists("home/.npm/_npx")) << "and for no other";
  project.expect_untouched();
}

TEST_P(NodeTools, NpmCreateScaffoldsIntoTheProject) {
  const Checkout project(scene);
  project_with_twin(project);
  project.commit();
  const Finished made = run(project, {"npm", "create", "--yes", "vite@latest", "app", "--", "--template", "vanilla"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_TRUE(project.has("app/package.json")) << made;
  EXPECT_TRUE(project.has("app/index.html")) << made;
  ASSERT_EQ(project.outside("rm -r app").code, 0);
  project.expect_untouched();
}

TEST_P(NodeTools, NpmApprovesAndDeniesInstallScripts) {
  install("npm@11");
  const Checkout project(scene, {"dist"});
  project.file("package.json", "{\"name\":\"p\",\"version\":\"1.0.0\"}\n");
  project.file(
      "dep/package.json",
      "{\"name\":\"dep\",\"version\":\"1.0.0\",\"scripts\":{\"postinstall\":\"cd $INIT_CWD && sh evil.sh\"}}\n");
  project.plant("dist");
  ASSERT_EQ(project.outside("cd dep && npm pack --silent && mv dep-1.0.0.tgz ..").code, 0);
  project.commit();
  const Finished installed = run(project, {"npm", "install", "--offline", "--no-audit", "./dep-1.0.0.tgz"});
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_THAT(installed.err, HasSubstr("allowScripts")) << "it asks" << installed;
  const Finished approved = run(project, {"npm", "approve-scripts", "--all"});
  EXPECT_EQ(approved.code, 0) << approved;
  EXPECT_THAT(project.read("package.json").value_or(""), AllOf(HasSubstr("allowScripts"), HasSubstr("true")));
  const Finished rebuilt = run(project, {"npm", "rebuild"});
  EXPECT_THAT(rebuilt.err, Not(HasSubstr("allowScripts"))) << rebuilt;
  EXPECT_EQ(project.read("dist/ran"), "ran\n") << "approved, it runs" << rebuilt;

  const Finished denied = run(project, {"npm", "deny-scripts", "dep"});
  EXPECT_EQ(denied.code, 0) << denied;
  EXPECT_THAT(project.read("package.json").value_or(""), AllOf(HasSubstr("allowScripts"), HasSubstr("false")));
  ASSERT_EQ(project.outside("mv dist/ran dist/ran-before").code, 0);
  const Finished without = run(project, {"npm", "rebuild"});
  EXPECT_FALSE(project.has("dist/ran")) << "denied, it does not" << without;
  ASSERT_EQ(project.outside("mv dist/ran-before dist/ran").code, 0);
  project.expect_held({"package.json", "package-lock.json"});
}

TEST_P(NodeTools, YarnClassicAddsAPackageAndRunsAScript) {
  install("yarn@1");
  adds_and_uses("yarn", "yarn.lock", {"node_modules"});
}

TEST_P(NodeTools, YarnBerryAddsAPackageAndRunsAScriptByPlugAndPlay) {
  install("@yarnpkg/cli-dist");
  adds_and_uses("yarn", "yarn.lock", {".pnp.cjs", ".yarn/install-state.gz", ".yarn"});
}

TEST_P(NodeTools, PnpmAddsAPackageAndRunsAScript) {
  install("pnpm");
  adds_and_uses("pnpm", "pnpm-lock.yaml", {"node_modules"});
}

TEST_P(NodeTools, BunAddsAPackageAndRunsAScript) {
  install("bun");
  adds_and_uses("bun", "bun.lock", {"node_modules"});
}

}  // namespace
}  // namespace cordon::test
