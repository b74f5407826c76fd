#include "planner/environment.h"

#include <map>

#include "planner/network.h"

namespace cordon::planner {

Environment environment_of(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::map<std::string, std::string> values = {{"HOME", "/tmp"}, {"PATH", "/usr/bin:/bin"}};
  Environment out;
  for (const policy::EnvGrant& grant : policy.env) {
    const auto found = facts.environment.find(grant.name);
    if (grant.supplied) {
      values[grant.name] = *grant.supplied;
    } else if (found != facts.environment.end()) {
      values[grant.name] = found->second;
    } else {
      out.unset.push_back(&grant);
    }
  }
  if (policy.posture.proxy_env && has_way_out(policy)) {
    for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}) values[name] = proxy_address();
    for (const char* name : {"NO_PROXY", "no_proxy"}) values[name] = "localhost,127.0.0.1,::1";
  }
  out.home = values["HOME"];
  for (const auto& [name, value] : values) out.entries.push_back(name + "=" + value);
  return out;
}

}  // namespace cordon::planner
