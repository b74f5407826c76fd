// What of a project's trusted entries still does not count: a project's file lifts no shield, and a path of the
// project's own means the project, wherever a link in it leads today.
#pragma once

#include <string>
#include <vector>

#include "base/abs_path.h"
#include "plan/host_facts.h"
#include "policy/shield/rules.h"

namespace cordon::cli {

enum class EntryIs : std::uint8_t { kSeen, kWritten };

class ProjectEntries {
 public:
  /// `directory` is the project file's, real.
  ProjectEntries(const plan::HostFacts& facts, std::string directory);

  /// "" where it counts; else why not, in words.
  [[nodiscard]] std::string why_not(const std::string& path, EntryIs use) const;
  /// What a reviewer should look at twice; "" for nothing.
  [[nodiscard]] std::string callout(const std::string& path) const;

 private:
  [[nodiscard]] std::string held_in_checkout(const std::string& path) const;

  std::vector<base::AbsPath> homes_;
  std::string directory_;
  policy::shield::Rules rules_;
  std::vector<policy::shield::Rule> checkout_;
};

/// Every link followed as far as there is something; the rest as it is written.
std::string real_of(const std::string& path);

}  // namespace cordon::cli
