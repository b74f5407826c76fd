// Programs: where the broker, the resolver and the relay to the ssh agent come from. Installed ones beside the
// installed launcher are taken where they are root's or the caller's own and writable by nobody else; else the copies
// that are linked in are, from sealed memfds. Which build an installed broker or relay is, it says itself, before
// anybody is served.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::outlet {

inline constexpr const char* kBroker = "cordon-broker";
inline constexpr const char* kResolver = "cordon-resolve";
inline constexpr const char* kAgent = "cordon-agent";

/// Invalid where there is none that may be run.
base::Fd installed_program(const std::string& directory, const char* name);
base::Result<base::Fd> embedded_program(const char* name);

/// Read-only for good, for us as well.
base::Result<base::Fd> sealed_memory(const char* name, std::span<const std::byte> bytes, unsigned kind);

}  // namespace cordon::enforce::outlet
