#include "planner/path_text.h"

#include <algorithm>

namespace cordon::planner {

bool within(std::string_view path, std::string_view ancestor) {
  if (ancestor == "/" || path == ancestor) return true;
  return path.size() > ancestor.size() && path.starts_with(ancestor) && path[ancestor.size()] == '/';
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool looks_like_file(std::string_view path) {
  const std::string_view name = name_of(path);
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot != 0 && dot + 1 < name.size() && name.size() - dot <= 6;
}

std::size_t depth_of(std::string_view path) {
  return path == "/" ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/'));
}

std::vector<std::string> between(std::string_view top, std::string_view path) {
  std::vector<std::string> out;
  for (std::string_view at = parent_of(path); at != top && at != "/"; at = parent_of(at)) out.emplace_back(at);
  std::ranges::reverse(out);
  return out;
}

}  // namespace cordon::planner
