#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "cli/commands.h"
#include "kernel/process.h"

int main(int argc, char** argv) {
  // A reader that went away is an answer (125), not the end of this process. Blocked and not ignored: what is ignored
  // would be handed on to the target, and the launcher unblocks everything.
  sigset_t closed_pipe;
  sigemptyset(&closed_pipe);
  sigaddset(&closed_pipe, SIGPIPE);
  static_cast<void>(cordon::kernel::sigprocmask(SIG_BLOCK, closed_pipe));
  cordon::cli::Output output;
  const auto invocation = cordon::cli::read_invocation(argc, argv, environ);
  if (!invocation) {
    output.say("cordon: error: the working directory cannot be told: " + cordon::base::to_string(invocation.error()) +
               "\n  mend: cd to a directory that exists\n");
    return cordon::cli::kRefused;
  }
  return cordon::cli::dispatch(*invocation, output);
}
