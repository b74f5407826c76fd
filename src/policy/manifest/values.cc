#include "policy/manifest/values.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/abs_path.h"
#include "base/check.h"
#include "base/text.h"
#include "policy/manifest/host_rule.h"

namespace cordon::policy::manifest {
namespace {

constexpr std::size_t kPathMax = 4095;  // PATH_MAX less the NUL
constexpr std::size_t kNameMax = 255;

Fault fault(std::string_view code, std::string_view value, std::string_view what, std::string hint = {}) {
  return {std::string(code), base::quote(value) + " " + std::string(what), std::move(hint), 0, 0};
}

std::string_view rune_description(char32_t rune) {
  if (rune == '\n') return "a line feed";
  if (rune == '\t') return "a tab";
  if (rune == 0) return "a NUL";
  if ((rune >= 0x202a && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069) || rune == 0x200e || rune == 0x200f ||
      rune == 0x061c)
    return "a character that reorders text";
  if (rune == 0x2028 || rune == 0x2029) return "a line separator";
  if (rune < 0xa0) return "a control character";
  return "an invisible character";
}

std::optional<Fault> check_runes(std::string_view value) {
  const auto at = base::find_unsafe_rune(value);
  if (!at) return std::nullopt;
  const base::Rune rune = base::decode_rune(value.substr(*at));
  const std::string_view bytes = value.substr(*at, rune.length);
  Fault wrong = fault("unsafe-character", value, "holds ");
  wrong.message += rune.valid ? rune_description(rune.value) : std::string_view("a malformed character");
  wrong.message += " (" + base::escape(bytes) + ")";
  wrong.hint = "what can hide or forge text on a screen is refused: remove it";
  wrong.offset = *at;
  wrong.length = rune.length;
  return wrong;
}

std::optional<Fault> check_path(std::string_view path) {
  if (path.empty())
    return Fault{"empty-value", "a path is empty", "write the path, or \"~\" in quotes for the home", 0, 0};
  if (auto wrong = check_runes(path)) return wrong;
  if (path.starts_with('~') && !below_home(path))
    return fault("other-home", path, "names a user's home by ~user",
                 "write ~/… for your own home, an absolute path for another's, or ./" + base::escape(path) +
                     " for a file of that name");
  if (path.size() > kPathMax)
    return Fault{"path-too-long", "a path of " + std::to_string(path.size()) + " bytes is longer than Linux allows",
                 "the limit is " + std::to_string(kPathMax) + " bytes", 0, 0};
  for (const std::string_view name : base::split(path, '/'))
    if (name.size() > kNameMax)
      return Fault{"path-too-long", "a path has a name of " + std::to_string(name.size()) + " bytes",
                   "the limit of one name is " + std::to_string(kNameMax) + " bytes", 0, 0};
  return std::nullopt;
}

bool is_root(std::string_view path) {
  const auto absolute = base::AbsPath::parse(path);
  return absolute && absolute->is_root();
}

/// `~`, `~/`, `~/.`, `~/x/..`, `~/..`, `~/../..`: the home, or what holds it.
bool is_home_or_above(std::string_view path) {
  const auto rest = below_home(path);
  if (!rest) return false;
  std::size_t names = 0;
  for (const std::string_view name : base::split(*rest, '/')) {
    if (name.empty() || name == ".") continue;
    if (name != "..") ++names;
    if (name == ".." && names > 0) --names;
  }
  // "~/../x" is a sibling, lexically; whether it is the home after all, resolve() sees.
  return names == 0;
}

std::optional<Fault> check_write_path(std::string_view path) {
  if (auto wrong = check_path(path)) return wrong;
  if (is_root(path))
    return fault("write-root", path, "would make the whole system writable", "name the directory to write");
  if (is_home_or_above(path))
    return fault("write-home", path, "would make a whole home writable: shell start-up files, keys and all",
                 "name a directory below it, such as ~/out");
  return std::nullopt;
}

std::optional<Fault> check_deny_path(std::string_view path) {
  if (auto wrong = check_path(path)) return wrong;
  if (is_root(path)) return fault("deny-root", path, "would hide everything", "what is not granted is hidden anyway");
  return std::nullopt;
}

std::optional<Fault> check_program(std::string_view program) {
  if (program.empty()) return Fault{"empty-value", "a program is empty", "write a path or the name of a program", 0, 0};
  if (program == "~" || program == "." || program == "..")
    return fault("not-a-program", program, "is a directory, not a program", "write a path or the name of a program");
  return check_path(program);
}

std::optional<Fault> check_env_name(std::string_view name) {
  const auto word = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (!name.empty() && std::ranges::all_of(name, word) && (name[0] < '0' || name[0] > '9')) return std::nullopt;
  if (const std::size_t equals = name.find('='); equals != std::string_view::npos)
    return Fault{"bad-env-name", base::quote(name.substr(0, equals)) + " is given a value here",
                 "a manifest lists names only: write " + base::escape(name.substr(0, equals)) +
                     " and hand the value in with --env",
                 0, 0};
  std::string hint = "letters, digits and underscores, not a digit first";
  if (name.starts_with('$')) hint = "write the name without the $";
  return fault("bad-env-name", name, "is not the name of an environment variable", std::move(hint));
}

std::optional<Fault> check_word(std::string_view value, std::span<const std::string_view> words) {
  if (std::ranges::find(words, value) != words.end()) return std::nullopt;
  std::string known;
  for (const std::string_view word : words) known += (known.empty() ? "" : ", ") + std::string(word);
  return fault("unknown-word", value, "is not known here", "known: " + known);
}

std::optional<Fault> check_device(std::string_view device) {
  if (auto wrong = check_path(device)) return wrong;
  const auto path = base::AbsPath::parse(device);
  if (path && path->str() == device && device.size() > 5 && device.starts_with("/dev/")) return std::nullopt;
  return fault("bad-device", device, "is not the plain path of a device", "write it as /dev/NAME");
}

std::optional<std::uint64_t> scaled(std::string_view digits, std::uint64_t unit) {
  const auto count = base::parse_decimal(digits);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!count || *count == 0 || *count > kMost / unit) return std::nullopt;
  return *count * unit;
}

/// Before the rule itself: what was meant, where that can be told.
std::string meant(const std::string& guess, std::string hint) {
  return guess.empty() ? hint : "did you mean " + guess + "? " + hint;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "512m", "2GiB", "2 GB": other tools' spellings.
std::string meant_size(std::string_view value) {
  std::string out(value);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::erase(out, ' ');
  for (const std::string_view ending : {"IB", "B"})
    if (out.ends_with(ending)) out.resize(out.size() - ending.size());
  return parse_size(out) ? out : std::string();
}

std::optional<Fault> check_size(std::string_view value) {
  if (parse_size(value)) return std::nullopt;
  const bool has_unit = !value.empty() && std::string_view("KMG").find(value.back()) != std::string_view::npos;
  const std::string_view digits = value.substr(0, value.size() - (has_unit ? 1 : 0));
  if (is_digits(digits) && digits.find_first_not_of('0') != std::string_view::npos && digits.front() != '0')
    return fault("bad-size", value, "is too large", "at most 8589934591G");
  return fault(
      "bad-size", value, "is not a size",
      meant(meant_size(value),
            "a size is a positive whole number of bytes, or of 1024-based units with K, M or G, such as 512M"));
}

/// Nothing where the share is 0 or beyond what can be said.
std::optional<std::uint64_t> hundredths_of(std::uint64_t whole, std::string_view decimals) {
  std::uint64_t hundredths = 0;
  for (std::size_t i = 0; i < 2; ++i)
    hundredths = hundredths * 10 + (i < decimals.size() ? static_cast<std::uint64_t>(decimals[i] - '0') : 0);
  constexpr std::uint64_t kMost = 2147483647;  // the range of the kernel interface behind it
  if (whole > kMost / 100 || whole * 100 + hundredths > kMost) return std::nullopt;
  const std::uint64_t all = whole * 100 + hundredths;
  return all == 0 ? std::nullopt : std::optional(all);
}

std::optional<Fault> check_percent(std::string_view value) {
  constexpr std::string_view kHint =
      "a share is a number and %, with at most two decimals: 50% is half of one CPU, 200% is two";
  const std::string guess = is_digits(value) && value.front() != '0' ? std::string(value) + "%" : std::string();
  const Fault wrong = fault("bad-percentage", value, "is not a share of CPU time", meant(guess, std::string(kHint)));
  if (!value.ends_with('%')) return wrong;
  const std::string_view number = value.substr(0, value.size() - 1);
  const std::size_t dot = number.find('.');
  const auto whole = base::parse_decimal(number.substr(0, dot));
  const std::string_view decimals = dot == std::string_view::npos ? "" : number.substr(dot + 1);
  const bool digits = decimals.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole || !digits || decimals.size() > 2 || (dot != std::string_view::npos && decimals.empty())) return wrong;
  if (!hundredths_of(*whole, decimals))
    return fault("bad-percentage", value, "is out of range", "more than 0% and at most 21474836.47%");
  return std::nullopt;
}

std::optional<Fault> check_count(std::string_view value) {
  if (scaled(value, 1)) return std::nullopt;
  return fault("bad-count", value, "is not a positive whole number", "write it in decimal, such as 128");
}

/// Milliseconds of a well-formed time, however long it is; the greatest number where there is none for it.
std::optional<std::uint64_t> duration_ms(std::string_view value) {
  if (value.empty()) return std::nullopt;
  constexpr std::array<std::uint64_t, 3> kUnits = {1000, 60'000, 3'600'000};
  const std::size_t unit = std::string_view("smh").find(value.back());
  const std::string_view digits = value.substr(0, value.size() - 1);
  const bool decimal = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (unit == std::string_view::npos || !decimal || digits.front() == '0') return std::nullopt;
  return scaled(digits, kUnits[unit]).value_or(std::numeric_limits<std::uint64_t>::max());
}

std::optional<Fault> check_duration(std::string_view value) {
  if (parse_duration_ms(value)) return std::nullopt;
  if (duration_ms(value)) return fault("bad-duration", value, "is too long", "at most 8760h, which is a year");
  const std::string guess = is_digits(value) && value.front() != '0' ? std::string(value) + "s" : std::string();
  return fault("bad-duration", value, "is not a time",
               meant(guess, "a time is a positive whole number with s, m or h, such as 90s, and at most 8760h"));
}

std::optional<Fault> check_agent(std::string_view value) {
  constexpr std::array<std::string_view, 1> kAgents = {"ssh"};
  return check_word(value, kAgents);
}

std::optional<Fault> check_allowance(std::string_view value) {
  constexpr std::array<std::string_view, 1> kAllowances = {"nested-sandbox"};
  return check_word(value, kAllowances);
}

struct RuleInfo {
  Rule rule;
  std::string_view name;
  std::string_view pattern;
  std::optional<Fault> (*check)(std::string_view);
};

#define CORDON_PATH_PATTERN "^(?!~[^/])[^\\u0000-\\u001f\\u007f-\\u009f]+$"
#define CORDON_TEXT_PATTERN "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
constexpr std::array kRules = {
    RuleInfo{Rule::kPath, "a path", CORDON_PATH_PATTERN, check_path},
    RuleInfo{Rule::kWritePath, "a path to write", CORDON_PATH_PATTERN, check_write_path},
    RuleInfo{Rule::kDenyPath, "a path to hide", CORDON_PATH_PATTERN, check_deny_path},
    RuleInfo{Rule::kProgram, "a program: a path, or a name to look up on PATH", CORDON_PATH_PATTERN, check_program},
    RuleInfo{Rule::kArgument, "an argument", CORDON_TEXT_PATTERN, check_runes},
    RuleInfo{Rule::kEnvName, "the name of an environment variable", "^[A-Za-z_][A-Za-z0-9_]*$", check_env_name},
    RuleInfo{Rule::kHost, "a host", "^[A-Za-z0-9.:*/-]+$", check_host},
    RuleInfo{Rule::kPort, "a port, a range of ports or *", "^([1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?|\\*)$",
             check_port_rule},
    RuleInfo{Rule::kPlainPort, "a port", "^[1-9][0-9]{0,4}$", check_plain_port},
    RuleInfo{Rule::kProse, "one line of text", CORDON_TEXT_PATTERN, check_runes},
    RuleInfo{Rule::kAgent, "an agent", "^ssh$", check_agent},
    RuleInfo{Rule::kAllowance, "an allowance", "^nested-sandbox$", check_allowance},
    RuleInfo{Rule::kDevice, "a device", "^/dev/[^\\u0000-\\u001f\\u007f-\\u009f]+$", check_device},
    RuleInfo{Rule::kMemory, "a size", "^[1-9][0-9]*[KMG]?$", check_size},
    RuleInfo{Rule::kPercent, "a share of CPU time", "^(0|[1-9][0-9]*)(\\.[0-9]{1,2})?%$", check_percent},
    RuleInfo{Rule::kCount, "a positive whole number", "^[1-9][0-9]*$", check_count},
    RuleInfo{Rule::kDuration, "a time", "^[1-9][0-9]*[smh]$", check_duration},
};
#undef CORDON_PATH_PATTERN
#undef CORDON_TEXT_PATTERN

consteval bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i)
    if (kRules[i].rule != static_cast<Rule>(i)) return false;
  return true;
}
static_assert(in_order(), "the table is indexed by Rule");

const RuleInfo& info(Rule rule) {
  const auto index = static_cast<std::size_t>(rule);
  CORDON_CHECK(index < kRules.size());
  return kRules[index];
}

}  // namespace

std::optional<Fault> check_value(Rule rule, std::string_view value) { return info(rule).check(value); }
std::string_view rule_name(Rule rule) { return info(rule).name; }
std::string_view rule_pattern(Rule rule) { return info(rule).pattern; }

std::optional<std::uint64_t> parse_size(std::string_view value) {
  if (value.empty()) return std::nullopt;
  const std::size_t power = std::string_view("KMG").find(value.back());
  if (power == std::string_view::npos) return scaled(value, 1);
  return scaled(value.substr(0, value.size() - 1), std::uint64_t{1024} << (10 * power));
}

std::optional<std::uint64_t> parse_share(std::string_view value) {
  if (check_percent(value)) return std::nullopt;
  const std::string_view number = value.substr(0, value.size() - 1);
  const std::size_t dot = number.find('.');
  const auto whole = base::parse_decimal(number.substr(0, dot));
  return whole ? hundredths_of(*whole, dot == std::string_view::npos ? "" : number.substr(dot + 1)) : std::nullopt;
}

std::optional<std::uint64_t> parse_duration_ms(std::string_view value) {
  // Far below what a count of nanoseconds holds, which is what becomes of it.
  constexpr std::uint64_t kMost = 8760ULL * 3'600'000;
  const auto duration = duration_ms(value);
  return duration && *duration <= kMost ? duration : std::nullopt;
}

std::optional<std::string_view> below_home(std::string_view path) {
  if (!path.starts_with('~') || (path.size() > 1 && path[1] != '/')) return std::nullopt;
  path.remove_prefix(1);
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

}  // namespace cordon::policy::manifest
