// What `cordon run` says before it runs anything.
#pragma once

#include <optional>
#include <string>

#include "cli/parse.h"
#include "enforce/hold/overlay_marks.h"
#include "host/host.h"
#include "plan/plan.h"
#include "plan/refusal.h"
#include "report/refused.h"

namespace cordon::cli {

report::Refused flag_mistake(const Arguments& arguments, std::string code, std::string message, std::string mend);

/// A bare word that is no file but a program: the other door, without its dashes.
void mend_a_command(const host::Caller& caller, const std::string& word, report::Refused& refused);

/// --run-id names the group or the scope that limits are held in, and nothing else.
std::optional<report::Refused> run_id_without_limits(const Arguments& arguments, const plan::Plan& plan);

/// As a shell says of a file that is no program: 126.
bool is_not_executable(const plan::Refusal& refusal);

void say_mark(const enforce::hold::PlantedMark& mark, plan::RefusedItem& item);

}  // namespace cordon::cli
