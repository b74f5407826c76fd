#include "base/abs_path.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::base {
namespace {

/// Nothing is to be done to it: no empty component, no "." and no "..".
bool is_normal(std::string_view text) {
  for (std::size_t slash = 0; slash < text.size();) {
    const std::size_t end = std::min(text.find('/', slash + 1), text.size());
    const std::string_view part = text.substr(slash + 1, end - slash - 1);
    if (part.empty() || part == "." || part == "..") return false;
    slash = end;
  }
  return true;
}

std::string normalise(std::string_view text) {
  if (is_normal(text)) return std::string(text);
  std::vector<std::string_view> kept;
  for (std::string_view part : split(text, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
      continue;
    }
    kept.push_back(part);
  }
  std::string out;
  for (std::string_view part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

}  // namespace

std::optional<AbsPath> AbsPath::parse(std::string_view text) {
  if (text.empty() || text.front() != '/' || text.find('\0') != std::string_view::npos) return std::nullopt;
  return AbsPath(normalise(text));
}

std::optional<AbsPath> AbsPath::join(std::string_view relative) const {
  if (relative.empty()) return std::nullopt;
  if (relative.front() == '/') return parse(relative);
  return parse(text_ + "/" + std::string(relative));
}

AbsPath AbsPath::parent() const {
  const std::size_t slash = text_.rfind('/');
  return slash == 0 ? AbsPath() : AbsPath(text_.substr(0, slash));
}

std::string_view AbsPath::name() const { return std::string_view(text_).substr(text_.rfind('/') + 1); }

std::vector<std::string_view> AbsPath::components() const {
  if (is_root()) return {};
  return split(std::string_view(text_).substr(1), '/');
}

bool AbsPath::is_within(const AbsPath& ancestor) const {
  if (ancestor.is_root() || text_ == ancestor.text_) return true;
  return text_.size() > ancestor.text_.size() && text_.starts_with(ancestor.text_) &&
         text_[ancestor.text_.size()] == '/';
}

}  // namespace cordon::base
