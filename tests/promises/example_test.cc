// What is shown to people works: every command of the README's tour, and the probe's table of answers.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "support/promise.h"
#include "support/require.h"
#include "support/turn.h"

namespace cordon::test {
namespace {
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  require(!out.str().empty(), "read " + path.string());
  return out.str();
}

class Shown : public Promise {
 protected:
  Shown() {
    const fs::path examples = fs::path(CORDON_SOURCE_DIR) / "examples/probe";
    for (const auto& entry : fs::directory_iterator(examples)) {
      const std::string name = entry.path().filename().string();
      const bool program = name == "prepare" || name == "probe.py";
      scene.tree().write("work/examples/probe/" + name, slurp(entry.path()), program ? 0755 : 0644);
    }
  }
  [[nodiscard]] Command shell(const std::string& script) const {
    Command command = scene.outside({"/bin/sh", "-c", script});
    const std::string directory = fs::path(programs().cordon).parent_path();
    command.env("PATH", directory + ":/usr/local/bin:/usr/bin:/bin");
    return command;
  }
};
INSTANTIATE_TEST_SUITE_P(As, Shown, testing::ValuesIn(identities()), identity_name);

TEST_P(Shown, EveryCommandOfTheTourDoesWhatThePageSays) {
  std::istringstream page(slurp(fs::path(CORDON_SOURCE_DIR) / "README.md"));
  std::string directory = scene.work();
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("$ ")) continue;
    const bool refused = line.find("# exits 125") != std::string::npos;
    // One shell per command, so that each has its own exit code; `cd` is carried on.
    const Finished done =
        shell("cd '" + directory + "' && " + line.substr(2) + "\ncode=$?; pwd >" + scene.home() + "/.where; exit $code")
            .run();
    EXPECT_EQ(done.code, refused ? 125 : 0) << line << done;
    directory = *scene.tree().read("home/.where");
    directory.pop_back();
    ++commands;
  }
  EXPECT_GE(commands, 12);
}

/// "probe -> column -> '+' or '-'" of examples/probe/expected.
std::map<std::string, std::map<std::string, std::string>> expected_table() {
  std::istringstream in(slurp(fs::path(CORDON_SOURCE_DIR) / "examples/probe/expected"));
  std::vector<std::string> columns;
  std::map<std::string, std::map<std::string, std::string>> table;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> cells{std::istream_iterator<std::string>(fields), {}};
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    for (std::size_t i = 1; i < cells.size(); ++i) table[cells[0]][columns[i]] = cells[i];
  }
  return table;
}

TEST_P(Shown, TheProbesAnswersAreTheExpectedOnes) {
  // The probe's port is fixed: two of these tests at once take turns.
  const Turn turn("port");
  const auto expected = expected_table();
  ASSERT_GE(expected.size(), 15U);
  ASSERT_EQ(shell("examples/probe/prepare tour").run().code, 0);
  Running service = shell("exec /usr/bin/python3 tour/probe.py --listen").start();
  ASSERT_TRUE(service.expect("listening")) << "another listener holds the probe's port" << service.wait();
  for (const char* column :
       {"bare", "deny-all", "grants", "broad-home", "project", "exec-none", "exec-all", "network"}) {
    const std::string manifest = std::string(column) + ".manifest.yaml";
    const std::string command = std::string(column) == "bare"
                                    ? "/usr/bin/python3 probe.py"
                                    : "cordon approve --yes " + manifest + " >&2 && cordon run " + manifest;
    const Finished run =
        shell("cd tour && HOME=$PWD/home PROBE_TOKEN=made-up && export HOME PROBE_TOKEN && " + command).run();
    EXPECT_EQ(run.code, 0) << column << run;
    for (const auto& [probe, cells] : expected) {
      const std::string answer = verdict(run, probe);
      EXPECT_EQ(answer == "ALLOWED" ? "+" : "-", cells.at(column)) << column << ' ' << probe << ' ' << answer;
      EXPECT_NE(answer, "(not tried)") << column << ' ' << probe << run;
    }
  }
}

}  // namespace
}  // namespace cordon::test
