// yaml_text: a value of ours as YAML that every YAML parser reads as the same text, plain where that is certain.
#pragma once

#include <string>
#include <string_view>

namespace cordon::policy::manifest {

/// Plain where no version of YAML could take it for anything but this text, in block and flow context alike; else in
/// double quotes, unsafe runes escaped. A malformed byte becomes U+FFFD: no parsed manifest holds one.
std::string yaml_scalar(std::string_view text);

/// Always in double quotes: for what another parser might take for a number or a date (stamps, times, ports).
std::string yaml_quoted(std::string_view text);

}  // namespace cordon::policy::manifest
