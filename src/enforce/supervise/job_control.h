// Stopping and continuing together with the target, as a job of a shell does. Pure: decisions only.
//
// The target stops (by a key, by kill -STOP, by an inner shell's `suspend`); init reports it; the supervisor then stops
// itself by the same signal, so that the shell which started it sees its job stopped. A terminal that the target's own
// group had taken is given back before, and handed over again when the job is continued in the foreground.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cordon::enforce::supervise {

/// What /proc/PID/stat says of the target.
struct ProcessStat {
  char state = '?';
  pid_t group = 0;
  pid_t parent = 0;
  friend bool operator==(const ProcessStat&, const ProcessStat&) = default;
};
/// Nothing where the text is not that of a stat file. The name in it is the target's own choice and may hold anything.
std::optional<ProcessStat> parse_stat(std::string_view text);

class JobControl {
 public:
  enum class Ability : std::uint8_t {
    kCannotStop,  ///< nobody is there who would continue us: no controlling terminal, or a library
    kCanStop,
  };
  struct Stop {
    int signal = 0;              ///< to stop ourselves by
    bool take_terminal = false;  ///< the target's group has it
    friend bool operator==(const Stop&, const Stop&) = default;
  };

  JobControl(Ability ability, pid_t our_group) : ability_(ability), our_group_(our_group) {}

  /// Init's report. `target` is what the target is now: it may have been continued since; `foreground` is the
  /// terminal's group.
  std::optional<Stop> target_stopped(int signal, std::optional<ProcessStat> target, pid_t foreground);
  void target_continued() { stopped_ = false; }

  /// We were continued. The group to hand the terminal to, if it was taken and we are in the foreground.
  std::optional<pid_t> resumed(pid_t foreground);

  [[nodiscard]] pid_t our_group() const { return our_group_; }
  /// The target does not react to anything but SIGKILL and SIGCONT.
  [[nodiscard]] bool target_is_stopped() const { return stopped_; }
  /// The target's own process group, where it is another one than ours; learnt when it stopped.
  [[nodiscard]] std::optional<pid_t> target_group() const { return target_group_; }

 private:
  Ability ability_;
  pid_t our_group_;
  bool stopped_ = false;
  bool took_terminal_ = false;
  std::optional<pid_t> target_group_;
};

}  // namespace cordon::enforce::supervise
