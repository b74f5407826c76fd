#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"

namespace cordon::policy::manifest {
namespace {

using Effect = Change::Effect;
using Counts = std::map<std::string, std::size_t>;

Counts counts(const std::vector<PathGrant>& grants) {
  Counts out;
  for (const PathGrant& grant : grants) ++out[grant.written];
  return out;
}
Counts counts(const std::vector<Text>& values) {
  Counts out;
  for (const Text& text : values) ++out[text.value];
  return out;
}
Counts counts(const std::vector<EnvGrant>& grants) {
  Counts out;
  for (const EnvGrant& grant : grants) ++out[grant.name];
  return out;
}

std::size_t count_of(const Counts& counts, const std::string& value) {
  const auto found = counts.find(value);
  return found == counts.end() ? 0 : found->second;
}

std::string words(const std::vector<Text>& values) {
  std::vector<std::string> shown;
  for (const Text& text : values) shown.push_back(base::shown(text.value));
  return shown.empty() ? "none" : base::join(shown, " ");
}

/// "example.com:443", "every host on port 443", "every host below example.com on every port".
std::string destination(const std::string& host, const std::string& port) {
  std::string_view name = host;
  if (name.starts_with("*.")) name.remove_prefix(1);
  const bool suffix = name.starts_with('.');
  const bool range = port.find('-') != std::string::npos;
  if (!suffix && host != "*" && port != "*" && !range)
    return (host.find(':') == std::string::npos ? base::shown(host) : "[" + base::shown(host) + "]") + ":" +
           base::shown(port);
  const std::string which = host == "*" ? "every host"
                            : suffix    ? "every host below " + base::shown(name.substr(1))
                                        : base::shown(host);
  return which + " on " + (port == "*" ? "every port" : (range ? "ports " : "port ") + base::shown(port));
}

int reach(ExecMode mode) {
  switch (mode) {
    case ExecMode::kNoneStrict:
      return 0;
    case ExecMode::kNone:
      return 1;
    case ExecMode::kList:
      return 2;
    case ExecMode::kAll:
      return 3;
  }
  return 3;
}

std::string limit_noun(const Member& row) {
  if (row.name == "cpu") return "CPU";
  if (row.name == "pids") return "process";
  if (row.name == "timeout") return "time";
  if (row.name == "tmp") return "/tmp size";
  return std::string(row.name);
}

std::uint64_t percent_in_hundredths(std::string_view text) {
  text = text.substr(0, text.find('%'));
  const std::size_t dot = text.find('.');
  std::string decimals(dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1));
  decimals.resize(2, '0');
  std::uint64_t amount = 0;
  for (const char c : std::string(text.substr(0, dot)) + decimals)
    if (c >= '0' && c <= '9') amount = amount * 10 + static_cast<std::uint64_t>(c - '0');
  return amount;
}

/// A number to compare two values of one limit by.
std::uint64_t amount_of(const Member& row, const std::string& text) {
  if (row.rule == Rule::kMemory) return parse_size(text).value_or(0);
  if (row.rule == Rule::kDuration) return parse_duration_ms(text).value_or(0);
  if (row.rule == Rule::kPercent) return percent_in_hundredths(text);
  return base::parse_decimal(text).value_or(0);
}

class Differ {
 public:
  Differ(const Policy& before, const Policy& after)
      : before_(before),
        after_(after),
        read_before_(counts(before.read)),
        read_after_(counts(after.read)),
        write_before_(counts(before.write)),
        write_after_(counts(after.write)) {}

  std::vector<Change> run() {
    for (const Key& key : keys())
      std::visit([&](auto target) { compare(key, before_.*target, after_.*target); }, key.target);
    return std::move(out_);
  }

 private:
  void add(Effect effect, std::string_view key, std::string sentence) {
    out_.push_back({effect, std::string(key), std::move(sentence)});
  }

  void compare(const Key& key, const PathGrant& before, const PathGrant& after) {
    if (before.written != after.written)
      add(Effect::kDiffers, key.name,
          "now runs " + base::shown(after.written) + " instead of " + base::shown(before.written));
  }

  void compare(const Key& key, const Text& before, const Text& after) {
    if (before.value == after.value) return;
    std::string sentence = "now runs under the interpreter " + base::shown(after.value);
    if (after.empty())
      sentence = "no longer runs under the interpreter " + base::shown(before.value) + ", but by itself";
    if (!after.empty() && !before.empty()) sentence += " instead of " + base::shown(before.value);
    add(Effect::kDiffers, key.name, std::move(sentence));
  }

  void compare(const Key& key, const std::vector<Text>& before, const std::vector<Text>& after) {
    if (key.order == Order::kFree) return compare_sets(key, counts(before), counts(after));
    if (std::ranges::equal(before, after, {}, &Text::value, &Text::value)) return;
    const std::string what = key.name == "args" ? "the arguments" : "the interpreter's options";
    add(Effect::kDiffers, key.name, what + " changed from " + words(before) + " to " + words(after));
  }

  void compare(const Key& key, const std::vector<PathGrant>& before, const std::vector<PathGrant>& after) {
    compare_sets(key, counts(before), counts(after));
  }

  void compare(const Key& key, const std::vector<EnvGrant>& before, const std::vector<EnvGrant>& after) {
    compare_sets(key, counts(before), counts(after));
  }

  void compare_sets(const Key& key, const Counts& before, const Counts& after) {
    for (const auto& [value, count] : after) {
      const std::size_t was = count_of(before, value);
      if (was == 0)
        added(key, value);
      else if (was != count)
        listed_otherwise(key, base::shown(value), was, count);
    }
    for (const auto& [value, count] : before)
      if (count_of(after, value) == 0) removed(key, value);
  }

  // The stamp keeps repetitions, so that a repetition gone is a change that has to be explained.
  void listed_otherwise(const Key& key, const std::string& value, std::size_t was, std::size_t is) {
    add(Effect::kDiffers, key.name,
        std::string(key.name) + " lists " + value + " " + std::to_string(is) + " times instead of " +
            std::to_string(was));
  }

  void added(const Key& key, const std::string& value) {
    if (key.name == "read" && write_before_.contains(value) && !write_after_.contains(value))
      return;  // said once, where the write grant goes
    std::string sentence = std::string(key.wording.added) + " " + base::shown(value);
    if (key.name == "write" && read_before_.contains(value)) sentence += ", which it could only read before";
    add(more(key), key.name, std::move(sentence));
  }

  void removed(const Key& key, const std::string& value) {
    if (key.name == "read" && write_after_.contains(value) && !write_before_.contains(value))
      return;  // a new write grant implies it: said there
    std::string sentence = std::string(key.wording.removed) + " " + base::shown(value);
    if (key.name == "write" && read_after_.contains(value)) sentence += ", but still reads it";
    add(less(key), key.name, std::move(sentence));
  }

  static Effect more(const Key& key) {
    if (key.wording.more_is == Wording::MoreIs::kNeither) return Effect::kDiffers;
    return key.wording.more_is == Wording::MoreIs::kWider ? Effect::kWidens : Effect::kNarrows;
  }
  static Effect less(const Key& key) {
    if (key.wording.more_is == Wording::MoreIs::kNeither) return Effect::kDiffers;
    return key.wording.more_is == Wording::MoreIs::kWider ? Effect::kNarrows : Effect::kWidens;
  }

  using Rules = std::map<std::pair<std::string, std::string>, std::multiset<std::string>>;  ///< to the reasons given
  static Rules by_destination(const std::vector<NetworkRule>& rules) {
    Rules out;
    for (const NetworkRule& rule : rules) out[{rule.host, rule.port}].insert(rule.reason);
    return out;
  }

  static std::string because(const std::multiset<std::string>& reasons) {
    std::string out;
    for (const std::string& reason : reasons)
      if (!reason.empty()) out += (out.empty() ? " (reason given: " : "; ") + base::quote(reason);
    return out.empty() ? out : out + ")";
  }

  void compare(const Key& key, const std::vector<NetworkRule>& before, const std::vector<NetworkRule>& after) {
    const Rules old_rules = by_destination(before);
    const Rules new_rules = by_destination(after);
    for (const auto& [rule, why] : new_rules) {
      const auto old_rule = old_rules.find(rule);
      const std::string where = destination(rule.first, rule.second);
      if (old_rule == old_rules.end())
        add(Effect::kWidens, key.name, std::string(key.wording.added) + " " + where + because(why));
      else if (old_rule->second.size() != why.size())
        listed_otherwise(key, where, old_rule->second.size(), why.size());
      else if (old_rule->second != why)
        add(Effect::kDiffers, key.name, "gives another reason for reaching " + where + because(why));
    }
    for (const auto& [rule, why] : old_rules)
      if (!new_rules.contains(rule))
        add(Effect::kNarrows, key.name, std::string(key.wording.removed) + " " + destination(rule.first, rule.second));
  }

  void compare(const Key& key, const Exec& before, const Exec& after) {
    if (before.mode != after.mode) {
      const auto named = [](const Exec& exec) {
        return exec.mode == ExecMode::kList ? std::string("a list") : std::string(exec_mode_name(exec.mode));
      };
      add(reach(after.mode) > reach(before.mode) ? Effect::kWidens : Effect::kNarrows, key.name,
          "exec changed from " + named(before) + " to " + named(after));
    }
    compare_sets(key, counts(before.programs), counts(after.programs));
  }

  void compare(const Key& key, const Limits& before, const Limits& after) {
    for (const Member& row : limits_members()) {
      const std::string was = limit_as_written(before, row);
      const std::string is = limit_as_written(after, row);
      if (was == is) continue;
      const std::string name = std::string(key.name) + "." + std::string(row.name);
      if (was.empty())
        add(Effect::kNarrows, name, "now has a " + limit_noun(row) + " limit of " + is);
      else if (is.empty())
        add(Effect::kWidens, name, "no longer has a " + limit_noun(row) + " limit (it was " + was + ")");
      else
        add(changed_by(amount_of(row, was), amount_of(row, is)), name,
            "the " + limit_noun(row) + " limit changed from " + was + " to " + is);
    }
  }

  static Effect changed_by(std::uint64_t was, std::uint64_t is) {
    if (is == was) return Effect::kDiffers;
    return is > was ? Effect::kWidens : Effect::kNarrows;
  }

  void compare(const Key&, const std::optional<Provenance>&, const std::optional<Provenance>&) {}

  const Policy& before_;
  const Policy& after_;
  Counts read_before_, read_after_, write_before_, write_after_;
  std::vector<Change> out_;
};

}  // namespace

std::vector<Change> changes(const Policy& before, const Policy& after) { return Differ(before, after).run(); }

std::vector<std::string> semantic_diff(const Policy& before, const Policy& after) {
  std::vector<std::string> out;
  for (Change& change : changes(before, after)) out.push_back(std::move(change.sentence));
  return out;
}

}  // namespace cordon::policy::manifest
