#include "policy/approval/directory.h"

#include <dirent.h>

#include <array>
#include <cstring>
#include <string_view>

#include "kernel/file.h"

namespace cordon::policy::approval {

std::vector<std::string> names_in(base::FdView directory) {
  std::vector<std::string> names;
  auto readable = kernel::openat(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  alignas(::dirent64) std::array<std::byte, 32768> block{};
  while (true) {
    const auto length = kernel::getdents64(*readable, block);
    if (!length || *length == 0) return names;
    for (std::size_t at = 0; at < *length;) {
      const auto* record = reinterpret_cast<const ::dirent64*>(block.data() + at);
      const std::string_view name = record->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      if (names.size() >= kMostNames) return names;
      at += record->d_reclen;
    }
  }
}

}  // namespace cordon::policy::approval
