// The second filter of a run without namespaces (the landlock engine): what namespaces keep from the target by
// themselves. Sockets, System V and POSIX message queues and shared memory, other processes' memory and limits, and
// changes of what Landlock has no right for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cordon::planner {

struct HostFilter {
  bool signals_scoped = false;     ///< Landlock keeps signals inside (ABI 6); else none can be sent at all
  bool attributes_served = false;  ///< the supervisor makes those calls (plan/attribute_calls.h); else they are EPERM
};

/// struct sock_filter[]; empty where it could not be compiled.
std::vector<std::uint8_t> host_filter(std::string_view machine, HostFilter what);

}  // namespace cordon::planner
