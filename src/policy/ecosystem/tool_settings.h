// A tool's settings as its command may see them: where registries are, how it installs, and nothing that opens them.
//
// A positive list: a key that is not known stays away, and of a URL whoever it names goes. So a company's mirror works
// inside without a line of Cordon's own, and its token does not enter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/ecosystem/profile.h"

namespace cordon::policy::ecosystem {

/// "" where nothing of it may enter.
std::string settings_without_credentials(RegistryFormat format, std::string_view text);

/// Each "user:secret@" of a URL gone. Nothing where there may be one that cannot be told ("${TOKEN}", a query).
std::optional<std::string> without_users(std::string_view value);

/// Maven's: mirrors, repositories of profiles, and how Maven behaves; no server, proxy or property. "" for nothing.
std::string maven_settings(std::string_view text);

}  // namespace cordon::policy::ecosystem
