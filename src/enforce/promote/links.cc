#include "enforce/promote/links.h"

#include <algorithm>

#include "base/path_order.h"
#include "base/text.h"

namespace cordon::enforce::promote {
namespace {

/// The components of a target behind its leading ".."; nothing where one stands behind a name.
struct Way {
  std::size_t up = 0;
  std::vector<std::string_view> down;
};
std::optional<Way> way_of(std::string_view target) {
  Way out;
  for (std::string_view component : base::split(target, '/')) {
    if (component.empty() || component == ".") continue;
    if (component != "..") {
      out.down.push_back(component);
    } else {
      if (!out.down.empty()) return std::nullopt;
      ++out.up;
    }
  }
  return out;
}

std::optional<Reason> why_not_inside(std::string at, const std::vector<std::string_view>& down,
                                     const ProtectedNames& names) {
  for (std::string_view component : down) {
    if (!at.empty()) at += '/';
    at += component;
    if (const auto why = names.why_not(at)) return why;
  }
  return std::nullopt;
}

std::optional<Reason> why_not_absolute(std::string_view target, const LinkRules& rules, const ProtectedNames& names) {
  const auto way = way_of(target);
  if (!way || way->up != 0) return Reason::kLinkLeaves;
  std::string normal;
  for (std::string_view component : way->down) normal.append("/").append(component);
  if (!rules.workspace.empty() && base::path_within(normal, rules.workspace)) {
    const std::size_t skip = base::split(rules.workspace, '/').size() - 1;
    return why_not_inside("", {way->down.begin() + static_cast<std::ptrdiff_t>(skip), way->down.end()}, names);
  }
  const bool allowed = std::ranges::any_of(rules.allowed_roots,
                                           [&](const std::string& root) { return base::path_within(normal, root); });
  return allowed ? std::nullopt : std::optional(Reason::kLinkLeaves);
}

}  // namespace

std::optional<Reason> why_not_link(std::string_view path, std::string_view target, const LinkRules& rules,
                                   const ProtectedNames& names) {
  if (target.empty()) return Reason::kLinkLeaves;
  if (target.front() == '/') return why_not_absolute(target, rules, names);
  const auto way = way_of(target);
  if (!way) return Reason::kLinkLeaves;
  std::string_view at = path;
  for (std::size_t i = 0; i <= way->up; ++i) {
    if (at.empty()) return Reason::kLinkLeaves;
    const std::size_t slash = at.rfind('/');
    at = slash == std::string_view::npos ? std::string_view() : at.substr(0, slash);
  }
  return why_not_inside(std::string(at), way->down, names);
}

}  // namespace cordon::enforce::promote
