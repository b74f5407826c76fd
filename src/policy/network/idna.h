// A host as a person types it, in the form that goes over the wire: Unicode by UTS-46 (libidn2, non-transitional),
// lower case, one trailing dot left out, an IPv6 address without its brackets.
//
// For command lines and configuration, before rule.h's parser, which still decides: what comes out here is checked
// there like any other text. Manifests say exactly what is meant and do not pass here. The broker never does: no
// libidn2 and no Unicode near hostile bytes.
#pragma once

#include <string>
#include <string_view>

#include "policy/network/rule.h"

namespace cordon::policy::network {

Parsed<std::string> wire_spelling(std::string_view text);

}  // namespace cordon::policy::network
