// The loop's share in what is mounted: from when it stands, watched until the end.
#include <csignal>
#include <utility>

#include "enforce/supervise/loop.h"

namespace cordon::enforce::supervise {

/// Looked at once: putting it into the set swallows an event that came before, and the child, which verifies meanwhile,
/// may have been too early.
base::Result<void> Run::Loop::take_mounts(base::Fd table) {
  if (mounts_.fd().valid()) return {};  // progress_ has said what is wrong
  mounts_.take(std::move(table));
  CORDON_OK(watch(Source::kMounts, mounts_.fd()));
  return on_mounts();
}

base::Result<void> Run::Loop::on_mounts() {
  CORDON_TRY(auto lost, mounts_.look());
  if (!lost) return {};
  static_cast<void>(on_life());  // it may have ended by itself just now
  progress_.lapsed(std::move(*lost));
  end_run(plan::EndedBy::kLapse, SIGKILL);
  return {};
}

void Run::Loop::mounted() {
  if (auto call = std::exchange(when_mounted_, nullptr)) call();
}

}  // namespace cordon::enforce::supervise
