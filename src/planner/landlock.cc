#include "planner/landlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "planner/base.h"
#include "planner/command.h"
#include "planner/host.h"
#include "planner/known_hosts.h"
#include "planner/landlock_rights.h"
#include "planner/own_home.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

/// READ_DIR is not among them, see landlock.h.
std::uint64_t handled_by(int abi) {
  std::uint64_t handled = kExecute | kWriteFile | kReadFile | kChange | kMakeChar | kMakeBlock;
  if (abi >= 3) handled |= kTruncate;
  if (abi >= 5) handled |= kIoctlDev;
  return handled;
}

class Rules {
 public:
  explicit Rules(std::uint64_t handled) : handled_(handled) {}

  void add(std::string_view target, std::uint64_t access, bool directory) {
    access &= directory ? handled_ : handled_ & kFileRights;
    if (access != 0) rules_.push_back({.target = std::string(target), .access = access});
  }
  /// Files and directories alike: `access` is what a file can have.
  void add_optional(std::string target, std::uint64_t access) {
    rules_.push_back(
        {.target = std::move(target), .access = access & handled_, .object = plan::step::RuleFor::kTargetIfThere});
  }
  void add_masked_file(std::string target) {
    rules_.push_back({.target = std::move(target), .access = kReadFile, .object = plan::step::RuleFor::kMaskedFile});
  }
  void add_all(Rules others) { std::ranges::move(others.rules_, std::back_inserter(rules_)); }
  std::vector<plan::step::LandlockRule> take() { return std::move(rules_); }

 private:
  std::uint64_t handled_;
  std::vector<plan::step::LandlockRule> rules_;
};

/// Under exec: none one execve is to come: the program's, which opens its loader as well. True where that is all that
/// may execute.
bool add_single_program(const Draft& draft, const Program& program, Rules& rules) {
  if (!exec_closed(draft.policy)) return false;
  const std::string loader = loader_of(draft.facts, program);
  if (loader.empty() && !program.chain.hops.back().elf_interpreter.empty()) return false;
  rules.add(program.path, kExecute | kReadFile, false);
  if (!loader.empty()) rules.add(loader, kExecute | kReadFile, false);
  return true;
}

/// Of read grants that hold credentials: what of them is not on the way to one.
class Siblings {
 public:
  Siblings(Draft& draft, const Arranged& arranged) : draft_(draft) {
    for (const Mount& mount : arranged.mounts) {
      if (mount.act != MountAct::kMask) continue;
      masked_.insert(mount.path);
      if (!mount.want->directory && a_masked_file_.empty()) a_masked_file_ = mount.path;
      const bool denied =
          mount.want->why == Why::kDeny && draft.facts.entries.contains(std::string(parent_of(mount.path)));
      const Mount* around = mount.want->credentials || denied ? arranged.showing(parent_of(mount.path)) : nullptr;
      if (around != nullptr && around->want->view != nullptr) continue;  // its entries may be made anew
      if (around == nullptr || around->act != MountAct::kBind || !is_whole_right(arranged, *around)) continue;
      auto& way = ways_[around->path];
      way.insert(around->path);
      for (std::string& directory : between(around->path, mount.path)) way.insert(std::move(directory));
    }
  }

  /// Adds a rule for each instead of one for all; false where this grant has one rule.
  bool add(const Want& bind, std::uint64_t access, Rules& rules) {
    const auto found = ways_.find(bind.path);
    if (found == ways_.end()) return false;
    std::vector<std::string> out;
    for (const std::string& directory : found->second) {
      if (const char* why = collect(directory, found->second, out)) return whole(bind, directory, why);
    }
    if (out.size() > left_) return whole(bind, bind.path, "it holds too many entries");
    left_ -= out.size();
    for (const std::string& path : out) rules.add_optional(path, access);
    // What stands for a masked file is empty and one for all: it stays readable, as programs expect of their settings.
    if (!a_masked_file_.empty()) rules.add_masked_file(std::exchange(a_masked_file_, {}));
    return true;
  }

 private:
  /// Nothing around it gives the same right anyway.
  static bool is_whole_right(const Arranged& arranged, const Mount& bind) {
    return bind.want->access == Access::kReadOnly && arranged.showing(parent_of(bind.path)) == nullptr;
  }

  const char* collect(const std::string& directory, const std::set<std::string>& way, std::vector<std::string>& out) {
    const auto entries = draft_.facts.entries.find(directory);
    if (entries == draft_.facts.entries.end() || !entries->second) return "it cannot be listed";
    for (const std::string& name : *entries->second) {
      std::string path = directory + "/" + name;
      if (way.contains(path) || masked_.contains(path)) continue;
      if (may_hang(path)) return "a file system that may not answer is mounted in it";
      out.push_back(std::move(path));
    }
    return nullptr;
  }

  /// A rule opens what it is for, and the launcher must not wait for a dead server.
  [[nodiscard]] bool may_hang(std::string_view path) const {
    if (!draft_.facts.mounts) return false;
    const auto place = std::ranges::find(*draft_.facts.mounts, path, &plan::MountPlace::point);
    return place != draft_.facts.mounts->end() && !is_local(place->type);
  }
  static bool is_local(std::string_view type) {
    constexpr std::array kLocal = std::to_array<std::string_view>(
        {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "squashfs", "tmpfs", "vfat", "xfs", "zfs"});
    return std::ranges::find(kLocal, type) != kLocal.end();
  }

  bool whole(const Want& bind, const std::string& directory, std::string_view why) {
    draft_.note("landlock-not-split",
                fmt::format("{}: credentials in it are hidden by masks alone, and not by Landlock as well: {}: {}",
                            bind.reason, base::shown(directory), why),
                bind.at);
    return false;
  }

  Draft& draft_;
  std::unordered_set<std::string> masked_;
  std::string a_masked_file_;
  std::map<std::string, std::set<std::string>> ways_;  ///< by grant: the directories that are split
  std::size_t left_ = kMostSiblings;
};

void add_mounts(Draft& draft, const Arranged& arranged, Rules& rules, Rules& after, bool reads_execute) {
  constexpr std::uint64_t kAll = kReadFile | kWriteFile | kTruncate | kIoctlDev | kChange;
  const std::uint64_t own_execute = starts_anything(draft.policy) ? kExecute : 0;
  const std::uint64_t write_execute = writes_execute(draft.policy) ? kExecute : 0;
  const std::uint64_t own_or_listed = exec_closed(draft.policy) ? 0 : kExecute;
  Siblings siblings(draft, arranged);
  for (const Mount& mount : arranged.mounts) {
    if (mount.act != MountAct::kBind) continue;
    const Want& want = *mount.want;
    if (want.view != nullptr) {
      after.add(want.path, kAll | own_execute, true);
      continue;
    }
    const std::uint64_t access = want.why == Why::kPlace ? kAll | own_execute
                                 : want.access == Access::kWritable
                                     ? kAll | (want.executes ? own_or_listed : write_execute)
                                     : kReadFile | (reads_execute ? kExecute : 0);
    if (!siblings.add(want, access, after)) rules.add(want.path, access, want.directory);
  }
  rules.add("/tmp", kAll | own_execute, true);
  const auto& command = draft.policy.command;
  if (command && !command->home.empty() && !within("/tmp", command->home)) {
    rules.add(command->home, kAll | own_execute, true);
  }
  if (const std::string home = empty_home(draft.policy, draft.facts, arranged); !home.empty())
    rules.add(home, kAll | own_execute, true);
}

}  // namespace

int landlock_abi(const plan::HostFacts& facts) {
  const plan::FeatureFact& fact = facts.feature(plan::Feature::kLandlock);
  if (fact.state == plan::Availability::kNo) return 0;
  if (facts.landlock_abi > 0 || fact.state == plan::Availability::kYes) return facts.landlock_abi;
  struct Since {
    KernelVersion release;
    int abi;
  };
  constexpr std::array<Since, 6> kSince = {Since{{6, 12}, 6}, Since{{6, 10}, 5}, Since{{6, 7}, 4},
                                           Since{{6, 2}, 3},  Since{{5, 19}, 2}, Since{{5, 13}, 1}};
  const auto version = kernel_version(facts.kernel_release);
  if (!version) return kLeastAbi;
  const auto found = std::ranges::find_if(kSince, [&](const Since& since) { return *version >= since.release; });
  return found == kSince.end() ? 0 : found->abi;
}

bool repeats_files(const plan::HostFacts& facts) { return landlock_abi(facts) >= kLeastAbi; }

bool scopes_signals(const plan::HostFacts& facts) { return landlock_abi(facts) >= kScopingAbi; }

void restrict_files(Draft& draft, const Arranged& arranged, const Program& program,
                    std::span<const std::string> listed) {
  const int abi = landlock_abi(draft.facts);
  if (abi < kLeastAbi) {
    const plan::FeatureFact& fact = draft.facts.feature(plan::Feature::kLandlock);
    lack_hardening(draft, plan::Layer::kLandlock, plan::Feature::kLandlock,
                   abi == 0
                       ? "the file system rules are not repeated by Landlock; a standard stream that is a file can be "
                         "opened again, for writing too, through /proc/self/fd"
                       : "the file system rules are not repeated by Landlock, whose first version forbids renames",
                   abi == 0 ? fact.mend : "a kernel of 5.19 or later");
    return;
  }
  Rules rules(handled_by(abi)), only(handled_by(abi));
  const bool single = add_single_program(draft, program, only);
  for (const std::string& path : listed) only.add(path, kExecute | kReadFile, false);
  const bool reads_execute = !single && !exec_listed(draft.policy);
  add_mounts(draft, arranged, rules, only,
             reads_execute);  // first, in the order of the binds: the launcher has each at hand then
  rules.add_all(std::move(only));
  rules.add("/dev", kReadFile | kWriteFile | kTruncate | kIoctlDev, true);
  rules.add("/dev/shm", kReadFile | kWriteFile | kTruncate | kChange, true);
  rules.add("/proc", kReadFile | kWriteFile | kTruncate, true);
  for (std::string_view file : base_files()) {
    if (arranged.showing(file) == nullptr) rules.add(file, kReadFile, false);
  }
  for (const std::string& file : command_files(draft)) rules.add(file, kReadFile, false);
  if (made_known_hosts(draft)) rules.add(kKnownHostsFile, kReadFile, false);
  draft.step(plan::step::Landlock{.handled_access = handled_by(abi),
                                  .scoped = abi >= kScopingAbi ? kScopes : 0,
                                  .abi = abi,
                                  .rules = rules.take()},
             plan::Layer::kLandlock, "the mounts once more, by another mechanism");
}

}  // namespace cordon::planner
