#include "enforce/supervise/supervisor_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "enforce/supervise/fixture_test.h"
#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::supervise::testing {
namespace {

constexpr int kPatienceMs = 30'000;

bool is_readable(const base::Fd& fd) {
  pollfd one{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return poll(&one, 1, kPatienceMs) == 1;
}

[[noreturn]] void supervise(const plan::Plan& plan, base::FdView output, base::FdView result) {
  dup2(output.get(), 1);
  static_cast<void>(kernel::close_range(static_cast<unsigned>(output.get()), static_cast<unsigned>(output.get()), 0));
  Options options;
  options.terminal = Terminal::kForeground;
  options.stdin_mode = StdinMode::kNull;
  const auto outcome = run_to_end(plan, std::move(options));
  const Supervisor::Result said{.by = outcome.ended_by,
                                .code = outcome.exit_code,
                                .signal = outcome.signal,
                                .executed = outcome.executed,
                                .failed = outcome.setup_error.has_value()};
  static_cast<void>(kernel::write_all(result, std::as_bytes(std::span(&said, 1))));
  _exit(0);
}

}  // namespace

Supervisor::Supervisor(const plan::Plan& plan, const std::function<void()>& before) {
  auto output = kernel::pipe();
  auto result = kernel::pipe();
  EXPECT_TRUE(output && result);
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setsid();
    if (before) before();
    supervise(plan, output->write_end, result->write_end);
  }
  output_ = std::move(output->read_end);
  result_ = std::move(result->read_end);
}

Supervisor::~Supervisor() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Supervisor::Result Supervisor::result() {
  Result out;
  const bool ended = is_readable(result_);
  EXPECT_TRUE(ended) << "the run did not end";
  if (ended) {
    EXPECT_EQ(kernel::read(result_, std::as_writable_bytes(std::span(&out, 1))).value_or(0), sizeof out);
  }
  return out;
}

bool Supervisor::read_more() {
  std::array<char, 256> bytes{};
  if (!is_readable(output_)) return false;
  const auto n = kernel::read(output_, std::as_writable_bytes(std::span(bytes))).value_or(0);
  seen_.append(bytes.data(), n);
  return n != 0;
}

void Supervisor::expect(std::string_view text) {
  while (seen_.find(text) == std::string::npos) ASSERT_TRUE(read_more()) << "no '" << text << "' in: " << seen_;
}

std::string Supervisor::rest() {
  while (read_more()) {
  }
  return seen_;
}

void Supervisor::send(int signal) const { EXPECT_EQ(kill(pid_, signal), 0); }

pid_t Supervisor::init() const {
  pid_t child = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", pid_)) >> child;
  return child;
}

}  // namespace cordon::enforce::supervise::testing
