// What runs put on this host for their own time, below Cordon's state directory, and what is left of it when all of a
// run's processes were killed at once.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "plan/host_facts.h"
#include "policy/approval/facts.h"

namespace cordon::cli {

/// Cordon's state directory, opened once for all that is looked for in it. Invalid where it is not there yet, or not
/// private.
base::Fd open_state(const std::string& state_directory, policy::approval::Caller caller);

/// What every command begins with: what dead runs left on this host is taken away (enforce/hold). The points of the
/// runs that go on.
std::vector<plan::HeldPoint> clean_holds(const std::string& state_directory);

std::string hold_registry_of(const std::string& state_directory);
/// The directory for the journals of mount points, made where it is missing; "" where it cannot be.
std::string hold_registry(const std::string& state_directory, base::FdView state, policy::approval::Caller caller);

/// The directory in which overlays have their work directories for a moment (HostFacts::work_place), made where it is
/// missing, and cleared of what a kill -9 in that moment left; "" where there can be none.
std::string work_place(const std::string& state_directory, base::FdView state, policy::approval::Caller caller);

}  // namespace cordon::cli
