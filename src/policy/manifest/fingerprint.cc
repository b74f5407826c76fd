#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/manifest/digest.h"
#include "policy/manifest/keys.h"
#include "policy/manifest/manifest.h"

namespace cordon::policy::manifest {
namespace {

// The first line of the versioned encoding. The older one always begins with "entrypoint", so neither can be read as
// the other; a change of the encoding is a change of this line.
constexpr std::string_view kDomain = "cordon manifest permissions, encoding 2\n";

std::vector<std::string_view> texts(const std::vector<PathGrant>& grants) {
  std::vector<std::string_view> out;
  for (const PathGrant& grant : grants) out.push_back(grant.written);
  return out;
}

std::vector<std::string_view> texts(const std::vector<Text>& values) {
  std::vector<std::string_view> out;
  for (const Text& value : values) out.push_back(value.value);
  return out;
}

std::vector<std::string_view> texts(const std::vector<EnvGrant>& grants) {
  std::vector<std::string_view> out;
  for (const EnvGrant& grant : grants) out.push_back(grant.name);
  return out;
}

std::vector<std::string_view> sorted(std::vector<std::string_view> values) {
  std::ranges::sort(values);
  return values;
}

using RuleFields = std::tuple<std::string_view, std::string_view, std::string_view>;

std::vector<RuleFields> sorted_rules(const Policy& policy) {
  std::vector<RuleFields> out;
  for (const NetworkRule& rule : policy.network) out.emplace_back(rule.host, rule.port, rule.reason);
  std::ranges::sort(out);
  return out;
}

// ---- the older system's encoding: lines of NUL-separated fields -----------------------------------------------------

class Lines {
 public:
  void line(std::initializer_list<std::string_view> fields) {
    std::string_view separator;
    for (const std::string_view field : fields) {
      // A value that holds a separator could pass for two; it cannot come from a manifest, where both are refused.
      clean_ = clean_ && field.find_first_of(std::string_view("\0\n", 2)) == std::string_view::npos;
      (out_ += separator) += field;
      separator = std::string_view("\0", 1);
    }
    out_ += '\n';
  }
  void lines(std::string_view name, const std::vector<std::string_view>& values) {
    for (const std::string_view value : values) line({name, value});
  }
  [[nodiscard]] bool clean() const { return clean_; }
  [[nodiscard]] const std::string& bytes() const { return out_; }

 private:
  std::string out_;
  bool clean_ = true;
};

Lines reference_encoding(const Policy& policy) {
  Lines out;
  out.line({"entrypoint", policy.entrypoint.written});
  out.line({"interpreter", policy.interpreter.value});
  out.lines("interpreter_arg", texts(policy.interpreter_args));
  out.lines("arg", texts(policy.args));
  out.lines("env", sorted(texts(policy.env)));
  out.lines("read", sorted(texts(policy.read)));
  out.lines("write", sorted(texts(policy.write)));
  for (const auto& [host, port, reason] : sorted_rules(policy)) out.line({"net", host, port});
  out.line({"exec", exec_mode_name(policy.exec.mode)});
  out.line({"limits", policy.limits.memory, policy.limits.cpu, std::to_string(policy.limits.pids.value_or(0))});
  return out;
}

// ---- what is given --------------------------------------------------------------------------------------------------

bool given(const PathGrant& grant) { return !grant.written.empty(); }
bool given(const Text& text) { return !text.value.empty(); }
template <class T>
bool given(const std::vector<T>& values) {
  return !values.empty();
}
bool given(const Exec&) { return true; }
bool given(const std::optional<Provenance>&) { return false; }
bool given(const Limits& limits) {
  return std::ranges::any_of(limits_members(),
                             [&](const Member& row) { return !limit_as_written(limits, row).empty(); });
}

// ---- our own encoding: every key of the table, every field with its length ------------------------------------------

class Fields {
 public:
  void count(std::size_t number) {
    for (int shift = 0; shift < 64; shift += 8) out_ += static_cast<char>((std::uint64_t{number} >> shift) & 0xff);
  }
  void field(std::string_view value) {
    count(value.size());
    out_ += value;
  }
  void list(const std::vector<std::string_view>& values) {
    count(values.size());
    for (const std::string_view value : values) field(value);
  }
  std::string& bytes() { return out_; }

 private:
  std::string out_;
};

class Encoder {
 public:
  Encoder(const Policy& policy, std::span<const PinnedContent> pinned) : policy_(policy), pinned_(pinned) {}

  std::string encode() {
    out_.bytes() = kDomain;
    for (const Key& key : keys()) {
      // What is not given is not encoded, so that a key of a later release leaves the stamps of this one valid.
      if (!std::visit([&](auto target) { return given(policy_.*target); }, key.target)) continue;
      out_.field(key.name);
      std::visit([&](auto target) { value(policy_.*target, key); }, key.target);
    }
    return std::move(out_.bytes());
  }

 private:
  void value(const PathGrant& grant, const Key&) { out_.field(grant.written); }
  void value(const Text& text, const Key&) { out_.field(text.value); }
  void value(const std::vector<PathGrant>& grants, const Key& key) {
    if (&grants == &policy_.pin) return pins();
    out_.list(ordered(texts(grants), key));
  }
  void value(const std::vector<Text>& values, const Key& key) { out_.list(ordered(texts(values), key)); }
  void value(const std::vector<EnvGrant>& grants, const Key& key) { out_.list(ordered(texts(grants), key)); }
  void value(const std::vector<NetworkRule>&, const Key&) {
    const auto rules = sorted_rules(policy_);
    out_.count(rules.size());
    for (const auto& [host, port, reason] : rules) {
      out_.field(host);
      out_.field(port);
      out_.field(reason);
    }
  }
  void value(const Exec& exec, const Key& key) {
    out_.field(exec_mode_name(exec.mode));
    out_.list(ordered(texts(exec.programs), key));
  }
  void value(const Limits& limits, const Key&) {
    std::vector<std::pair<std::string_view, std::string>> set;
    for (const Member& member : limits_members())
      if (std::string value = limit_as_written(limits, member); !value.empty())
        set.emplace_back(member.name, std::move(value));
    out_.count(set.size());
    for (const auto& [name, value] : set) {
      out_.field(name);
      out_.field(value);
    }
  }
  void value(const std::optional<Provenance>&, const Key&) {}  // never given: outside the fingerprint

  // Each pin with what the file held. Absent and empty differ from every digest, so a stamp over an unreadable file is
  // a stamp over nothing else.
  void pins() {
    const auto names = sorted(texts(policy_.pin));
    out_.count(names.size());
    for (const std::string_view name : names) {
      const auto content = std::ranges::find(pinned_, name, &PinnedContent::written);
      out_.field(name);
      out_.field(content == pinned_.end() ? std::string_view() : content->sha256);
    }
  }

  static std::vector<std::string_view> ordered(std::vector<std::string_view> values, const Key& key) {
    return key.order == Order::kFree ? sorted(std::move(values)) : values;
  }

  const Policy& policy_;
  std::span<const PinnedContent> pinned_;
  Fields out_;
};

}  // namespace

bool uses_new_keys(const Policy& policy) {
  if (policy.exec.mode == ExecMode::kList || !policy.exec.programs.empty()) return true;
  for (const Key& key : keys())
    if (key.since == Since::kCordon && std::visit([&](auto target) { return given(policy.*target); }, key.target))
      return true;
  for (const Member& member : limits_members())
    if (member.since == Since::kCordon && !limit_as_written(policy.limits, member).empty()) return true;
  return std::ranges::any_of(policy.network, [](const NetworkRule& rule) { return !rule.reason.empty(); });
}

std::string fingerprint(const Policy& policy, std::span<const PinnedContent> pinned) {
  if (!uses_new_keys(policy)) {
    const Lines lines = reference_encoding(policy);
    if (lines.clean()) return sha256_hex(lines.bytes());
  }
  return sha256_hex(Encoder(policy, pinned).encode());
}

StampState stamp_state(const Policy& policy, std::string_view fingerprint) {
  if (!policy.provenance || policy.provenance->approves.empty()) return StampState::kUnapproved;
  return policy.provenance->approves == fingerprint && !fingerprint.empty() ? StampState::kCurrent : StampState::kStale;
}

std::string_view stamp_state_name(StampState state) {
  switch (state) {
    case StampState::kUnapproved:
      return "unapproved";
    case StampState::kCurrent:
      return "current";
    case StampState::kStale:
      return "stale";
  }
  return "unapproved";
}

}  // namespace cordon::policy::manifest
