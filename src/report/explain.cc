#include "report/explain.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/plan_names.h"
#include "report/refused.h"

namespace cordon::report {
namespace {

using Json = nlohmann::json;

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::uint64_t number_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

bool flag_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

template <class Take>
void each(const Json& object, const char* key, Take take) {
  const Json* list = member(object, key);
  if (list == nullptr || !list->is_array()) return;
  for (const Json& one : *list) take(one);
}

/// The enumerator of that name; nothing where there is none.
template <class E, class Name>
std::optional<E> named(std::string_view name, std::uint8_t count, Name name_of) {
  for (std::uint8_t i = 0; i < count; ++i) {
    if (name_of(static_cast<E>(i)) == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

plan::Layer layer_at(const Json& object) {
  constexpr auto kCount = static_cast<std::uint8_t>(plan::Layer::kPrivileges) + 1;
  return named<plan::Layer>(text_at(object, "layer"), kCount, plan::layer_name).value_or(plan::Layer::kFilesystem);
}

base::Span place_at(const Json& object) {
  base::Span out{.file = text_at(object, "file")};
  out.line = static_cast<decltype(out.line)>(number_at(object, "line"));
  out.column = static_cast<decltype(out.column)>(number_at(object, "column"));
  return out;
}

plan::Destination destination_of(const Json& one) {
  constexpr auto kCount = static_cast<std::uint8_t>(plan::Reach::kOverBound) + 1;
  plan::Destination out;
  out.reach = named<plan::Reach>(text_at(one, "fate"), kCount, plan::reach_name).value_or(plan::Reach::kMalformed);
  out.way = text_at(one, "via") == "dns"     ? plan::Way::kDns
            : text_at(one, "via") == "proxy" ? plan::Way::kProxy
                                             : plan::Way::kDirect;
  out.host = text_at(one, "host");
  out.port = static_cast<std::uint16_t>(number_at(one, "port"));
  out.count = number_at(one, "count");
  out.why = text_at(one, "why");
  out.address = text_at(one, "address");
  out.block = text_at(one, "block");
  out.can_be_opened = flag_at(one, "can_be_opened");
  return out;
}

void take_layers(const Json& posture, Report& report) {
  each(posture, "layers", [&](const Json& one) {
    const std::string state = text_at(one, "state");
    if (state != plan::layer_state_name(plan::LayerState::kDegraded) &&
        state != plan::layer_state_name(plan::LayerState::kUnavailable))
      return;
    report.degradations.push_back(
        {.layer = layer_at(one), .what = state + ": " + text_at(one, "detail"), .mend = text_at(one, "mend")});
  });
}

void take_programs(const Json& record, plan::Observations& observed) {
  const std::string watching = text_at(record, "watching");
  if (watching == "paths") observed.watching = plan::Watching::kPaths;
  if (watching == "programs") observed.watching = plan::Watching::kPrograms;
  const Json* programs = member(record, "exec_record");
  if (observed.watching == plan::Watching::kNothing || programs == nullptr) return;
  observed.complete = flag_at(*programs, "complete");
  each(*programs, "runs", [&](const Json& one) {
    observed.programs.push_back({.path = text_at(one, "exe"), .argv = {}, .count = number_at(one, "count")});
  });
  each(*programs, "lost", [&](const Json& one) {
    observed.losses.push_back({.why = text_at(one, "why"), .count = number_at(one, "count")});
    observed.lost += observed.losses.back().count;
  });
}

void take_limits(const Json& limits, Report& report) {
  plan::step::Cgroup asked;
  plan::LimitsUse use;
  if (const Json* memory = member(limits, "memory")) {
    asked.memory_bytes = number_at(*memory, "limit_bytes");
    use.memory_peak = number_at(*memory, "peak_bytes");
    use.memory_kills = number_at(*memory, "killed");
  }
  if (const Json* cpu = member(limits, "cpu")) {
    asked.cpu_hundredths = number_at(*cpu, "limit_hundredths");
    use.cpu_usec = number_at(*cpu, "used_usec");
    use.cpu_periods = number_at(*cpu, "periods");
    use.cpu_throttled = number_at(*cpu, "throttled");
  }
  if (const Json* pids = member(limits, "pids")) {
    asked.pids = number_at(*pids, "limit");
    use.pids_refused = number_at(*pids, "refused");
  }
  report.limits = asked;
  report.limits_use = use;
}

void take_agent(const Json& record, Report& report) {
  plan::AgentUse use{.step = {},
                     .keys = {},
                     .listed = number_at(record, "listed"),
                     .declined = number_at(record, "declined"),
                     .refused = number_at(record, "refused"),
                     .no_room = number_at(record, "no_room"),
                     .lost = text_at(record, "lost")};
  each(record, "signed", [&](const Json& one) {
    use.keys.push_back(
        {.key = text_at(one, "key"), .comment = text_at(one, "comment"), .count = number_at(one, "count")});
  });
  report.agent = std::move(use);
}

void take_run(const Json& record, Report& report) {
  report.exit_code = static_cast<int>(number_at(record, "exit_code"));
  report.signal = static_cast<int>(number_at(record, "signal"));
  report.executed = flag_at(record, "executed");
  report.wall_ms = number_at(record, "wall_ms");
  each(record, "denied", [&](const Json& one) {
    report.denials.push_back({.act = text_at(one, "act"),
                              .subject = text_at(one, "subject"),
                              .count = number_at(one, "count"),
                              .grant = text_at(one, "grant"),
                              .why = text_at(one, "why")});
  });
  report.denials_total = number_at(record, "denied_total");
  take_programs(record, report.observed);
  each(record, "egress", [&](const Json& one) { report.destinations.push_back(destination_of(one)); });
  each(record, "inbound", [&](const Json& one) {
    report.inbound.push_back({.port = static_cast<std::uint16_t>(number_at(one, "port")),
                              .count = number_at(one, "count"),
                              .refused = number_at(one, "refused"),
                              .no_room = number_at(one, "no_room"),
                              .bytes_out = number_at(one, "bytes_out"),
                              .bytes_in = number_at(one, "bytes_in")});
  });
  if (const Json* agent = member(record, "agent")) take_agent(*agent, report);
  each(record, "lapses", [&](const Json& one) {
    report.lapses.push_back(
        {.layer = layer_at(one), .what = text_at(one, "what"), .mend = text_at(one, "mend"), .step = {}, .target = {}});
  });
  each(record, "missing_read_grants", [&](const Json& one) {
    if (one.is_string()) report.missing_read_grants.push_back(one.get<std::string>());
  });
  each(record, "notes",
       [&](const Json& one) { report.notes.push_back({text_at(one, "code"), text_at(one, "text"), place_at(one)}); });
  each(record, "changed_auto_exec", [&](const Json& one) {
    if (one.is_string()) report.left.changed.push_back({.path = one.get<std::string>()});
  });
  if (const Json* posture = member(record, "report")) take_layers(*posture, report);
  if (const Json* limits = member(record, "limits")) take_limits(*limits, report);
}

std::string ending_words(const Report& report) {
  if (!report.executed) return "the target was not started";
  const std::string after = fmt::format(" after {}", duration(report.wall_ms));
  switch (report.ending) {
    case Ending::kTimeLimit:
      return "the time limit was reached" + after;
    case Ending::kMemoryLimit:
      return fmt::format("the memory limit of {} was reached, and the kernel ended the run{} (limits.memory)",
                         size_text(report.limits ? report.limits->memory_bytes : 0), after);
    case Ending::kOnRequest:
      return "ended on request" + after;
    case Ending::kLapsed:
      return "a promise lapsed, and the run was ended" + after;
    case Ending::kSignalled:
      return fmt::format("the target was ended by {}{}", signal_name(report.signal), after);
    case Ending::kExited:
    case Ending::kNotExecuted:
    case Ending::kNotSetUp:
      break;
  }
  return fmt::format("the target ended with code {}{}", report.exit_code, after);
}

/// What no record can know, said once and only where somebody may look for it.
constexpr std::string_view kNotKnown =
    "which files the target asked for and did not get is not recorded: a path that no line grants is not there for it, "
    "and what is granted to read cannot be written; cordon run --explain watches for them";

}  // namespace

std::optional<Recorded> read_record(std::string_view document) {
  const Json record = Json::parse(document, nullptr, false);
  if (!record.is_object() || number_at(record, "schema_version") != kSchemaVersion) return std::nullopt;
  Recorded out;
  out.run = {text_at(record, "id"), text_at(record, "started_at"), text_at(record, "manifest"),
             text_at(record, "fingerprint")};
  if (out.run.id.empty() || member(record, "exit_code") == nullptr) return std::nullopt;
  each(record, "items", [&](const Json& one) {
    out.items.push_back({.code = text_at(one, "code"),
                         .blame = plan::Blame::kPolicy,
                         .layer = {},
                         .message = text_at(one, "message"),
                         .mend = text_at(one, "mend"),
                         .at = place_at(one),
                         .is_grant = false,
                         .feature = {}});
  });
  constexpr auto kEndings = static_cast<std::uint8_t>(Ending::kNotSetUp) + 1;
  const auto ending = named<Ending>(text_at(record, "reason_code"), kEndings, ending_code);
  if (out.items.empty() && !ending) return std::nullopt;
  out.report.ending = ending.value_or(Ending::kNotSetUp);
  if (out.items.empty()) take_run(record, out.report);
  return out;
}

std::string explanation(const Recorded& recorded, const Style& style) {
  std::vector<std::vector<std::string>> head = {{"run", base::shown(recorded.run.id)},
                                                {"manifest", base::shown(recorded.run.manifest)},
                                                {"started", base::shown(recorded.run.started_at)}};
  if (!recorded.items.empty()) {
    head.push_back({"ended", "it was refused; nothing was run"});
    Refused refused;
    refused.items = recorded.items;
    return table(head, style) + text(refused, {}, {}, style);
  }
  head.push_back({"ended", ending_words(recorded.report)});
  std::string out = table(head, style);
  const std::string words = everything(recorded.report, style);
  out += words.empty() ? "nothing that is recorded was denied\n" : words;
  const bool failed = recorded.report.ending != Ending::kExited || recorded.report.exit_code != 0;
  const bool known = recorded.report.observed.watching == plan::Watching::kPaths;
  if (failed && !known)
    out += laid_out({.prefix = {}, .label = "not known:", .prose = std::string(kNotKnown), .hang = 2}, style);
  return out;
}

}  // namespace cordon::report
