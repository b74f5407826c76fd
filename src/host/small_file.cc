#include "host/small_file.h"

#include <algorithm>
#include <array>
#include <span>

#include "kernel/file.h"

namespace cordon::host {

std::optional<std::string> read_small_file(const char* path, std::size_t most) {
  auto fd = kernel::openat(kernel::kHere, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return std::nullopt;
  std::string text;
  std::array<std::byte, 16384> chunk;
  for (;;) {
    const auto n = kernel::read(*fd, chunk);
    if (!n || text.size() + *n > most) return std::nullopt;
    if (*n == 0) return text;
    text.append(reinterpret_cast<const char*>(chunk.data()), *n);
  }
}

std::string read_line(const char* path) {
  std::string text = read_small_file(path, 4096).value_or("");
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace cordon::host
