#include "policy/config/network.h"

#include <algorithm>

namespace cordon::policy::config {
namespace {

/// Of a rule for every host: which switch made it, by its port.
constexpr std::string_view kEvery = "*", kHttps = "443", kAnyPort = "*";

/// Without the mark of what lies below it.
std::string_view root_of(std::string_view host) {
  if (host.starts_with("*.")) return host.substr(2);
  if (host.starts_with('.')) return host.substr(1);
  return host;
}

bool is_below(std::string_view name, std::string_view root) {
  return name == root || (name.ends_with(root) && name.substr(0, name.size() - root.size()).ends_with('.'));
}

void add(std::vector<NetworkRule>& rules, std::string_view host, std::string_view port, const Origin& at) {
  const auto same = [&](const NetworkRule& other) { return other.host == host && other.port == port; };
  if (std::ranges::none_of(rules, same))
    rules.push_back({.host = std::string(host), .port = std::string(port), .reason = {}, .at = at});
}

void remove_every(std::vector<NetworkRule>& rules, std::string_view port) {
  std::erase_if(rules, [&](const NetworkRule& rule) { return rule.host == kEvery && rule.port == port; });
}

}  // namespace

bool overlaps(std::string_view rule_host, std::string_view denied) {
  if (rule_host == kEvery || denied == kEvery) return true;
  const std::string_view one = root_of(rule_host), other = root_of(denied);
  if (one == other) return true;
  const bool wide = one.size() != rule_host.size(), deny_wide = other.size() != denied.size();
  return (wide && is_below(other, one)) || (deny_wide && is_below(one, other));
}

void allow(std::vector<NetworkRule>& rules, std::string_view host, std::string_view port, const Origin& at) {
  add(rules, host, port, at);
  if (const std::string_view root = root_of(host); root.size() != host.size()) add(rules, root, port, at);
}

void deny(std::vector<NetworkRule>& rules, std::string_view host) {
  std::erase_if(rules, [&](const NetworkRule& rule) { return overlaps(rule.host, host); });
}

std::vector<Taken> apply_steps(std::span<const Step> steps, std::vector<NetworkRule>& rules) {
  std::vector<Taken> taken;
  for (const Step& step : steps) {
    switch (step.what) {
      case Step::What::kAllow:
        allow(rules, step.host, step.port, step.at);
        break;
      case Step::What::kDeny:
        for (const NetworkRule& rule : rules)
          if (rule.host == kEvery) taken.push_back({rule.at, step.at});
        deny(rules, step.host);
        break;
      case Step::What::kAnyHttps:
        add(rules, kEvery, kHttps, step.at);
        break;
      case Step::What::kNamedOnly:
        remove_every(rules, kHttps);
        break;
      case Step::What::kAnything:
        add(rules, kEvery, kAnyPort, step.at);
        break;
      case Step::What::kNotAnything:
        remove_every(rules, kAnyPort);
        break;
    }
  }
  return taken;
}

}  // namespace cordon::policy::config
