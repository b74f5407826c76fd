// Registries: the hosts that a user's own tool configuration names (SPEC §9.2). Bytes in, hosts out.
//
// Pure parsers of just the lines that say where a registry is. A line that is not understood gives nothing and a note,
// never a wider host; a file beyond its bound gives nothing at all. What stands beside (tokens, user names, passwords
// in an address) enters neither the result nor a note: a host and a port is all that there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

struct RegistryHost {
  std::string host;  ///< a name or an address, as policy/network spells it
  std::uint16_t port = 443;
  base::Span at;  ///< the first place that names it; of a variable `at.file` is its name
  friend bool operator==(const RegistryHost&, const RegistryHost&) = default;
};

/// Whether the tool's own registry is still used beside these.
enum class Default : std::uint8_t { kStays, kReplaced };

/// Whether an address held a user name, a password or a query: such a variable must not pass as it is.
enum class Secrets : std::uint8_t { kNone, kSome };

struct RegistryHosts {
  std::vector<RegistryHost> hosts;  ///< each once, in the order of the text
  Default tools_own = Default::kStays;
  Secrets secrets = Secrets::kNone;
  base::Diagnostics notes;
  friend bool operator==(const RegistryHosts&, const RegistryHosts&) = default;
};

inline constexpr std::size_t kLargestConfiguration = std::size_t{256} << 10U;
inline constexpr std::size_t kMostRegistries = 64;

/// `file` names the text in spans.
RegistryHosts read_registries(RegistryFormat format, std::string_view text, std::string_view file);

/// The value of a variable such as PIP_INDEX_URL or GOPROXY: addresses separated by blanks, ',' or '|'.
RegistryHosts registries_of_variable(std::string_view variable, std::string_view value);

}  // namespace cordon::policy::ecosystem
