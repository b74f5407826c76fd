#include "enforce/launch/encode.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "cordon_build_id.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {
namespace {

namespace wire = plan::wire;
namespace step = plan::step;
using wire::Op;
using wire::Record;
using wire::Ref;

std::uint32_t flag_of(step::RuleFor object) {
  switch (object) {
    case step::RuleFor::kTarget:
      return 0;
    case step::RuleFor::kTargetIfThere:
      return wire::kOptional;
    case step::RuleFor::kMaskedFile:
      return wire::kMaskedFile;
  }
  return 0;
}

class Encoder {
 public:
  explicit Encoder(std::uint64_t time_limit_ms) : time_limit_ms_(time_limit_ms) {}
  void add(const plan::Step& planned, std::uint16_t id) {
    step_ = id;
    std::visit([&](const auto& act) { encode(act); }, planned.act);
  }
  [[nodiscard]] std::vector<std::byte> finish() const;

 private:
  Ref string(std::string_view text) {
    const Ref ref = bytes(text.data(), text.size());
    table_.push_back('\0');
    return ref;
  }
  Ref bytes(const void* data, std::size_t size) {
    const Ref ref{.offset = static_cast<std::uint32_t>(table_.size()), .size = static_cast<std::uint32_t>(size)};
    table_.append(static_cast<const char*>(data), size);
    return ref;
  }
  Ref list(std::span<const std::string> texts) {
    Ref ref{.offset = static_cast<std::uint32_t>(table_.size()), .size = 0};
    for (const std::string& text : texts) {
      // A NUL would make two arguments of one. The decoder refuses a list of that size.
      if (text.contains('\0')) return {.offset = ref.offset, .size = UINT32_MAX};
      ref.size += string(text).size + 1;
    }
    return ref;
  }
  Ref map(std::span<const plan::IdRange> ranges) {
    std::string text;
    for (const plan::IdRange& range : ranges) {
      text += std::to_string(range.inside) + " " + std::to_string(range.outside) + " " + std::to_string(range.count);
      text += "\n";
    }
    return string(text);
  }
  void put(Op op, std::uint32_t flags, std::initializer_list<std::uint64_t> args, std::initializer_list<Ref> refs) {
    Record record{.op = op, .step = step_, .flags = flags};
    std::ranges::copy(args, record.args.begin());
    std::ranges::copy(refs, record.refs.begin());
    records_.push_back(record);
  }

  void encode(const step::EnterNamespaces& act) {
    const std::uint32_t flags =
        (act.deny_setgroups ? wire::kDenySetgroups : 0) | (act.set_groups ? wire::kSetGroups : 0);
    put(Op::kEnterNamespaces, flags, {act.flags, time_limit_ms_},
        {map(act.uids), map(act.gids), bytes(act.groups.data(), act.groups.size() * sizeof(act.groups[0]))});
  }
  void encode(const step::BuildRoot& act) { put(Op::kBuildRoot, 0, {act.size_bytes}, {}); }
  void encode(const step::MakeDirectory& act) { put(Op::kMakeDirectory, 0, {act.mode}, {string(act.target)}); }
  void encode(const step::MakeSymlink& act) { put(Op::kMakeSymlink, 0, {}, {string(act.target), string(act.text)}); }
  void encode(const step::MakeFile& act) {
    put(Op::kMakeFile, 0, {act.mode}, {string(act.target), bytes(act.content.data(), act.content.size())});
  }
  void encode(const step::Bind& act) {
    put(Op::kBind, mount_flags(act.attributes) | object_flags(act),
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns),
         act.create_owner_uid.value_or(0), act.create_owner_gid.value_or(0)},
        {string(act.target), string(act.source), list(act.create)});
  }
  void encode(const step::StubOverlay& act) {
    // A work directory elsewhere could not work; the decoder refuses an inode of 0.
    const bool same_device = act.work_id.device == act.id.device;
    put(Op::kStubOverlay, mount_flags(act.attributes) | object_flags(act),
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns),
         act.create_owner_uid.value_or(0), act.create_owner_gid.value_or(0), same_device ? act.work_id.inode : 0,
         static_cast<std::uint64_t>(act.work_id.birth_ns)},
        {string(act.target), string(act.source), list(act.create), string(act.work)});
    for (const step::Stub& stub : act.stubs) {
      const std::uint32_t flag = stub.text == step::StubText::kDot ? wire::kDot : 0;
      put(Op::kStub, stub.directory ? wire::kDirectory : flag, {}, {string(act.target + "/" + stub.path)});
    }
  }
  void encode(const step::PrivateOverlay& act) {
    const std::uint32_t births = (act.id.has_birth_time ? wire::kHasBirthTime : 0) |
                                 (act.place_id.has_birth_time ? wire::kPlaceHasBirthTime : 0);
    put(Op::kPrivateOverlay, mount_flags(act.attributes) | births,
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns), act.place_id.device,
         act.place_id.inode, static_cast<std::uint64_t>(act.place_id.birth_ns)},
        {string(act.target), string(act.source), string(act.place)});
  }
  void encode(const step::HoldPoint& act) {
    if (act.text != step::StubText::kNone) return encode(step::Pin{.target = act.target, .read_only = true});
    put(Op::kMask, act.is_directory ? wire::kDirectory : 0, {}, {string(act.target)});
  }
  void encode(const step::MountProc& act) { put(Op::kMountProc, 0, {}, {string(act.target)}); }
  void encode(const step::MountDev& act) { put(Op::kMountDev, 0, {act.shm_bytes}, {string(act.target)}); }
  void encode(const step::Device& act) {
    put(Op::kDevice,
        wire::kReadOnly | wire::kNoexec | wire::kNosuid | (act.id.has_birth_time ? wire::kHasBirthTime : 0),
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns)}, {string(act.path)});
  }
  void encode(const step::MountTmpfs& act) {
    put(Op::kMountTmpfs, mount_flags(act.attributes), {act.size_bytes, act.mode}, {string(act.target)});
  }
  void encode(const step::Mask& act) { put(Op::kMask, act.directory ? wire::kDirectory : 0, {}, {string(act.target)}); }
  void encode(const step::Pin& act) {
    const std::span<const std::string> link(&act.link, act.link.empty() ? 0U : 1U);
    put(Op::kPin, act.read_only ? wire::kReadOnly : 0, {}, {string(act.target), list(link)});
  }
  void encode(const step::EnterRoot&) { put(Op::kEnterRoot, 0, {}, {}); }
  void encode(const step::Loopback&) { put(Op::kLoopback, 0, {}, {}); }
  void encode(const step::LocalNetwork& act) {
    const Address own = address(act.address);
    put(Op::kLocalNetwork, 0, {own.family, own.first, own.rest}, {});
  }
  void encode(const step::Redirect& act) { put(Op::kRedirect, act.ipv6 ? wire::kIpv6Too : 0, {act.port}, {}); }
  void encode(const step::Listen& act) {
    const Address at = address(act.address);
    const bool datagrams = act.what == step::ListenFor::kDnsUdp;
    put(Op::kListen, act.what == step::ListenFor::kRedirected ? wire::kRedirected : 0,
        {static_cast<std::uint64_t>(datagrams ? SOCK_DGRAM : SOCK_STREAM), at.family, act.port, at.first, at.rest}, {});
  }
  void encode(const step::SocketPool& act) {
    put(Op::kSocketPool, 0, {static_cast<std::uint64_t>(act.ipv6 ? AF_INET6 : AF_INET), act.count}, {});
  }
  void encode(const step::Publish&) {}  // the supervisor's
  void encode(const step::AgentSocket& act) { put(Op::kAgentSocket, 0, {}, {string(act.target)}); }
  /// The numbers are the supervisor's business.
  void encode(const step::Cgroup&) { put(Op::kCgroup, 0, {}, {}); }
  void encode(const step::ResourceLimit& act) { put(Op::kResourceLimit, 0, {act.resource, act.soft, act.hard}, {}); }
  void encode(const step::RunAs& act) { put(Op::kRunAs, 0, {act.uid, act.gid}, {}); }
  void encode(const step::DropPrivileges&) { put(Op::kDropPrivileges, 0, {}, {}); }
  void encode(const step::Landlock& act) {
    put(Op::kLandlock, 0, {act.handled_access, act.scoped, static_cast<std::uint64_t>(act.abi), act.handled_network},
        {});
    for (const step::LandlockRule& rule : act.rules) {
      put(Op::kLandlockRule, flag_of(rule.object), {rule.access}, {string(rule.target)});
    }
  }
  void encode(const step::Filter& act) {
    put(Op::kFilter, act.notify ? wire::kNotify : 0, {act.flags},
        {string(act.name), bytes(act.program.data(), act.program.size())});
  }
  void encode(const step::Execute& act) {
    put(Op::kExecute, 0, {}, {string(act.path), list(act.argv), list(act.environment), string(act.working_directory)});
  }

  void encode(const step::StartWarden& act) {
    put(Op::kStartWarden, act.set_groups ? wire::kSetGroups : 0, {0, time_limit_ms_},
        {Ref{}, Ref{}, bytes(act.groups.data(), act.groups.size() * sizeof(act.groups[0]))});
  }
  void encode(const step::Grant& act) {
    const Ref source = string(act.source);
    put(Op::kGrant, object_flags(act),
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns),
         act.create_owner_uid.value_or(0), act.create_owner_gid.value_or(0), act.access},
        {source, source, list(act.create)});
  }
  void encode(const step::PrivateDirectory& act) {
    const std::uint32_t flags = (act.id.has_birth_time ? wire::kHasBirthTime : 0) |
                                (act.owner_uid ? wire::kCreateUid : 0) | (act.owner_gid ? wire::kCreateGid : 0);
    put(Op::kPrivateDirectory, flags,
        {act.id.device, act.id.inode, act.id.type, static_cast<std::uint64_t>(act.id.birth_ns),
         act.owner_uid.value_or(0), act.owner_gid.value_or(0), act.access},
        {string((act.parent == "/" ? "" : act.parent) + "/" + act.name), string(act.parent)});
  }

  struct Address {
    std::uint64_t family = 0, first = 0, rest = 0;
  };
  /// A text that is no address gets no family, which the decoder refuses.
  static Address address(const std::string& text) {
    std::array<std::byte, 16> bytes{};
    Address out;
    for (const int family : {AF_INET, AF_INET6}) {
      if (::inet_pton(family, text.c_str(), bytes.data()) == 1) out.family = static_cast<std::uint64_t>(family);
    }
    std::memcpy(&out.first, bytes.data(), sizeof out.first);
    std::memcpy(&out.rest, &bytes[sizeof out.first], sizeof out.rest);
    return out;
  }
  template <class Act>
  static std::uint32_t object_flags(const Act& act) {
    return (act.id.has_birth_time ? wire::kHasBirthTime : 0) | (act.create_owner_uid ? wire::kCreateUid : 0) |
           (act.create_owner_gid ? wire::kCreateGid : 0);
  }
  static std::uint32_t mount_flags(const plan::MountAttributes& attributes) {
    return (attributes.read_only ? wire::kReadOnly : 0) | (attributes.noexec ? wire::kNoexec : 0) |
           (attributes.nosuid ? wire::kNosuid : 0) | (attributes.nodev ? wire::kNodev : 0);
  }

  std::uint64_t time_limit_ms_;
  std::uint16_t step_ = 0;
  std::vector<Record> records_;
  std::string table_;
};

std::vector<std::byte> Encoder::finish() const {
  wire::Header header{.record_count = static_cast<std::uint32_t>(records_.size()),
                      .table_size = static_cast<std::uint32_t>(table_.size())};
  static_assert(sizeof(CORDON_BUILD_ID) == sizeof header.build_id + 1);
  std::memcpy(header.build_id.data(), CORDON_BUILD_ID, header.build_id.size());
  std::vector<std::byte> out;
  const auto append = [&](std::span<const std::byte> part) { out.insert(out.end(), part.begin(), part.end()); };
  out.reserve(sizeof header + records_.size() * sizeof(Record) + table_.size());
  append(std::as_bytes(std::span(&header, 1)));
  append(std::as_bytes(std::span(records_)));
  append(std::as_bytes(std::span(table_)));
  return out;
}

std::vector<std::byte> encode_steps(std::span<const plan::Step> steps, std::uint64_t time_limit_ms) {
  Encoder encoder(time_limit_ms);
  std::uint16_t id = 0;
  for (const plan::Step& one : steps) encoder.add(one, ++id);
  return encoder.finish();
}

}  // namespace

std::vector<std::byte> encode(const plan::Plan& plan) {
  // Step ids are 16 bits; a plan beyond that cannot have been made by the planner, which bounds its grants.
  CORDON_CHECK(plan.steps.size() < wire::kMostRecords);
  return encode_steps(plan.steps, plan.timeout_ms);
}

std::vector<std::byte> encode(std::span<const plan::Step> beginning) {
  CORDON_CHECK(beginning.size() < wire::kMostRecords);
  return encode_steps(beginning, 0);
}

std::vector<std::byte> encode(const plan::step::Any& opening) {
  Encoder encoder(0);
  encoder.add({.act = opening}, 1);
  return encoder.finish();
}

}  // namespace cordon::enforce::launch
