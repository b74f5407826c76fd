// From what a call says to the path that it names: joined, made normal, told apart. Pure text; links of the host are
// not followed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::observe {

/// What '..' and an absolute path start from.
enum class Root : std::uint8_t {
  kOfTheTarget,
  kDirectory,  ///< openat2's RESOLVE_IN_ROOT: the directory itself is as high as one gets
};

/// What /proc says where a descriptor or a working directory leads: true for a place that has a name. A name that ends
/// in " (deleted)" is taken for what it says.
bool is_place(std::string_view link);

/// `path` as seen from the absolute, real `directory`, without '.' and empty components, into `out`. A '..' stays
/// where it stands behind a name of `path`: that may be a link's.
void join(std::string_view directory, std::string_view path, Root root, std::string& out);

/// Whether what join() made has such a '..'.
bool climbs(std::string_view path);

/// plan::PathAct, of the flags of open(2).
std::uint32_t acts_of_open(std::uint64_t flags);

}  // namespace cordon::observe
