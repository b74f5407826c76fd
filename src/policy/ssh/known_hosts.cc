#include "policy/ssh/known_hosts.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/network/matcher.h"

namespace cordon::policy::ssh {
namespace {

using network::Host;
using network::HostKind;
using network::Rule;

constexpr std::size_t kLongestKey = 16'384;
constexpr std::size_t kSha1Bytes = 20;

struct Line {
  std::string_view marker, names, type, key;
};

bool all_of(std::string_view text, bool (*fits)(char)) { return !text.empty() && std::ranges::all_of(text, fits); }
bool is_word(char c) { return c > 0x20 && c < 0x7f; }
bool is_base64(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/' || c == '=';
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return out;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<Line> read_line(std::string_view text) {
  auto words = words_of(text);
  if (words.empty() || words.front().starts_with('#')) return std::nullopt;
  Line out;
  if (words.front().starts_with('@')) {
    out.marker = words.front();
    if (out.marker != "@revoked" && out.marker != "@cert-authority") return std::nullopt;
    words.erase(words.begin());
  }
  if (words.size() < 3) return std::nullopt;
  out.names = words[0];
  out.type = words[1];
  out.key = words[2];
  const bool fits = all_of(out.names, is_word) && all_of(out.type, is_word) && all_of(out.key, is_base64);
  return fits && out.key.size() <= kLongestKey ? std::optional(out) : std::nullopt;
}

/// "a.example", or "[a.example]:2222".
std::string spelled(const std::string& host, std::uint16_t port) {
  return port == kPort ? host : "[" + host + "]:" + std::to_string(port);
}

/// What ssh would look for under rules that are about one host.
std::vector<std::string> exact_names(std::span<const Rule> rules) {
  std::vector<std::string> out;
  for (const Rule& rule : rules) {
    if (rule.host.kind != HostKind::kName && rule.host.kind != HostKind::kAddress) continue;
    const std::string host = to_string(rule.host);
    if (rule.ports.contains(kPort)) out.push_back(host);
    if (rule.ports.first == rule.ports.last && rule.ports.first != kPort)
      out.push_back(spelled(host, rule.ports.first));
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// '*' is any bytes, '?' is one.
bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// As ssh reads it: a pattern with '!' that matches takes the whole line away.
bool is_about(const std::vector<std::string>& patterns, std::string_view name) {
  bool found = false;
  for (const std::string_view pattern : patterns) {
    if (pattern.starts_with('!') && matches_pattern(name, pattern.substr(1))) return false;
    found = found || (!pattern.starts_with('!') && matches_pattern(name, pattern));
  }
  return found;
}

struct Named {
  Host host;
  std::uint16_t port = kPort;
};

std::optional<Named> read_name(std::string_view text) {
  Named out;
  if (text.starts_with('[')) {
    const std::size_t close = text.find("]:");
    const auto port = close == std::string_view::npos ? std::nullopt : base::parse_decimal(text.substr(close + 2));
    if (!port || *port == 0 || *port > 65535) return std::nullopt;
    out.port = static_cast<std::uint16_t>(*port);
    text = text.substr(1, close - 1);
  }
  if (const auto address = network::parse_address(text)) {
    out.host = *address;
  } else if (auto name = network::HostName::parse(text)) {
    out.host = std::move(*name);
  } else {
    return std::nullopt;
  }
  return out;
}

bool covered(std::span<const Rule> rules, const Named& named) {
  return std::ranges::any_of(
      rules, [&](const Rule& rule) { return rule.ports.contains(named.port) && matches(rule.host, named.host); });
}

std::optional<std::string> decoded(std::string_view text) {
  std::array<unsigned char, 64> bytes{};
  if (text.empty() || text.size() % 4 != 0 || text.size() > 64 || !all_of(text, is_base64)) return std::nullopt;
  const int length =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const auto padding = static_cast<int>(text.size() - text.find_last_not_of('=') - 1);
  if (length < padding) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length - padding));
}

std::string hmac_sha1(const std::string& salt, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  HMAC(EVP_sha1(), salt.data(), static_cast<int>(salt.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), out.data(), &length);
  return {reinterpret_cast<const char*>(out.data()), length};
}

class Selection {
 public:
  explicit Selection(std::span<const Rule> rules) : rules_(rules), exact_(exact_names(rules)) {}

  /// Of the names of a line those that the rules are about, in ssh's spelling.
  std::vector<std::string> of(std::string_view names) {
    if (names.starts_with("|1|")) return hashed(names);
    std::vector<std::string> patterns;
    for (const std::string_view one : base::split(names, ',')) patterns.push_back(network::lower_case(one));
    std::vector<std::string> out;
    std::ranges::copy_if(exact_, std::back_inserter(out),
                         [&](const std::string& name) { return is_about(patterns, name); });
    for (const std::string& pattern : patterns) {
      const auto named = read_name(pattern);
      if (named && covered(rules_, *named) && is_about(patterns, pattern)) out.push_back(pattern);
    }
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
  }

 private:
  /// "|1|salt|hash": of one name.
  std::vector<std::string> hashed(std::string_view names) {
    const auto parts = base::split(names, '|');
    const auto salt = parts.size() == 4 ? decoded(parts[2]) : std::nullopt;
    const auto hash = parts.size() == 4 ? decoded(parts[3]) : std::nullopt;
    if (!salt || !hash || hash->size() != kSha1Bytes) return {};
    for (const std::string& name : exact_) {
      if (++computed_ > kMostHashed) return {};
      if (hmac_sha1(*salt, name) == *hash) return {name};
    }
    return {};
  }

  std::span<const Rule> rules_;
  std::vector<std::string> exact_;
  std::size_t computed_ = 0;
};

}  // namespace

std::vector<std::string> known_hosts(std::string_view text, std::span<const Rule> rules) {
  std::vector<std::string> out;
  Selection selection(rules);
  for (const std::string_view each : base::split(text, '\n')) {
    const auto line = read_line(each);
    const auto names = line ? selection.of(line->names) : std::vector<std::string>();
    if (names.empty()) continue;
    std::string written(line->marker);
    if (!written.empty()) written += ' ';
    out.push_back(written + base::join(names, ",") + ' ' + std::string(line->type) + ' ' + std::string(line->key));
  }
  return out;
}

}  // namespace cordon::policy::ssh
