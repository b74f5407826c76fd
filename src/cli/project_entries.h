// What of a project's trusted entries still does not count: a project's file lifts no shield, and what is trusted is a
// place, not whatever a link that the project or a run can change leads to today.
#pragma once

#include <string>
#include <vector>

#include "base/abs_path.h"
#include "plan/host_facts.h"
#include "policy/approval/links.h"
#include "policy/shield/rules.h"

namespace cordon::cli {

enum class EntryIs : std::uint8_t { kSeen, kWritten };

class ProjectEntries {
 public:
  /// `directory` is the project file's, real; `written` is what runs may write.
  ProjectEntries(const plan::HostFacts& facts, std::string directory, std::vector<std::string> written);

  /// "" where it counts; else why not, in words.
  [[nodiscard]] std::string why_not(const std::string& path, EntryIs use) const;
  /// What a reviewer should look at twice; "" for nothing.
  [[nodiscard]] std::string callout(const std::string& path) const;

 private:
  [[nodiscard]] std::string led_elsewhere(const policy::approval::Way& way) const;
  [[nodiscard]] std::string held_in_checkout(const std::string& path) const;

  std::vector<base::AbsPath> homes_;
  std::string directory_;
  std::vector<std::string> written_;
  policy::shield::Rules rules_;
  std::vector<policy::shield::Rule> checkout_;
};

}  // namespace cordon::cli
