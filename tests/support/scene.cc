#include "support/scene.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/require.h"

namespace cordon::test {
namespace fs = std::filesystem;

namespace {

/// Whether an ordinary user can execute it where it stands: the build directory may lie in root's home.
bool reachable_by_all(const fs::path& file) {
  for (fs::path at = file; at != at.root_path(); at = at.parent_path()) {
    struct stat st{};
    if (::stat(at.c_str(), &st) != 0 || (st.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

/// Holds copies of what cannot be reached, for as long as the test program runs.
class Copies {
 public:
  Copies() : tree_({.name = "copies", .account = "", .uid = ::geteuid(), .gid = ::getegid()}) {}
  std::string of(const std::string& file) { return tree_.copy(fs::path(file).filename().string(), file); }

 private:
  Tree tree_;
};

std::string where_reachable(const std::string& file) {
  require(fs::exists(file), "the program under test: " + file);
  if (reachable_by_all(file)) return file;
  static Copies copies;
  return copies.of(file);
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

const Programs& programs() {
  static const Programs all{.cordon = where_reachable(CORDON_BINARY),
                            .launcher = where_reachable(CORDON_LAUNCHER),
                            .act = where_reachable(CORDON_ACT)};
  return all;
}

Scene::Scene(const Identity& who, Place place) : who_(who), tree_(who, place) {
  tree_.make_directory("home", 0700);
  tree_.make_directory("work");
  tree_.copy("work/act", programs().act);
}

Command Scene::outside(std::vector<std::string> argv) const {
  Command command(std::move(argv));
  command.as(who_).in(work()).env("HOME", home());
  return command;
}

Command Scene::cordon(std::vector<std::string> args) const {
  // The whole suite on another engine (tests/engines): every run, but those that name theirs.
  const char* const engine = std::getenv("CORDON_TEST_ENGINE");
  const bool runs = !args.empty() && args.front() == "run" && std::ranges::find(args, "--engine") == args.end();
  if (engine != nullptr && runs) args.insert(args.begin() + 1, {"--engine", engine});
  args.insert(args.begin(), programs().cordon);
  return outside(std::move(args));
}

std::string Scene::manifest(std::string_view yaml, std::string_view name) const {
  return tree_.write("work/" + std::string(name), yaml);
}

Finished Scene::approve(const std::string& manifest) const { return cordon({"approve", "--yes", manifest}).run(); }

std::string Scene::approved(std::string_view yaml, std::string_view name) const {
  std::string path = manifest(yaml, name);
  const Finished done = approve(path);
  EXPECT_EQ(done.code, 0) << "approve failed for\n" << yaml << done;
  return path;
}

Finished Scene::sandboxed(std::string_view yaml, const std::vector<std::string>& flags) const {
  std::vector<std::string> args{"run"};
  args.insert(args.end(), flags.begin(), flags.end());
  args.push_back(approved(yaml));
  return cordon(args).run();
}

std::string act_manifest(const std::vector<std::string>& acts, std::string_view extra) {
  return "entrypoint: ./act\n" + list("args", acts) + std::string(extra);
}

Finished Scene::acts(const std::vector<std::string>& acts, std::string_view extra) const {
  return sandboxed(act_manifest(acts, extra));
}

Finished Scene::acts_bare(const std::vector<std::string>& acts) const {
  std::vector<std::string> argv{in_work("act")};
  argv.insert(argv.end(), acts.begin(), acts.end());
  return bare(argv);
}

std::string verdict(const Finished& finished, std::string_view act) {
  std::istringstream in(finished.out);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with(act) && line.size() > act.size() && line[act.size()] == ' ')
      return line.substr(act.size() + 1);
  }
  return "(not tried)";
}

std::vector<std::string> lines(const Finished& finished, std::string_view prefix) {
  std::vector<std::string> found;
  std::istringstream in(finished.out);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with(prefix)) found.push_back(line.substr(prefix.size()));
  }
  return found;
}

std::string list(std::string_view key, const std::vector<std::string>& values) {
  std::string out = std::string(key) + ": [";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i == 0 ? "" : ", ") + yaml_quoted(values[i]);
  return out + "]\n";
}

std::vector<pid_t> processes_with(std::string_view marker) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (text.str().find(marker) != std::string::npos) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

bool gone(std::string_view marker, int timeout_ms) {
  for (int waited = 0; waited <= timeout_ms; waited += 10) {
    if (processes_with(marker).empty()) return true;
    ::usleep(10'000);
  }
  return false;
}

}  // namespace cordon::test
