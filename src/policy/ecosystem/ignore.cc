#include "policy/ecosystem/ignore.h"

#include <iterator>

#include "base/path_order.h"
#include "base/text.h"

namespace cordon::policy::ecosystem {
namespace {

/// Blanks at the end do not count, unless a backslash stands before the last of them that does.
std::string_view without_blanks(std::string_view line) {
  while (line.ends_with(' ')) {
    const auto before = line.substr(0, line.size() - 1);
    const std::size_t backslashes = before.size() - (before.find_last_not_of('\\') + 1);
    if (backslashes % 2 == 1) break;
    line = before;
  }
  return line;
}

std::string_view below(std::string_view path, std::string_view base) {
  return base.empty() ? path : path.substr(base.size() + 1);
}

}  // namespace

IgnoreRules::Added IgnoreRules::add(std::string_view text, std::string_view base) {
  if (text.size() > kLargestFile) return Added::kNothing;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<Pattern> added;
  for (std::string_view line : base::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_blanks(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.size() > kLongestPattern || patterns_.size() + added.size() >= kMostPatterns) return Added::kNothing;
    Pattern pattern;
    pattern.base = base;
    pattern.negated = line.starts_with('!');
    if (pattern.negated) line.remove_prefix(1);
    if (line.ends_with('/')) line.remove_suffix(1);
    pattern.anchored = line.find('/') != std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    auto tokens = glob(line);
    if (!tokens && pattern.negated) return Added::kNothing;
    if (!tokens) continue;
    pattern.tokens = std::move(*tokens);
    added.push_back(std::move(pattern));
  }
  patterns_.insert(patterns_.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  return Added::kAll;
}

bool IgnoreRules::is_ignored_itself(std::string_view path) const {
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    const bool reaches = pattern->base.empty() || (base::path_within(path, pattern->base) && path != pattern->base);
    if (!reaches) continue;
    if (matches(pattern->tokens, pattern->anchored ? below(path, pattern->base) : name)) return !pattern->negated;
  }
  return false;
}

std::optional<std::string_view> IgnoreRules::ignored_root(std::string_view path) const {
  if (path.empty()) return std::nullopt;
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string_view one = path.substr(0, end);
    if (is_ignored_itself(one)) return one;
    if (end == std::string_view::npos) return std::nullopt;
  }
}

}  // namespace cordon::policy::ecosystem
