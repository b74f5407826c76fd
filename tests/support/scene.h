// Scene: one identity with a made-up home and a project, Cordon at hand, and `act` (tests/act) in the project.
//
//   Scene scene(user);
//   scene.tree().write("home/notes.txt", "secret");
//   const Finished inside = scene.sandboxed("entrypoint: ./act\nargs: ['read=" + ... + "']\n");
//   const Finished outside = scene.bare({"./act", "read=…"});            // the negative control
//   EXPECT_EQ(verdict(inside, "read=…"), "DENIED ENOENT");
//
// Layout below the tree: home/ ($HOME), work/ (manifests, act, the working directory). Nobody's real files are used.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/command.h"
#include "support/identity.h"
#include "support/tree.h"

namespace cordon::test {

/// The programs under test, where this identity can reach them.
struct Programs {
  std::string cordon;
  std::string launcher;
  std::string act;
};
const Programs& programs();

class Scene {
 public:
  explicit Scene(const Identity& who, Place place = Place::kVarTmp);

  [[nodiscard]] const Tree& tree() const { return tree_; }
  [[nodiscard]] const Identity& who() const { return who_; }
  [[nodiscard]] std::string home() const { return tree_.path("home"); }
  [[nodiscard]] std::string work() const { return tree_.path("work"); }
  [[nodiscard]] std::string in_work(std::string_view name) const { return work() + "/" + std::string(name); }

  /// `cordon ARGS…` as this identity, in work/, with the made-up home; not started yet.
  [[nodiscard]] Command cordon(std::vector<std::string> args) const;
  /// The same act outside any sandbox, as the same identity, in the same directory.
  [[nodiscard]] Command outside(std::vector<std::string> argv) const;
  [[nodiscard]] Finished bare(std::vector<std::string> argv) const { return outside(std::move(argv)).run(); }

  /// Writes work/NAME and answers its path.
  std::string manifest(std::string_view yaml, std::string_view name = "m.yaml") const;
  [[nodiscard]] Finished approve(const std::string& manifest) const;
  /// Writes and approves; the test fails where approval is refused.
  std::string approved(std::string_view yaml, std::string_view name = "m.yaml") const;
  /// Writes, approves, runs.
  [[nodiscard]] Finished sandboxed(std::string_view yaml, const std::vector<std::string>& flags = {}) const;
  /// sandboxed() with `act` as the entrypoint; `extra` is the rest of the manifest.
  [[nodiscard]] Finished acts(const std::vector<std::string>& acts, std::string_view extra = "") const;
  [[nodiscard]] Finished acts_bare(const std::vector<std::string>& acts) const;

 private:
  Identity who_;
  Tree tree_;
};

/// The manifest for `act` with these acts.
std::string act_manifest(const std::vector<std::string>& acts, std::string_view extra = "");

/// What `act` said of one act: "ALLOWED", "DENIED ENOENT", or "(not tried)".
std::string verdict(const Finished& finished, std::string_view act);

/// The lines of the output that start with `prefix`, without it.
std::vector<std::string> lines(const Finished& finished, std::string_view prefix);

/// "a: b\n" lists as YAML flow sequences: list("read", {"./x"}) is "read: ['./x']\n".
std::string list(std::string_view key, const std::vector<std::string>& values);

/// Pids of processes on this host whose command line holds `marker`.
std::vector<pid_t> processes_with(std::string_view marker);

/// True once no process holds `marker`; waits up to `timeout_ms` for it.
bool gone(std::string_view marker, int timeout_ms = 5'000);

}  // namespace cordon::test
