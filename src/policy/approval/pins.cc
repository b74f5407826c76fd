#include "policy/approval/pins.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/steady_read.h"
#include "policy/approval/walk.h"
#include "policy/approval/words.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

using base::Diagnostic;
using base::shown;

auto problem(const PathGrant& pin, std::string code, const std::string& message, std::string hint = {}) {
  return base::fail(Diagnostic{.code = std::move(code),
                               .at = pin.at.span,
                               .message = "the pinned file " + shown(pin.written) + " " + message,
                               .hint = std::move(hint)});
}

base::Result<base::Fd, Diagnostic> open_pin(const PathGrant& pin) {
  // O_PATH opens nothing: a FIFO does not block and a device is not touched. Links are followed: what is pinned is the
  // content that the name leads to.
  auto object = kernel::openat(kernel::kHere, pin.path.c_str(), O_PATH);
  if (!object) {
    const int code = object.error().code;
    if (code == ENOENT) return problem(pin, "pin-missing", "does not exist: " + shown(pin.path), "remove the pin");
    return problem(pin, "pin-unreadable", "cannot be reached: " + in_words(code));
  }
  const auto facts = facts_of(*object);
  if (!facts) return problem(pin, "pin-unreadable", "cannot be examined: " + in_words(facts.error().code));
  if (facts->id.type != S_IFREG) {
    return problem(pin, "pin-not-regular", "is not a regular file", "pin the files that matter, one by one");
  }
  auto file = reopen(*object, O_RDONLY);
  if (!file) return problem(pin, "pin-unreadable", "cannot be opened: " + in_words(file.error().code));
  return std::move(*file);
}

/// Takes what it reads from `left`, the bytes that all pins together may still have.
base::Result<PinnedContent, Diagnostic> read_pin(const PathGrant& pin, std::uint64_t& left) {
  CORDON_TRY(const base::Fd file, open_pin(pin));
  manifest::Sha256 digest;
  std::uint64_t taken = 0;
  const auto end = read_steadily(file, std::min(kMostPinnedBytes, left), [&](std::string_view bytes) {
    digest.update(bytes);
    taken += bytes.size();
  });
  if (!end) return problem(pin, "pin-unreadable", "cannot be read: " + in_words(end.error().code));
  switch (*end) {
    case ReadEnd::kTooLong:
      return problem(pin, "pin-too-large", "is too large: a pinned file may have 64 MiB, all of them 256 MiB",
                     "pin a smaller file, for instance one that holds its digest");
    case ReadEnd::kUnsteady:
      return problem(pin, "pin-changing", "was written to while it was read", "try again once it is complete");
    case ReadEnd::kComplete:
      break;
  }
  left -= taken;
  return PinnedContent{.written = pin.written, .sha256 = digest.hex()};
}

}  // namespace

base::Result<std::vector<PinnedContent>, base::Diagnostics> read_pins(const Policy& resolved) {
  std::vector<PinnedContent> pins;
  base::Diagnostics problems;
  std::uint64_t left = kMostPinnedBytesInAll;
  for (const PathGrant& pin : resolved.pin) {
    CORDON_CHECK(pin.path.starts_with('/'));
    auto content = read_pin(pin, left);
    if (content) {
      pins.push_back(std::move(*content));
    } else {
      problems.push_back(std::move(content).error());
    }
  }
  if (!problems.empty()) return base::fail(std::move(problems));
  return pins;
}

std::vector<PinChange> changed_pins(const std::vector<PinnedContent>& recorded, const std::vector<PinnedContent>& now) {
  std::map<std::string, std::pair<std::string, std::string>> both;  // written -> {recorded, now}
  for (const PinnedContent& pin : recorded) both[pin.written].first = pin.sha256;
  for (const PinnedContent& pin : now) both[pin.written].second = pin.sha256;
  std::vector<PinChange> changes;
  for (const auto& [written, digests] : both) {
    const auto& [before, after] = digests;
    if (before == after && !before.empty()) continue;
    const auto kind = before.empty()  ? PinChange::Kind::kAdded
                      : after.empty() ? PinChange::Kind::kRemoved
                                      : PinChange::Kind::kChanged;
    changes.push_back({.kind = kind, .written = written});
  }
  return changes;
}

std::string to_sentence(const PinChange& change) {
  switch (change.kind) {
    case PinChange::Kind::kChanged:
      return "the pinned file " + shown(change.written) + " changed since it was approved";
    case PinChange::Kind::kAdded:
      return "the file " + shown(change.written) + " is pinned now and was not when it was approved";
    case PinChange::Kind::kRemoved:
      return "the file " + shown(change.written) + " was pinned when it was approved and is not now";
  }
  return {};
}

}  // namespace cordon::policy::approval
