// The observer: takes the calls that a watched run is notified of and makes plan::Observations of them.
//
// A path may have '..' behind a name of it: which directory that is, whoever knows the host's links decides. Links that
// the run itself makes are followed here, since they may be gone when it ends.
//
// It decides nothing, answers nothing and opens nothing that the target names. Per notification the supervisor calls
// look() before its answer, while the caller stands still, and keep() once the kernel has taken the answer: a caller
// that is gone, or was interrupted and will call again, is no observation, and a number that was given to another
// process meanwhile is not taken for the caller. What is read from the target is read once, and may have been changed
// by another thread before the kernel reads it.
//
// An execve is recorded when its process is seen again (its first call after it, or its last) and the kernel has given
// it a new image. Neither fork nor clone nor the end of a thread is notified; nothing here depends on them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/lexical.h"
#include "observe/made_links.h"
#include "observe/process.h"
#include "observe/store.h"
#include "plan/outcome.h"
#include "plan/path_calls.h"
#include "plan/plan.h"

namespace cordon::observe {

struct Call {
  pid_t pid = 0;  ///< the thread, as we see it
  int number = 0;
  std::array<std::uint64_t, 6> arguments = {};
};

/// What the answer to a call will be.
enum class Fate : std::uint8_t {
  kGoesOn,
  kRefused,   ///< an execve, where exec is closed
  kLaunches,  ///< the launcher's own execve: the target's first program, which nobody in the run named
};

class Observer {
 public:
  explicit Observer(const plan::Plan& plan);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void look(const Call& call, Fate fate);
  void keep();

  /// Before the run is killed: what has been executed and was not seen since.
  void look_at_all();

  /// Once, when nothing of the run is left: fills `observations` and `reached`.
  void finish(plan::Outcome& outcome);

 private:
  struct Known {
    Process process;
    std::optional<Store::Program> program;
  };
  /// A link of a known process.
  struct Held {
    pid_t pid = 0;
    int directory = 0;
    std::optional<Process::Link> link;
  };
  struct Pending {
    Image before;
    std::string named;  ///< as the call had it
  };
  static constexpr std::size_t kMostMessages = 4;  ///< of a sendmmsg, whose address is looked at
  /// What look() found.
  struct Seen {
    std::array<std::string, 4> paths;  ///< of two arguments, and where links of the run's own making lead
    std::array<std::uint32_t, 4> acts{};
    std::optional<std::string> link_text;  ///< of symlink(2)
    std::size_t count = 0;
    std::array<std::optional<Why>, 2> losses;
    Store::Program program = 0;
    std::uint8_t row = 0;
    std::optional<pid_t> executing;
    std::optional<Pending> pending;
    std::array<std::optional<Address>, kMostMessages> addresses;
  };

  Known* known(pid_t pid);
  /// After a failure: the number may have been another process' when it became known.
  Known* known_anew(pid_t pid);
  void look_at(const Call& call, const plan::PathCall& row, const plan::PathArgument& argument, Root root);
  void look_at_socket(const Call& call, const plan::PathCall& row);
  void look_at_address(const Call& call, const plan::PathCall& row, std::uint64_t address, std::uint32_t length);
  void look_at_messages(const Call& call, const plan::PathCall& row);
  void look_at_execution(const Call& call, Fate fate);
  std::optional<Why> anchored(const Call& call, const plan::PathArgument& argument, std::string_view text, Root root);
  bool start_from(pid_t pid, const Process& process, int directory, std::string_view text, Root root,
                  std::string& path);
  /// Where its working directory (AT_FDCWD) or a descriptor is, into link_.
  std::optional<std::string_view> place_of(pid_t pid, const Process& process, int directory);
  void let_go(pid_t pid);
  void found(std::uint32_t acts) { seen_.acts.at(seen_.count++) = acts; }
  void lost(Why why);
  std::optional<std::uint32_t> acts_of(const Call& call, const plan::PathCall& row, Root& root) const;

  void follow_made_links(const plan::PathCall& row);
  void keep_links();

  enum class Unchanged : std::uint8_t { kWasRefused, kMayStillCome };
  /// Whether the process that called execve has become another program.
  void settle(pid_t pid, Unchanged unchanged = Unchanged::kWasRefused);
  void settle_of_thread(pid_t thread);
  void record(Process& process, const Pending& pending);
  Store::Program program_of(pid_t pid);

  static constexpr std::size_t kMostKnown = 64, kMostPending = 4096;
  plan::Watching watching_;
  std::vector<std::int16_t> rows_;  ///< of kPathCalls, by the call's number; -1: none
  Store store_;
  MadeLinks links_;
  Seen seen_;
  PathBuffer text_;
  std::array<char, kMostPath> link_{};
  std::array<Held, 16> held_;
  std::size_t next_held_ = 0;
  std::array<std::string, 16> directories_;  ///< the last to which descriptors led, and which were some
  std::size_t next_directory_ = 0;
  std::unordered_map<pid_t, Known> known_;
  std::deque<pid_t> order_;  ///< of known_, oldest first
  std::unordered_map<pid_t, Pending> pending_;
  std::unordered_map<std::string, std::string> loaders_;  ///< by program
};

}  // namespace cordon::observe
