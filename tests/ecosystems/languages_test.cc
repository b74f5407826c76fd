// Composer, Bundler, Mix and Meson as the distribution packages them, with dependencies by path.
#include "ecosystems/checkout.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(LanguageTools);

TEST_P(LanguageTools, ComposerInstallsFromAPathRepository) {
  const Checkout project(scene, {"vendor"});
  project.file("composer.json",
               R"({"name": "v/app", "repositories": [{"type": "path", "url": "lib", "options": {"symlink": false}},)"
               R"( {"packagist.org": false}], "require": {"v/lib": "1.0.0"},)"
               R"( "scripts": {"post-autoload-dump": "sh evil.sh"}})"
               "\n");
  project.file("lib/composer.json", R"({"name": "v/lib", "version": "1.0.0", "autoload": {"psr-4": {"Lib\\": "src/"}}})"
                                    "\n");
  project.file("lib/src/L.php", "<?php\nnamespace Lib;\nclass L { static function f() { return \"from lib\"; } }\n");
  project.file("main.php", "<?php\nrequire 'vendor/autoload.php';\necho Lib\\L::f(), \"\\n\";\n");
  project.file(".gitignore", "vendor/\n");
  project.plant("vendor");
  project.commit();
  const Finished installed = project.run({"composer", "-n", "install"});
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_TRUE(project.has("composer.lock")) << installed;
  EXPECT_EQ(project.outside("php main.php").out, "from lib\n") << installed;
  const Finished used = project.run({"php", "main.php"});
  EXPECT_EQ(used.out, "from lib\n") << used;
  project.expect_held({"composer.lock"});
}

TEST_P(LanguageTools, BundlerInstallsAGemByItsPath) {
  const Checkout project(scene, {"coverage"});
  project.file("Gemfile", "source 'https://rubygems.org'\ngem 'dep', path: 'dep'\n");
  project.file("dep/dep.gemspec",
               "system('sh', File.expand_path('../evil.sh', __dir__))\n"
               "Gem::Specification.new { |s| s.name = 'dep'; s.version = '1'; s.summary = 'd'; s.authors = ['a']; "
               "s.files = ['lib/dep.rb'] }\n");
  project.file("dep/lib/dep.rb", "DEP = 'from dep'\n");
  project.plant("coverage");
  project.commit();
  const Finished installed = project.run({"bundle", "install", "--local"});
  EXPECT_EQ(installed.code, 0) << installed;
  EXPECT_TRUE(project.has("Gemfile.lock")) << installed;
  const Finished used = project.run({"bundle", "exec", "ruby", "-e", "require 'dep'; puts DEP"});
  EXPECT_THAT(used.out, HasSubstr("from dep\n")) << used;
  project.expect_held({"Gemfile.lock"});
}

TEST_P(LanguageTools, MixCompilesAndTests) {
  const Checkout project(scene, {"_build"});
  project.file("mix.exs",
               "System.cmd(\"sh\", [\"evil.sh\"])\n"
               "defmodule P.MixProject do\n  use Mix.Project\n  def project, do: [app: :p, version: \"0.1.0\"]\nend\n");
  project.file("lib/p.ex", "defmodule P do\n  def f, do: 42\nend\n");
  project.file("test/test_helper.exs", "ExUnit.start()\n");
  project.file("test/p_test.exs",
               "defmodule PTest do\n  use ExUnit.Case\n  test \"it\" do\n    assert P.f() == 42\n  end\nend\n");
  project.plant("_build");
  project.commit();
  const Finished built = project.run({"mix", "compile"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_TRUE(project.has("_build/dev/lib/p/ebin/Elixir.P.beam")) << built;
  const Finished tested = project.run({"mix", "test"});
  EXPECT_THAT(tested.out, HasSubstr("1 test, 0 failures")) << tested;
  project.expect_held();
}

TEST_P(LanguageTools, MesonConfiguresAndNinjaBuildsWhereItIsTold) {
  const Checkout project(scene, {"out2"});
  project.file("meson.build",
               "project('p', 'c')\nrun_command('sh', 'evil.sh', check: false)\n"
               "app = executable('app', 'main.c')\ntest('it', app)\n");
  project.file("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
  project.plant("build");
  project.commit();
  const Finished configured = project.run({"meson", "setup", "out2"});
  EXPECT_EQ(configured.code, 0) << configured;
  const Finished built = project.run({"ninja", "-C", "out2"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.outside("./out2/app").out, "built\n") << built;
  const Finished tested = project.run({"meson", "test", "-C", "out2"});
  EXPECT_EQ(tested.code, 0) << tested;
  project.expect_held();
}

}  // namespace
}  // namespace cordon::test
