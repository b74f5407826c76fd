// Edits: changes to a text that belongs to somebody else, each for some bytes of it; every other byte stays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::policy::manifest {

/// Bytes [begin, end) of the text, and what stands there afterwards. None overlaps another.
struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text;
};
using Edits = std::vector<Edit>;

std::string apply(std::string_view text, const Edits& edits);

/// "\r\n" where the first line ends so, else "\n".
std::string_view end_of_line_in(std::string_view text);

}  // namespace cordon::policy::manifest
