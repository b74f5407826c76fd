#include "report/explain.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/own_places.h"
#include "cli/state.h"
#include "cli/verdict.h"

namespace cordon::cli {
namespace {

base::Result<StoredRecord, Stop> record_of(const Invocation& invocation, const std::string& id) {
  plan::HostFacts facts;
  host::Session session(invocation.caller, {});
  if (auto answered = session.answer({}, facts); !answered)
    return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
  auto found = find_record(state_directory(invocation.caller, own_home(facts)), approval_caller(invocation), id);
  if (!found) return base::fail(stop(report::refused(found.error(), "record-unreadable", "")));
  if (*found) return std::move(**found);
  const bool none = id.empty();
  return base::fail(stop(report::refused_usage(
      "record-missing",
      none ? "no run of yours is recorded here"
           : fmt::format("no run, or more than one, has an ID like {}", base::shown(id)),
      none ? "run something first: cordon run MANIFEST" : "cordon explain, without an ID, is about the last run", {})));
}

}  // namespace

int explain(Context& context, const Arguments& arguments) {
  const bool json = arguments.has("--json");
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, json, why.refused, why.source, {});
  };
  const auto stored = record_of(context.invocation, arguments.operand());
  if (!stored) return stopped(stored.error());
  const auto recorded = report::read_record(stored->document);
  if (!recorded) {
    const base::Error error{
        .operation = "read", .subject = stored->id, .detail = "it is no record that this version reads"};
    return stopped(stop(report::refused(error, "record-unreadable", "")));
  }
  context.output.print(json ? stored->document : report::explanation(*recorded, context.invocation.out.style));
  return context.output.broken() ? kRefused : 0;
}

}  // namespace cordon::cli
