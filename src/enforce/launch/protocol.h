// What the launcher, init and the target's child say to the supervisor, and where they find their descriptors.
//
// First the supervisor speaks, on the control socket: the opening (plan::wire, Extent::kOpening), from
// which the outer launcher lets init be born, and then the plan, as a kPlan with a sealed memfd, for which init waits.
// The opening may be sent long before there is a plan. Init takes no plan that opens otherwise. Between the two there
// may be a kBeginning, with another sealed memfd (Extent::kBeginning): init builds what it says, and then takes no plan
// that begins otherwise.
//
// Control socket (SOCK_SEQPACKET, kControlFd): spoken by the outer launcher, then by init while it builds, then by the
// target's child until its execve; the socket is close-on-exec and nobody else keeps it, so its end after kReady and
// without kExecFailed means that the execve was done (or that the child died: init tells). A datagram holds 1 to
// kMostPerDatagram Messages; a descriptor that comes with it belongs to its last Message.
//
// Life socket (SOCK_SEQPACKET, kLifeFd): init speaks one Message per datagram, nobody speaks to init. When the
// supervisor's end is closed init exits and the kernel kills the namespace.
//
// Order, on control: kInitStarted, a kListening for each Listen step and for each socket of a SocketPool step, one for
// an AgentSocket step, kMounts (with init's mount table), any kVerified, then either kStepFailed and the end, or
// kTargetStarted (with a pidfd), kVerified…, kListener (with the listener; only where a filter notifies), kVerified…,
// kReady, and kExecFailed if execve fails. A kStepFailed may come at any moment: nothing has run then, and nothing
// will. The sender of kReady calls execve right after it: who gets a notification reads the control socket first, and
// knows by that whether it was the probe.
//
// Where sockets listen or a control group is made, the child waits for a kGo before its kReady, so that nothing runs
// before the broker serves and the limits stand.
// Nothing else is ever said to it.
//
// Shared by the launcher program, start.cc and enforce/supervise. Both ends are of one build; no version is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernel/socket.h"

namespace cordon::enforce::launch {

inline constexpr int kControlFd = 3;
inline constexpr int kLifeFd = 4;

/// The longest opening: id maps have 340 lines at most, and set_groups() bounds the groups.
inline constexpr std::size_t kMostOpening = 32U << 10;

enum class Kind : std::uint32_t {
  kInitStarted = 1,        ///< value: init's pid as the launcher sees it; comes with its pidfd. start() takes it
  kStepFailed = 2,         ///< step (0: none), code: errno, text: the call. ESTALE of a bind: not what was planned
  kTargetStarted = 3,      ///< comes with the pidfd of the process that will be the target
  kVerified = 4,           ///< step, check, held, code: the errno seen
  kListener = 5,           ///< step; comes with the seccomp listener
  kReady = 6,              ///< everything holds; execve follows
  kExecFailed = 7,         ///< step, code: errno of execve; the child exits 126, or 127 for ENOENT
  kPlanRefused = 8,        ///< the launcher does not take this plan; text: why. See kOtherBuild
  kMounts = 9,             ///< all mounts stand; comes with init's /proc/self/mountinfo, as it is seen in the new root
  kPlan = 10,              ///< from the supervisor; comes with the plan
  kListening = 11,         ///< step; comes with a socket that listens inside, or one of a pool
  kGo = 12,                ///< said to the child: the broker serves and the limits stand. Only where a plan has a
                           ///< Listen, a SocketPool, an AgentSocket or a Cgroup step
  kBeginning = 13,         ///< from the supervisor; comes with what the plan will begin with
  kTargetExited = 101,     ///< life; code: wait status
  kTargetStopped = 102,    ///< life; code: signal
  kTargetContinued = 103,  ///< life
  kTimeLimit = 104,        ///< life; the time limit is long over and the supervisor did nothing: init ends the run
};

/// kPlanRefused's text where the plan is of another build than the launcher.
inline constexpr const char* kOtherBuild = "build-id";

/// What was tried or looked at after lock-down and before execve. start.h gives each its name and layer.
enum class Check : std::uint16_t {
  kNone = 0,
  kRootReadOnly,    ///< mkdir in "/" is EROFS
  kHostRootGone,    ///< "/" is the private root and nothing is above it
  kMountFlags,      ///< binds, tmpfs and pins: read-only (or not), nosuid, nodev, noexec as planned. One mark for all
                    ///< that hold (the step is EnterRoot), one for each that does not
  kMasked,          ///< where a mask is, the empty object is; marks as of kMountFlags
  kProcHardened,    ///< core_pattern and sysrq-trigger do not open for writing
  kPidNamespace,    ///< init is pid 1 and nobody else is here
  kNetNamespace,    ///< no route leaves
  kInitProtected,   ///< init's (the warden's) memory cannot be read
  kSignalsScoped,   ///< by Landlock: init (the warden) cannot be signalled; by the filter: the caller's process group
                    ///< cannot be
  kNoCapabilities,  ///< all sets and the bounding set are empty, securebits locked
  kNoNewPrivileges,
  kMountRefused,       ///< mount(2) is EPERM
  kDescriptorsClosed,  ///< none above 2 survives execve
  kLandlock,           ///< a file in no rule opened before and is EACCES after; of the landlock engine for writing too
  kSystemCallsFiltered,  ///< what the filter must refuse is refused
  kExecClosed,           ///< execve is answered EPERM by the supervisor
  kNetworkClosed,        ///< of the landlock engine: no socket of the internet or of this host is made, no port bound
  kExecListed,           ///< no file in memory is made, and what is written is not mapped as code
  kCount
};

struct Message {
  Kind kind{};
  std::uint16_t step = 0;
  Check check = Check::kNone;
  std::int32_t code = 0;
  std::uint32_t held = 0;  ///< kVerified: 1 or 0
  std::uint64_t value = 0;
  std::array<char, 40> text{};  ///< NUL-terminated
};
static_assert(sizeof(Message) == 64, "no padding");

inline constexpr std::size_t kMostPerDatagram = 32;

/// What one datagram held. Nothing in it was checked but its size: a sender that is no longer ours cannot exist, since
/// the socket is gone when the target runs.
struct Batch {
  std::array<Message, kMostPerDatagram> messages{};
  std::size_t count = 0;  ///< 0: the other side is closed
  kernel::Fd fd;
  [[nodiscard]] std::span<const Message> all() const { return {messages.data(), count}; }
};

/// `flags`: MSG_DONTWAIT or 0. EPROTO for a datagram that is not whole Messages.
inline kernel::Sys<Batch> receive(kernel::FdView socket, int flags) {
  Batch out;
  const auto into = std::as_writable_bytes(std::span(out.messages));
  auto got = kernel::receive_message(socket, into, flags);
  // Said once, of a launcher that ended without reading its plan; what it said before is still there.
  if (!got && got.error().code == ECONNRESET) got = kernel::receive_message(socket, into, flags);
  if (!got) return base::fail(got.error());
  if (got->bytes % sizeof(Message) != 0) return base::fail(kernel::Errno{EPROTO, "recvmsg"});
  out.count = got->bytes / sizeof(Message);
  for (Message& message : std::span(out.messages).first(out.count)) message.text.back() = '\0';
  out.fd = std::move(got->fd);
  return out;
}

}  // namespace cordon::enforce::launch
