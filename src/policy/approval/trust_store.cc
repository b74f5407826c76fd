#include "policy/approval/trust_store.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/directory.h"
#include "policy/approval/journal.h"
#include "policy/approval/new_file.h"
#include "policy/approval/private_directory.h"
#include "policy/approval/record_text.h"

namespace cordon::policy::approval {
namespace {

using nlohmann::json;
using State = TrustReading::State;

constexpr std::size_t kMostTrustBytes = 8U << 20U;  // a mebibyte of configuration, escaped

std::string trust_text(const TrustRecord& record) {
  const json object = {{"format", 1},
                       {"path", to_hex(record.path)},
                       {"sha256", record.sha256},
                       {"trusted_at", record.trusted_at},
                       {"asks", record.asks}};
  return object.dump(1) + "\n";
}

std::optional<std::string> text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<TrustRecord> parse_trust(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || object.size() != 5 || object.value("format", json()) != json(1)) return std::nullopt;
  auto path = bytes_at(object, "path");
  auto digest = text_at(object, "sha256");
  auto at = text_at(object, "trusted_at");
  const auto asks = object.find("asks");
  if (!path || !digest || !is_digest(*digest) || !at || base::find_unsafe_rune(*at)) return std::nullopt;
  if (asks == object.end() || !asks->is_array()) return std::nullopt;
  TrustRecord out{.path = std::move(*path), .sha256 = std::move(*digest), .trusted_at = std::move(*at), .asks = {}};
  for (const json& ask : *asks) {
    if (!ask.is_string() || base::find_unsafe_rune(ask.get_ref<const std::string&>())) return std::nullopt;
    out.asks.push_back(ask.get<std::string>());
  }
  return out;
}

TrustReading not_ours(std::string why) { return {.state = State::kUntrusted, .record = {}, .why = std::move(why)}; }

TrustReading read_record(base::FdView place, const std::string& name, Caller caller) {
  const Opened file = open_private_file(place, name, caller);
  if (file.state == Opened::State::kAbsent) return {};
  if (file.state == Opened::State::kUntrusted) return not_ours(file.why);
  const auto text = content_of(file.fd, kMostTrustBytes);
  auto record = text ? parse_trust(*text) : std::nullopt;
  if (!record || journal_entry_name(record->path) != name) return not_ours("it is not one that Cordon wrote");
  return {.state = State::kRead, .record = std::move(*record), .why = {}};
}

}  // namespace

TrustReading read_trust(const std::string& directory, std::string_view real_path, Caller caller) {
  if (directory.empty()) return {};
  const Opened place = open_private_directory(directory, caller);
  if (place.state == Opened::State::kAbsent) return {};
  if (place.state == Opened::State::kUntrusted) return not_ours(place.why);
  return read_record(place.fd, journal_entry_name(real_path), caller);
}

std::vector<TrustRecord> all_trust(const std::string& directory, Caller caller) {
  std::vector<TrustRecord> out;
  if (directory.empty()) return out;
  const Opened place = open_private_directory(directory, caller);
  if (place.state != Opened::State::kPrivate) return out;
  for (const std::string& name : names_in(place.fd)) {
    TrustReading one = read_record(place.fd, name, caller);
    if (one.state == State::kRead) out.push_back(std::move(one.record));
  }
  std::ranges::sort(out, {}, &TrustRecord::path);
  return out;
}

base::Result<void> write_trust(const std::string& directory, const TrustRecord& record, Caller caller) {
  if (directory.empty())
    return base::fail(base::Error{.operation = "write", .subject = "trust", .detail = "there is no state directory"});
  CORDON_TRY(const base::Fd place, make_private_directory(directory, caller));
  const std::string name = journal_entry_name(record.path);
  const auto at = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, directory + "/" + name)); };
  auto file = NewFile::create(place, ".trust-");
  if (!file) return at(file.error());
  if (auto done = file->write(trust_text(record)); !done) return at(done.error());
  if (auto done = file->sync(); !done) return at(done.error());
  if (auto done = file->replace(name); !done) return at(done.error());
  sync_directory(place);
  return {};
}

base::Result<bool> forget_trust(const std::string& directory, std::string_view real_path, Caller caller) {
  if (directory.empty()) return false;
  const Opened place = open_private_directory(directory, caller);
  if (place.state == Opened::State::kAbsent) return false;
  if (place.state == Opened::State::kUntrusted)
    return base::fail(base::Error{.operation = "open", .subject = directory, .detail = place.why});
  const std::string name = journal_entry_name(real_path);
  auto gone = kernel::unlinkat(place.fd, name.c_str(), 0);
  if (!gone && gone.error().code == ENOENT) return false;
  if (!gone) return base::fail(kernel::error_at(gone.error(), directory + "/" + name));
  return true;
}

}  // namespace cordon::policy::approval
