// For this room's tests: real plans made by hand, run as root and as an ordinary user.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "enforce/supervise/supervise.h"
#include "plan/plan.h"

namespace cordon::enforce::supervise::testing {

enum class Exec : std::uint8_t { kAll, kNone };

/// A plan in whose private root /bin/sh works: /usr, proc, dev, a writable /tmp.
plan::Plan plan_for(const std::vector<std::string>& argv, Exec exec = Exec::kAll);
/// /bin/sh -c SCRIPT
plan::Plan shell(const std::string& script, Exec exec = Exec::kAll);
/// The same, watched: one filter that notifies what exec: none needs and what is watched.
plan::Plan watched(plan::Plan plan, plan::Watching watching);
plan::step::Execute& execution(plan::Plan& plan);
/// What a step names this object by.
plan::FileId identity(const std::string& path);

/// What was said on the target's streams.
struct Heard {
  std::string out, error;
};
/// Pipes into `heard`, and an empty standard input.
Options listening(Heard& heard);

/// run() that must not be an Error.
plan::Outcome run_to_end(const plan::Plan& plan, Options options);

/// Once in a process of its own as we are, and where we are root once more as a user without an account. What gtest
/// finds wrong in it fails the caller's test.
void as_root_and_as_a_user(const std::function<void()>& body);

/// The process, as the host sees it, that has this argument; 0 where there is none.
pid_t process_with_argument(const std::string& argument);
bool eventually(const std::function<bool()>& condition, int patience_ms = 10'000);
int open_descriptors();
/// True where this process has no child, running or dead.
bool has_no_children();

}  // namespace cordon::enforce::supervise::testing
