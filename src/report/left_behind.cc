#include "report/left_behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::report {
namespace {

constexpr std::size_t kMostSaid = 8;  // one screen; the rest is counted

struct Runner {
  std::string_view ending;  ///< of the path, by whole components; one that ends in '/' stands for what is in it
  std::string_view sentence;
};
constexpr std::array kRunners = std::to_array<Runner>({
    {"package.json", "npm will run its scripts"},
    {".npmrc", "npm will do what it says"},
    {".yarnrc", "yarn will do what it says"},
    {".yarnrc.yml", "yarn will run what it names"},
    {".pnpmfile.cjs", "pnpm will run it"},
    {".pnpmfile.js", "pnpm will run it"},
    {".pre-commit-config.yaml", "pre-commit will run what it names"},
    {"eslint.config.js", "eslint and your editor will run it"},
    {"eslint.config.mjs", "eslint and your editor will run it"},
    {".eslintrc.js", "eslint and your editor will run it"},
    {".eslintrc.cjs", "eslint and your editor will run it"},
    {".prettierrc.js", "prettier and your editor will run it"},
    {"prettier.config.js", "prettier and your editor will run it"},
    {".pylintrc", "pylint and your editor will run what it names"},
    {"conftest.py", "pytest will run it"},
    {"setup.py", "pip will run it"},
    {"build.rs", "cargo will run it"},
    {"mvnw", "it runs whenever you build"},
    {"gradlew", "it runs whenever you build"},
    {".mvn/extensions.xml", "maven will load what it names"},
    {".mvn/jvm.config", "maven will start Java with it"},
    {".mvn/maven.config", "maven will do what it says"},
    {".mvn/wrapper/maven-wrapper.properties", "maven's wrapper will run what it names"},
    {"gradle.properties", "gradle will start Java with it"},
    {"rust-toolchain", "cargo will run the tools that it names"},
    {"rust-toolchain.toml", "cargo will run the tools that it names"},
    {"tools/bazel", "bazel will run it"},
    {".bazelrc", "bazel will do what it says"},
    {".git/rebase-merge/git-rebase-todo", "git rebase will run what it names when it goes on"},
    {"lefthook.yml", "lefthook will run what it names"},
    {".lintstagedrc.js", "lint-staged will run it"},
    {"lint-staged.config.js", "lint-staged will run it"},
    {"gradle/wrapper/gradle-wrapper.properties", "gradle will run what it names"},
    {".github/workflows/", "your CI will run it once it is pushed"},
    {".gitlab-ci.yml", "your CI will run it once it is pushed"},
    {".circleci/config.yml", "your CI will run it once it is pushed"},
    {".travis.yml", "your CI will run it once it is pushed"},
    {"azure-pipelines.yml", "your CI will run it once it is pushed"},
    {"Jenkinsfile", "your CI will run it once it is pushed"},
    {"AGENTS.md", "coding agents will do what it says"},
    {"CLAUDE.md", "coding agents will do what it says"},
    {"GEMINI.md", "coding agents will do what it says"},
    {".clinerules", "coding agents will do what it says"},
    {".cursorrules", "coding agents will do what it says"},
    {".windsurfrules", "coding agents will do what it says"},
    {".github/copilot-instructions.md", "coding agents will do what it says"},
    {".husky/", "git will run it"},
    {".envrc", "direnv will run it once you allow it"},
    {".mise.toml", "mise will do what it says once you trust it"},
    {"mise.toml", "mise will do what it says once you trust it"},
});

bool ends_with(std::string_view path, std::string_view ending) {
  if (ending.ends_with('/')) return path.find("/" + std::string(ending)) != std::string_view::npos;
  return path.ends_with(ending) && path.size() > ending.size() && path[path.size() - ending.size() - 1] == '/';
}

std::string_view became(plan::FileChange change) {
  switch (change) {
    case plan::FileChange::kChanged:
      return "was changed";
    case plan::FileChange::kMade:
      return "is new";
    case plan::FileChange::kRemoved:
      return "was removed";
  }
  return "was changed";
}

}  // namespace

std::string_view runner_of(const plan::AutoExecChange& change) {
  if (change.is_hook) return "git will run it";
  if (change.is_git_program) return "git's configuration names it, and git may run it";
  const auto* known =
      std::ranges::find_if(kRunners, [&](const Runner& one) { return ends_with(change.path, one.ending); });
  return known != kRunners.end() ? known->sentence : "a tool may run it without asking";
}

std::vector<std::string> left_behind_sentences(const plan::LeftBehind& left) {
  std::vector<std::string> out;
  for (const std::string& directory : left.redirected_hooks)
    out.push_back(fmt::format("git now takes hooks from {} and will run them", base::shown(directory)));
  for (const std::string& directory : left.repositories)
    out.push_back(
        fmt::format("{} became a git repository: git will run its hooks and settings", base::shown(directory)));
  for (const plan::AutoExecChange& change : left.changed) {
    const bool gone = change.change == plan::FileChange::kRemoved;
    out.push_back(fmt::format("{} {}{}", base::shown(change.path), became(change.change),
                              gone ? std::string() : fmt::format(": {}", runner_of(change))));
  }
  for (const std::string& checkout : left.unresolved_hooks)
    out.push_back(fmt::format("{}: it could not be told where git takes hooks from; look at its configuration",
                              base::shown(checkout)));
  if (out.size() > kMostSaid) {
    const std::size_t more = out.size() - kMostSaid;
    out.resize(kMostSaid);
    out.push_back(fmt::format("and {} more", more));
  }
  // Or whoever makes enough directories would leave unseen what they like.
  if (left.partial) out.emplace_back("more is there than was looked at: what else a tool may run is not told");
  return out;
}

}  // namespace cordon::report
