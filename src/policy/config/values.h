// What one value of a configuration may be: a path, a host, a variable. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/manifest/values.h"

namespace cordon::policy::config {

/// Absolute, relative, or below ~, $HOME or $PWD; without "..".
std::optional<manifest::Fault> check_path(std::string_view path);

enum class Port : unsigned char { kMay, kNever };

/// A host name, or "*.name" for it and all below it, as it goes over the wire; with ":PORT" where it may have one.
base::Result<std::string, manifest::Fault> host_of(std::string_view text, Port port);

std::optional<manifest::Fault> check_variable(std::string_view name, std::string_view value);

/// A variable that the sandbox sets itself; no file and no flag gives it another value.
bool is_set_by_sandbox(std::string_view name);

}  // namespace cordon::policy::config
