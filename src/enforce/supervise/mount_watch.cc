#include "enforce/supervise/mount_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <unordered_set>
#include <variant>

#include "base/text.h"
#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::enforce::supervise {
namespace {

namespace step = plan::step;

/// What is read of a table at most: half a million mounts.
constexpr std::size_t kMostTable = 64U << 20;

/// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\' || i + 3 >= field.size()) {
      out += field[i];
      continue;
    }
    int value = 0;
    for (std::size_t digit = 1; digit <= 3; ++digit) value = value * 8 + (field[i + digit] - '0');
    out += static_cast<char>(value);
    i += 3;
  }
  return out;
}

/// The fifth field of a line: the mount point.
std::string_view mount_point_of(std::string_view line) {
  for (int field = 0; field < 4; ++field) {
    const std::size_t end = line.find(' ');
    if (end == std::string_view::npos) return {};
    line.remove_prefix(end + 1);
  }
  return line.substr(0, line.find(' '));
}

plan::Lapse lapse_of(const std::string& target, base::StepId step, bool shield) {
  const std::string path = base::shown(target);
  plan::Lapse out;
  out.layer = plan::Layer::kFilesystem;
  out.what = fmt::format("a process outside replaced or removed {}, and {} went with it", path,
                         shield ? "its shield" : "what was mounted there");
  out.mend = fmt::format("leave {} alone until the run has ended", path);
  out.step = step;
  out.target = target;
  return out;
}

}  // namespace

MountWatch::MountWatch(const plan::Plan& plan) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto add = [&](std::string target, bool shield) {
      planned_.push_back({std::move(target), {static_cast<std::uint16_t>(i + 1)}, shield});
    };
    const step::Any& act = plan.steps[i].act;
    if (const auto* mask = std::get_if<step::Mask>(&act)) add(mask->target, true);
    if (const auto* pin = std::get_if<step::Pin>(&act)) add(pin->target, true);
    if (const auto* bind = std::get_if<step::Bind>(&act)) add(bind->target, false);
    if (const auto* view = std::get_if<step::PrivateOverlay>(&act)) add(view->target, false);
    if (const auto* hold = std::get_if<step::HoldPoint>(&act)) add(hold->target, true);
    if (const auto* overlay = std::get_if<step::StubOverlay>(&act)) {
      add(overlay->target, false);
      for (const step::Stub& stub : overlay->stubs) add(overlay->target + "/" + stub.path, true);
    }
  }
}

void MountWatch::take(base::Fd table) {
  table_ = std::move(table);
  const std::string path = fmt::format("/proc/self/fd/{}", table_.get());
  if (auto again = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY)) opened_again_ = std::move(*again);
}

void MountWatch::close() {
  table_.reset();
  opened_again_.reset();
}

bool MountWatch::has_changed() const {
  if (!table_.valid()) return false;
  if (!opened_again_.valid()) return true;  // cannot be told: it is read
  std::array table{pollfd{.fd = opened_again_.get(), .events = POLLPRI, .revents = 0}};
  const auto count = kernel::poll(table, 0);
  return !count || *count != 0;
}

std::optional<plan::Lapse> MountWatch::first_lost(std::string_view mountinfo) const {
  std::unordered_set<std::string> there;
  for (const std::string_view line : base::split(mountinfo, '\n')) there.insert(unescaped(mount_point_of(line)));
  for (const Planned& one : planned_) {
    if (!there.contains(one.target)) return lapse_of(one.target, one.step, one.shield);
  }
  return std::nullopt;
}

base::Result<std::optional<plan::Lapse>> MountWatch::look() const {
  std::string text;
  constexpr std::size_t kBlock = 32'768;
  while (text.size() < kMostTable) {
    const std::size_t at = text.size();
    text.resize(at + kBlock);
    const auto got = kernel::pread(table_, std::as_writable_bytes(std::span(text).subspan(at)), at);
    if (!got) return base::fail(kernel::error_at(got.error(), "the sandbox's mount table"));
    text.resize(at + *got);
    if (*got == 0) return first_lost(text);
  }
  return base::fail(base::Error{.operation = "pread", .subject = "the sandbox's mount table", .code = E2BIG});
}

}  // namespace cordon::enforce::supervise
