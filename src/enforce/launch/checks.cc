#include <array>

#include "base/check.h"
#include "enforce/launch/start.h"

namespace cordon::enforce::launch {
namespace {

struct Meaning {
  std::string_view name;
  plan::Layer layer;
};

/// In the order of Check.
constexpr std::array<Meaning, static_cast<std::size_t>(Check::kCount)> kMeanings = {{
    {"none", plan::Layer::kPrivileges},
    {"root-read-only", plan::Layer::kFilesystem},
    {"host-root-gone", plan::Layer::kFilesystem},
    {"mount-flags", plan::Layer::kFilesystem},
    {"masked", plan::Layer::kFilesystem},
    {"proc-hardened", plan::Layer::kFilesystem},
    {"pid-namespace", plan::Layer::kProcesses},
    {"net-namespace", plan::Layer::kNetwork},
    {"init-protected", plan::Layer::kProcesses},
    {"signals-scoped", plan::Layer::kProcesses},
    {"no-capabilities", plan::Layer::kPrivileges},
    {"no-new-privileges", plan::Layer::kPrivileges},
    {"mount-refused", plan::Layer::kPrivileges},
    {"descriptors-closed", plan::Layer::kPrivileges},
    {"landlock", plan::Layer::kLandlock},
    {"system-calls-filtered", plan::Layer::kSystemCalls},
    {"exec-closed", plan::Layer::kExec},
    {"network-closed", plan::Layer::kNetwork},
    {"exec-listed", plan::Layer::kExec},
}};

const Meaning& meaning_of(Check check) {
  CORDON_CHECK(check < Check::kCount);
  return kMeanings[static_cast<std::size_t>(check)];
}

}  // namespace

std::string_view check_name(Check check) { return meaning_of(check).name; }
plan::Layer check_layer(Check check) { return meaning_of(check).layer; }

}  // namespace cordon::enforce::launch
