// Registries of line-based files: .npmrc, .yarnrc(.yml), pip.conf, go's env.

#include <algorithm>

#include "policy/ecosystem/registry_lines.h"

namespace cordon::policy::ecosystem {
namespace {

struct Setting {
  std::string_view key, value;
};

/// "key = value"; the key is empty where the line is none.
Setting setting(std::string_view line, char separator) {
  const auto at = line.find(separator);
  if (at == std::string_view::npos) return {};
  return {trimmed(line.substr(0, at)), trimmed(line.substr(at + 1))};
}

bool is_comment(std::string_view line) { return line.empty() || line.starts_with('#') || line.starts_with(';'); }

/// Every address in a value that may hold several.
void addresses(std::string_view value, std::uint32_t line, Collected& out) {
  constexpr std::string_view kBetween = " \t,|\r\n";
  while (!(value = trimmed(value)).empty()) {
    const auto end = value.find_first_of(kBetween);
    const std::string_view one = value.substr(0, end);
    // Words of GOPROXY that name no host.
    if (!one.empty() && one != "direct" && one != "off") out.address(one, line);
    if (end == std::string_view::npos) return;
    value.remove_prefix(end + 1);
  }
}

std::string plain_key(std::string_view key) {
  std::string out(key);
  std::ranges::transform(out, out.begin(), [](char c) { return c == '_' ? '-' : c; });
  return out;
}

}  // namespace

void read_goproxy(std::string_view value, std::uint32_t line, Collected& out) { addresses(value, line, out); }

void read_npmrc(std::string_view text, Collected& out) {
  for (const Line& line : lines_of(text)) {
    if (is_comment(line.text)) continue;
    const auto [key, value] = setting(line.text, '=');
    const std::string_view name = unquoted(key);
    const bool is_main = name == "registry";
    const bool is_scoped = name.starts_with('@') && name.ends_with(":registry");
    if (!is_main && !is_scoped) continue;
    const bool known = out.address(unquoted(value), line.number);
    if (is_main && known) out.replaces_default();
  }
}

void read_yarnrc(std::string_view text, Collected& out) {
  for (const Line& line : lines_of(text)) {
    if (is_comment(line.text)) continue;
    if (line.text.starts_with("npmRegistryServer:")) {
      const bool known = out.address(unquoted(trimmed(line.text.substr(18))), line.number);
      if (known && line.indent == Line::Indent::kNone) out.replaces_default();
      continue;
    }
    // The older form: a key and a value, with a blank between.
    const auto [key, value] = setting(line.text, ' ');
    const std::string_view name = unquoted(key);
    if (name != "registry" && !(name.starts_with('@') && name.ends_with(":registry"))) continue;
    const bool known = out.address(unquoted(value), line.number);
    if (known && name == "registry") out.replaces_default();
  }
}

void read_pip_conf(std::string_view text, Collected& out) {
  enum class In : std::uint8_t { kOther, kIndex, kExtra } in = In::kOther;
  for (const Line& line : lines_of(text)) {
    if (is_comment(line.text)) continue;
    if (line.text.starts_with('[')) {
      in = In::kOther;
      continue;
    }
    std::string_view value = line.text;
    if (line.indent == Line::Indent::kNone) {
      const auto equals = line.text.find_first_of("=:");
      const std::string key = plain_key(trimmed(line.text.substr(0, equals)));
      value = equals == std::string_view::npos ? std::string_view() : trimmed(line.text.substr(equals + 1));
      in = key == "index-url" ? In::kIndex : key == "extra-index-url" ? In::kExtra : In::kOther;
      if (in == In::kIndex) out.replaces_default();
    }
    if (in != In::kOther) addresses(value, line.number, out);
  }
}

void read_go_env(std::string_view text, Collected& out) {
  for (const Line& line : lines_of(text)) {
    if (is_comment(line.text)) continue;
    const auto [key, value] = setting(line.text, '=');
    if (key != "GOPROXY") continue;
    out.replaces_default();
    addresses(unquoted(value), line.number, out);
  }
}

}  // namespace cordon::policy::ecosystem
