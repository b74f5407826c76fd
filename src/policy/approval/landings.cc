#include "policy/approval/landings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/journal.h"
#include "policy/approval/new_file.h"
#include "policy/approval/private_directory.h"
#include "policy/approval/record_text.h"

namespace cordon::policy::approval {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 8U << 20U;

std::string file_name(std::string_view real_path) { return journal_entry_name(real_path) + ".leads-to"; }

std::string record_text(const LandingRecord& record) {
  json landings = json::array();
  for (const Landing& landing : record.landings)
    landings.push_back({{"what", to_hex(landing.what)}, {"real", to_hex(landing.real)}});
  const json object = {{"format", 1},
                       {"fingerprint", to_hex(record.fingerprint)},
                       {"manifest", to_hex(record.manifest_path)},
                       {"landings", std::move(landings)}};
  return object.dump(1) + "\n";
}

std::optional<LandingRecord> parse_record(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || object.size() != 4 || object.value("format", json()) != json(1)) return std::nullopt;
  auto fingerprint = bytes_at(object, "fingerprint");
  auto path = bytes_at(object, "manifest");
  const auto list = object.find("landings");
  if (!fingerprint || !path || list == object.end() || !list->is_array()) return std::nullopt;
  LandingRecord out{.fingerprint = std::move(*fingerprint), .manifest_path = std::move(*path), .landings = {}};
  for (const json& item : *list) {
    if (!item.is_object() || item.size() != 2) return std::nullopt;
    auto what = bytes_at(item, "what");
    auto real = bytes_at(item, "real");
    if (!what || !real) return std::nullopt;
    out.landings.push_back({std::move(*what), std::move(*real)});
  }
  return out;
}

LandingReading unusable(std::string why) {
  return {.state = LandingReading::State::kUntrusted, .record = {}, .why = std::move(why)};
}

std::vector<std::string> places_of(const std::vector<Landing>& landings, std::string_view what) {
  std::vector<std::string> out;
  for (const Landing& landing : landings)
    if (landing.what == what) out.push_back(base::shown(landing.real));
  std::ranges::sort(out);
  return out;
}

}  // namespace

LandingReading read_landings(const std::string& directory, std::string_view real_path, std::string_view fingerprint,
                             Caller caller) {
  if (directory.empty()) return {};
  const Opened place = open_private_directory(directory, caller);
  if (place.state == Opened::State::kAbsent) return {};
  if (place.state == Opened::State::kUntrusted) return unusable(place.why);
  const Opened file = open_private_file(place.fd, file_name(real_path), caller);
  if (file.state == Opened::State::kAbsent) return {};
  if (file.state == Opened::State::kUntrusted) return unusable(file.why);
  const auto text = content_of(file.fd, kMostBytes);
  auto record = text ? parse_record(*text) : std::nullopt;
  if (!record) return unusable("it is not one that Cordon wrote");
  if (record->fingerprint != fingerprint || record->manifest_path != real_path) return {};
  return {.state = LandingReading::State::kRead, .record = std::move(*record), .why = {}};
}

base::Result<void> write_landings(const std::string& directory, const LandingRecord& record, Caller caller) {
  if (directory.empty()) {
    return base::fail(base::Error{.operation = "write", .subject = "journal", .detail = "there is no state directory"});
  }
  CORDON_TRY(const base::Fd place, make_private_directory(directory, caller));
  const std::string name = file_name(record.manifest_path);
  const auto at = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, directory + "/" + name)); };
  auto file = NewFile::create(place, ".leads-to-");
  if (!file) return at(file.error());
  if (auto done = file->write(record_text(record)); !done) return at(done.error());
  if (auto done = file->replace(name); !done) return at(done.error());
  return {};
}

std::vector<std::string> landing_changes(const std::vector<Landing>& before, const std::vector<Landing>& now) {
  std::set<std::string> whats;
  for (const auto* list : {&before, &now})
    for (const Landing& landing : *list) whats.insert(landing.what);
  std::vector<std::string> out;
  for (const std::string& what : whats) {
    const std::vector<std::string> was = places_of(before, what), is = places_of(now, what);
    if (was == is) continue;
    const std::string then = was.empty() ? "it led nowhere else" : "it led to " + base::join(was, ", ");
    out.push_back(is.empty() ? fmt::format("'{}' leads nowhere else any more ({})", what, then)
                             : fmt::format("'{}' leads to {} ({})", what, base::join(is, ", "), then));
  }
  return out;
}

}  // namespace cordon::policy::approval
