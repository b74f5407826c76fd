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
#include "plan/wire_format.h"

namespace cordon::plan::wire {

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

/// A whole plan, or what the launcher may be told before the rest is planned: the opening, its first step alone,
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
  [[nodiscard]] static bool is_complete(const std::array<std::uint32_t, kOps>& seen, Of engine);
  [[nodiscard]] bool is_ref(Ref ref, RefKind kind) const;
  [[nodiscard]] bool is_value(const Record& record) const;
  [[nodiscard]] bool is_creation(const Record& bind) const;
  [[nodiscard]] bool is_below(const Record& overlay, const Record& stub) const;
  [[nodiscard]] bool is_directly_in(Ref path, Ref directory) const;

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
  const Of engine = record(0).op == Op::kStartWarden ? Of::kWarden : Of::kNamespaces;
  for (std::size_t i = 0; i < size(); ++i) {
    const Record one = record(i);
    const auto op = static_cast<std::size_t>(one.op);
    if (op == 0 || op > kOps) return malformed(Fault::kOp, one.step);
    if (const Of of = shape_of(one.op).engine; of != Of::kBoth && of != engine)
      return malformed(Fault::kOrder, one.step);
    if (auto checked = check_order(one, before, seen); !checked) return checked;
    if (auto checked = check_shape(one); !checked) return checked;
    if (!is_value(one)) return malformed(Fault::kValue, one.step);
    if (extent == Extent::kBeginning && !may_begin(one)) return malformed(Fault::kOrder, one.step);
    if (one.op == Op::kStubOverlay) overlay = one;
    if (one.op == Op::kStub && !is_below(overlay, one)) return malformed(Fault::kPath, one.step);
    before = one;
  }
  if (extent == Extent::kOpening)
    return size() == 1 && shape_of(before.op).phase == Phase::kEnter ? Check() : malformed(Fault::kOrder);
  if (extent == Extent::kBeginning)
    return size() > 2 && record(0).op == Op::kEnterNamespaces ? Check() : malformed(Fault::kOrder);
  if (!is_complete(seen, engine)) return malformed(Fault::kOrder);
  const auto count = [&](Op op) { return seen[static_cast<std::size_t>(op) - 1]; };
  if (count(Op::kLocalNetwork) > 2 || count(Op::kListen) > kMostListeners) return malformed(Fault::kOrder);
  if (count(Op::kSocketPool) > 2) return malformed(Fault::kOrder);
  return {};
}

/// Without namespaces Landlock and the filter of system calls are all that holds: no plan does without.
inline bool View::is_complete(const std::array<std::uint32_t, kOps>& seen, Of engine) {
  for (std::size_t op = 0; op < kOps; ++op) {
    const bool belongs = kShapes[op].engine == Of::kBoth || kShapes[op].engine == engine;
    if (belongs && kShapes[op].times == Times::kOnce && seen[op] != 1) return false;
  }
  const auto count = [&](Op op) { return seen[static_cast<std::size_t>(op) - 1]; };
  return engine == Of::kNamespaces || (count(Op::kLandlock) == 1 && count(Op::kFilter) != 0);
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
    case Op::kStartWarden:
      return args[0] == 0 && args[1] <= kLongestTimeMs && record.refs[2].size % sizeof(gid_t) == 0;
    case Op::kGrant:
      return args[2] <= UINT32_MAX && args[4] <= UINT32_MAX && args[5] <= UINT32_MAX && below_root &&
             is_creation(record);
    case Op::kPrivateDirectory:
      return args[2] == S_IFDIR && args[4] <= UINT32_MAX && args[5] <= UINT32_MAX && below_root &&
             is_directly_in(record.refs[0], record.refs[1]);
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

inline bool View::is_directly_in(Ref path, Ref directory) const {
  const std::size_t length = directory.size == 1 ? 0 : directory.size;  // of "/" nothing stands before the name
  return path.size > length + 1 && std::memcmp(string(path), string(directory), length) == 0 &&
         string(path)[length] == '/' && std::memchr(string(path) + length + 1, '/', path.size - length - 1) == nullptr;
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
