// The Plan as bytes: what cordon writes into a sealed memfd and cordon-launch reads out of it.
//
//   Header | Record × record_count | table (strings and bytes)
//
// Flat and uniform: every record has the same size, every string and byte sequence stands in the table and is named by
// a Ref. View::decode() checks everything once (counts, offsets, terminators, op codes, shapes, paths without "..", the
// order of the steps); after that the accessors cannot fail. It allocates nothing, throws nothing and keeps no pointer
// but to the bytes that it was given, which must not change: the launcher insists on the memfd's seals.
// Written by enforce/launch/encode.cc, read by the launcher and by fuzz/. Never of another version: the build id tells.
#pragma once

#include <linux/filter.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/result.h"

namespace cordon::plan::wire {

inline constexpr std::uint64_t kMagic = 0x4e414c5044524f43;  // "CORDPLAN"
inline constexpr std::uint32_t kVersion = 9;
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
  kLandlockRule,
  kStub,
};
inline constexpr std::size_t kOps = 30;

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
inline constexpr std::uint32_t kHasBirthTime = 1U << 4;  ///< Bind, StubOverlay, PrivateOverlay
inline constexpr std::uint32_t kCreateUid = 1U << 5;     ///< Bind, StubOverlay
inline constexpr std::uint32_t kCreateGid = 1U << 6;     ///< Bind, StubOverlay
inline constexpr std::uint32_t kObjectFlags = kHasBirthTime | kCreateUid | kCreateGid;
inline constexpr std::uint32_t kDenySetgroups = 1U << 7;       ///< EnterNamespaces
inline constexpr std::uint32_t kSetGroups = 1U << 8;           ///< EnterNamespaces
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
///         ResourceLimit {resource, soft, hard}  RunAs {uid, gid}  Landlock {handled, scoped, abi}  its rules {access}
///         Filter {flags}
///   refs  the target first; then: EnterNamespaces {uid map, gid map (as the files of user_namespaces(7) want them),
///         groups (u32 each)}  MakeSymlink {target, text}  MakeFile {target, content}  Bind {target, source, create}
///         Pin {target, text of the link that stands there: none, or one}  PrivateOverlay {target, source, place}
///         StubOverlay {target, source, create, work}  Stub {target: below the overlay's}
///         Filter {name, program}  Execute {path, argv, environment, working directory}
enum class RefKind : std::uint8_t { kNone, kPath, kText, kBytes, kList };

/// Where in the order of steps an op may stand; never falls from record to record.
enum class Phase : std::uint8_t { kEnter = 1, kNetwork, kRoot, kMounts, kEnterRoot, kTarget, kExecute };

/// Names of filters that must refuse: unshare(CLONE_NEWUSER); openat2; memfd_create; nothing. Others that notify: each
/// execve.
inline constexpr const char *kSystemCalls = "system-calls", *kSystemCallsNested = "system-calls-nested",
                            *kExecList = "exec-list", *kWatch = "watch";

/// How often an op may occur.
enum class Times : std::uint8_t { kAny, kAtMostOnce, kOnce };

struct Shape {
  Phase phase{};
  Times times{};
  std::uint8_t args = 0;
  std::uint32_t flags = 0;
  std::array<RefKind, 4> refs{};
};

/// The shape of each op: kShapes[op - 1].
inline constexpr std::array<Shape, kOps> kShapes = [] {
  using enum RefKind;
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
      {Phase::kTarget, kAtMostOnce, 0, 0, {}},
      {Phase::kTarget, kAny, 3, 0, {}},
      {Phase::kTarget, kAtMostOnce, 2, 0, {}},
      {Phase::kTarget, kOnce, 0, 0, {}},
      {Phase::kTarget, kAtMostOnce, 3, 0, {}},
      {Phase::kTarget, kAny, 1, kNotify, {kText, kBytes}},
      {Phase::kExecute, kOnce, 0, 0, {kPath, kList, kList, kPath}},
      {Phase::kTarget, kAny, 1, kOptional | kMaskedFile, {kPath}},
      {Phase::kMounts, kAny, 0, kDirectory | kDot, {kPath}},
  }};
}();
inline constexpr const Shape& shape_of(Op op) { return kShapes[static_cast<std::size_t>(op) - 1]; }

enum class Fault : std::uint8_t {
  kSize,      ///< too short, too long, or the counts do not add up to it
  kNotAPlan,  ///< another magic number
  kOtherVersion,
  kOp,         ///< an op code that does not exist
  kOrder,      ///< a step where it may not stand, one too many, or one missing
  kStep,       ///< step ids that do not rise
  kShape,      ///< a field that this op does not have is not zero
  kReference,  ///< outside the table, or without its NUL
  kPath,       ///< not absolute, or not normal, or too long
  kValue,      ///< a number or a text that this op cannot have
};

inline const char* fault_name(Fault fault) {
  constexpr std::array<const char*, 10> kNames = {"size", "not-a-plan", "version",   "op",   "order",
                                                  "step", "shape",      "reference", "path", "value"};
  return kNames[static_cast<std::size_t>(fault)];
}

struct Malformed {
  Fault fault{};
  std::uint16_t step = 0;  ///< of the record that is wrong; 0: the whole
  friend bool operator==(const Malformed&, const Malformed&) = default;
};

/// An absolute, lexically normal path: one leading '/', no empty component, no '.', no '..', no trailing '/'.
inline bool is_normal_path(const char* text, std::size_t size) {
  if (size == 0 || size > kLongestPath || text[0] != '/') return false;
  if (size == 1) return true;
  std::size_t start = 1;
  for (std::size_t i = 1; i <= size; ++i) {
    if (i < size && text[i] != '/') continue;
    const std::size_t length = i - start;
    if (length == 0 || length > kLongestName) return false;
    if (text[start] == '.' && (length == 1 || (length == 2 && text[start + 1] == '.'))) return false;
    start = i + 1;
  }
  return true;
}

/// The strings of a kList, each NUL-terminated, in order.
class List {
 public:
  List(const char* at, std::size_t size) : at_(at), end_(at + size) {}
  [[nodiscard]] const char* next() {  ///< nullptr at the end
    if (at_ == end_) return nullptr;
    const char* here = at_;
    at_ += std::strlen(at_) + 1;
    return here;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t n = 0;
    for (const char* c = at_; c != end_; ++c) n += *c == '\0' ? 1U : 0U;
    return n;
  }

 private:
  const char* at_;
  const char* end_;
};

/// A whole plan, or what the launcher may be told before the rest is planned: the opening, its EnterNamespaces alone,
/// or a beginning, which is the opening and what follows of steps that make nothing on the host.
enum class Extent : std::uint8_t { kPlan, kOpening, kBeginning };

class View {
 public:
  /// Checks all of `bytes`, which must outlive the View and never change.
  static base::Result<View, Malformed> decode(std::span<const std::byte> bytes, Extent extent = Extent::kPlan);

  [[nodiscard]] std::size_t size() const { return header_.record_count; }
  [[nodiscard]] const BuildId& build_id() const { return header_.build_id; }
  /// Copied out: the bytes need not be aligned.
  [[nodiscard]] Record record(std::size_t index) const {
    Record out;
    std::memcpy(&out, records_ + index * sizeof(Record), sizeof out);
    return out;
  }
  [[nodiscard]] const char* string(Ref ref) const { return table_ + ref.offset; }
  [[nodiscard]] std::span<const std::byte> bytes(Ref ref) const {
    return {reinterpret_cast<const std::byte*>(table_ + ref.offset), ref.size};
  }
  [[nodiscard]] List list(Ref ref) const { return {table_ + ref.offset, ref.size}; }

 private:
  using Check = base::Result<void, Malformed>;
  [[nodiscard]] Check check_all(Extent extent) const;
  [[nodiscard]] Check check_order(const Record& record, const Record& before,
                                  std::array<std::uint32_t, kOps>& seen) const;
  [[nodiscard]] Check check_shape(const Record& record) const;
  [[nodiscard]] static bool may_begin(const Record& record);
  [[nodiscard]] bool is_ref(Ref ref, RefKind kind) const;
  [[nodiscard]] bool is_value(const Record& record) const;
  [[nodiscard]] bool is_creation(const Record& bind) const;
  [[nodiscard]] bool is_below(const Record& overlay, const Record& stub) const;

  Header header_{};
  const char* records_ = nullptr;
  const char* table_ = nullptr;
};

inline auto malformed(Fault fault, std::uint16_t step = 0) { return base::fail(Malformed{fault, step}); }

inline base::Result<View, Malformed> View::decode(std::span<const std::byte> bytes, Extent extent) {
  View view;
  if (bytes.size() < sizeof(Header) || bytes.size() > kMostBytes) return malformed(Fault::kSize);
  std::memcpy(&view.header_, bytes.data(), sizeof(Header));
  const Header& header = view.header_;
  if (header.magic != kMagic) return malformed(Fault::kNotAPlan);
  if (header.version != kVersion || header.reserved != 0) return malformed(Fault::kOtherVersion);
  if (header.record_count == 0 || header.record_count > kMostRecords) return malformed(Fault::kSize);
  const std::size_t records = std::size_t{header.record_count} * sizeof(Record);
  if (bytes.size() != sizeof(Header) + records + header.table_size) return malformed(Fault::kSize);
  view.records_ = reinterpret_cast<const char*>(bytes.data()) + sizeof(Header);
  view.table_ = view.records_ + records;
  if (auto checked = view.check_all(extent); !checked) return base::fail(checked.error());
  return view;
}

inline View::Check View::check_all(Extent extent) const {
  std::array<std::uint32_t, kOps> seen{};
  Record before;
  Record overlay;
  for (std::size_t i = 0; i < size(); ++i) {
    const Record one = record(i);
    const auto op = static_cast<std::size_t>(one.op);
    if (op == 0 || op > kOps) return malformed(Fault::kOp, one.step);
    if (auto checked = check_order(one, before, seen); !checked) return checked;
    if (auto checked = check_shape(one); !checked) return checked;
    if (!is_value(one)) return malformed(Fault::kValue, one.step);
    if (extent == Extent::kBeginning && !may_begin(one)) return malformed(Fault::kOrder, one.step);
    if (one.op == Op::kStubOverlay) overlay = one;
    if (one.op == Op::kStub && !is_below(overlay, one)) return malformed(Fault::kPath, one.step);
    before = one;
  }
  if (extent == Extent::kOpening)
    return size() == 1 && before.op == Op::kEnterNamespaces ? Check() : malformed(Fault::kOrder);
  if (extent == Extent::kBeginning)
    return size() > 2 && record(0).op == Op::kEnterNamespaces ? Check() : malformed(Fault::kOrder);
  for (std::size_t op = 0; op < kOps; ++op) {
    if (kShapes[op].times == Times::kOnce && seen[op] != 1) return malformed(Fault::kOrder);
  }
  const auto count = [&](Op op) { return seen[static_cast<std::size_t>(op) - 1]; };
  if (count(Op::kLocalNetwork) > 2 || count(Op::kListen) > kMostListeners) return malformed(Fault::kOrder);
  if (count(Op::kSocketPool) > 2) return malformed(Fault::kOrder);
  return {};
}

/// What is thrown away with its mount namespace where the plan turns out to begin otherwise.
inline bool View::may_begin(const Record& record) {
  constexpr std::array kHarmless = {Op::kEnterNamespaces, Op::kLocalNetwork, Op::kRedirect,      Op::kListen,
                                    Op::kSocketPool,      Op::kBuildRoot,    Op::kMakeDirectory, Op::kMakeSymlink,
                                    Op::kMakeFile,        Op::kMask};
  for (const Op op : kHarmless) {
    if (record.op == op) return true;
  }
  return record.op == Op::kBind && (record.flags & kReadOnly) != 0 && record.refs[2].size == 0;
}

inline View::Check View::check_order(const Record& record, const Record& before,
                                     std::array<std::uint32_t, kOps>& seen) const {
  const Shape& shape = shape_of(record.op);
  std::uint32_t& count = seen[static_cast<std::size_t>(record.op) - 1];
  if (++count > 1 && shape.times != Times::kAny) return malformed(Fault::kOrder, record.step);
  if (record.op == Op::kLandlockRule || record.op == Op::kStub) {
    const Op begun = record.op == Op::kStub ? Op::kStubOverlay : Op::kLandlock;
    const bool continues = before.op == begun || before.op == record.op;
    if (!continues || record.step != before.step) return malformed(Fault::kOrder, record.step);
    return {};
  }
  if (record.step == 0 || record.step <= before.step) return malformed(Fault::kStep, record.step);
  if (before.op != Op{} && shape.phase < shape_of(before.op).phase) return malformed(Fault::kOrder, record.step);
  return {};
}

inline View::Check View::check_shape(const Record& record) const {
  const Shape& shape = shape_of(record.op);
  if ((record.flags & ~shape.flags) != 0) return malformed(Fault::kShape, record.step);
  for (std::size_t i = shape.args; i < record.args.size(); ++i) {
    if (record.args[i] != 0) return malformed(Fault::kShape, record.step);
  }
  for (std::size_t i = 0; i < record.refs.size(); ++i) {
    const Ref ref = record.refs[i];
    const RefKind kind = shape.refs[i];
    if (kind == RefKind::kNone && (ref.offset != 0 || ref.size != 0)) return malformed(Fault::kShape, record.step);
    if (!is_ref(ref, kind)) return malformed(Fault::kReference, record.step);
    if (kind == RefKind::kPath && !is_normal_path(string(ref), ref.size)) return malformed(Fault::kPath, record.step);
  }
  return {};
}

inline bool View::is_ref(Ref ref, RefKind kind) const {
  if (kind == RefKind::kNone) return true;
  const std::uint64_t end = std::uint64_t{ref.offset} + ref.size;
  if (end > header_.table_size) return false;
  const char* text = string(ref);
  if (kind == RefKind::kBytes) return true;
  if (kind == RefKind::kList) return ref.size == 0 || text[ref.size - 1] == '\0';
  // A string: not empty, its NUL within the table and no other before it.
  return ref.size != 0 && end < header_.table_size && text[ref.size] == '\0' &&
         std::memchr(text, '\0', ref.size) == nullptr;
}

inline bool is_family(std::uint64_t value) { return value == AF_INET || value == AF_INET6; }
inline bool is_port(std::uint64_t value) { return value != 0 && value <= UINT16_MAX; }

inline bool View::is_value(const Record& record) const {
  constexpr std::uint64_t kNeeded = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
  constexpr std::uint64_t kKnown = kNeeded | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET;
  const auto& args = record.args;
  const bool below_root = record.refs[0].size > 1;  // a target of "/" would replace the private root
  switch (record.op) {
    case Op::kEnterNamespaces:
      return (args[0] & kNeeded) == kNeeded && (args[0] & ~kKnown) == 0 && args[1] <= kLongestTimeMs &&
             record.refs[2].size % sizeof(gid_t) == 0;
    case Op::kMakeDirectory:
    case Op::kMakeFile:
      return args[0] <= 07777 && below_root;
    case Op::kBind:
      return args[2] <= UINT32_MAX && args[4] <= UINT32_MAX && args[5] <= UINT32_MAX && below_root &&
             is_creation(record);
    case Op::kDevice:
      return args[2] == S_IFCHR && std::string_view(string(record.refs[0])).starts_with("/dev/");
    case Op::kStubOverlay:
      return args[2] == S_IFDIR && args[4] <= UINT32_MAX && args[5] <= UINT32_MAX && args[6] != 0 && below_root &&
             is_creation(record);
    case Op::kPrivateOverlay:
      return args[2] == S_IFDIR && args[5] != 0 && below_root;
    case Op::kMountTmpfs:
      return args[1] <= 07777 && below_root;
    case Op::kAgentSocket:
      return std::string_view(string(record.refs[0])).rfind('/') + 1 + kLongestSocketName >= record.refs[0].size &&
             below_root;
    case Op::kMakeSymlink:
    case Op::kMountProc:
    case Op::kMountDev:
    case Op::kMask:
      return below_root;
    case Op::kStub:
      return below_root && (record.flags & (kDirectory | kDot)) != (kDirectory | kDot);
    case Op::kPin:
      return below_root && list(record.refs[1]).count() <= 1;
    case Op::kLocalNetwork:
      return is_family(args[0]);
    case Op::kRedirect:
      return is_port(args[0]);
    case Op::kListen:
      return (args[0] == SOCK_STREAM || (args[0] == SOCK_DGRAM && record.flags == 0)) && is_family(args[1]) &&
             is_port(args[2]);
    case Op::kSocketPool:
      return is_family(args[0]) && args[1] != 0 && args[1] <= kMostPooled;
    case Op::kResourceLimit:
      return args[0] <= UINT32_MAX && args[1] <= args[2];
    case Op::kRunAs:
      return args[0] < UINT32_MAX && args[1] < UINT32_MAX;  // -1 is "leave as it is" to setresuid(2)
    case Op::kLandlock:
      return args[2] >= 1 && args[2] <= INT32_MAX;
    case Op::kFilter:
      return args[0] <= UINT32_MAX && record.refs[1].size != 0 && record.refs[1].size % sizeof(sock_filter) == 0 &&
             record.refs[1].size / sizeof(sock_filter) <= BPF_MAXINSNS;
    case Op::kExecute:
      return record.refs[1].size != 0;  // argv[0]
    case Op::kBuildRoot:
    case Op::kEnterRoot:
    case Op::kLoopback:
    case Op::kCgroup:
    case Op::kDropPrivileges:
    case Op::kLandlockRule:
      return true;
  }
  return false;
}

inline bool View::is_below(const Record& overlay, const Record& stub) const {
  const Ref above = overlay.refs[0];
  const Ref path = stub.refs[0];
  return path.size > above.size + 1 && std::memcmp(string(path), string(above), above.size) == 0 &&
         string(path)[above.size] == '/';
}

/// Each component to make is one name, and together they are the end of `source`; what is before them exists.
inline bool View::is_creation(const Record& bind) const {
  const Ref source = bind.refs[1];
  std::size_t total = 0;  // of "/name" for each
  List sizes = list(bind.refs[2]);
  while (const char* name = sizes.next()) total += 1 + std::strlen(name);
  if (total == 0) return true;
  if (total > source.size) return false;
  const char* at = string(source) + (source.size - total);
  List names = list(bind.refs[2]);
  while (const char* name = names.next()) {
    const std::size_t length = std::strlen(name);
    const bool is_name = length != 0 && std::memchr(name, '/', length) == nullptr;
    if (!is_name || *at != '/' || std::memcmp(at + 1, name, length) != 0) return false;
    at += 1 + length;
  }
  return true;
}

}  // namespace cordon::plan::wire
