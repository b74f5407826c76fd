#include "policy/approval/record_text.h"

#include <fmt/format.h>

#include <iterator>

#include "policy/approval/steady_read.h"
#include "policy/approval/walk.h"

namespace cordon::policy::approval {

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(byte));
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

std::optional<std::string> bytes_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::nullopt : from_hex(found->get_ref<const std::string&>());
}

std::optional<std::string> content_of(base::FdView object, std::size_t most) {
  auto file = reopen(object, O_RDONLY);
  if (!file) return std::nullopt;
  std::string text;
  const auto end = read_steadily(*file, most, [&](std::string_view bytes) { text.append(bytes); });
  return end && *end == ReadEnd::kComplete ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace cordon::policy::approval
