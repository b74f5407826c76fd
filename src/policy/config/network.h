// The algebra of hosts: what allows and denies, in their order, make of the rules that stood before them. A host or
// "*.name" covers the name itself. A deny and an allow overlap in both directions: denying api.example.com takes
// "*.example.com" away whole, because no rule says "all but one". Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/config/merge.h"
#include "policy/policy.h"

namespace cordon::policy::config {

/// True where a rule for `rule_host` and a deny of `denied` name a host in common.
bool overlaps(std::string_view rule_host, std::string_view denied);

/// Adds the rule once; "*.name" and ".name" with the name itself.
void allow(std::vector<NetworkRule>& rules, std::string_view host, std::string_view port, const Origin& at);
void deny(std::vector<NetworkRule>& rules, std::string_view host);

/// A rule for every host that a deny took away.
struct Taken {
  Origin rule, by;
};
std::vector<Taken> apply_steps(std::span<const Step> steps, std::vector<NetworkRule>& rules);

}  // namespace cordon::policy::config
