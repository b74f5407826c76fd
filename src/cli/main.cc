#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  cordon::cli::Output output;
  const auto invocation = cordon::cli::read_invocation(argc, argv, environ);
  if (!invocation) {
    output.say("cordon: error: the working directory cannot be told: " + cordon::base::to_string(invocation.error()) +
               "\n  mend: cd to a directory that exists\n");
    return cordon::cli::kRefused;
  }
  return cordon::cli::dispatch(*invocation, output);
}
