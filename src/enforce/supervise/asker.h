// Asker: the questions of --ask, put to the person at the terminal that the target shares.
//
// One question at a time. While one is on the screen every process of the run is stopped (Frozen), the terminal is ours
// and in its usual mode, and what was typed before, or within half a second after, is thrown away: so the target can
// neither answer, nor write a question of its own over ours, nor have a key meant for it taken for an answer. Then the
// terminal is given back as it was, a program that had it to itself is told to draw its screen again, and the run goes
// on.
//
// An answer that admits counts only if the run stood still from the question on (Frozen::holds).
//
// No terminal, one that is another job's, a run that cannot be stopped, a third answer that says nothing, the end of
// input, and a signal to Cordon all mean no.
//
// Called by the Loop: add() and gone() as the outlet says, service() when poll_fd() is readable, and take_answers()
// after each. The words, and what an answer means, are the caller's (cli/).
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/outlet/question.h"
#include "enforce/supervise/frozen.h"

namespace cordon::enforce::supervise {

class Asker {
 public:
  struct Given {
    std::uint64_t id = 0;
    outlet::GateAnswer answer = outlet::GateAnswer::kNo;
  };

  static base::Result<std::unique_ptr<Asker>> make(outlet::AtTerminal words, pid_t init);
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  ~Asker() { close(); }

  void add(outlet::Asked asked);
  /// Nobody waits for the answer any more.
  void gone(std::uint64_t id);
  [[nodiscard]] base::FdView poll_fd() const { return epoll_; }
  void service();
  /// No to all that waits.
  void dismiss();
  std::vector<Given> take_answers() { return std::exchange(answers_, {}); }
  /// The run is stopped for a question: what init says of that is no news.
  [[nodiscard]] bool is_asking() const { return frozen_.has_value(); }

 private:
  Asker(outlet::AtTerminal words, pid_t init) : words_(std::move(words)), init_(init) {}
  bool open();
  bool take_terminal();
  bool show();
  bool say(std::string_view text) const;
  void on_grace();
  void on_key();
  void take_line(std::string_view line);
  void answer_first(outlet::GateAnswer answer);
  void close();

  outlet::AtTerminal words_;
  pid_t init_;
  base::Fd epoll_, grace_;
  std::deque<outlet::Asked> queue_;  ///< the first is on the screen, if is_asking()
  std::vector<Given> answers_;

  std::optional<Frozen> frozen_;
  base::Fd terminal_;
  std::optional<termios> before_;  ///< what the target had made of it
  pid_t foreground_ = 0;           ///< whom it belonged to
  bool listening_ = false;         ///< the time in which keys are thrown away is over
  int unclear_ = 0;
};

}  // namespace cordon::enforce::supervise
