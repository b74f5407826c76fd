#include "enforce/supervise/exec_gate.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/uapi.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::size_t kMostPath = 4096;

/// A NUL-terminated text at `address` of another process, cut to kMostPath. In two parts, because the kernel copies
/// each part whole or not at all and the text may end just before a page that is not there.
std::string read_text(pid_t pid, std::uint64_t address) {
  std::array<std::byte, kMostPath> bytes{};
  constexpr std::uint64_t kPage = 4096;
  const std::size_t first = std::min<std::size_t>(kMostPath, kPage - address % kPage);
  const auto at = [](std::uint64_t where) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(where)); };
  const std::array<iovec, 2> parts{iovec{at(address), first}, iovec{at(address + first), kMostPath - first}};
  const auto got = kernel::read_memory(pid, parts, bytes);
  if (!got) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, *got)};
}

/// execveat(fd, "", …, AT_EMPTY_PATH) names a descriptor: what it stands for.
std::string read_descriptor(pid_t pid, int fd) {
  std::array<char, kMostPath> text{};
  const std::string link = fmt::format("/proc/{}/fd/{}", pid, fd);
  const auto got = kernel::readlinkat(kernel::kHere, link.c_str(), text);
  return got ? std::string(text.data(), *got) : std::string();
}

}  // namespace

ExecGate::Verdict ExecGate::judge(pid_t pid) const {
  if (!ready_) return Verdict::kRefuseProbe;  // where exec is open too: what is not ready must not begin
  if (!used_ && target_ == pid) return Verdict::kContinue;
  return used_ && exec_ == Exec::kOpen ? Verdict::kLetBy : Verdict::kRefuse;
}

void ExecGate::record(pid_t pid, std::string_view path) {
  ++total_;
  const auto [entry, is_new] = by_path_.try_emplace(std::string(path), attempts_.size());
  if (!is_new) {
    ++attempts_[entry->second].count;
  } else if (has_room()) {
    attempts_.push_back({.path = std::string(path), .pid = static_cast<std::uint32_t>(pid), .count = 1});
  } else {
    by_path_.erase(entry);
  }
}

kernel::Sys<ExecListener> ExecListener::adopt(base::Fd listener) {
  const auto sizes = kernel::notification_sizes();
  if (!sizes) return base::fail(sizes.error());
  // Faster where the kernel has it (6.6), the same without: EINVAL is no failure.
  static_cast<void>(kernel::notification_set_flags(listener, kernel::kSeccompUserNotifSyncWakeUp));
  ExecListener out;
  out.listener_ = std::move(listener);
  out.received_.resize(std::max<std::size_t>(sizes->seccomp_notif, sizeof(seccomp_notif)));
  out.answer_.resize(std::max<std::size_t>(sizes->seccomp_notif_resp, sizeof(seccomp_notif_resp)));
  return out;
}

bool ExecListener::Call::is_exec() const { return number == SYS_execve || number == SYS_execveat; }

kernel::Sys<std::optional<ExecListener::Call>> ExecListener::receive() {
  if (const auto got = kernel::notification_receive(listener_, received_); !got) {
    if (got.error().code == ENOENT) return std::optional<Call>();
    return base::fail(got.error());
  }
  seccomp_notif notification{};
  std::memcpy(&notification, received_.data(), sizeof notification);
  Call call{.id = notification.id, .pid = static_cast<pid_t>(notification.pid), .number = notification.data.nr};
  std::ranges::copy(notification.data.args, call.arguments);
  return std::optional(call);
}

kernel::Sys<bool> ExecListener::answer(std::uint64_t id, int error, std::uint32_t flags) {
  std::ranges::fill(answer_, std::byte{0});
  const seccomp_notif_resp response{.id = id, .val = 0, .error = error, .flags = flags};
  std::memcpy(answer_.data(), &response, sizeof response);
  if (const auto sent = kernel::notification_send(listener_, answer_); !sent) {
    if (sent.error().code == ENOENT) return false;
    return base::fail(sent.error());
  }
  return true;
}

kernel::Sys<bool> ExecListener::let_through(const Call& call) {
  return answer(call.id, 0, kernel::kSeccompUserNotifContinue);
}
kernel::Sys<bool> ExecListener::refuse(const Call& call) { return answer(call.id, -EPERM, 0); }

kernel::Sys<bool> ExecListener::made(const Call& call, int code) { return answer(call.id, -code, 0); }
bool ExecListener::is_pending(const Call& call) const {
  return kernel::notification_id_valid(listener_, call.id).has_value();
}

std::string ExecListener::read_path(const Call& call) const {
  const bool at = call.number == SYS_execveat;
  std::string path = read_text(call.pid, at ? call.arguments[1] : call.arguments[0]);
  if (at && path.empty()) path = read_descriptor(call.pid, static_cast<int>(call.arguments[0]));
  // The pid may have been given to another process before the memory was read: then this is not the caller's.
  if (!kernel::notification_id_valid(listener_, call.id)) return {};
  return path;
}

}  // namespace cordon::enforce::supervise
