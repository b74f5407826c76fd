// A tool's settings as its command may see them: where registries are, how it installs, and nothing that opens them.
//
// A positive list: a key that is not known stays away, and of a URL whoever it names goes. So a company's mirror works
// inside without a line of Cordon's own, and its token does not enter.
#pragma once

#include <string>
#include <string_view>

#include "policy/ecosystem/profile.h"

namespace cordon::cli {

/// "" where nothing of it may enter, and for formats that are not understood here.
std::string settings_without_credentials(policy::ecosystem::RegistryFormat format, std::string_view text);

}  // namespace cordon::cli
