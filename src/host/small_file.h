// Small files of the system (proc, /etc), read whole within a bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace cordon::host {

/// The content of a regular or proc file; nothing where it cannot be opened or read, or is longer than `most` bytes.
/// Never waits for a FIFO's other side. `path` must be a name that only root controls.
std::optional<std::string> read_small_file(const char* path, std::size_t most);

/// The same without the newline at the end; "" where there is nothing.
std::string read_line(const char* path);

}  // namespace cordon::host
