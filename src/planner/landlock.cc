#include "planner/landlock.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "planner/base.h"
#include "planner/host.h"

namespace cordon::planner {
namespace {

// linux/landlock.h, each with the ABI that added it; READ_DIR (1 << 3) is missing, see landlock.h.
constexpr std::uint64_t kExecute = 1ULL << 0;
constexpr std::uint64_t kWriteFile = 1ULL << 1;
constexpr std::uint64_t kReadFile = 1ULL << 2;
constexpr std::uint64_t kRemoveDir = 1ULL << 4;
constexpr std::uint64_t kRemoveFile = 1ULL << 5;
constexpr std::uint64_t kMakeChar = 1ULL << 6;
constexpr std::uint64_t kMakeDir = 1ULL << 7;
constexpr std::uint64_t kMakeReg = 1ULL << 8;
constexpr std::uint64_t kMakeSock = 1ULL << 9;
constexpr std::uint64_t kMakeFifo = 1ULL << 10;
constexpr std::uint64_t kMakeBlock = 1ULL << 11;
constexpr std::uint64_t kMakeSym = 1ULL << 12;
constexpr std::uint64_t kRefer = 1ULL << 13;     // ABI 2
constexpr std::uint64_t kTruncate = 1ULL << 14;  // ABI 3
constexpr std::uint64_t kIoctlDev = 1ULL << 15;  // ABI 5
constexpr std::uint64_t kScopes = 0b11;          // ABI 6: abstract unix sockets, signals

// Device nodes are handled and granted nowhere: the target cannot make one.
constexpr std::uint64_t kChange =
    kRemoveDir | kRemoveFile | kMakeDir | kMakeReg | kMakeSock | kMakeFifo | kMakeSym | kRefer;
constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;

constexpr int kScopingAbi = 6;
constexpr int kLeastAbi = 2;  // ABI 1 refuses every rename and link from one directory to another

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

void add_mounts(const Draft& draft, const Arranged& arranged, Rules& rules, bool reads_execute) {
  const std::uint64_t write_execute = exec_closed(draft.policy) ? 0 : kExecute;
  for (const Mount& mount : arranged.mounts) {
    if (mount.act != MountAct::kBind) continue;
    const Want& want = *mount.want;
    const std::uint64_t access = want.access == Access::kWritable
                                     ? kReadFile | kWriteFile | kTruncate | kIoctlDev | kChange | write_execute
                                     : kReadFile | (reads_execute ? kExecute : 0);
    rules.add(want.path, access, want.directory);
  }
  rules.add("/tmp", kReadFile | kWriteFile | kTruncate | kIoctlDev | kChange | write_execute, true);
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

bool scopes_signals(const plan::HostFacts& facts) { return landlock_abi(facts) >= kScopingAbi; }

void restrict_files(Draft& draft, const Arranged& arranged, const Program& program) {
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
  add_mounts(draft, arranged, rules, !single);  // first, in the order of the binds: the launcher has each at hand then
  rules.add_all(std::move(only));
  rules.add("/dev", kReadFile | kWriteFile | kTruncate | kIoctlDev, true);
  rules.add("/dev/shm", kReadFile | kWriteFile | kTruncate | kChange, true);
  rules.add("/proc", kReadFile | kWriteFile | kTruncate, true);
  for (std::string_view file : base_files()) {
    if (arranged.showing(file) == nullptr) rules.add(file, kReadFile, false);
  }
  draft.step(plan::step::Landlock{.handled_access = handled_by(abi),
                                  .scoped = abi >= kScopingAbi ? kScopes : 0,
                                  .abi = abi,
                                  .rules = rules.take()},
             plan::Layer::kLandlock, "the mounts once more, by another mechanism");
}

}  // namespace cordon::planner
