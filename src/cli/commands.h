// The commands. Each stands in a file of its own, prints through its Context and returns the exit code.
#pragma once

#include "cli/invocation.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "plan/plan.h"

namespace cordon::cli {

/// Exit codes of Cordon's own; everything else is the target's.
inline constexpr int kRefused = 125;
inline constexpr int kNotReady = 3;
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

struct Context {
  const Invocation& invocation;
  Output& output;
};

int run(Context& context, const Arguments& arguments);
int validate(Context& context, const Arguments& arguments);
int approve(Context& context, const Arguments& arguments);
int inspect(Context& context, const Arguments& arguments);
int explain(Context& context, const Arguments& arguments);
int changes(Context& context, const Arguments& arguments);
int trust(Context& context, const Arguments& arguments);
int doctor(Context& context, const Arguments& arguments);
int profiles(Context& context, const Arguments& arguments);
int version(Context& context, const Arguments& arguments);
int completion(Context& context, const Arguments& arguments);
int help(Context& context, const Arguments& arguments);

/// `inspect` and `run --dry-run`.
void show_plan(Context& context, const plan::Plan& plan, bool json);

/// With the command that was probably meant.
report::Refused unknown_command(std::string_view word);

/// Finds the command and runs it: everything that main() does.
int dispatch(const Invocation& invocation, Output& output);

/// Says why nothing was done, as text or as the JSON that the command promises, and returns its exit code.
int refuse(Context& context, const CommandRow* command, bool json, const report::Refused& refused,
           std::string_view source, std::string_view closing);

}  // namespace cordon::cli
