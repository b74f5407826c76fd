#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "kernel/file.h"
#include "kernel/process.h"

namespace {

namespace kernel = cordon::kernel;
using cordon::base::FdView;

/// What is less would end in a fault somewhere, which says nothing. A run touches some 50 KiB of it (Rss of [stack] at
/// its end), and 128 KiB are what the kernel sets up for a new program.
constexpr rlim_t kLeastStack = rlim_t{256} * 1024;

/// Descriptors 0 to 2 that the caller closed, or else the first file that we open takes their place, and the target
/// with it. Answers whether standard output was one: what is printed there is then not taken for delivered.
kernel::Sys<bool> fill_standard_streams() {
  bool no_output = false;
  for (int number = 0; number < 3; ++number) {
    if (kernel::descriptor_flags(FdView(number))) continue;
    CORDON_TRY(cordon::base::Fd null, kernel::openat(kernel::kHere, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY));
    static_cast<void>(null.release());  // it has that number, the lowest that is free
    no_output = no_output || number == 1;
  }
  return no_output;
}

/// A verdict takes about a megabyte. In one piece, and kept until the end: the heap would else grow a dozen times.
void take_memory_at_once() {
  constexpr int kPiece = 1 << 20;
  static_cast<void>(::mallopt(M_TOP_PAD, kPiece));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, 4 * kPiece));
}

/// A reader that went away is an answer (125), and so is a file that may grow no further; neither is the end of this
/// process. Blocked and not ignored: what is ignored would be handed on to the target, and the launcher unblocks
/// everything.
void block_faults_of_writing() {
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGPIPE);
  sigaddset(&faults, SIGXFSZ);
  static_cast<void>(kernel::sigprocmask(SIG_BLOCK, faults));
}

int refuse(cordon::cli::Output& output, const std::string& message, const char* mend) {
  output.say("cordon: error: " + message + "\n  mend: " + mend + "\n");
  return cordon::cli::kRefused;
}

}  // namespace

int main(int argc, char** argv) {
  take_memory_at_once();
  const auto no_output = fill_standard_streams();
  block_faults_of_writing();
  cordon::cli::Output output(FdView(no_output.value_or(false) ? -1 : 1), FdView(2));
  if (!no_output) {
    return refuse(
        output,
        "a standard stream is closed, and " + cordon::base::to_string(kernel::error_at(no_output.error(), "/dev/null")),
        "start cordon with its standard streams open");
  }
  if (const auto stack = kernel::getrlimit(RLIMIT_STACK); stack && stack->rlim_cur < kLeastStack) {
    return refuse(output, "the limit on the stack is too low: " + std::to_string(stack->rlim_cur / 1024) + " KiB",
                  "ulimit -s 8192");
  }
  const auto invocation = cordon::cli::read_invocation(argc, argv, environ);
  if (!invocation) {
    return refuse(output, "the working directory cannot be told: " + cordon::base::to_string(invocation.error()),
                  "cd to a directory that exists");
  }
  return cordon::cli::dispatch(*invocation, output);
}
