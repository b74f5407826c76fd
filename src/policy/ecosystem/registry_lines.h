// What the readers of registry configuration share: lines with their numbers, and where found addresses go. Private to
// this room.
#pragma once

#include <string>
#include <string_view>

#include "policy/ecosystem/registries.h"

namespace cordon::policy::ecosystem {

/// Collects hosts; the only place that sees a whole address.
class Collected {
 public:
  explicit Collected(std::string_view file) : file_(file) {}

  void replaces_default() { out_.tools_own = Default::kReplaced; }
  /// False where it is no address of a registry, which is noted.
  bool address(std::string_view text, std::uint32_t line);
  void note(std::uint32_t line, std::string message);
  RegistryHosts take() { return std::move(out_); }

 private:
  std::string file_;
  RegistryHosts out_;
};

struct Line {
  std::string_view text;  ///< without blanks at its ends
  std::uint32_t number = 0;
  enum class Indent : std::uint8_t { kNone, kSome } indent = Indent::kNone;
};
std::vector<Line> lines_of(std::string_view text);

std::string_view trimmed(std::string_view text);
/// Without the quotes around it, where it has two.
std::string_view unquoted(std::string_view text);

void read_npmrc(std::string_view text, Collected& out);
void read_yarnrc(std::string_view text, Collected& out);
void read_pip_conf(std::string_view text, Collected& out);
void read_go_env(std::string_view text, Collected& out);
void read_goproxy(std::string_view value, std::uint32_t line, Collected& out);
void read_uv_toml(std::string_view text, Collected& out);
void read_cargo_toml(std::string_view text, Collected& out);
void read_maven_settings(std::string_view text, Collected& out);

}  // namespace cordon::policy::ecosystem
