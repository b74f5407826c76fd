// What a run asked of the ssh agent, in words and for machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/outcome.h"

namespace cordon::report {

/// One for each key: "the ssh agent signed 2 times with SHA256:… (comment)".
std::vector<std::string> signature_sentences(const plan::AgentUse& use);

/// What else explains a run: signatures that were not given, connections beyond a bound. With `everything` also what
/// happens in any run: lists, and requests that are not passed on, which every ssh makes.
std::vector<std::string> agent_sentences(const plan::AgentUse& use, bool everything);

/// {"signed":[{"key":…,"comment":…,"count":…}],"listed":…,"declined":…,"refused":…,"no_room":…,"lost":…}
nlohmann::ordered_json agent_json(const plan::AgentUse& use);

}  // namespace cordon::report
