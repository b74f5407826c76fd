// What the bytes of a plan are (wire.h): header, records, ops, and the shape of each op. Constants and plain
// structures; nothing here reads or checks.
#pragma once

#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cordon::plan::wire {

inline constexpr std::uint64_t kMagic = 0x4e414c5044524f43;  // "CORDPLAN"
inline constexpr std::uint32_t kVersion = 10;
inline constexpr std::uint32_t kMostRecords = 65'535;
inline constexpr std::size_t kMostHoldPoints = 1'024;
inline constexpr std::uint32_t kMostListeners = 600;
inline constexpr std::uint64_t kMostPooled = 256;  ///< sockets of one family
inline constexpr std::size_t kMostBytes = 32U << 20;
inline constexpr std::uint64_t kLongestTimeMs = 1'000'000'000'000;  // in nanoseconds it still is 64 bits
inline constexpr std::size_t kLongestPath = 4'095;
inline constexpr std::size_t kLongestName = 255;
inline constexpr std::size_t kLongestSocketName = 107;  ///< sun_path, with its NUL
using BuildId = std::array<char, 32>;
/// One per alternative of plan::step::Any, in its order, but for HoldPoint, which is a kMask or a kPin here: the
/// supervisor made what it masks or pins; and but for Publish, which is the supervisor's alone. kLandlockRule continues
/// the kLandlock before it, kStub the kStubOverlay.
enum class Op : std::uint16_t {
  kEnterNamespaces = 1,
  kBuildRoot,
  kMakeDirectory,
  kMakeSymlink,
  kMakeFile,
  kBind,
  kMountProc,
  kMountDev,
  kDevice,
  kMountTmpfs,
  kMask,
  kPin,
  kStubOverlay,
  kPrivateOverlay,
  kEnterRoot,
  kLoopback,
  kLocalNetwork,
  kRedirect,
  kListen,
  kSocketPool,
  kAgentSocket,
  kCgroup,
  kResourceLimit,
  kRunAs,
  kDropPrivileges,
  kLandlock,
  kFilter,
  kExecute,
  kStartWarden,
  kGrant,
  kPrivateDirectory,
  kLandlockRule,
  kStub,
};
inline constexpr std::size_t kOps = 33;

/// `size` bytes at `offset` of the table. Of a string: without its NUL, which follows.
struct Ref {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t record_count = 0;
  std::uint32_t table_size = 0;
  std::uint32_t reserved = 0;
  BuildId build_id{};
};

struct Record {
  Op op{};
  std::uint16_t step = 0;  ///< StepId
  std::uint32_t flags = 0;
  std::array<std::uint64_t, 8> args{};
  std::array<Ref, 4> refs{};
};
static_assert(sizeof(Header) == 56 && sizeof(Record) == 104, "no padding: every byte is written and read");

// Record::flags
inline constexpr std::uint32_t kReadOnly = 1U << 0;  ///< Bind, MountTmpfs, Pin
inline constexpr std::uint32_t kNoexec = 1U << 1;    ///< Bind, MountTmpfs, StubOverlay
inline constexpr std::uint32_t kNosuid = 1U << 2;    ///< as kNoexec
inline constexpr std::uint32_t kNodev = 1U << 3;     ///< as kNoexec
inline constexpr std::uint32_t kMountFlags = kReadOnly | kNoexec | kNosuid | kNodev;
inline constexpr std::uint32_t kHasBirthTime = 1U << 4;  ///< Bind, StubOverlay, PrivateOverlay, Grant, PrivateDirectory
inline constexpr std::uint32_t kCreateUid = 1U << 5;     ///< Bind, StubOverlay, Grant, PrivateDirectory
inline constexpr std::uint32_t kCreateGid = 1U << 6;     ///< as kCreateUid
inline constexpr std::uint32_t kObjectFlags = kHasBirthTime | kCreateUid | kCreateGid;
inline constexpr std::uint32_t kDenySetgroups = 1U << 7;       ///< EnterNamespaces
inline constexpr std::uint32_t kSetGroups = 1U << 8;           ///< EnterNamespaces, StartWarden
inline constexpr std::uint32_t kDirectory = 1U << 9;           ///< Mask, Stub
inline constexpr std::uint32_t kNotify = 1U << 10;             ///< Filter
inline constexpr std::uint32_t kDot = 1U << 11;                ///< Stub: a file that says "."
inline constexpr std::uint32_t kOptional = 1U << 12;           ///< LandlockRule
inline constexpr std::uint32_t kMaskedFile = 1U << 15;         ///< LandlockRule
inline constexpr std::uint32_t kPlaceHasBirthTime = 1U << 16;  ///< PrivateOverlay
inline constexpr std::uint32_t kIpv6Too = 1U << 13;            ///< Redirect
inline constexpr std::uint32_t kRedirected = 1U << 14;         ///< Listen: what the Redirect leads to

/// What stands in a record, op by op. Unused args, refs and flags must be zero.
///   args  EnterNamespaces {flags, limit in ms}  BuildRoot {size}  MakeDirectory, MakeFile {mode}  MountDev {shm size}
///         Bind {device, inode, type, birth_ns, create uid, create gid}  MountTmpfs {size, mode}
///         Device {device, inode, type, birth_ns}, its path is below /dev
///         StubOverlay {as Bind, work inode, work birth_ns}; the work directory is on the same device
///         PrivateOverlay {as Bind: device, inode, type, birth_ns; of the place: device, inode, birth_ns}
///         LocalNetwork {family, address: its first 8 bytes, the rest}  Redirect {port}
///         Listen {SOCK_STREAM or SOCK_DGRAM, family, port, address: its first 8 bytes, the rest}
///         SocketPool {family, count}
///         ResourceLimit {resource, soft, hard}  RunAs {uid, gid}
///         Landlock {handled, scoped, abi, handled of the network}  its rules {access}
///         StartWarden {0, limit in ms}  Grant, PrivateDirectory {as Bind, access}; of a PrivateDirectory's parent
///         Filter {flags}
///   refs  the target first; then: EnterNamespaces {uid map, gid map (as the files of user_namespaces(7) want them),
///         groups (u32 each)}  MakeSymlink {target, text}  MakeFile {target, content}  Bind {target, source, create}
///         Pin {target, text of the link that stands there: none, or one}  PrivateOverlay {target, source, place}
///         StubOverlay {target, source, create, work}  Stub {target: below the overlay's}
///         Filter {name, program}  Execute {path, argv, environment, working directory}
///         StartWarden {none, none, groups}  Grant {as Bind; target and source are the same}
///         PrivateDirectory {the directory, its parent}
enum class RefKind : std::uint8_t { kNone, kPath, kText, kBytes, kList };

/// Where in the order of steps an op may stand; never falls from record to record.
enum class Phase : std::uint8_t { kEnter = 1, kNetwork, kRoot, kMounts, kEnterRoot, kTarget, kExecute };

/// Names of filters that must refuse: unshare(CLONE_NEWUSER); openat2; memfd_create; nothing. Others that notify: each
/// execve.
inline constexpr const char *kSystemCalls = "system-calls", *kSystemCallsNested = "system-calls-nested",
                            *kExecList = "exec-list", *kWatch = "watch";
/// And of the landlock engine: any socket. One that asks the supervisor about nothing but attributes of files.
inline constexpr const char *kHostReach = "host-reach", *kAttributes = "attributes";

/// How often an op may occur.
enum class Times : std::uint8_t { kAny, kAtMostOnce, kOnce };

/// In plans of which engine.
enum class Of : std::uint8_t { kNamespaces, kWarden, kBoth };

struct Shape {
  Phase phase{};
  Times times{};
  std::uint8_t args = 0;
  std::uint32_t flags = 0;
  std::array<RefKind, 4> refs{};
  Of engine = Of::kNamespaces;
};

/// The shape of each op: kShapes[op - 1].
inline constexpr std::array<Shape, kOps> kShapes = [] {
  using enum RefKind;
  using enum Of;
  constexpr auto kAny = Times::kAny, kAtMostOnce = Times::kAtMostOnce, kOnce = Times::kOnce;
  return std::array<Shape, kOps>{{
      {Phase::kEnter, kOnce, 2, kDenySetgroups | kSetGroups, {kText, kText, kBytes}},
      {Phase::kRoot, kOnce, 1, 0, {}},
      {Phase::kMounts, kAny, 1, 0, {kPath}},
      {Phase::kMounts, kAny, 0, 0, {kPath, kText}},
      {Phase::kMounts, kAny, 1, 0, {kPath, kBytes}},
      {Phase::kMounts, kAny, 6, kMountFlags | kObjectFlags, {kPath, kPath, kList}},
      {Phase::kMounts, kAtMostOnce, 0, 0, {kPath}},
      {Phase::kMounts, kAtMostOnce, 1, 0, {kPath}},
      {Phase::kMounts, kAny, 4, (kMountFlags & ~kNodev) | kHasBirthTime, {kPath}},
      {Phase::kMounts, kAny, 2, kMountFlags, {kPath}},
      {Phase::kMounts, kAny, 0, kDirectory, {kPath}},
      {Phase::kMounts, kAny, 0, kReadOnly, {kPath, kList}},
      {Phase::kMounts, kAny, 8, (kMountFlags & ~kReadOnly) | kObjectFlags, {kPath, kPath, kList, kPath}},
      {Phase::kMounts, kAny, 7, (kMountFlags & ~kReadOnly) | kHasBirthTime | kPlaceHasBirthTime, {kPath, kPath, kPath}},
      {Phase::kEnterRoot, kOnce, 0, 0, {}},
      {Phase::kEnterRoot, kAtMostOnce, 0, 0, {}},
      {Phase::kNetwork, kAny, 3, 0, {}},
      {Phase::kNetwork, kAtMostOnce, 1, kIpv6Too, {}},
      {Phase::kNetwork, kAny, 5, kRedirected, {}},
      {Phase::kNetwork, kAny, 2, 0, {}},
      {Phase::kMounts, kAtMostOnce, 0, 0, {kPath}},
      {Phase::kTarget, kAtMostOnce, 0, 0, {}, kBoth},
      {Phase::kTarget, kAny, 3, 0, {}, kBoth},
      {Phase::kTarget, kAtMostOnce, 2, 0, {}, kBoth},
      {Phase::kTarget, kOnce, 0, 0, {}, kBoth},
      {Phase::kTarget, kAtMostOnce, 4, 0, {}, kBoth},
      {Phase::kTarget, kAny, 1, kNotify, {kText, kBytes}, kBoth},
      {Phase::kExecute, kOnce, 0, 0, {kPath, kList, kList, kPath}, kBoth},
      {Phase::kEnter, kOnce, 2, kSetGroups, {kNone, kNone, kBytes}, kWarden},
      {Phase::kMounts, kAny, 7, kObjectFlags, {kPath, kPath, kList}, kWarden},
      {Phase::kMounts, kAtMostOnce, 7, kObjectFlags, {kPath, kPath}, kWarden},
      {Phase::kTarget, kAny, 1, kOptional | kMaskedFile, {kPath}, kBoth},
      {Phase::kMounts, kAny, 0, kDirectory | kDot, {kPath}},
  }};
}();
inline constexpr const Shape& shape_of(Op op) { return kShapes[static_cast<std::size_t>(op) - 1]; }

}  // namespace cordon::plan::wire
