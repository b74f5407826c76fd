// Flags and bit sets of a plan in words, for both of its views.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace cordon::report {

std::vector<std::string_view> namespace_names(std::uint64_t clone_flags);  ///< "user", "mount", "net", …
std::vector<std::string_view> landlock_rights(std::uint64_t access);       ///< "execute", "write-file", …
std::vector<std::string_view> landlock_scopes(std::uint64_t scoped);
std::vector<std::string_view> mount_flags(const plan::MountAttributes& attributes);  ///< "read-only" or "writable", …
std::vector<std::string_view> filter_flags(std::uint32_t flags);
std::string resource_name(std::uint32_t resource);  ///< "core"
std::string size_text(std::uint64_t bytes);         ///< "16 MiB"
std::string share_text(std::uint64_t hundredths);   ///< "150%", "0.5%": of a percent of one CPU
/// The names of "NAME=VALUE" entries: values are secrets.
std::vector<std::string> environment_names(const std::vector<std::string>& entries);
std::string joined(const std::vector<std::string_view>& words, std::string_view separator);

}  // namespace cordon::report
