// Doctor: what this host can hold, layer by layer, with the cause and the exact mend for what it cannot.
//
// Made from probed facts (host::probe) alone. A layer is enforced when everything it rests on is there, degraded when
// only an improvement of it is missing, unavailable otherwise. The wording of a cause and of a mend comes from the
// probe that met it, because only that knows what the kernel said.
#pragma once

#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "plan/plan.h"
#include "report/layout.h"
#include "report/report.h"

namespace cordon::report {

/// The installed launcher, as cli/ found it. A run without one starts the copy that is inside cordon: that holds as
/// much, but AppArmor, which grants user namespaces by path, cannot know it.
struct LauncherState {
  bool found = false;
  bool same_build = false;
  bool usable = false;  ///< it is what a run starts; else the copy inside cordon is
  std::string path;
  std::string detail;  ///< why not
  friend bool operator==(const LauncherState&, const LauncherState&) = default;
};

struct MissingFeature {
  plan::Feature feature = plan::Feature::kUserNamespace;
  plan::FeatureFact fact;
  friend bool operator==(const MissingFeature&, const MissingFeature&) = default;
};

struct DoctorLine {
  LayerLine line;
  std::vector<MissingFeature> missing;
  std::string cause;  ///< of the layer as a whole, where no Feature stands for it
  friend bool operator==(const DoctorLine&, const DoctorLine&) = default;
};

/// One of the two that can hold a run (SPEC §11).
struct EngineLine {
  plan::Engine engine = plan::Engine::kNamespace;
  bool ready = false;
  std::string why;  ///< it is not
  friend bool operator==(const EngineLine&, const EngineLine&) = default;
};

struct Doctor {
  std::string kernel, machine;
  int landlock_abi = 0;
  std::vector<DoctorLine> layers;
  std::vector<EngineLine> engines;
  LauncherState launcher;
  bool ready = false;  ///< every core layer is enforced, by namespaces
  friend bool operator==(const Doctor&, const Doctor&) = default;
};

Doctor make_doctor(const plan::HostFacts& facts, const LauncherState& launcher);

/// The least that Landlock must know for an engine of its own (truncate of readable files, Linux 6.2).
inline constexpr int kLandlockEngineAbi = 3;

std::string text(const Doctor& doctor, const Style& style);

}  // namespace cordon::report
