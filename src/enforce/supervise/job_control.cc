#include "enforce/supervise/job_control.h"

#include <charconv>

#include "base/text.h"

namespace cordon::enforce::supervise {
namespace {

std::optional<pid_t> number(std::string_view text) {
  pid_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  // "PID (name) STATE PPID GROUP …"; the name may hold parentheses and spaces, so the last parenthesis counts.
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos || close + 2 > text.size()) return std::nullopt;
  const auto fields = base::split(text.substr(close + 2), ' ');
  if (fields.size() < 3 || fields[0].size() != 1) return std::nullopt;
  const auto parent = number(fields[1]);
  const auto group = number(fields[2]);
  if (!parent || !group) return std::nullopt;
  return ProcessStat{.state = fields[0][0], .group = *group, .parent = *parent};
}

std::optional<JobControl::Stop> JobControl::target_stopped(int signal, std::optional<ProcessStat> target,
                                                           pid_t foreground) {
  if (!target || target->state != 'T') return std::nullopt;
  stopped_ = true;
  target_group_.reset();
  if (target->group > 0 && target->group != our_group_) target_group_ = target->group;
  if (ability_ == Ability::kCannotStop) return std::nullopt;
  took_terminal_ = target_group_ && foreground == *target_group_;
  return Stop{.signal = signal, .take_terminal = took_terminal_};
}

std::optional<pid_t> JobControl::resumed(pid_t foreground) {
  const bool hand_over = took_terminal_ && target_group_ && foreground == our_group_;
  took_terminal_ = false;
  return hand_over ? target_group_ : std::nullopt;
}

}  // namespace cordon::enforce::supervise
