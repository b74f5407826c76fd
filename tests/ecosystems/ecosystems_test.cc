// What must work, unmodified (SPEC §9.5), with the tools of the distribution and nothing from the network: each as root
// and as an ordinary user, in a checkout of its own. The twin of each project tries what install and build scripts have
// tried; the same script does it outside.
#include "ecosystems/checkout.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(Ecosystem);

TEST_P(Ecosystem, MakeBuildsAndKeepsToItsOutputs) {
  const Checkout project(scene);
  project.file("Makefile", std::string("build/app: main.c\n\tmkdir -p build\n\tcc -o $@ main.c\n\tsh evil.sh\n"));
  project.file("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  project.file("evil.sh", kHostile);
  project.file(".gitignore", "build/\n");
  project.commit();
  const Finished made = project.run({"make"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_EQ(project.outside("./build/app").out, "built\n") << made;
  project.expect_untouched();
  const Finished tested = project.run({"./build/app"});
  EXPECT_EQ(tested.out, "built\n") << "what was built runs" << tested;
  static_cast<void>(project.outside("sh evil.sh"));
  EXPECT_EQ(project.read(".envrc"), "evil\n") << "the control: outside it does";
}

TEST_P(Ecosystem, NodeRunsScriptsWithTheToolsOfTheProject) {
  const Checkout project(scene);
  project.file("package.json",
               "{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"build\":\"tool && sh evil.sh; true\",\"test\":"
               "\"node -e \\\"console.log(require('dep'))\\\"\"}}\n");
  project.file("evil.sh", kHostile);
  project.file(".gitignore", "node_modules/\nbuild/\n");
  project.file("node_modules/dep/index.js", "module.exports = 'from dep'\n");
  project.file("node_modules/.bin/tool",
               "#!/usr/bin/env node\nrequire('fs').mkdirSync('build',{recursive:true});"
               "require('fs').writeFileSync('build/out','made')\n",
               0755);
  project.commit();
  const Finished built = project.run({"npm", "run", "build"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.read("build/out"), "made") << built;
  const Finished tested = project.run({"npm", "test"});
  EXPECT_THAT(tested.out, HasSubstr("from dep")) << tested;
  project.expect_untouched();
}

TEST_P(Ecosystem, NpmInstallsAPackageWithAnInstallScriptAndItsLockFile) {
  const Checkout project(scene);
  project.file("package.json", "{\"name\":\"p\",\"version\":\"1.0.0\"}\n");
  project.file(".gitignore", "node_modules/\n");
  project.file("dep/package.json",
               "{\"name\":\"dep\",\"version\":\"1.0.0\",\"scripts\":{\"postinstall\":\"sh evil.sh\"}}\n");
  project.file("dep/index.js", "module.exports = 'installed'\n");
  project.file("dep/evil.sh", std::string("cd \"$INIT_CWD\" && { ") + kHostile + "; }; true\n");
  ASSERT_EQ(project.outside("cd dep && npm pack --silent && mv dep-1.0.0.tgz ..").code, 0);
  project.commit();
  const Finished installed = project.run({"npm", "install", "--offline", "--no-audit", "--no-fund", "./dep-1.0.0.tgz"});
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_EQ(project.read("node_modules/dep/index.js"), "module.exports = 'installed'\n") << installed;
  EXPECT_THAT(project.read("package.json").value_or(""), HasSubstr("file:dep-1.0.0.tgz")) << installed;
  EXPECT_TRUE(project.has("package-lock.json")) << installed;
  project.expect_untouched({"package.json", "package-lock.json"});
}

TEST_P(Ecosystem, PythonMakesAnEnvironmentAndUsesIt) {
  const Checkout project(scene);
  project.file("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
  project.file("tool.py", "import os, sys\nos.system(\"sh evil.sh\")\nprint('prefix', sys.prefix)\n");
  project.file("evil.sh", kHostile);
  project.commit();
  const Finished made = project.run({"python3", "-m", "venv", "--without-pip", ".venv"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_TRUE(project.has(".venv/pyvenv.cfg")) << made;
  const Finished used = project.run({"./.venv/bin/python", "tool.py"});
  EXPECT_EQ(used.out, "prefix " + project.path() + "/.venv\n") << used;
  project.expect_untouched();
}

TEST_P(Ecosystem, GoBuildsAndTests) {
  const Checkout project(scene);
  project.file("go.mod", "module p\n\ngo 1.19\n");
  project.file("p.go", "package main\n\nfunc main() { println(\"go\") }\n");
  project.file("p_test.go",
               "package main\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) { "
               "exec.Command(\"sh\", \"evil.sh\").Run() }\n");
  project.file("evil.sh", kHostile);
  project.file(".gitignore", "bin/\n");
  project.commit();
  const Finished built = project.run({"go", "build", "-o", "bin/p", "."});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_TRUE(project.has("bin/p")) << built;
  const Finished tested = project.run({"go", "test", "./..."});
  EXPECT_EQ(tested.code, 0) << tested;
  project.expect_untouched();
}

TEST_P(Ecosystem, JavaCompilesAndRuns) {
  const Checkout project(scene);
  project.file("pom.xml", "<project/>\n");
  project.file("src/A.java",
               "public class A { public static void main(String[] a) throws Exception { "
               "new ProcessBuilder(\"sh\", \"evil.sh\").start().waitFor(); "
               "System.out.println(\"java\"); } }\n");
  project.file("evil.sh", kHostile);
  project.commit();
  const Finished built = project.run({"javac", "-d", "target/classes", "src/A.java"});
  EXPECT_EQ(built.code, 0) << built;
  const Finished run = project.run({"java", "-cp", "target/classes", "A"});
  EXPECT_EQ(run.out, "java\n") << run;
  project.expect_untouched();
}

TEST_P(Ecosystem, CargoBuildsAWorkspaceWithABuildScriptAndAProcMacro) {
  const Checkout project(scene);
  project.file("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"app\", \"mac\"]\n");
  project.file("mac/Cargo.toml",
               "[package]\nname = \"mac\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n");
  project.file("mac/src/lib.rs",
               "#[proc_macro]\npub fn answer(_: proc_macro::TokenStream) -> proc_macro::TokenStream { "
               "let _ = std::process::Command::new(\"sh\").arg(\"evil.sh\").status(); \"42\".parse().unwrap() }\n");
  project.file("app/Cargo.toml",
               "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = \"build.rs\"\n"
               "[dependencies]\nmac = { path = \"../mac\" }\n");
  project.file("app/build.rs",
               "fn main() { let _ = std::process::Command::new(\"sh\").current_dir(\"..\").arg(\"evil.sh\").status(); "
               "println!(\"cargo:rustc-env=MADE=script\"); }\n");
  project.file("app/src/main.rs",
               "fn main() { println!(\"{} {}\", env!(\"MADE\"), mac::answer!()); }\n"
               "#[test]\nfn it() { assert_eq!(mac::answer!(), 42) }\n");
  project.file("evil.sh", kHostile);
  project.file(".gitignore", "target/\n");
  project.commit();
  const Finished built = project.run({"cargo", "build", "--offline"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.outside("./target/debug/app").out, "script 42\n") << built;
  EXPECT_TRUE(project.has("Cargo.lock")) << built;
  const Finished tested = project.run({"cargo", "test", "--offline"}, "/app");
  EXPECT_THAT(tested.out, HasSubstr("1 passed")) << tested;
  project.expect_untouched({"Cargo.lock"});
  const Finished added =
      project.run({"cargo", "add", "--offline", "--dev", "--path", "../mac", "--rename", "again"}, "/app");
  EXPECT_EQ(added.code, 0) << added;
  EXPECT_THAT(project.read("app/Cargo.toml").value_or(""), HasSubstr("dev-dependencies")) << added;
  project.expect_untouched({"Cargo.lock", "app/Cargo.toml"});
}

TEST_P(Ecosystem, CMakeConfiguresAndBuildsWhereItIsTold) {
  const Checkout project(scene);
  project.file("CMakeLists.txt",
               "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(app main.c)\n"
               "add_custom_command(TARGET app POST_BUILD COMMAND sh ${CMAKE_SOURCE_DIR}/evil.sh || true "
               "WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})\n");
  project.file("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  project.file("evil.sh", kHostile);
  project.commit();
  const Finished configured = project.run({"cmake", "-B", "out2", "-G", "Ninja"});
  EXPECT_EQ(configured.code, 0) << configured;
  const Finished built = project.run({"cmake", "--build", "out2"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.outside("./out2/app").out, "built\n") << built;
  ASSERT_EQ(project.outside("rm -rf out2").code, 0);
  project.expect_untouched();
}

TEST_P(Ecosystem, AProgramThatMakeBuildsBesideItsSourcesArrives) {
  const Checkout project(scene);
  project.file("Makefile", "prog: main.o\n\tcc -o $@ main.o\n\tsh evil.sh\nclean:\n\trm -f prog main.o\n");
  project.file("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  project.file("evil.sh", kHostile);
  project.commit();
  const Finished made = project.run({"make"});
  EXPECT_EQ(project.outside("./prog").out, "built\n") << made;
  const Finished cleaned = project.run({"make", "clean"});
  EXPECT_FALSE(project.has("prog")) << cleaned;
  EXPECT_FALSE(project.has("main.o")) << cleaned;
  project.expect_untouched();
}

TEST_P(Ecosystem, ADirectoryOfAMonorepoAndAWorktreeAreWorkedInAsTheyAre) {
  const Checkout project(scene);
  project.file("packages/a/package.json",
               "{\"name\":\"a\",\"version\":\"1.0.0\",\"scripts\":{\"build\":\"mkdir -p dist && "
               "cat ../b/shared > dist/out\"}}\n");
  project.file("packages/b/shared", "shared\n");
  project.commit();
  const Finished built = project.run({"npm", "run", "build"}, "/packages/a");
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.read("packages/a/dist/out"), "shared\n") << built;
  ASSERT_EQ(project.outside("git worktree add -q ../tree").code, 0);
  const Finished there =
      scene.cordon({"run", "--", "npm", "run", "build"}).in(scene.in_work("tree/packages/a")).timeout(120'000).run();
  EXPECT_EQ(there.code, 0) << there;
  EXPECT_EQ(scene.tree().read("work/tree/packages/a/dist/out"), "shared\n") << there;
}

TEST_P(Ecosystem, WhatIsServedFollowsTheHostsEdits) {
  const Checkout project(scene);
  project.file("package.json", "{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"dev\":\"node watch.js\"}}\n");
  project.file("watch.js",
               "const fs = require('fs'); console.log('ready');\n"
               "setInterval(() => { if (fs.readFileSync('src/tracked', 'utf8') === 'edited\\n') { "
               "console.log('seen'); process.exit(0) } }, 50);\n");
  project.commit();
  Running dev = scene.cordon({"run", "--", "npm", "run", "dev"}).in(project.path()).start();
  ASSERT_TRUE(dev.expect("ready"));
  ASSERT_EQ(project.outside("echo edited > src/new && mv src/new src/tracked").code, 0);
  EXPECT_TRUE(dev.expect("seen")) << "an editor saves by rename";
  EXPECT_EQ(dev.wait().code, 0);
}

}  // namespace
}  // namespace cordon::test
