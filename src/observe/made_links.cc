#include "observe/made_links.h"

#include <utility>

#include "observe/lexical.h"

namespace cordon::observe {

bool MadeLinks::add(const std::string& link, const std::string& text) {
  if (texts_.size() >= kMost && !texts_.contains(link)) return false;
  texts_.insert_or_assign(link, text);
  return true;
}

void MadeLinks::forget(std::string_view link) {
  if (const auto there = texts_.find(link); there != texts_.end()) texts_.erase(there);
}

void MadeLinks::move(std::string_view from, const std::string& to) {
  const auto there = texts_.find(from);
  if (there == texts_.end()) return forget(to);
  std::string text = std::move(there->second);
  texts_.erase(there);
  texts_.insert_or_assign(to, std::move(text));
}

std::optional<std::string> MadeLinks::led_to(std::string_view path, Last last) const {
  constexpr int kMostHops = 40;  // the kernel's own bound
  std::optional<std::string> out;
  std::string at(path);
  for (int hops = 0; hops < kMostHops; ++hops) {
    bool followed = false;
    for (std::size_t end = at.find('/', 1); !followed; end = at.find('/', end + 1)) {
      const bool whole = end == std::string::npos;
      if (whole && last == Last::kKept) break;
      const auto link = texts_.find(std::string_view(at).substr(0, end));
      if (link != texts_.end()) {
        const std::string& text = link->second;
        const std::string rest = whole ? std::string() : at.substr(end);
        const std::string above = text.starts_with('/') ? std::string() : at.substr(0, at.rfind('/', end - 1)) + "/";
        std::string next;
        join({}, above + text + rest, Root::kOfTheTarget, next);
        at = std::move(next);
        followed = true;
      } else if (whole) {
        break;
      }
    }
    if (!followed) break;
    out = at;
  }
  return out;
}

}  // namespace cordon::observe
