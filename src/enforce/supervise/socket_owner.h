// Whose socket it is that reached for a host: a hint for a person, read from /proc, and no more than that. A process
// may hand its sockets on, and a name of a program says nothing of what was made of it; no decision rests on this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cordon::enforce::supervise {

/// The inode of the socket that is connected from this port, in a text such as /proc/net/tcp. Pure.
std::optional<std::uint64_t> connected_socket(std::string_view table, std::uint16_t port);

/// The executable of the process among these that holds the socket; "" where that cannot be told. `init` is of the
/// network namespace that the port is meant in.
std::string program_of(pid_t init, std::span<const pid_t> processes, std::uint16_t port);

}  // namespace cordon::enforce::supervise
