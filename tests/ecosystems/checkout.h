// Checkout: a project under git, a home with a key in it, and a stranger's build script.
//
//   const Checkout project(scene);
//   project.file("Makefile", "all:\n\tsh evil.sh\n");
//   project.plant("build");
//   project.commit();
//   EXPECT_EQ(project.run({"make"}).code, 0);
//   project.expect_held();
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/promise.h"

namespace cordon::test {

/// What a build script of a stranger does.
inline constexpr const char* kHostile =
    "cat \"$HOME/.ssh/id_ed25519\" >> stolen 2>/dev/null; echo evil > .git/hooks/post-commit; echo evil > .envrc; "
    "mkdir -p .vscode && echo evil > .vscode/tasks.json; echo evil >> src/tracked; echo evil > \"$HOME/.bashrc\"";

class Checkout {
 public:
  /// `outputs` are directories beside the usual ones that a build makes.
  explicit Checkout(const Scene& scene, std::vector<std::string> outputs = {})
      : scene_(scene), outputs_(std::move(outputs)) {
    for (const char* usual : {"node_modules", "build", "target", ".venv", "bin"}) outputs_.emplace_back(usual);
    file("src/tracked", "source\n");
    scene.tree().write("home/.ssh/id_ed25519", "sentinel-key\n", 0600);
  }
  void file(const std::string& name, const std::string& content, mode_t mode = 0644) const {
    scene_.tree().write("work/project/" + name, content, mode);
  }
  /// evil.sh, which also leaves in a directory of outputs what it read of the key, and that it was run.
  void plant(const std::string& output) const {
    mark_ = output + "/ran";
    file("evil.sh", "cd \"$(dirname \"$0\")\" || exit 0\nmkdir -p " + output +
                        "\n{ cat \"$HOME/.ssh/id_ed25519\"; echo ran; } > " + mark_ + " 2>/dev/null\n" + kHostile +
                        "\ntrue\n");
  }
  /// Everything that stands is tracked from here on.
  void commit() const {
    const Finished done = outside("git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x");
    EXPECT_EQ(done.code, 0) << done;
    before_ = sources();
  }
  [[nodiscard]] Finished outside(const std::string& script) const {
    return scene_.outside({"/bin/sh", "-c", script}).in(path()).timeout(120'000).run();
  }
  /// `cordon run FLAGS… -- COMMAND…` in the project or a directory of it; not started yet.
  [[nodiscard]] Command command(std::vector<std::string> command, const std::string& below = "",
                                const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> all{"run"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return scene_.cordon(std::move(all)).in(path() + below).timeout(120'000);
  }
  [[nodiscard]] Finished run(std::vector<std::string> argv, const std::string& below = "") const {
    return command(std::move(argv), below).run();
  }
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const {
    return scene_.tree().read("work/project/" + name);
  }
  [[nodiscard]] bool has(const std::string& name) const { return scene_.tree().exists("work/project/" + name); }
  [[nodiscard]] std::string path() const { return scene_.in_work("project"); }

  /// Sources, hooks and settings are as they were committed, but for these files; nothing was stolen.
  void expect_untouched(const std::vector<std::string>& but = {}) const {
    Snapshot now = sources(), then = before_;
    for (const std::string& name : but) {
      now.erase("/" + name);
      then.erase("/" + name);
    }
    EXPECT_EQ(then, now) << difference(then, now);
    EXPECT_FALSE(scene_.tree().exists("home/.bashrc"));
    for (const char* name : {".envrc", ".vscode", "stolen"}) EXPECT_FALSE(has(name)) << name;
  }
  /// The planted script was run, and that is all that came of it; outside it does what it says (the control).
  void expect_held(const std::vector<std::string>& but = {}) const {
    EXPECT_EQ(read(mark_), "ran\n") << "it was run, and read no key";
    expect_untouched(but);
    static_cast<void>(outside("sh evil.sh"));
    EXPECT_EQ(read(mark_), "sentinel-key\nran\n") << "the control: outside it reads the key";
    for (const char* name : {".envrc", ".vscode/tasks.json", ".git/hooks/post-commit"}) EXPECT_EQ(read(name), "evil\n");
    EXPECT_EQ(read("src/tracked"), "source\nevil\n");
    EXPECT_TRUE(scene_.tree().exists("home/.bashrc"));
  }

 private:
  /// All but what a build makes, and git's own index, whose times any look renews.
  [[nodiscard]] Snapshot sources() const {
    Snapshot out = snapshot(path());
    std::erase_if(out, [&](const auto& entry) {
      const std::string& name = entry.first;
      return name.empty() || name == "/.git/index" || std::ranges::any_of(outputs_, [&](const std::string& directory) {
               return name == "/" + directory || name.starts_with("/" + directory + "/");
             });
    });
    return out;
  }

  const Scene& scene_;
  std::vector<std::string> outputs_;
  mutable std::string mark_;
  mutable Snapshot before_;
};

}  // namespace cordon::test
