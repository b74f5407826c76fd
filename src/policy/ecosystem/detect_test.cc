#include "policy/ecosystem/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/ecosystem/words.h"

namespace cordon::policy::ecosystem {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  for (const auto word : base::split(line, ' ')) out.emplace_back(word);
  return out;
}

/// "node+rust test view": the profiles in order, the intent, the mode.
std::string found(const std::vector<std::string>& argv, const std::vector<Directory>& upwards = {}) {
  const Detection detection = detect(argv, upwards);
  std::string out;
  for (const Found& one : detection.found) out += (out.empty() ? "" : "+") + std::string(one.profile->name);
  return out + " " + std::string(to_string(detection.intent)) + " " + std::string(to_string(detection.mode));
}
std::string found(std::string_view line, const std::vector<Directory>& upwards = {}) {
  return found(words(line), upwards);
}

struct Line {
  std::string line;
  std::string found;
};
std::ostream& operator<<(std::ostream& out, const Line& line) { return out << line.line; }

class Commands : public testing::TestWithParam<Line> {};
TEST_P(Commands, mean_what_they_say) { EXPECT_EQ(found(GetParam().line), GetParam().found); }

INSTANTIATE_TEST_SUITE_P(
    Node, Commands,
    testing::Values(
        Line{"npm ci", "node install view"}, Line{"npm install lodash", "node install view"},
        Line{"npm test", "node test view"}, Line{"npm run build", "node build view"},
        Line{"npm run lint", "node run view"}, Line{"npm run dev", "node dev live"},
        Line{"npm run start:web", "node dev live"}, Line{"npm start", "node dev live"},
        Line{"npm --prefix web run dev", "node dev live"}, Line{"npm --prefix=web run dev", "node dev live"},
        Line{"npm --unheard-of x run dev", "node unknown view"}, Line{"npm run", "node run view"},
        Line{"npm", "node unknown view"}, Line{"npm test -- --watch", "node dev live"},
        Line{"npm test -- --watch=false", "node test view"}, Line{"npm create vite@latest app", "node create write"},
        Line{"npm init -y", "node create write"}, Line{"npm publish", "node publish view"},
        Line{"npx vite", "node dev live"}, Line{"npx vite build", "node build view"},
        Line{"npx -y create-vite@5 app", "node create write"}, Line{"npx @scope/create-app", "node create write"},
        Line{"npx cowsay hi", "node exec view"}, Line{"npx prettier --write .", "node format write"},
        Line{"npx prettier --check .", "node exec view"}, Line{"yarn", "node install view"},
        Line{"yarn dev", "node dev live"}, Line{"yarn whatever", "node run view"},
        Line{"pnpm dlx create-next-app x", "node create write"}, Line{"pnpm -r test", "node test view"},
        Line{"bun run dev", "node dev live"}, Line{"corepack pnpm install", "node install view"},
        Line{"corepack yarn@4.1.0 install", "node install view"}, Line{"node", "node repl live"},
        Line{"node server.js", "node run view"}, Line{"node --watch server.js", "node dev live"},
        Line{"tsc --watch", "node dev live"}, Line{"tsc -p .", "node build view"},
        Line{"vite --host 0.0.0.0 --port 5173", "node dev live"}, Line{"eslint --fix src", "node format write"}));

INSTANTIATE_TEST_SUITE_P(
    Others, Commands,
    testing::Values(
        Line{"cargo build", "rust build view"}, Line{"cargo +nightly test", "rust test view"},
        Line{"cargo --offline b", "rust build view"}, Line{"cargo run -- --help", "rust run view"},
        Line{"cargo new x", "rust create write"}, Line{"cargo fmt", "rust format write"},
        Line{"cargo fmt --check", "rust test view"}, Line{"cargo install --path .", "rust tool view"},
        Line{"cargo add serde", "rust install view"}, Line{"cargo watch -x test", "rust dev live"},
        Line{"cargo", "rust unknown view"}, Line{"cargo -Zunstable build", "rust build view"},
        Line{"cargo --unheard-of build", "rust unknown view"}, Line{"pip install requests", "python install view"},
        Line{"python -m pip install -r requirements.txt", "python install view"},
        Line{"python3 -m pytest -q", "python test view"}, Line{"python3.12 -m venv .venv", "python install view"},
        Line{"python -m http.server", "python dev live"}, Line{"python", "python repl live"},
        Line{"python x.py", "python run view"}, Line{"python -u x.py", "python run view"},
        Line{"python -m mypackage", "python run view"}, Line{"uv sync", "python install view"},
        Line{"uv run pytest", "python test view"}, Line{"uv run python x.py", "python run view"},
        Line{"uvx ruff format", "python format write"}, Line{"poetry add flask", "python install view"},
        Line{"poetry shell", "python interactive interactive"}, Line{"black .", "python format write"},
        Line{"black --check .", "python test view"}, Line{"go build ./...", "go build view"},
        Line{"go test ./...", "go test view"}, Line{"go get x", "go install view"}, Line{"gofmt -l .", "go test view"},
        Line{"gofmt -w .", "go format write"}, Line{"mvn -B clean verify", "java test view"},
        Line{"mvn clean spring-boot:run", "java dev live"}, Line{"./gradlew build", "java build view"},
        Line{"./mvnw package", "java build view"}, Line{"gradle -t test", "java dev live"},
        Line{"gradle clean spotlessApply", "java format write"}, Line{"sbt ~compile", "java dev live"},
        Line{"make -j8", "c build view"}, Line{"make CC=clang test", "c test view"},
        Line{"cmake --build build", "c build view"}, Line{"cmake -S . -B build", "c unknown view"},
        Line{"gcc-12 x.c", "c build view"}, Line{"meson init", "c create write"}, Line{"just dev", "c dev live"},
        Line{"mix deps.get", "elixir install view"}, Line{"iex -S mix", "elixir repl live"},
        Line{"bundle exec rspec", "ruby test view"}, Line{"rails s", "ruby dev live"},
        Line{"composer require x/y", "php install view"}, Line{"dotnet watch run", "dotnet dev live"}));

INSTANTIATE_TEST_SUITE_P(Generic, Commands,
                         testing::Values(Line{"vim x", "generic interactive interactive"},
                                         Line{"bash", "generic interactive interactive"},
                                         Line{"bash build.sh", "generic unknown view"},
                                         Line{"claude", "generic interactive interactive"},
                                         Line{"/opt/strange", "generic unknown view"},
                                         Line{"/opt/strange --watch", "generic unknown view"}));

INSTANTIATE_TEST_SUITE_P(
    Wrapped, Commands,
    testing::Values(Line{"env npm ci", "node install view"}, Line{"env A=1 -u B CI=1 npm ci", "node install view"},
                    Line{"env -i PATH=/bin cargo build", "rust build view"},
                    Line{"/usr/bin/time -v cargo build", "rust build view"},
                    Line{"nice -n 10 npm ci", "node install view"}, Line{"nice -10 npm ci", "node install view"},
                    Line{"nice -n10 npm ci", "node install view"}, Line{"timeout -k 5 60 go test", "go test view"},
                    Line{"time nice env X=y npm run dev", "node dev live"},
                    Line{"env --split-string=npm ci", "generic unknown view"}, Line{"env", "generic unknown view"},
                    Line{"stdbuf -oL mvn package", "java build view"}));

TEST(Detect, sees_the_first_simple_command_of_a_shell) {
  EXPECT_EQ(found({"sh", "-c", "npm run dev"}), "node dev live");
  EXPECT_EQ(found({"bash", "-lc", "CI=1 npm 'run' \"dev\""}), "node dev live");
  EXPECT_EQ(found({"sh", "-ec", "cargo build && cargo test"}), "rust build view");
}

TEST(Detect, opens_no_sources_to_the_rest_of_a_shell_text) {
  EXPECT_EQ(found({"sh", "-c", "cargo fmt"}), "rust format write");
  for (const char* text : {"cargo fmt; ./x", "cargo fmt && ./x", "cargo fmt | ./x", "cargo fmt\n./x",
                           "cargo fmt $(./x)", "cargo fmt `./x`", "cargo fmt > x", "vim; ./x"})
    EXPECT_THAT(found({"sh", "-c", text}), HasSubstr("unknown view")) << text;
}

TEST(Detect, does_not_guess_what_a_shell_would_expand) {
  EXPECT_EQ(found({"sh", "-c", "$TOOL install"}), "generic unknown view");
  EXPECT_EQ(found({"sh", "-c", "n\\pm install"}), "generic unknown view");
  EXPECT_EQ(found({"sh", "-c", "'npm install"}), "generic unknown view");
}

TEST(Detect, ends_on_endless_wrappers) {
  std::vector<std::string> argv(1000, "nice");
  argv.emplace_back("npm");
  EXPECT_EQ(found(argv), "generic unknown view");
  std::vector<std::string> tools(1000, "npx");
  EXPECT_THAT(found(tools), HasSubstr("node"));
}

TEST(Detect, nothing_at_all_is_generic) { EXPECT_EQ(found(std::vector<std::string>{}), "generic unknown view"); }

TEST(Detect, takes_the_nearest_marker_where_no_command_is_known) {
  const std::vector<Directory> upwards{{"/w/a/b", {}}, {"/w/a", {"Cargo.toml"}}, {"/w", {".git", "package.json"}}};
  EXPECT_EQ(found("./build.sh", upwards), "rust unknown view");
  EXPECT_EQ(why(detect(words("./build.sh"), upwards)), "rust (Cargo.toml in /w/a)");
}

TEST(Detect, looks_no_further_than_the_repository) {
  EXPECT_EQ(found("./x", {{"/w/a", {}}, {"/w", {".git"}}, {"/", {"package.json"}}}), "generic unknown view");
}

TEST(Detect, combines_what_stands_in_one_place) {
  const std::vector<Directory> upwards{{"/w", {".git", "pyproject.toml", "Cargo.toml"}}};
  EXPECT_EQ(found("./x", upwards), "python+rust unknown view");
  EXPECT_EQ(found("pip install .", upwards), "python+rust install view");
}

TEST(Detect, joins_for_a_known_command_only_what_fetches) {
  EXPECT_EQ(found("npm run build", {{"/w", {".git", "package.json", "Makefile"}}}), "node build view");
  EXPECT_EQ(found("make", {{"/w", {".git", "package.json", "Makefile"}}}), "c+node build view");
}

TEST(Detect, joins_nothing_where_nothing_is_built) {
  EXPECT_EQ(found("npm publish", {{"/w", {".git", "package.json", "go.mod"}}}), "node publish view");
  EXPECT_EQ(found("cargo fmt", {{"/w", {".git", "package.json", "go.mod"}}}), "rust format write");
}

TEST(Detect, knows_markers_by_their_ends) {
  EXPECT_EQ(found("./x", {{"/w", {"App.csproj"}}}), "dotnet unknown view");
  EXPECT_TRUE(tells("App.csproj"));
  EXPECT_TRUE(tells(".git"));
  EXPECT_FALSE(tells("csproj"));
}

TEST(Detect, says_what_decided) {
  const Detection detection = detect(words("env CI=1 npx vite --watch"), {});
  EXPECT_THAT(detection.through, ElementsAre("env"));
  EXPECT_EQ(detection.decided_by, "npx --watch vite --watch");
  EXPECT_EQ(why(detection), "node (command npx)");
}

TEST(Detect, tells_which_commands_change_a_manifest) {
  EXPECT_EQ(detect(words("npm install x"), {}).manifests, ManifestChange::kKeys);
  EXPECT_EQ(detect(words("npm ci"), {}).manifests, ManifestChange::kNone);
  EXPECT_EQ(detect(words("python -m pip install x"), {}).manifests, ManifestChange::kNone);
}

TEST(Detect, a_strange_name_is_quoted) {
  EXPECT_EQ(why(detect(words("./x"), std::vector<Directory>{{"/w\n", {"package.json"}}})),
            "node (package.json in \"/w\\n\")");
}

TEST(ProfileCalled, KnowsTheUsualNamesInAnyCase) {
  for (const char* word : {"node", "Node", "js", "NodeJS", "javascript"}) {
    const Profile* found = profile_called(word);
    ASSERT_NE(found, nullptr) << word;
    EXPECT_EQ(found->name, "node");
  }
  EXPECT_EQ(profile_called("kt"), find_profile("java"));
  EXPECT_EQ(profile_called("py"), find_profile("python"));
  EXPECT_EQ(profile_called("no"), nullptr);
  EXPECT_EQ(profile_called(""), nullptr);
}

}  // namespace
}  // namespace cordon::policy::ecosystem
