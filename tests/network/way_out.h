// WayOut: what every test of the way out does. Manifests with rules, a run on the stage (main.cc), and what it
// reported.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "network/stage.h"
#include "support/promise.h"

namespace cordon::test {

/// `network:` with a rule for each host and port.
std::string rules(const std::vector<std::pair<std::string, std::string>>& all);

/// A manifest for a program of the system's.
std::string program(const std::string& path, const std::vector<std::string>& args, const std::string& extra);

/// Without a link on the way: in an ordinary user's own namespace nobody that it knows owns the system's.
std::string real(const std::string& path);
std::string python_path();

/// The broker of the run that `cordon` is; -1 where there is none within two seconds.
pid_t broker_of(pid_t cordon);

class WayOut : public Promise {
 protected:
  /// `cordon run` of work/NAME. Nobody approves here: in an ordinary user's own namespace the directories above belong
  /// to nobody that it knows.
  [[nodiscard]] Command run_of(const std::string& yaml, const std::vector<std::string>& flags = {},
                               const std::string& name = "m.yaml") const;
  [[nodiscard]] Finished sandboxed(const std::string& yaml, const std::vector<std::string>& flags = {}) const {
    return run_of(yaml, flags).run();
  }
  /// A Python program of these lines, in the sandbox; said(name, act) prints what came of an act.
  [[nodiscard]] Finished python(const std::string& body, const std::string& extra,
                                const std::vector<std::string>& flags = {}) const;
  /// Writes that program to work/NAME and answers the manifest's first lines.
  [[nodiscard]] std::string python_manifest(const std::string& body, const std::string& name = "main.py") const;
  /// What the target wrote on stdout, of a run with `--json`.
  [[nodiscard]] static std::string stdout_of(const Finished& finished);
  /// What `--json` said last.
  [[nodiscard]] static nlohmann::json verdict_of(const Finished& finished);
};

}  // namespace cordon::test
