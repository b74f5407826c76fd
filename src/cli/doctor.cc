#include "report/doctor.h"

#include "cli/commands.h"
#include "cli/launcher.h"
#include "cli/verdict.h"
#include "report/json.h"

namespace cordon::cli {

int doctor(Context& context, const Arguments& arguments) {
  const Invocation& invocation = context.invocation;
  const bool json = arguments.has("--json");
  auto host = open_host(invocation);
  if (!host) return refuse(context, arguments.command, json, host.error().refused, {}, {});
  // Everything is tried anew, whatever the cache says: doctor is asked when something is believed to have changed.
  host->session.probe(host::all_features(), host->facts);
  plan::Questions limits;
  limits.limits = true;
  if (auto answered = host->session.answer(limits, host->facts); !answered)
    return refuse(context, arguments.command, json, report::refused(answered.error(), "host-unanswered", ""), {}, {});
  const report::Doctor found = report::make_doctor(host->facts, launcher_state());
  context.output.print(json ? report::doctor_document(found) : report::text(found, invocation.out.style));
  if (context.output.broken()) return kRefused;
  return found.ready ? 0 : kNotReady;
}

}  // namespace cordon::cli
