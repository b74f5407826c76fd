// Registries: the hosts that a user's own tool configuration names (SPEC §9.2). Bytes in, hosts out.
//
// Pure parsers of just the lines that say where a registry is; a file that cannot be read so gives nothing and a note,
// never a wider host. What stands beside (tokens, user names, passwords in a URL) never enters the result: a host and a
// port is all that there is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

struct RegistryHost {
  std::string host;  ///< as policy/network spells it
  std::uint16_t port = 443;
  base::Span at;  ///< in the file; `at.file` is the variable's name for a variable
  friend bool operator==(const RegistryHost&, const RegistryHost&) = default;
};

enum class Default : std::uint8_t { kStays, kReplaced };

struct RegistryHosts {
  std::vector<RegistryHost> hosts;      ///< each once
  Default tools_own = Default::kStays;  ///< kReplaced: the tool's default registry is not asked any more
  base::Diagnostics notes;              ///< what could not be understood; without the values
  friend bool operator==(const RegistryHosts&, const RegistryHosts&) = default;
};

inline constexpr std::size_t kLargestConfiguration = std::size_t{256} << 10;

RegistryHosts read_registries(RegistryFormat format, std::string_view text, std::string_view file);

/// The value of a variable such as PIP_INDEX_URL or GOPROXY: URLs separated by blanks, ',' or '|'.
RegistryHosts registries_of_variable(std::string_view variable, std::string_view value);

}  // namespace cordon::policy::ecosystem
