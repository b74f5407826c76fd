// Made links: the symbolic links that a watched run made, by what it said, so that a path through one can be told
// though the link is gone when the run ends. Pure text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cordon::observe {

class MadeLinks {
 public:
  /// False where there is no room.
  bool add(const std::string& link, const std::string& text);
  void forget(std::string_view link);
  void move(std::string_view from, const std::string& to);
  [[nodiscard]] bool empty() const { return texts_.empty(); }
  enum class Last { kFollowed, kKept };
  /// Where `path` leads by these links; nothing where it goes through none. `last`: whether a link of that very name
  /// is followed.
  [[nodiscard]] std::optional<std::string> led_to(std::string_view path, Last last) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static constexpr std::size_t kMost = 16'384;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> texts_;
};

}  // namespace cordon::observe
