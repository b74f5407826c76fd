#include "observe/lexical.h"

#include <fcntl.h>

#include "plan/observation.h"

namespace cordon::observe {
namespace {

/// One component after another behind what `out` has; '..' never takes away its first `floor` characters, and behind
/// `settled` it is kept: which directory is above a name that may be a link's, the text does not say.
void append(std::string_view path, std::size_t floor, std::size_t settled, std::string& out) {
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    if (name.empty() || name == ".") continue;
    if (name != ".." || out.size() > settled) {
      out += '/';
      out += name;
    } else if (out.size() > floor) {
      out.resize(out.rfind('/'));
      settled = out.size();
    }
  }
}

}  // namespace

bool is_place(std::string_view link) { return link.starts_with('/') && !link.ends_with(" (deleted)"); }

void join(std::string_view directory, std::string_view path, Root root, std::string& out) {
  out.clear();
  const bool rooted = root == Root::kDirectory;
  if (rooted || !path.starts_with('/')) append(directory, 0, 0, out);
  append(path, rooted ? out.size() : 0, out.size(), out);
  if (out.empty()) out = "/";
}

bool climbs(std::string_view path) { return path.ends_with("/..") || path.contains("/../"); }

std::uint32_t acts_of_open(std::uint64_t flags) {
  if ((flags & O_PATH) != 0) return plan::kActProbe;
  const std::uint64_t mode = flags & O_ACCMODE;
  if (mode != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_APPEND)) != 0) {
    return plan::kActWrite | (mode == O_RDWR ? plan::kActRead : 0U);
  }
  return (flags & O_DIRECTORY) != 0 ? plan::kActEnumerate : plan::kActRead;
}

}  // namespace cordon::observe
