// uv, rye, rustup, sbt and .NET, which no distribution packages: a stand-in each, which puts files where the tool does
// and runs a build script where the tool does. Shown is which profile is chosen, what arrives and what does not.
#include "ecosystems/checkout.h"

namespace cordon::test {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StandIns : public Promise {
 protected:
  /// A program of the home; its own directory leads PATH.
  void tool(const std::string& name, const std::string& script) {
    scene.tree().write("home/" + name, "#!/bin/sh\nset -e\n" + script, 0755);
    path_ = scene.home() + "/" + name.substr(0, name.rfind('/')) + ":/usr/bin:/bin";
  }
  [[nodiscard]] Finished run(const Checkout& project, const std::vector<std::string>& argv,
                             const std::map<std::string, std::string>& more = {}) const {
    Command command = project.command(argv);
    for (const auto& [name, value] : more) command.env(name, value);
    return command.env("PATH", path_).run();
  }
  [[nodiscard]] std::string profiles_of(const Checkout& project, std::vector<std::string> argv) const {
    argv.insert(argv.begin(), {"inspect", "--"});
    const std::string said = scene.cordon(argv).in(project.path()).env("PATH", path_).run().out;
    return said.substr(0, said.find('\n'));
  }
  [[nodiscard]] bool home_has(const std::string& name) const { return scene.tree().exists("home/" + name); }

 private:
  std::string path_;
};
INSTANTIATE_TEST_SUITE_P(As, StandIns, testing::ValuesIn(identities()), identity_name);

// A cache of unpacked packages, an interpreter that uv fetched itself, an environment of links to both.
constexpr const char* kUv = R"sh(cache=${UV_CACHE_DIR:-$HOME/.cache/uv}
python=$HOME/.local/share/uv/python/cpython-3/bin/python3
sync() {
  sh evil.sh
  kept=$cache/archive-v0/one/dep/__init__.py
  if [ -e "$kept" ]; then echo cached; else
    mkdir -p "${kept%/*}"
    echo "x = 'from dep'" > "$cache/.tmp"
    mv "$cache/.tmp" "$kept"
  fi
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  site=.venv/lib/python$version/site-packages
  mkdir -p "$site/dep" .venv/bin
  ln -sfn "$python" .venv/bin/python
  printf 'home = %s\nuv = 1\n' "${python%/*}" > .venv/pyvenv.cfg
  rm -f "$site/dep/__init__.py"
  if [ "$UV_LINK_MODE" = symlink ]; then ln -s "$kept" "$site/dep/__init__.py"
  else ln "$kept" "$site/dep/__init__.py" 2>/dev/null || cp "$kept" "$site/dep/__init__.py"; fi
  echo 'version = 1' > uv.lock
}
case $1 in
  sync) sync ;;
  run) shift; sync; exec .venv/bin/"$@" ;;
esac
)sh";

TEST_P(StandIns, UvSyncsAnEnvironmentAndRunsInIt) {
  const Checkout project(scene);
  tool(".local/bin/uv", kUv);
  scene.tree().link("home/.local/share/uv/python/cpython-3/bin/python3", "/usr/bin/python3");
  project.file("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n");
  project.file("use.py", "import dep, sys\nprint(dep.x, sys.prefix)\n");
  project.plant("build");
  project.commit();
  EXPECT_EQ(profiles_of(project, {"uv", "sync"}), "profiles   python (command uv)");
  const std::string used_says = "from dep " + project.path() + "/.venv\n";
  const Finished synced = run(project, {"uv", "sync"});
  EXPECT_EQ(synced.code, 0) << synced;
  EXPECT_EQ(project.outside(".venv/bin/python use.py").out, used_says) << "a copy in place of a hard link" << synced;
  const Finished used = run(project, {"uv", "run", "python", "use.py"});
  EXPECT_EQ(used.out, "cached\n" + used_says) << used;
  EXPECT_FALSE(home_has(".cache/uv")) << "its cache is the project's own";
  EXPECT_EQ(project.read("uv.lock"), "version = 1\n");

  const std::map<std::string, std::string> links{{"UV_LINK_MODE", "symlink"}};
  const Finished linked = run(project, {"uv", "run", "python", "use.py"}, links);
  EXPECT_EQ(linked.out, "cached\n" + used_says) << linked;
  const Finished again = run(project, {"./.venv/bin/python", "use.py"}, links);
  EXPECT_EQ(again.out, used_says) << "links into the cache hold in the next run" << again;
  project.expect_held({"uv.lock"});
}

// Shims that are one program, interpreters that rye fetched, lock files of its own.
constexpr const char* kRye = R"sh(python=$HOME/.rye/py/cpython@3/bin/python3
case ${0##*/} in
  rye) ;;
  *) exec "${VIRTUAL_ENV:-.venv}/bin/${0##*/}" "$@" ;;
esac
case $1 in
  sync)
    sh evil.sh
    mkdir -p .venv/bin
    ln -sfn "$python" .venv/bin/python
    printf 'home = %s\n' "${python%/*}" > .venv/pyvenv.cfg
    echo '{}' > .venv/rye-venv.json
    echo '# generated' > requirements.lock
    echo '# generated' > requirements-dev.lock ;;
  run) shift; exec .venv/bin/"$@" ;;
esac
)sh";

TEST_P(StandIns, RyeSyncsThroughItsShims) {
  const Checkout project(scene);
  tool(".rye/shims/rye", kRye);
  scene.tree().link("home/.rye/shims/python", "rye");
  scene.tree().link("home/.rye/py/cpython@3/bin/python3", "/usr/bin/python3");
  project.file("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n[tool.rye]\nmanaged = true\n");
  project.file("use.py", "import sys\nprint(sys.prefix)\n");
  project.plant("build");
  project.commit();
  EXPECT_EQ(profiles_of(project, {"rye", "sync"}), "profiles   python (command rye)");
  const Finished synced = run(project, {"rye", "sync"});
  EXPECT_EQ(synced.code, 0) << synced;
  for (const char* name : {"requirements.lock", "requirements-dev.lock"})
    EXPECT_EQ(project.read(name), "# generated\n") << synced;
  const Finished used = run(project, {"rye", "run", "python", "use.py"});
  EXPECT_EQ(used.out, project.path() + "/.venv\n") << used;
  const Finished shim = run(project, {"python", "use.py"});
  EXPECT_EQ(shim.out, project.path() + "/.venv\n") << shim;
  project.expect_held({"requirements.lock", "requirements-dev.lock"});
}

// One program under several names; the toolchain that it starts is chosen by its settings or by the project.
constexpr const char* kRustup =
    R"sh(chosen=$(sed -n 's/^default_toolchain = "\(.*\)"$/\1/p' "$HOME/.rustup/settings.toml")
[ ! -e rust-toolchain ] || chosen=$(cat rust-toolchain)
case ${0##*/} in
  rustup)
    [ "$1 $2" = "toolchain install" ] || { echo "$chosen (default)"; exit 0; }
    mkdir -p "$HOME/.rustup/toolchains/$3/bin"
    cp "$HOME/.rustup/toolchains/$chosen/bin/cargo" "$HOME/.rustup/toolchains/$3/bin/cargo" ;;
  *) exec "$HOME/.rustup/toolchains/$chosen/bin/${0##*/}" "$@" ;;
esac
)sh";

TEST_P(StandIns, RustupStartsTheToolchainThatTheProjectChooses) {
  const Checkout project(scene);
  tool(".cargo/bin/rustup", kRustup);
  for (const char* shim : {"cargo", "rustc"}) {
    scene.tree().link(std::string("home/.cargo/bin/") + shim, "rustup");
    for (const char* toolchain : {"stable", "nightly"})
      scene.tree().write(
          "home/.rustup/toolchains/" + std::string(toolchain) + "/bin/" + shim,
          "#!/bin/sh\necho " + std::string(toolchain) + " >> toolchains-used\nexec /usr/bin/" + shim + " \"$@\"\n",
          0755);
  }
  scene.tree().write("home/.rustup/settings.toml", "default_toolchain = \"stable\"\n");
  const Snapshot toolchains = snapshot(scene.home() + "/.rustup");
  project.file("Cargo.toml",
               "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = \"build.rs\"\n");
  project.file("build.rs",
               "fn main() { let _ = std::process::Command::new(\"sh\").arg(\"evil.sh\").status(); "
               "let home = std::env::var(\"HOME\").unwrap(); for name in [\"/.cargo/bin/cargo\", "
               "\"/.rustup/toolchains/stable/bin/rustc\"] { println!(\"cargo:warning=writes {}\", "
               "std::fs::OpenOptions::new().append(true).open(home.clone() + name).is_ok()); } }\n");
  project.file("src/main.rs", "fn main() { println!(\"built\"); }\n");
  project.plant("target");
  project.commit();
  EXPECT_EQ(profiles_of(project, {"cargo", "build"}), "profiles   rust (command cargo)");
  const Finished built = run(project, {"cargo", "build", "--offline"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_THAT(built.err, AllOf(HasSubstr("writes false"), Not(HasSubstr("writes true")))) << built;
  EXPECT_EQ(project.outside("./target/debug/p").out, "built\n") << built;
  const Finished run_it = run(project, {"sh", "-c", "cargo --version >&2 && sort -u toolchains-used"});
  EXPECT_EQ(run_it.out, "stable\n") << run_it;
  const Finished more = run(project, {"rustup", "toolchain", "install", "beta"});
  EXPECT_NE(more.code, 0) << "a toolchain of the person's is not added to by a run" << more;
  EXPECT_EQ(snapshot(scene.home() + "/.rustup"), toolchains) << more;
  project.expect_held({"Cargo.lock"});
}

// As sdkman installs it; sbt boots itself into the home, and builds its build before the project.
constexpr const char* kSbt =
    R"sh(for place in "$HOME/.sbt/boot" "$HOME/.ivy2/local" "$HOME/.cache/coursier/v1/https"; do
  [ ! -e "$place/one.jar" ] || echo cached
  mkdir -p "$place"
  echo jar > "$place/one.jar"
done
sh evil.sh
mkdir -p project/target project/project/target target/scala-3/classes
echo build > project/target/build.class
echo build > project/project/target/build.class
[ "$1" = clean ] || javac -d target/scala-3/classes src/A.java
)sh";

TEST_P(StandIns, SbtBuildsItsBuildAndTheProject) {
  const Checkout project(scene, {"project/target", "project/project"});
  tool(".sdkman/candidates/sbt/1/bin/sbt", kSbt);
  scene.tree().link("home/.sdkman/candidates/sbt/current", "1");
  tool(".sdkman/candidates/sbt/current/bin/sbt", kSbt);
  project.file("build.sbt", "name := \"p\"\n");
  project.file("project/build.properties", "sbt.version=1\n");
  project.file("src/A.java",
               "public class A { public static void main(String[] a) { System.out.println(\"java\"); } }\n");
  project.plant("target");
  project.commit();
  EXPECT_EQ(profiles_of(project, {"sbt", "compile"}), "profiles   java (command sbt)");
  const Finished built = run(project, {"sbt", "compile"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(built.out, "") << built;
  EXPECT_EQ(project.outside("java -cp target/scala-3/classes A").out, "java\n") << built;
  EXPECT_EQ(project.read("project/target/build.class"), "build\n");
  EXPECT_EQ(project.read("project/project/target/build.class"), "build\n");
  const Finished again = run(project, {"sbt", "compile"});
  EXPECT_EQ(again.out, "cached\ncached\ncached\n") << again;
  for (const char* name : {".sbt", ".ivy2"}) EXPECT_FALSE(home_has(name)) << name;
  project.expect_held();
}

// Packages unpacked into the home, a server of its own left behind by the build, a mark of the first use.
constexpr const char* kDotnet = R"sh(echo used > "$HOME/.dotnet/9.0.100.dotnetFirstUseSentinel" 2>/dev/null || true
case $1 in
  build)
    package=$HOME/.nuget/packages/dep/1.0.0
    [ ! -e "$package/dep.dll" ] || echo cached
    mkdir -p "$package" "$HOME/.local/share/NuGet/http-cache" /tmp/NuGetScratch obj bin/Debug/net9.0
    echo dll > "$package/dep.dll"
    sh evil.sh
    echo '{}' > obj/project.assets.json
    cp "$package/dep.dll" bin/Debug/net9.0/dep.dll
    printf '#!/bin/sh\necho built\n' > bin/Debug/net9.0/p
    chmod +x bin/Debug/net9.0/p
    echo '{}' > packages.lock.json
    setsid sleep 600 >/dev/null 2>&1 & ;;
  run) exec bin/Debug/net9.0/p ;;
esac
)sh";

TEST_P(StandIns, DotnetBuildsAndRuns) {
  const Checkout project(scene, {"obj"});
  tool(".dotnet/dotnet", kDotnet);
  project.file("p.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"/>\n");
  project.file("Program.cs", "System.Console.WriteLine(\"built\");\n");
  project.plant("obj");
  project.commit();
  EXPECT_EQ(profiles_of(project, {"dotnet", "build"}), "profiles   dotnet (command dotnet)");
  const Finished built = run(project, {"dotnet", "build"});
  EXPECT_EQ(built.code, 0) << built;
  EXPECT_EQ(project.outside("./bin/Debug/net9.0/p").out, "built\n") << built;
  EXPECT_EQ(project.read("bin/Debug/net9.0/dep.dll"), "dll\n") << built;
  EXPECT_TRUE(project.has("packages.lock.json")) << built;
  EXPECT_EQ(run(project, {"dotnet", "build"}).out, "cached\n");
  EXPECT_EQ(run(project, {"dotnet", "run"}).out, "built\n");
  EXPECT_FALSE(home_has(".nuget")) << "its packages are the project's own";
  EXPECT_FALSE(home_has(".dotnet/9.0.100.dotnetFirstUseSentinel"));
  project.expect_held({"packages.lock.json"});
}

}  // namespace
}  // namespace cordon::test
