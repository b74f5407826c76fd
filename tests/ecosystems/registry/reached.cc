#include "ecosystems/registry/reached.h"

#include <netdb.h>

#include <array>
#include <cstdlib>
#include <set>

#include "support/command.h"

namespace cordon::test {
namespace {

bool left_out = false;

Finished npm(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "npm");
  arguments.insert(arguments.begin(), "/usr/bin/env");
  Command command(std::move(arguments));
  for (const char* name : {"HOME", "NODE_EXTRA_CA_CERTS", "npm_config_registry"})
    if (const char* value = std::getenv(name)) command.env(name, value);
  return command.run();
}

std::string host_of(const std::string& url) {
  const std::string rest = url.substr(url.find("://") + 3);
  const std::string place = rest.substr(0, rest.find('/'));
  const std::string host = place.substr(place.find('@') == std::string::npos ? 0 : place.find('@') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

bool registry_is_reached() {
  return npm({"view", "semver", "version", "--fetch-retries", "0", "--prefer-online"}).code == 0;
}

void leave_out_registry() { left_out = true; }

std::vector<Identity> registry_identities() { return left_out ? std::vector<Identity>() : identities(); }

const std::string& registry() {
  static const std::string url = [] {
    const std::string said = npm({"config", "get", "registry"}).out;
    return said.substr(0, said.find('\n'));
  }();
  return url;
}

const std::vector<std::string>& registry_flags() {
  static const std::vector<std::string> flags = [] {
    std::set<std::string> blocks;
    addrinfo* all = nullptr;
    if (::getaddrinfo(host_of(registry()).c_str(), nullptr, nullptr, &all) == 0) {
      for (const addrinfo* one = all; one != nullptr; one = one->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
          blocks.insert(std::string(text.data()) + (one->ai_family == AF_INET6 ? "/128" : "/32"));
      }
      ::freeaddrinfo(all);
    }
    std::vector<std::string> out;
    for (const std::string& block : blocks) out.insert(out.end(), {"--allow-address", block});
    return out;
  }();
  return flags;
}

}  // namespace cordon::test
