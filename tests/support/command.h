// Command: a program run as an identity, with captured output, in a pseudo-terminal when asked.
//
//   Finished f = Command({"/bin/cat", path}).as(user).in(dir).env("HOME", home).run();
//   Running r = Command({"bash", "-i"}).as(user).pty().start();  r.expect("$ ");  r.type("exit 3\n");  r.wait().code
//
// Without a pseudo-terminal the program leads a session of its own and has no terminal; stdin is /dev/null, or what
// input() gave. Whatever still runs when the time is up is killed with its process group, and `timed_out` says so.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/identity.h"

namespace cordon::test {

struct Finished {
  int code = -1;   ///< exit code, or -1 where a signal ended it
  int signal = 0;  ///< that ended it, or 0
  bool timed_out = false;
  std::string out;  ///< stdout; with pty() everything that the terminal showed
  std::string err;
  [[nodiscard]] bool ok() const { return code == 0; }
  /// Anywhere in out or err; where a line was wrapped, and that each line of it is marked as Cordon's, does not matter.
  [[nodiscard]] bool says(std::string_view text) const;
};
std::ostream& operator<<(std::ostream& out, const Finished& finished);

class Running {
 public:
  Running(pid_t pid, int out, int err, int terminal, int timeout_ms);
  Running(Running&& other) noexcept;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Running& operator=(Running&&) = delete;
  ~Running();  ///< kills what still runs

  [[nodiscard]] pid_t pid() const { return pid_; }
  void type(std::string_view text) const;    ///< into the pseudo-terminal
  void resize(int rows, int columns) const;  ///< of the pseudo-terminal
  void signal(int number) const;             ///< to the program alone
  /// Reads on until `text` was seen after what earlier calls matched; false where the time was up or the output ended.
  bool expect(std::string_view text, int timeout_ms = 20'000);
  [[nodiscard]] const std::string& seen() const { return finished_.out; }
  Finished wait();

 private:
  bool pump(int timeout_ms);
  void reap();

  pid_t pid_;
  int out_, err_, terminal_;
  int timeout_ms_;
  std::size_t matched_ = 0;
  Finished finished_;
};

class Command {
 public:
  explicit Command(std::vector<std::string> argv);
  Command& as(const Identity& who);
  Command& in(std::string directory);
  Command& env(const std::string& name, const std::string& value);
  Command& input(std::string text);
  Command& pty();
  Command& timeout(int milliseconds);
  /// Stops itself (SIGSTOP) before it executes: for pause_at_launch().
  Command& stopped();
  /// Runs in the child, as root where the suite is root, just before ids are taken and the program is executed.
  Command& before(std::function<void()> act);

  [[nodiscard]] Finished run() const;
  [[nodiscard]] Running start() const;

 private:
  [[noreturn]] void become() const;

  std::vector<std::string> argv_;
  std::map<std::string, std::string> env_;
  std::string directory_ = "/";
  std::string input_;
  Identity who_;
  bool take_identity_ = false;
  bool pty_ = false;
  bool stopped_ = false;
  int timeout_ms_ = 60'000;
  std::function<void()> before_;
};

}  // namespace cordon::test
