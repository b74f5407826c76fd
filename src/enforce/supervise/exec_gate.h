// The calls that a run is notified of. exec: none: which execve is let through, and what is kept of those that are not.
//
// ExecGate decides and records; it is pure. ExecListener speaks with the kernel. Where exec is closed exactly one
// execve of a run is continued: the launcher's own. Where it is open, the run is only watched: every call goes on, and
// the gate tells which execve is the launcher's. It is known by the target child's pid, which is compared with the pid
// in the pidfd that init handed over before the target's program exists, and it counts when the kernel has accepted the
// answer: a notification that a signal interrupted comes again. Nothing is ever decided by what stands in the target's
// memory; the path of a refused call is read once, for the record.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "kernel/errno.h"
#include "plan/outcome.h"

namespace cordon::enforce::supervise {

class ExecGate {
 public:
  static constexpr std::size_t kMostAttempts = 256;  ///< distinct paths kept

  enum class Exec : std::uint8_t { kClosed, kOpen };
  explicit ExecGate(Exec exec = Exec::kClosed) : exec_(exec) {}

  enum class Verdict : std::uint8_t {
    kContinue,     ///< the launcher's own
    kLetBy,        ///< exec is open
    kRefuseProbe,  ///< the child's own check that the gate is closed: refused, not recorded
    kRefuse,       ///< refused and recorded
  };

  /// The target child, before its program exists.
  void target_is(pid_t pid) { target_ = pid; }
  /// The child has verified everything: its next execve is the launcher's own.
  void ready() { ready_ = true; }

  [[nodiscard]] Verdict judge(pid_t pid) const;
  /// The kernel accepted a kContinue: from now on nothing is continued.
  void continued() { used_ = true; }
  [[nodiscard]] bool was_used() const { return used_; }

  /// False where the path would not be kept anyway and need not be read.
  [[nodiscard]] bool has_room() const { return attempts_.size() < kMostAttempts; }
  void record(pid_t pid, std::string_view path);
  /// As record(), where there is no room for a new path.
  void count() { ++total_; }

  [[nodiscard]] const std::vector<plan::ExecAttempt>& attempts() const { return attempts_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  Exec exec_;
  std::optional<pid_t> target_;
  bool ready_ = false;
  bool used_ = false;
  std::vector<plan::ExecAttempt> attempts_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::uint64_t total_ = 0;
};

class ExecListener {
 public:
  /// Takes the listener over and asks the kernel for the synchronous wake-up (6.6), where it has that.
  static kernel::Sys<ExecListener> adopt(base::Fd listener);

  struct Call {
    std::uint64_t id = 0;
    pid_t pid = 0;
    int number = 0;  ///< of the system call
    std::uint64_t arguments[6] = {};
    [[nodiscard]] bool is_exec() const;
  };
  /// The next notification; nothing where its caller has died. Blocks unless the listener is readable.
  kernel::Sys<std::optional<Call>> receive();

  /// True where the kernel accepted the answer, false where the caller is gone or will ask again.
  kernel::Sys<bool> let_through(const Call& call);
  kernel::Sys<bool> refuse(const Call& call);
  /// The call was made by us, or failed with this errno.
  kernel::Sys<bool> made(const Call& call, int code);
  /// Its caller still waits for the answer: what was read of that process, by its number, was read of the caller.
  [[nodiscard]] bool is_pending(const Call& call) const;

  /// The path that the call names, or "" where it cannot be read or the caller is gone. For the record only.
  [[nodiscard]] std::string read_path(const Call& call) const;

  [[nodiscard]] base::FdView fd() const { return listener_; }

 private:
  kernel::Sys<bool> answer(std::uint64_t id, int error, std::uint32_t flags);

  base::Fd listener_;
  std::vector<std::byte> received_;  ///< of the kernel's size, which may be larger than ours
  std::vector<std::byte> answer_;
};

}  // namespace cordon::enforce::supervise
