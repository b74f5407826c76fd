// For tests: a pseudo-terminal, in it a shell that is just large enough for job control, and in that a foreground run.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "plan/outcome.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise::testing {

class Shell {
 public:
  enum class Place {
    kForeground,
    kBackground,
    kAlone,  ///< no shell: the run is the session's leader, as with ssh -t or in a container
  };
  explicit Shell(const plan::Plan& plan, Place place = Place::kForeground);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// What the job did, as waitpid tells the shell, and at the end what the run said of itself.
  struct Event {
    enum class What { kNone, kStopped, kEnded } what = What::kNone;
    int signal = 0;  ///< that stopped it
    plan::EndedBy by = plan::EndedBy::kLapse;
    int code = -1, killed_by = -1;
    bool has_terminal = false;  ///< Cordon's group, after the run
    bool settings_as_before = false;
  };
  /// Nothing (What::kNone) where nothing happened within the time.
  Event next(int patience_ms = 20'000);

  void foreground() { command('f'); }
  void background() { command('b'); }

  void type(std::string_view text) const;
  /// The terminal goes away.
  void hang_up() { terminal_.reset(); }
  void resize(unsigned short rows, unsigned short columns) const;
  /// Waits until the terminal shows this, and forgets everything up to there.
  void expect(std::string_view text);
  /// True where this does not appear within the time.
  bool stays_silent(std::string_view text, int patience_ms);

  /// What was shown so far, once nothing more comes.
  void forget();

  [[nodiscard]] pid_t job() const { return job_; }
  /// The terminal's foreground process group.
  [[nodiscard]] pid_t foreground_group() const;

 private:
  void command(char what) const;
  bool read_more(int patience_ms);

  base::Fd terminal_, commands_, events_;
  pid_t shell_ = 0;
  pid_t job_ = 0;
  std::string seen_;
};

}  // namespace cordon::enforce::supervise::testing
