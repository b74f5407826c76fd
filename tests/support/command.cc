#include "support/command.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ostream>
#include <utility>

#include "support/require.h"

namespace cordon::test {
namespace {

using Clock = std::chrono::steady_clock;

int left_of(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}

/// Takes what is there; false at the end of the stream.
bool take(int fd, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n > 0) into.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/// What a message's further lines start with on standard error, before their indentation.
constexpr std::string_view kMark = "\ncordon:";

std::string without_marks(std::string text) {
  for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1))
    if (text.compare(at + kMark.size(), 2, "  ") == 0) text.erase(at + 1, kMark.size() - 1);
  return text;
}

std::string on_one_line(std::string_view wrapped) {
  const std::string text = without_marks(std::string(wrapped));
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r';
    if (!space || (!line.empty() && line.back() != ' ')) line += space ? ' ' : c;
  }
  return line;
}

}  // namespace

bool Finished::says(std::string_view text) const {
  const std::string wanted = on_one_line(text);
  return on_one_line(out).find(wanted) != std::string::npos || on_one_line(err).find(wanted) != std::string::npos;
}

std::ostream& operator<<(std::ostream& out, const Finished& finished) {
  return out << "code " << finished.code << " signal " << finished.signal << (finished.timed_out ? " TIMED OUT" : "")
             << "\n--- out\n"
             << finished.out << "\n--- err\n"
             << finished.err << "\n---";
}

Running::Running(pid_t pid, int out, int err, int terminal, int timeout_ms)
    : pid_(pid), out_(out), err_(err), terminal_(terminal), timeout_ms_(timeout_ms) {}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      terminal_(other.terminal_),
      timeout_ms_(other.timeout_ms_),
      matched_(other.matched_),
      finished_(std::move(other.finished_)) {}

Running::~Running() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    reap();
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

void Running::type(std::string_view text) const {
  require(::write(terminal_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "type into the terminal");
}

void Running::resize(int rows, int columns) const {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  require(::ioctl(terminal_, TIOCSWINSZ, &size) == 0, "resize the terminal");
}

void Running::signal(int number) const { require(::kill(pid_, number) == 0, "signal the program"); }

/// One round of reading; false where both streams have ended.
bool Running::pump(int timeout_ms) {
  std::array<pollfd, 2> fds{pollfd{.fd = out_, .events = POLLIN, .revents = 0},
                            pollfd{.fd = err_, .events = POLLIN, .revents = 0}};
  if (out_ < 0 && err_ < 0) return false;
  if (::poll(fds.data(), fds.size(), timeout_ms) < 0) return errno == EINTR;
  if (fds[0].revents != 0 && !take(out_, finished_.out)) ::close(std::exchange(out_, -1));
  if (fds[1].revents != 0 && !take(err_, finished_.err)) ::close(std::exchange(err_, -1));
  return out_ >= 0 || err_ >= 0;
}

bool Running::expect(std::string_view text, int timeout_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const std::size_t found = finished_.out.find(text, matched_);
    if (found != std::string::npos) {
      matched_ = found + text.size();
      return true;
    }
    if (left_of(end) == 0) return false;
    if (!pump(left_of(end))) return finished_.out.find(text, matched_) != std::string::npos;
  }
}

void Running::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status)) finished_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished_.signal = WTERMSIG(status);
}

/// Waits for the end of the program, not of its output: a daemon that it left may hold the pipe. What was written by
/// then is taken.
Finished Running::wait() {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
    if (left_of(end) == 0) {
      finished_.timed_out = true;
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      break;
    }
    if (!pump(20)) ::usleep(2'000);
  }
  reap();
  const auto grace = Clock::now() + std::chrono::milliseconds(200);
  std::size_t size = std::string::npos;
  while (left_of(grace) > 0 && size != finished_.out.size() + finished_.err.size()) {
    size = finished_.out.size() + finished_.err.size();
    if (!pump(20)) break;
  }
  return finished_;
}

Command::Command(std::vector<std::string> argv) : argv_(std::move(argv)) {
  env_ = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"LANG", "C.UTF-8"}};
}

Command& Command::as(const Identity& who) {
  who_ = who;
  take_identity_ = true;
  return *this;
}
Command& Command::in(std::string directory) {
  directory_ = std::move(directory);
  return *this;
}
Command& Command::env(const std::string& name, const std::string& value) {
  env_[name] = value;
  return *this;
}
Command& Command::input(std::string text) {
  input_ = std::move(text);
  return *this;
}
Command& Command::pty() {
  pty_ = true;
  return *this;
}
Command& Command::stopped() {
  stopped_ = true;
  return *this;
}
Command& Command::timeout(int milliseconds) {
  timeout_ms_ = milliseconds;
  return *this;
}
Command& Command::before(std::function<void()> act) {
  before_ = std::move(act);
  return *this;
}

/// The child's half: never returns.
void Command::become() const {
  if (before_) before_();
  if (take_identity_ && ::geteuid() == 0) {
    const gid_t group = who_.gid;
    const bool taken = (who_.is_root() ? ::setgroups(1, &group) : ::initgroups(who_.account.c_str(), group)) == 0 &&
                       ::setgid(group) == 0 && ::setuid(who_.uid) == 0;
    if (!taken) ::_exit(97);
  }
  if (::chdir(directory_.c_str()) != 0) ::_exit(96);
  std::vector<std::string> pairs;
  pairs.reserve(env_.size());
  for (const auto& [name, value] : env_) pairs.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (auto& pair : pairs) environment.push_back(pair.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = argv_;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (stopped_) ::raise(SIGSTOP);
  ::execvpe(argv[0], argv.data(), environment.data());
  ::_exit(98);
}

Finished Command::run() const { return start().wait(); }

Running Command::start() const {
  if (pty_) {
    int terminal = -1;
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    require(pid >= 0, "forkpty");
    if (pid == 0) become();
    require(::fcntl(terminal, F_SETFD, FD_CLOEXEC) == 0, "cloexec");
    return {pid, terminal, -1, terminal, timeout_ms_};
  }
  // stdin is a file with all of the input in it: nobody has to feed it.
  int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (!input_.empty()) {
    ::close(in);
    in = static_cast<int>(::syscall(SYS_memfd_create, "input", 1U));
    require(::write(in, input_.data(), input_.size()) == static_cast<ssize_t>(input_.size()), "input");
    ::lseek(in, 0, SEEK_SET);
  }
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  require(in >= 0 && ::pipe2(out.data(), O_CLOEXEC) == 0 && ::pipe2(err.data(), O_CLOEXEC) == 0, "pipes");
  const pid_t pid = ::fork();
  require(pid >= 0, "fork");
  if (pid == 0) {
    ::setsid();
    ::dup2(in, 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    become();
  }
  ::close(in);
  ::close(out[1]);
  ::close(err[1]);
  return {pid, out[0], err[0], -1, timeout_ms_};
}

}  // namespace cordon::test
