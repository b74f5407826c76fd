// Places: one place of a profile on this machine. Private to this room; effective.cc puts them together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/ecosystem/effective.h"

namespace cordon::policy::ecosystem {

struct Located {
  base::AbsPath path;
  std::string variable;  ///< that moved it; "" for the usual place
  std::string value;     ///< of the variable
};

/// Where the place is; nothing where only an unset variable would name it.
std::optional<Located> locate(const Place& place, const Surroundings& surroundings);

/// The usual place, whatever variables say.
std::optional<base::AbsPath> usual(const Place& place, const Surroundings& surroundings);

enum class Use : std::uint8_t {
  kSeen,      ///< toolchains, configuration
  kOwn,       ///< a cache of Cordon's own, mounted there
  kPromoted,  ///< a cache of the host's, new entries go back to it
};

/// Why a variable may not move a place there; "" where it may.
std::string why_not(const base::AbsPath& path, Use use, const Surroundings& surroundings);

/// The variables that move what lies in a standard directory: XDG_CACHE_HOME and its kind.
std::string_view standard_variable(std::string_view path);
Names standard_variables();

}  // namespace cordon::policy::ecosystem
