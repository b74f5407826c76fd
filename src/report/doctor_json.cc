// The engines of a host, for programs.
#include <nlohmann/json.hpp>

#include "plan/not_held.h"
#include "report/doctor.h"
#include "report/json.h"

namespace cordon::report {

using Json = nlohmann::ordered_json;

namespace {

Json engine_json(const EngineLine& one) {
  Json out = {{"engine", plan::engine_name(one.engine)}, {"ready", one.ready}};
  if (!one.ready) out["why"] = one.why;
  return out;
}

Json not_held_json(const plan::NotHeld& one) {
  return {{"code", one.code},
          {"layer", plan::layer_name(one.layer)},
          {"when", one.missing == plan::Missing::kAlways      ? "always"
                   : one.missing == plan::Missing::kSometimes ? "sometimes"
                                                              : "refused"},
          {"what", one.what}};
}

}  // namespace

Json engines_json(const Doctor& doctor) {
  Json out;
  out["engines"] = Json::array();
  for (const EngineLine& one : doctor.engines) out["engines"].push_back(engine_json(one));
  out["landlock_engine_does_not_hold"] = Json::array();
  for (const plan::NotHeld& one : plan::not_held()) out["landlock_engine_does_not_hold"].push_back(not_held_json(one));
  return out;
}

}  // namespace cordon::report
