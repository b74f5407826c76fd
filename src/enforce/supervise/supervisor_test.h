// For tests: a process that does what `cordon run` does, with its output and its result in hand.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise::testing {

class Supervisor {
 public:
  /// In a session without terminal; `before` is done in it first.
  explicit Supervisor(const plan::Plan& plan, const std::function<void()>& before = {});
  /// Killed by force, if it still is there.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  struct Result {
    plan::EndedBy by = plan::EndedBy::kLapse;
    int code = -1, signal = -1;
    bool executed = false, failed = false;
  };
  Result result();
  /// Waits until the target has printed this.
  void expect(std::string_view text);
  /// Everything up to the end of the stream, which is the end of everybody who had it.
  std::string rest();
  void send(int signal) const;
  /// Its only child: the run's init.
  [[nodiscard]] pid_t init() const;

 private:
  bool read_more();

  pid_t pid_ = 0;
  base::Fd output_, result_;
  std::string seen_;
};

}  // namespace cordon::enforce::supervise::testing
