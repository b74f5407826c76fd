#include "cli/command_on_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/engine.h"
#include "cli/git_index.h"
#include "cli/surroundings.h"
#include "kernel/file.h"
#include "policy/ecosystem/ignore.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
using ecosystem::OutputClass;

bool on_host(const policy::Posture& posture) { return posture.engine == policy::EngineChoice::kLandlock; }

/// What stands in the workspace and may be written.
class InPlace {
 public:
  InPlace(CommandRun& run, std::string root, const std::function<bool(const std::string&)>& is_denied)
      : run_(run), root_(std::move(root)), is_denied_(is_denied), tracked_(tracked_in(root_)) {
    if (run.because == ".git") rules_.add(small_text(root_ + "/.gitignore"), "");
  }

  enum class Absent : std::uint8_t { kLeave, kMake };
  void consider(const std::string& level, const ecosystem::DeclaredOutput& declared, Absent absent) {
    const std::string_view name = declared.output->name;
    if (name.find_first_of("*/") != std::string_view::npos) return;
    const std::string path = level + "/" + std::string(name);
    const std::string below = path.substr(root_.size() + 1);
    if (is_denied_(path)) return;
    switch (declared.output->what) {
      case OutputClass::kOutput:
        if (declared.output->kind != ecosystem::OutputKind::kDirectory || tracked_.holds(below)) return;
        if (is_directory_below(root_, below) || (absent == Absent::kMake && !is_there(path)))
          write(path, declared.origin);
        return;
      case OutputClass::kLock:
        if (is_file(path)) write(path, declared.origin);
        return;
      case OutputClass::kWhereIgnored:
        if (is_directory_below(root_, below) && !tracked_.holds(below) && rules_.ignored_root(below) == below)
          write(path, declared.origin);
        return;
      case OutputClass::kManifest:
      case OutputClass::kProgram:
      case OutputClass::kMarked:
      case OutputClass::kGenerated:
        return;
    }
  }

 private:
  void write(const std::string& path, const std::string& origin) {
    if (std::ranges::find(run_.policy.write, path, &policy::PathGrant::path) != run_.policy.write.end()) return;
    if (!is_there(path)) run_.made_outputs.push_back(path);
    run_.policy.write.push_back({.written = path, .path = path, .at = {.span = {}, .source = origin}});
  }
  static bool is_there(const std::string& path) {
    return kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW).has_value();
  }
  static bool is_file(const std::string& path) {
    const auto facts = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
    return facts && S_ISREG(facts->stx_mode);
  }

  CommandRun& run_;
  std::string root_;
  const std::function<bool(const std::string&)>& is_denied_;
  Tracked tracked_;
  ecosystem::IgnoreRules rules_;
};

/// Without it these do nothing; others mostly work with what is there.
bool needs_network(ecosystem::Intent intent) {
  using enum ecosystem::Intent;
  return intent == kInstall || intent == kPublish || intent == kCreate || intent == kTool || intent == kExec;
}

}  // namespace

std::string no_views(const policy::Posture& posture) {
  return on_host(posture) ? "the landlock engine has no views" : std::string();
}

void write_in_place(CommandRun& run, const std::vector<std::string>& levels,
                    const std::function<bool(const std::string&)>& is_denied) {
  InPlace in_place(run, levels.front(), is_denied);
  for (const std::string& level : levels) {
    const auto absent = level == levels.back() ? InPlace::Absent::kMake : InPlace::Absent::kLeave;
    for (const ecosystem::DeclaredOutput& declared : run.effective.outputs) in_place.consider(level, declared, absent);
  }
}

void leave_out_on_host(CommandRun& run) {
  if (!on_host(run.policy.posture)) return;
  policy::Command& command = *run.policy.command;
  if (!command.places.empty())
    run.notes.push_back({.code = "caches-left-out",
                         .text = "HOME is new and empty in this run: caches and settings of yours are not seen",
                         .at = {}});
  command.places.clear();
  command.files.clear();
  const auto of_a_profile = [](const policy::NetworkRule& rule) {
    return rule.at.span.line == 0 && !rule.at.source.starts_with("--");  // nobody's flag, and in nobody's configuration
  };
  const auto given = std::ranges::count_if(run.policy.network, of_a_profile);
  if (given == 0 || needs_network(run.detection.intent)) return;
  std::erase_if(run.policy.network, of_a_profile);
  run.notes.push_back({.code = "network-left-out",
                       .text = "the landlock engine has no network: the hosts of the profile are out of reach",
                       .at = {}});
}

void remove_empty_outputs(const CommandRun& run) {
  for (const std::string& path : run.made_outputs) {
    const std::size_t slash = path.rfind('/');
    const auto parent = kernel::openat(kernel::kHere, path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (parent) static_cast<void>(kernel::unlinkat(*parent, path.substr(slash + 1).c_str(), AT_REMOVEDIR).has_value());
  }
}

}  // namespace cordon::cli
