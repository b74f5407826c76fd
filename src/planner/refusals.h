// What the planner refuses: one code for each kind of problem, with whose mistake it is and which layer it concerns.
//
// The table behind it is the whole list. Adding a code without a test fails: refusals_test.cc produces every one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "plan/refusal.h"

namespace cordon::planner {

enum class Code : std::uint8_t {
  // The host.
  kKernelTooOld,
  kMachineUnsupported,
  kFeatureMissing,
  kFilterNotBuilt,
  // The other engine.
  kEngineCannotHold,
  // Any path that the policy names.
  kPathCannotBeChecked,
  kPathLoops,
  kPathNotDirectory,
  kPathTooLong,
  kPathPlanted,
  kGrantInProc,
  kGrantManaged,
  // Grants.
  kWriteRoot,
  kWriteCoversHome,
  kWriteHomeContainer,
  kWriteOtherHome,
  kWriteCoversBase,
  kWriteNotFileOrDirectory,
  kWriteNotPermitted,
  kWriteReadOnlyMount,
  kGrantInsideDeny,
  kDenyTooBroad,
  kDenyMissingInWrite,
  // Other names of credentials.
  kCredentialAlias,
  kAliasesUnchecked,
  kAcceptAliasTooBroad,
  // Shields.
  kNoHome,
  kGrantInsideShield,
  kWriteInsideShield,
  kWriteInsideReadOnlyShield,
  kShieldRedirected,
  kShieldFolded,
  kShieldCannotBeHeld,
  kProgramInsideShield,
  // The program.
  kEntrypointMissing,
  kEntrypointNotFile,
  kEntrypointNotExecutable,
  kEntrypointUnknownFormat,
  kInterpreterNotFound,
  kInterpreterNotFile,
  kInterpreterNotExecutable,
  kInterpreterUnknownFormat,
  kShebangInterpreterMissing,
  kProgramForeign,
  kProgramOnNoexec,
  kProgramNeedsExec,
  kProgramInsideDeny,
  kLoaderMissing,
  // What a list under exec names.
  kExecNotFound,
  kExecNotProgram,
  kExecNotVisible,
  kExecWritable,
  kNestedNeedsUser,
  // Devices.
  kDeviceMissing,
  kDeviceKept,
  // The network.
  kNetworkRuleInvalid,
  // The ssh agent.
  kAgentMissing,
  kAgentForeign,
  // Limits.
  kLimitTooSmall,
  kLimitTooLarge,
  kLimitNotHeld,
  // The whole.
  kTooManySteps,
  kCount
};

struct CodeFacts {
  std::string_view name;  ///< stable, kebab-case
  plan::Blame blame = plan::Blame::kPolicy;
  plan::Layer layer = plan::Layer::kFilesystem;
};
CodeFacts code_facts(Code code);

/// An item with what the code says; `message` has its outside bytes quoted.
plan::RefusedItem refused(Code code, base::Span at, std::string message, std::string mend);

}  // namespace cordon::planner
