#include "report/json.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "report/agent_use.h"
#include "report/plan_names.h"

namespace cordon::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}
std::string line(const Json& value) { return dumped(value, -1); }
void put_text(Json& object, const char* key, std::string_view value) {
  if (!value.empty()) object[key] = std::string(value);
}

void put_place(Json& object, const base::Span& at) {
  put_text(object, "file", at.file);
  if (at.line == 0) return;
  object["line"] = at.line;
  object["column"] = at.column;
}

Json layer_json(const LayerLine& line) {
  Json out;
  out["layer"] = plan::layer_name(line.layer);
  out["tier"] = line.tier == plan::Tier::kCore ? "core" : "hardening";
  out["state"] = plan::layer_state_name(line.state);
  if (line.verified) out["verified"] = true;
  put_text(out, "detail", line.detail);
  put_text(out, "mend", line.mend);
  return out;
}

Json layers_json(const std::vector<LayerLine>& layers) {
  Json out = Json::array();
  for (const LayerLine& line : layers) out.push_back(layer_json(line));
  return out;
}

Json posture_json(const std::vector<LayerLine>& layers) {
  Json out;
  out["layers"] = layers_json(layers);
  out["fully_enforced"] = fully_enforced(layers);
  return out;
}

Json item_json(const plan::RefusedItem& item) {
  Json out;
  out["code"] = item.code;
  out["blame"] = blame_code(item.blame);
  if (item.layer) out["layer"] = plan::layer_name(*item.layer);
  if (item.feature) out["feature"] = plan::feature_name(*item.feature);
  out["message"] = item.message;
  put_text(out, "mend", item.mend);
  put_place(out, item.at);
  return out;
}

Json items_json(const std::vector<plan::RefusedItem>& items) {
  Json out = Json::array();
  for (const plan::RefusedItem& item : items) out.push_back(item_json(item));
  return out;
}

Json note_json(const plan::Note& note) {
  Json out;
  out["code"] = note.code;
  out["text"] = note.text;
  put_place(out, note.at);
  return out;
}

template <class List, class Make>
void put_list(Json& object, const char* key, const List& list, Make make) {
  if (list.empty()) return;
  Json out = Json::array();
  for (const auto& entry : list) out.push_back(make(entry));
  object[key] = std::move(out);
}

Json denial_json(const Denial& denial) {
  Json out;
  out["act"] = denial.act;
  out["subject"] = denial.subject;
  out["count"] = denial.count;
  out["grant"] = denial.grant;
  put_text(out, "why", denial.why);
  return out;
}

Json lapse_json(const plan::Lapse& lapse) {
  Json out;
  out["layer"] = plan::layer_name(lapse.layer);
  out["what"] = lapse.what;
  put_text(out, "mend", lapse.mend);
  put_text(out, "target", lapse.target);
  return out;
}

Json verification_json(const plan::Verification& check) {
  Json out;
  out["check"] = check.check;
  out["layer"] = plan::layer_name(check.layer);
  out["held"] = check.held;
  if (!check.held) out["code"] = base::errno_name(check.code);
  return out;
}

std::string shortfall(const Report& report) {
  std::string out;
  for (const plan::Lapse& lapse : report.lapses)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", plan::layer_name(lapse.layer), lapse.what);
  return out;
}

Json alias_json(const plan::Alias& alias) {
  Json out;
  out["path"] = alias.path;
  out["credential"] = alias.credential;
  return out;
}

void put_left_behind(Json& out, const plan::LeftBehind& left) {
  const auto as_is = [](const std::string& path) { return Json(path); };
  put_list(out, "changed_auto_exec", left.changed, [](const plan::AutoExecChange& one) { return Json(one.path); });
  put_list(out, "redirected_hooks", left.redirected_hooks, as_is);
  put_list(out, "unresolved_hooks", left.unresolved_hooks, as_is);
  put_list(out, "made_repositories", left.repositories, as_is);
  if (left.partial) out["auto_exec_partial"] = true;
}

Json destination_json(const plan::Destination& one) {
  constexpr std::array<const char*, 3> kWays = {"direct", "proxy", "dns"};
  Json out;
  out["host"] = one.host;
  out["port"] = one.port;
  out["fate"] = plan::reach_name(one.reach);
  out["via"] = kWays[static_cast<std::size_t>(one.way)];
  out["count"] = one.count;
  if (one.bytes_out + one.bytes_in > 0) {
    out["bytes_out"] = one.bytes_out;
    out["bytes_in"] = one.bytes_in;
  }
  put_text(out, "why", one.why);
  put_text(out, "address", one.address);
  put_text(out, "block", one.block);
  if (one.can_be_opened) out["can_be_opened"] = true;
  return out;
}

Json inbound_json(const plan::Inbound& one) {
  Json out = {{"port", one.port}, {"count", one.count}};
  if (one.refused > 0) out["refused"] = one.refused;
  if (one.no_room > 0) out["no_room"] = one.no_room;
  out["bytes_out"] = one.bytes_out;
  out["bytes_in"] = one.bytes_in;
  return out;
}

/// The fields that there always were, each host and port once, and all that is known beside them.
void put_egress(Json& out, const std::vector<plan::Destination>& all) {
  std::uint64_t connections = 0;
  std::map<std::string, std::set<std::pair<std::string, std::uint16_t>>> lists;
  for (const plan::Destination& one : all) {
    const bool admitted = one.reach == plan::Reach::kAdmitted || one.reach == plan::Reach::kGateAdmitted;
    if (admitted) connections += one.count;
    if (one.reach == plan::Reach::kGateAdmitted) lists["gate_admitted"].emplace(one.host, one.port);
    if (one.reach == plan::Reach::kGuardBlocked) lists["guard_blocked"].emplace(one.host, one.port);
    if (one.reach == plan::Reach::kDenied) lists["egress_denied"].emplace(one.host, one.port);
    if (one.reach == plan::Reach::kGateDenied) lists["gate_denied"].emplace(one.host, one.port);
    if (is_untunneled(one)) lists["untunneled"].emplace(one.host, one.port);
  }
  out["egress_connections"] = connections;
  for (const auto& [key, hosts] : lists) {
    Json list = Json::array();
    for (const auto& [host, port] : hosts) list.push_back({{"host", host}, {"port", port}});
    out[key] = std::move(list);
  }
  put_list(out, "egress", all, destination_json);
}

Json execution_json(const plan::ExecutedProgram& one) {
  Json out;
  out["exe"] = one.path;
  out["argv"] = one.argv;
  if (one.argv_cut) out["argv_truncated"] = true;
  out["count"] = one.count;
  if (!one.loaded.empty()) out["loaded"] = one.loaded;
  return out;
}

Json loss_json(const plan::Loss& loss) {
  Json out;
  out["why"] = loss.why;
  out["count"] = loss.count;
  return out;
}

const char* watching_name(plan::Watching watching) { return watching == plan::Watching::kPaths ? "paths" : "programs"; }

/// Every program that was started, where that was asked for.
void put_exec_record(Json& out, const plan::Observations& observed) {
  if (observed.watching == plan::Watching::kNothing) return;
  out["watching"] = watching_name(observed.watching);
  Json record;
  record["watched"] = true;
  record["complete"] = observed.complete;
  put_list(record, "runs", observed.programs, execution_json);
  put_list(record, "lost", observed.losses, loss_json);
  out["exec_record"] = std::move(record);
}

/// Each limit with what the kernel counted at it; `reached` names those that it acted on.
void put_limits(Json& out, const Report& report) {
  if (!report.limits || !report.limits_use) return;
  const plan::step::Cgroup& limits = *report.limits;
  const plan::LimitsUse& use = *report.limits_use;
  Json all;
  all["way"] = plan::way_name(limits.way);
  Json reached = Json::array();
  if (limits.memory_bytes != 0) {
    all["memory"] = {
        {"limit_bytes", limits.memory_bytes}, {"peak_bytes", use.memory_peak}, {"killed", use.memory_kills}};
    if (use.memory_kills != 0) reached.push_back("memory");
  }
  if (limits.cpu_hundredths != 0) {
    all["cpu"] = {{"limit", share_text(limits.cpu_hundredths)},
                  {"limit_hundredths", limits.cpu_hundredths},
                  {"used_usec", use.cpu_usec},
                  {"periods", use.cpu_periods},
                  {"throttled", use.cpu_throttled}};
    if (use.cpu_throttled != 0) reached.push_back("cpu");
  }
  if (limits.pids != 0) {
    all["pids"] = {{"limit", limits.pids}, {"refused", use.pids_refused}};
    if (use.pids_refused != 0) reached.push_back("pids");
  }
  all["reached"] = std::move(reached);
  out["limits"] = std::move(all);
}

Json degradation_json(const plan::Degradation& one) {
  Json out = {{"layer", plan::layer_name(one.layer)}, {"state", plan::layer_state_name(one.state)}, {"what", one.what}};
  if (!one.code.empty()) out["code"] = one.code;
  if (!one.mend.empty()) out["mend"] = one.mend;
  return out;
}

/// What a verdict, a report file and a record say alike.
void put_run(Json& out, const Report& report) {
  out["exit_code"] = report.exit_code;
  out["reason_code"] = ending_code(report.ending);
  out["executed"] = report.executed;
  if (report.signal != 0) {
    out["signal"] = report.signal;
    out["signal_name"] = signal_name(report.signal);
  }
  out["engine"] = plan::engine_name(report.engine);
  put_list(out, "not_held", report.degradations, degradation_json);
  put_limits(out, report);
  put_egress(out, report.destinations);
  put_list(out, "inbound", report.inbound, inbound_json);
  if (report.agent) out["agent"] = agent_json(*report.agent);
  out["report"] = posture_json(report.layers);
  put_text(out, "posture_shortfall", shortfall(report));
  put_list(out, "lapses", report.lapses, lapse_json);
  put_list(out, "denied", report.denials, denial_json);
  if (report.denials_total > 0) out["denied_total"] = report.denials_total;
  put_exec_record(out, report.observed);
  put_list(out, "missing_read_grants", report.missing_read_grants, [](const std::string& path) { return Json(path); });
  put_left_behind(out, report.left);
  put_list(out, "accepted_aliases", report.accepted_aliases, alias_json);
  put_list(out, "verified", report.verifications, verification_json);
  std::vector<plan::Note> notes = report.notes;
  notes.insert(notes.end(), report.told.begin(), report.told.end());
  put_list(out, "notes", notes, note_json);
  out["wall_ms"] = report.wall_ms;
}

void put_refused(Json& out, const Refused& refused) {
  out["exit_code"] = refused.exit_code;
  out["reason_code"] = reason_code(refused);
  out["reason"] = reason(refused);
  out["items"] = items_json(refused.items);
  out["report"] = posture_json(refused.layers);
}

Json event(const char* name) {
  Json out;
  out["event"] = name;
  return out;
}

Json versioned() {
  Json out;
  out["schema_version"] = kSchemaVersion;
  return out;
}

Json versioned_event(const char* name) {
  Json out = event(name);
  out["schema_version"] = kSchemaVersion;
  return out;
}

void put_record_head(Json& out, const RunRecord& run) {
  out["id"] = run.id;
  out["started_at"] = run.started_at;
  out["manifest"] = run.manifest;
  put_text(out, "fingerprint", run.fingerprint);
}

Json feature_json(const MissingFeature& missing) {
  Json out;
  out["feature"] = plan::feature_name(missing.feature);
  put_text(out, "operation", missing.fact.operation);
  if (missing.fact.code != 0) out["code"] = base::errno_name(missing.fact.code);
  put_text(out, "cause", missing.fact.cause);
  put_text(out, "mend", missing.fact.mend);
  return out;
}

Json launcher_json(const LauncherState& launcher) {
  Json out;
  out["found"] = launcher.found;
  out["same_build"] = launcher.same_build;
  out["usable"] = launcher.usable;
  put_text(out, "path", launcher.path);
  put_text(out, "detail", launcher.detail);
  return out;
}

std::string words(const plan::RefusedItem& item) { return item.message; }

void put_grants(Json& out, const ManifestView& view) {
  Json refused = Json::array(), missing = Json::array();
  for (const char* key : {"read", "write"}) {
    Json resolved = Json::array();
    for (const GrantView& grant : view.grants) {
      if (grant.key != key) continue;
      Json one;
      one["path"] = grant.written;
      put_text(one, "on_host", grant.on_host);
      resolved.push_back(std::move(one));
    }
    if (!resolved.empty()) out[fmt::format("resolved_{}", key)] = std::move(resolved);
  }
  for (const GrantView& grant : view.grants) {
    for (const plan::RefusedItem& item : grant.refused) refused.push_back(words(item));
    if (grant.missing && grant.key == "read") missing.push_back(grant.written);
  }
  if (!refused.empty()) out["refused_grants"] = std::move(refused);
  if (!missing.empty()) out["missing_read_grants"] = std::move(missing);
}

std::vector<plan::RefusedItem> all_items(const ManifestView& view) {
  std::vector<plan::RefusedItem> items = view.problems;
  for (const GrantView& grant : view.grants) items.insert(items.end(), grant.refused.begin(), grant.refused.end());
  return items;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t have = std::min<std::size_t>(bytes.size() - at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = (group << 8) | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= have ? kDigits[(group >> (18 - 6 * i)) & 63U] : '=';
  }
  return out;
}

std::string chunk_event(Stream stream, std::string_view bytes) {
  Json out = event(stream == Stream::kStdout ? "stdout" : "stderr");
  out["data"] = base64(bytes);
  return line(out);
}

std::string verdict_event(const Report& report) {
  Json out = versioned_event("verdict");
  put_run(out, report);
  return line(out);
}

std::string refusal_event(const Refused& refused) {
  Json out = versioned_event("refusal");
  put_refused(out, refused);
  return line(out);
}

std::string failed_event(const base::Error& error, const plan::LeftBehind& left) {
  Json out = versioned_event("failed");
  out["exit_code"] = 125;
  out["reason_code"] = "supervision-failed";
  out["reason"] = base::to_string(error);
  out["report"] = posture_json({});
  put_left_behind(out, left);
  return line(out);
}

std::string document(const nlohmann::ordered_json& value) { return dumped(value, 2); }
std::string report_document(const Report& report) {
  Json out = versioned();
  put_run(out, report);
  return document(out);
}

std::string audit_lines(const Report& report) {
  std::string out;
  for (const Denial& denial : report.denials) out += line(denial_json(denial));
  return out;
}

std::string refusal_document(const Refused& refused) {
  Json out = versioned();
  out["refused"] = true;
  put_refused(out, refused);
  return document(out);
}

std::string doctor_document(const Doctor& doctor) {
  Json out = versioned();
  out["platform"] = fmt::format("linux/{}", doctor.machine);
  out["kernel"] = doctor.kernel;
  out["landlock_abi"] = doctor.landlock_abi;
  Json layers = Json::array();
  std::vector<LayerLine> lines;
  for (const DoctorLine& one : doctor.layers) {
    Json layer = layer_json(one.line);
    put_list(layer, "missing", one.missing, feature_json);
    layers.push_back(std::move(layer));
    lines.push_back(one.line);
  }
  out["layers"] = std::move(layers);
  out.update(engines_json(doctor));
  out["launcher"] = launcher_json(doctor.launcher);
  out["fully_enforced"] = fully_enforced(lines);
  out["ready"] = doctor.ready;
  return document(out);
}

std::string manifest_document(const nlohmann::ordered_json& policy, const ManifestView& view) {
  Json out = versioned();
  out.update(policy);
  put_grants(out, view);
  put_list(out, "network_blocked", view.network_blocked, [](const std::string& host) { return Json(host); });
  out["approval"] = approval_code(view.approval);
  put_text(out, "approval_detail", view.approval_detail);
  out["runnable"] = runnable(view);
  put_list(out, "runnable_problems", view.problems, [](const plan::RefusedItem& item) { return Json(words(item)); });
  put_list(out, "problems", all_items(view), item_json);
  put_list(out, "callouts", view.callouts, note_json);
  put_list(out, "notes", view.notes, note_json);
  put_list(out, "credential_aliases", view.credential_aliases, alias_json);
  if (view.credential_aliases_partial) out["credential_aliases_partial"] = true;
  put_list(out, "unset_env", view.unset_environment, [](const std::string& name) { return Json(name); });
  put_text(out, "program", view.program);
  put_text(out, "working_directory", view.working_directory);
  if (!view.layers.empty()) out["report"] = posture_json(view.layers);
  if (view.relocatable) out["relocatable"] = *view.relocatable;
  if (view.strict_problems)
    put_list(out, "strict_problems", *view.strict_problems, [](const std::string& why) { return Json(why); });
  put_list(out, "pinned_paths", view.pinned_paths, [](const std::string& path) { return Json(path); });
  return document(out);
}

std::string record_document(const RunRecord& run, const Report& report) {
  Json out = versioned();
  put_record_head(out, run);
  Report kept = report;  // arguments may hold secrets, and the record stays
  for (plan::ExecutedProgram& one : kept.observed.programs) one.argv.clear();
  put_run(out, kept);
  return document(out);
}

std::string record_document(const RunRecord& run, const Refused& refused) {
  Json out = versioned();
  put_record_head(out, run);
  put_refused(out, refused);
  return document(out);
}

}  // namespace cordon::report
