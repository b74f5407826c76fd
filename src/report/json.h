// JSON for machines: one place that writes it, so that field names, escaping and the schema version are the same
// everywhere.
//
// `run --json` streams NDJSON: chunks of the target's output in base64 as they come, then exactly one of verdict (it
// ran), refusal (nothing ran; may be tried again elsewhere) or failed (it cannot be said; must not be retried blindly).
// Bytes that are not UTF-8 become U+FFFD in prose fields and are never a reason to fail. Fields are added, never
// renamed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "report/doctor.h"
#include "report/manifest_view.h"
#include "report/refused.h"
#include "report/report.h"

namespace cordon::report {

inline constexpr int kSchemaVersion = 1;

enum class Stream { kStdout, kStderr };

// One line each, with its newline.
std::string chunk_event(Stream stream, std::string_view bytes);
std::string verdict_event(const Report& report);
std::string refusal_event(const Refused& refused);
std::string failed_event(const base::Error& error, const plan::LeftBehind& left = {});

// One indented document each, with its newline.
std::string report_document(const Report& report);     ///< `run --report FILE`
std::string audit_lines(const Report& report);         ///< `run --audit-log FILE`: one line of JSON for each denial
std::string refusal_document(const Refused& refused);  ///< for commands that do not stream
nlohmann::ordered_json engines_json(const Doctor& doctor);  ///< a part of the next
std::string doctor_document(const Doctor& doctor);
/// `validate --json`: `policy` is the manifest's own keys (policy::manifest::to_json), the view is what this host adds.
std::string manifest_document(const nlohmann::ordered_json& policy, const ManifestView& view);
/// Any value as one indented document: invalid UTF-8 is replaced, never thrown over.
std::string document(const nlohmann::ordered_json& value);

/// What a run leaves for `explain`: no values, no argv beyond the manifest's name.
struct RunRecord {
  std::string id;
  std::string started_at;  ///< RFC 3339, UTC
  std::string manifest;    ///< its path
  std::string fingerprint;
};
std::string record_document(const RunRecord& run, const Report& report);
std::string record_document(const RunRecord& run, const Refused& refused);

std::string base64(std::string_view bytes);

}  // namespace cordon::report
