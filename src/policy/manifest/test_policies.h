// test_policies: policies made from a seed, for the property tests of this room. Not part of the product.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace cordon::policy::manifest::testing {

/// Makes policies that parse() could have made: every value keeps its rule. Small alphabets, so that near misses
/// (the same words under another key, one entry more, one byte moved) are common.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  Policy policy() {
    Policy out;
    out.entrypoint.written = pick(kPaths);
    if (chance()) out.interpreter.value = pick(kPrograms);
    if (!out.interpreter.empty()) texts(out.interpreter_args, kArguments);
    texts(out.args, kArguments);
    for (std::size_t i = size(); i > 0; --i) out.env.push_back({pick(kNames), {}, {}});
    paths(out.read);
    paths(out.write);
    for (std::size_t i = size(); i > 0; --i)
      out.network.push_back({pick(kHosts), pick(kPorts), rarely() ? pick(kArguments) : "", {}});
    exec(out);
    limits(out);
    if (rarely()) paths(out.deny);
    if (rarely()) paths(out.wx);
    if (rarely()) paths(out.pin);
    if (rarely()) texts(out.publish, kPlainPorts);
    if (rarely()) texts(out.host_services, kPlainPorts);
    if (rarely()) texts(out.devices, kDevices);
    if (rarely()) out.agent.push_back({"ssh", {}});
    if (rarely()) out.allow.push_back({"nested-sandbox", {}});
    return out;
  }

  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  bool chance() { return below(2) == 0; }
  bool rarely() { return below(6) == 0; }

  template <std::size_t N>
  std::string pick(const std::array<std::string_view, N>& words) {
    return std::string(words[below(N)]);
  }

  static constexpr std::array<std::string_view, 8> kPaths = {"./a", "a",     "/a/b",       "/a",
                                                             "~/a", "./a b", "./\xc3\xa9", "\"./a\\"};
  static constexpr std::array<std::string_view, 4> kPrograms = {"python3", "sh", "/a/b", "./a"};
  static constexpr std::array<std::string_view, 8> kArguments = {"",     "a",          "./a",   "~",
                                                                 "null", "- a: b # c", "'\"\\", "1.0"};
  static constexpr std::array<std::string_view, 4> kNames = {"A", "B", "AB", "_"};
  static constexpr std::array<std::string_view, 5> kHosts = {"a.com", ".a.com", "*", "192.0.2.1", "2001:db8::/32"};
  static constexpr std::array<std::string_view, 4> kPorts = {"443", "80", "80-443", "*"};
  static constexpr std::array<std::string_view, 3> kPlainPorts = {"443", "80", "8080"};
  static constexpr std::array<std::string_view, 2> kDevices = {"/dev/kvm", "/dev/a"};

 private:
  std::size_t size() { return below(3); }

  void paths(std::vector<PathGrant>& out) {
    for (std::size_t i = size(); i > 0; --i) out.push_back({pick(kPaths), {}, {}});
  }

  template <std::size_t N>
  void texts(std::vector<Text>& out, const std::array<std::string_view, N>& words) {
    for (std::size_t i = size(); i > 0; --i) out.push_back({pick(words), {}});
  }

  void exec(Policy& out) {
    constexpr std::array kModes = {ExecMode::kNone, ExecMode::kNone, ExecMode::kNoneStrict, ExecMode::kAll,
                                   ExecMode::kList};
    out.exec.mode = kModes[below(kModes.size())];
    if (out.exec.mode != ExecMode::kList) return;
    for (std::size_t i = size() + 1; i > 0; --i) out.exec.programs.push_back({pick(kPrograms), {}, {}});
  }

  void limits(Policy& out) {
    if (rarely()) {
      out.limits.memory = "1M";
      out.limits.memory_bytes = 1 << 20;
    }
    if (rarely()) {
      out.limits.cpu = "50.5%";
      out.limits.cpu_hundredths = 5'050;
    }
    if (rarely()) out.limits.pids = 1 + static_cast<std::int64_t>(below(3));
    if (rarely()) {
      out.limits.timeout = "1m";
      out.limits.timeout_ms = 60'000;
    }
    if (rarely()) {
      out.limits.tmp = "1M";
      out.limits.tmp_bytes = 1 << 20;
    }
  }

  std::mt19937 random_;
};

}  // namespace cordon::policy::manifest::testing
