#include "cli/pin.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cordon::cli {
namespace {

namespace manifest = policy::manifest;

/// A single-quoted YAML scalar; the entrypoint holds no line break (the parser saw to that).
std::string yaml_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string pin_line(const Opened& opened) {
  return fmt::format("pin: [{}]", yaml_quoted(opened.as_written.entrypoint.written));
}

base::Result<void, Stop> by_hand(const Opened& opened) {
  plan::RefusedItem item;
  item.code = "pin-by-hand";
  item.at.file = opened.file.written_path;
  item.message = "the manifest's layout leaves no plain place for a pin";
  item.mend = opened.as_written.pin.empty()
                  ? fmt::format("write in the manifest: {}", pin_line(opened))
                  : fmt::format("add to its pin list: {}", base::shown(opened.as_written.entrypoint.written));
  report::Refused refused;
  refused.items.push_back(std::move(item));
  return base::fail(stop(std::move(refused), opened.file.text));
}

/// The text with the line put under the one that holds `entrypoint:`; empty where that is no line of its own.
std::string with_line(const std::string& text, std::uint32_t after, const std::string& line) {
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < after && at != std::string::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (at == std::string::npos || after == 0 || !text.substr(at).starts_with("entrypoint")) return {};
  const std::size_t end = text.find('\n', at);
  if (end == std::string::npos) return text + "\n" + line + "\n";
  const bool crlf = end > 0 && text[end - 1] == '\r';
  return text.substr(0, end + 1) + line + (crlf ? "\r\n" : "\n") + text.substr(end + 1);
}

}  // namespace

base::Result<void, Stop> pin_entrypoint(Opened& opened, const plan::HostFacts& facts) {
  const std::string& entrypoint = opened.as_written.entrypoint.written;
  if (std::ranges::find(opened.as_written.pin, entrypoint, &policy::PathGrant::written) != opened.as_written.pin.end())
    return {};
  if (!opened.as_written.pin.empty()) return by_hand(opened);
  const std::string text = with_line(opened.file.text, opened.as_written.entrypoint.at.span.line, pin_line(opened));
  auto loaded = manifest::parse(text, opened.file.written_path);
  if (text.empty() || !loaded) return by_hand(opened);
  // The new line may mean something else than it looks like (a scalar that goes on, a comment): only the meaning
  // counts.
  const std::vector<manifest::Change> changes = manifest::changes(opened.as_written, loaded->policy);
  if (changes.size() != 1 || changes.front().key != "pin") return by_hand(opened);

  auto resolved = manifest::resolve(loaded->policy, {opened.file.directory, facts.home, opened.file.name_path});
  if (!resolved) return base::fail(stop(report::refused(resolved.error()), text));
  resolved->posture = opened.policy.posture;
  auto pins = policy::approval::read_pins(*resolved);
  if (!pins) return base::fail(stop(report::refused(pins.error()), text));
  opened.as_written = std::move(loaded->policy);
  opened.policy = std::move(*resolved);
  opened.pins = std::move(*pins);
  opened.file.text = text;  // the digest stays: it is what the disk must still hold when the stamp is written
  opened.fingerprint = manifest::fingerprint(opened.as_written, opened.pins);
  opened.stamp = manifest::stamp_state(opened.as_written, opened.fingerprint);
  return {};
}

}  // namespace cordon::cli
