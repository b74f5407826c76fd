// The filters of `exec:` and of watching, and which of all filters a plan has. The kernel takes one listener per tree
// of processes, so closing exec and watching are one program.
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "plan/attribute_calls.h"
#include "plan/path_calls.h"
#include "plan/wire.h"
#include "planner/filter_builder.h"
#include "planner/filters.h"
#include "planner/host.h"
#include "planner/host_filter.h"
#include "planner/landlock.h"
#include "planner/nested.h"

namespace cordon::planner {
namespace {

constexpr unsigned kNoexecSeal = 8;  // MFD_NOEXEC_SEAL, 6.3

sock_filter statement(int code, std::uint32_t k) {
  return {.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = k};
}

/// Calls that libseccomp has no names for. A call of another kind runs on into its program, which kills it.
std::vector<sock_filter> notify_by_number(std::uint32_t arch, std::span<const plan::WatchedCall> watched) {
  std::vector<std::uint32_t> numbers;
  for (const plan::WatchedCall& call : watched) {
    if (!knows(arch, plan::kPathCalls.at(call.row).name)) numbers.push_back(call.number);
  }
  if (numbers.empty()) return {};
  const auto ahead = [](std::size_t count) { return static_cast<std::uint8_t>(count); };
  const std::size_t rest = numbers.size() + 2;  // a comparison of each, then two ends
  std::vector<sock_filter> code{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
                                {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = ahead(rest + 1), .k = arch},
                                statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    code.push_back({.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = ahead(numbers.size() - i), .jf = 0, .k = numbers[i]});
  }
  code.push_back({.code = BPF_JMP | BPF_JGE | BPF_K, .jt = 1, .jf = 1, .k = 0});
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  return code;
}

/// sendto without an address is send(2), of which there are many; and the launcher's own messages (kernel/socket.h).
void notify_of(Builder& builder, const plan::PathCall& row) {
  if (row.form == plan::CallForm::kSend) {
    builder.rule(SCMP_ACT_NOTIFY, row.name, {scmp_arg_cmp{static_cast<unsigned>(row.first.path), SCMP_CMP_NE, 0, 0}});
  } else if (row.form == plan::CallForm::kMessage) {
    builder.rule(SCMP_ACT_NOTIFY, row.name, {masked(static_cast<unsigned>(row.flags), plan::kOwnMessage, 0)});
  } else {
    builder.rule(SCMP_ACT_NOTIFY, row.name);
  }
}

std::uint32_t listener_flags(const plan::HostFacts& facts, const policy::Posture& posture) {
  const auto known = facts.feature(plan::Feature::kNotificationKillable).state;
  // Without it a handled signal ends the wait, and calls that never did so answer EINTR. An execve has that already.
  const auto version = kernel_version(facts.kernel_release);
  const bool assumed = posture.watch != policy::Watch::kNothing && known == plan::Availability::kUnknown && version &&
                       *version >= KernelVersion{5, 19};
  std::uint32_t flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  if (known == plan::Availability::kYes || assumed) flags |= SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  return flags;
}

void add(Draft& draft, plan::step::Filter filter, plan::Layer layer, std::string reason, const base::Span& at) {
  if (filter.program.empty()) {
    draft.refuse(Code::kFilterNotBuilt, at, fmt::format("the {} filter could not be compiled", filter.name),
                 "allow more memory, descriptors or larger files (ulimit -v, ulimit -n, ulimit -f)");
    return;
  }
  if (filter.notify) filter.flags = listener_flags(draft.facts, draft.policy.posture);
  draft.step(std::move(filter), layer, std::move(reason), at);
}

plan::Watching watching(const policy::Policy& policy) {
  switch (policy.posture.watch) {
    case policy::Watch::kNothing:
      return plan::Watching::kNothing;
    case policy::Watch::kPrograms:
      return plan::Watching::kPrograms;
    case policy::Watch::kPaths:
      return plan::Watching::kPaths;
  }
  return plan::Watching::kNothing;
}

ExecFilter exec_kind(const policy::Policy& policy) {
  if (!exec_closed(policy)) return ExecFilter::kOpen;
  return policy.exec.mode == policy::ExecMode::kNoneStrict ? ExecFilter::kNoneStrict : ExecFilter::kNone;
}

/// The one filter that asks the supervisor.
void add_notifying(Draft& draft) {
  const ExecFilter kind = exec_kind(draft.policy);
  const plan::Watching watch = watching(draft.policy);
  if (lacks(draft.facts, plan::Feature::kUserNotification)) return;
  const bool serves = draft.plan.engine == plan::Engine::kLandlock;
  if (kind == ExecFilter::kOpen && watch == plan::Watching::kNothing && !serves) return;
  auto watched = watched_calls(draft.facts.machine, watch);
  auto program = exec_filter(draft.facts.machine, kind, watched, serves ? Attributes::kServed : Attributes::kOwn);
  draft.plan.serves_attributes = serves;
  const auto filter = [&](const char* name) {
    return plan::step::Filter{.name = name, .program = std::move(program), .notify = true};
  };
  if (kind == ExecFilter::kOpen && watch == plan::Watching::kNothing) {
    add(draft, filter(plan::wire::kAttributes), plan::Layer::kFilesystem,
        "modes, owners and times of files are changed where writing is granted, by the supervisor", {});
  } else if (kind == ExecFilter::kOpen) {
    add(draft, filter(plan::wire::kWatch), plan::Layer::kSystemCalls,
        watch == plan::Watching::kPrograms ? "--record-exec" : "watched", {});
  } else {
    const char* const reason = kind == ExecFilter::kNoneStrict ? "exec: none-strict" : "exec: none";
    add(draft, filter("exec"), plan::Layer::kExec, reason, draft.policy.exec.at.span);
    draft.plan.exec_closed = true;
  }
  draft.plan.watching = watch;
  draft.plan.watched = std::move(watched);
}

}  // namespace

std::vector<plan::WatchedCall> watched_calls(std::string_view machine, plan::Watching watching) {
  const auto arch = architecture(machine);
  if (!arch) return {};
  std::vector<plan::WatchedCall> out;
  for (std::uint16_t row = 0; const plan::PathCall& call : plan::calls_of(watching)) {
    if (knows(*arch, call.name)) {
      out.push_back({.number = number_of(*arch, call.name), .row = row});
    } else if (call.number >= 0) {
      out.push_back({.number = static_cast<std::uint32_t>(call.number), .row = row});
    }
    ++row;
  }
  std::ranges::sort(out, {}, &plan::WatchedCall::number);
  return out;
}

std::vector<std::uint8_t> exec_list_filter(std::string_view machine) {
  const auto arch = architecture(machine);
  if (!arch) return {};
  Builder builder(*arch);
  builder.rule(SCMP_ACT_ERRNO(EPERM), "memfd_create");
  return builder.program();
}

std::vector<std::uint8_t> exec_filter(std::string_view machine, ExecFilter kind,
                                      std::span<const plan::WatchedCall> watched, Attributes attributes) {
  const auto arch = architecture(machine);
  if (!arch) return {};
  Builder builder(*arch);
  if (kind != ExecFilter::kOpen) {
    builder.rule(SCMP_ACT_NOTIFY, "execve");
    builder.rule(SCMP_ACT_NOTIFY, "execveat");
  }
  if (kind == ExecFilter::kNoneStrict) {
    builder.rule(SCMP_ACT_ERRNO(EPERM), "fork");
    builder.rule(SCMP_ACT_ERRNO(EPERM), "vfork");
    builder.rule(SCMP_ACT_ERRNO(EPERM), "clone", {masked(0, CLONE_THREAD, 0)});
    builder.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3");
    // A file in memory that may be mapped executable is a program from nowhere.
    builder.rule(SCMP_ACT_ERRNO(EPERM), "memfd_create", {masked(1, kNoexecSeal, 0)});
  }
  for (const plan::WatchedCall& call : watched) {
    const plan::PathCall& row = plan::kPathCalls.at(call.row);
    if (kind != ExecFilter::kOpen && row.form == plan::CallForm::kExec) continue;  // stands above
    notify_of(builder, row);
  }
  const auto is_watched = [&](std::string_view name) {
    return std::ranges::any_of(
        watched, [&](const plan::WatchedCall& call) { return plan::kPathCalls.at(call.row).name == name; });
  };
  for (const char* name : plan::kAttributeCalls) {
    if (attributes == Attributes::kServed && !is_watched(name)) builder.rule(SCMP_ACT_NOTIFY, name);
  }
  return joined(notify_by_number(*arch, watched), builder.program());
}

void add_filters(Draft& draft) {
  if (lacks(draft.facts, plan::Feature::kSeccompFilter)) return;
  const bool nested = nests(draft.policy);
  const auto group_signals = scopes_signals(draft.facts) ? GroupSignals::kAllowed : GroupSignals::kRefused;
  add(draft,
      {.name = nested ? plan::wire::kSystemCallsNested : plan::wire::kSystemCalls,
       .program = system_call_filter(draft.facts.machine, group_signals, nested ? Nesting::kOpen : Nesting::kClosed)},
      plan::Layer::kSystemCalls, nested ? "allow: nested-sandbox" : "calls that a confined program has no use for", {});
  if (exec_listed(draft.policy)) {
    add(draft, {.name = plan::wire::kExecList, .program = exec_list_filter(draft.facts.machine)}, plan::Layer::kExec,
        "exec: a list", draft.policy.exec.at.span);
  }
  if (draft.plan.engine == plan::Engine::kLandlock) {
    add(draft,
        {.name = plan::wire::kHostReach,
         .program = host_filter(draft.facts.machine,
                                {.signals_scoped = scopes_signals(draft.facts),
                                 .attributes_served = !lacks(draft.facts, plan::Feature::kUserNotification)})},
        plan::Layer::kProcesses, "what namespaces would keep from the target", {});
  }
  add_notifying(draft);
}

}  // namespace cordon::planner
