#include "policy/config/paths.h"

#include "policy/config/values.h"

namespace cordon::policy::config {
namespace {

/// What follows `prefix` as a whole component, for join(): "." where nothing does.
std::optional<std::string_view> below(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  if (!text.empty() && text.front() != '/') return std::nullopt;
  while (text.starts_with('/')) text.remove_prefix(1);
  return text.empty() ? std::string_view(".") : text;
}

}  // namespace

std::optional<base::AbsPath> expand(std::string_view written, const Places& places) {
  if (check_path(written)) return std::nullopt;
  for (const std::string_view home : {"~", "$HOME"})
    if (const auto rest = below(written, home)) return places.home.join(*rest);
  if (const auto rest = below(written, "$PWD")) return places.working_directory.join(*rest);
  return places.working_directory.join(written);
}

bool is_relative(std::string_view written) {
  return below(written, "$PWD").has_value() ||
         !(written.starts_with('/') || below(written, "~") || below(written, "$HOME"));
}

}  // namespace cordon::policy::config
