// host: what this machine answers. Resolves paths to pinned identities, looks programs up, lists directories, probes
// the kernel, and remembers probes for this boot. Everything goes into a plan::HostFacts; nothing here knows a Policy.
//
// Called by cli/ (and later by the library): one Session for each command, answer() until the planner has no question
// left, then enforce with session.pins() still held. Not thread-safe; several Sessions may live side by side.
//
// Must not: read the process's environment (cli hands it over in Caller), print, follow what it has not checked, or
// decide. Where the host cannot say, the fact says so (PathState::kDenied, kFailed) and the planner refuses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "plan/host_facts.h"

namespace cordon::host {

/// Who runs Cordon, as cli/ read it once: the effective ids of this process, its whole environment and its directory.
struct Caller {
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  ///< supplementary
  std::map<std::string, std::string> environment;
  std::string working_directory;  ///< absolute
};

/// Where probes are remembered. An empty directory: nowhere (every run then plans on unknown features).
struct CacheLocation {
  std::string directory;  ///< its parent must belong to the caller; it is made 0700 when the first fact is written
  std::string build_id;   ///< facts of another build are not believed
};

/// $XDG_CACHE_HOME/cordon, else ~/.cache/cordon; nowhere if neither is absolute.
CacheLocation cache_location(const Caller& caller, std::string_view build_id);

class PinStore;

/// The O_PATH descriptors that are kept on every object that was resolved, so that no inode number is given to another
/// file between planning and mounting (the launcher compares identities again). All are close-on-exec.
class Pins {
 public:
  Pins();
  Pins(Pins&&) noexcept;
  Pins& operator=(Pins&&) noexcept;
  ~Pins();

  [[nodiscard]] std::size_t count() const;
  /// False where RLIMIT_NOFILE was too short to hold every object: then Questions::pin_first were served first.
  [[nodiscard]] bool complete() const;
  /// RLIMIT_NOFILE from before the soft one was raised to the hard one; nothing if it was not raised. The target must
  /// get this one back (HostFacts::descriptor_limit).
  [[nodiscard]] std::optional<plan::DescriptorLimit> limit_before() const;
  /// Closes them all: once the launcher has mounted what was planned. Later questions start afresh.
  void release();

 private:
  friend class Session;
  std::vector<std::shared_ptr<PinStore>> stores_;
};

/// How long one question may take before its mount counts as dead (a network file system without its server).
inline constexpr std::uint32_t kQuestionBoundMs = 30'000;

/// Entries that a listing may have; more is an Error, never a short answer.
inline constexpr std::size_t kMostListed = 8'192;

class Session {
 public:
  Session(Caller caller, CacheLocation cache, std::uint32_t question_bound_ms = kQuestionBoundMs);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Mount points that runs which go on have made: answered from now on as if nothing were there, so that a second run
  /// plans as the first did and shares them. Before the first question about a path.
  void take_as_absent(std::vector<plan::HeldPoint> points);

  /// Adds the answers to `facts`; what is answered already is not asked again. The first call also fills the kernel's
  /// name, the caller's ids, home, search path and account, what is mounted, the Landlock ABI, and the features that
  /// the cache holds: what it says is there is believed, what it says is missing is tried again, now. Features that it
  /// does not hold stay kUnknown. Fails only where an answer would have to be incomplete: a directory that cannot be
  /// listed or is too large.
  [[nodiscard]] base::Result<void> answer(const plan::Questions& questions, plan::HostFacts& facts);

  /// Tries these features now, in throw-away children, writes them into `facts` and into the cache. For doctor,
  /// validate, and the one fact that a failed step or a refusal named.
  void probe(std::span<const plan::Feature> features, plan::HostFacts& facts);

  /// Writes the features of `facts` that are known into the cache. Fails silently: a read-only or missing home must not
  /// fail a run.
  void remember(const plan::HostFacts& facts);

  /// Forgets one feature, in `facts` and in the cache: a run contradicted it.
  void drop(plan::Feature feature, plan::HostFacts& facts);

  [[nodiscard]] Pins& pins();

  /// Some mount here is answered by a server or a program, which may be gone: whoever touches files of the caller's may
  /// have to wait.
  [[nodiscard]] bool may_hang();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Every Feature, in order.
std::vector<plan::Feature> all_features();

/// Does each thing for real in throw-away children and says what became of it: errno, operation, likely cause, exact
/// mend. Fills only features, landlock_abi, landlock_errata, kernel_release, machine and boot_id. Costs some 10 ms.
plan::HostFacts probe(const Caller& caller, std::span<const plan::Feature> features);

}  // namespace cordon::host
