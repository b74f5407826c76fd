#include "egress/records.h"

#include <utility>

#include "egress/wire.h"
#include "policy/network/name.h"

namespace cordon::egress {
namespace {

using policy::network::Address;
using policy::network::Family;

constexpr std::uint32_t kMagic = 0x33524243;  // "CBR3": the version is in it
constexpr std::size_t kLongestBuildId = 64;
constexpr std::size_t kLongestHost = policy::network::kLongestName;

std::size_t bytes_of(Family family) { return family == Family::kIpv4 ? 4 : 16; }

/// A byte that says what follows: nothing, four bytes or sixteen.
void put(Writer& out, const std::optional<Address>& address) {
  out.number(static_cast<std::uint8_t>(address ? bytes_of(address->family) : 0));
  if (address) out.raw(std::as_bytes(std::span(address->bytes)).first(bytes_of(address->family)));
}

void get(Reader& in, std::optional<Address>& address) {
  const auto size = in.number<std::uint8_t>();
  if (size == 0) return;
  address.emplace(Address{.family = size == 4 ? Family::kIpv4 : Family::kIpv6, .bytes = {}});
  if (size != bytes_of(address->family)) return in.fail();
  const auto bytes = in.take(size);
  if (!bytes.empty()) std::memcpy(address->bytes.data(), bytes.data(), bytes.size());
}

void put(Writer& out, const Ready& one) {
  out.number(one.checks);
  out.number(one.landlock_abi);
  out.number(one.connections);
  out.text(std::string_view(one.build_id).substr(0, kLongestBuildId));
}
void put(Writer& out, const Heartbeat& one) {
  out.number(one.sequence);
  out.number(one.open);
}
void put(Writer& out, const Row& one) {
  out.number(one.id);
  out.number(static_cast<std::uint8_t>(one.verdict));
  out.number(static_cast<std::uint8_t>(one.via));
  out.number(static_cast<std::uint8_t>(one.decided_by));
  out.number(one.port);
  out.number(one.rule);
  out.number(one.detail);
  out.number(one.count);
  out.number(one.bytes_out);
  out.number(one.bytes_in);
  out.text(std::string_view(one.host).substr(0, kLongestHost));
  put(out, one.address);
}
void put(Writer& out, const Question& one) {
  out.number(one.id);
  out.number(one.port);
  out.number(one.asker_port);
  out.number(static_cast<std::uint8_t>(one.asker.family));
  out.raw(std::as_bytes(std::span(one.asker.bytes)));
  out.text(one.host);
}
void put(Writer& out, const QuestionGone& one) { out.number(one.id); }
void put(Writer& out, const Failed& one) {
  out.number(one.code);
  out.text(std::string_view(one.what).substr(0, 64));
}
void put(Writer&, const Finished&) {}
void put(Writer& out, const Answer& one) {
  out.number(one.id);
  out.number(static_cast<std::uint8_t>(one.answer));
}
void put(Writer& out, const Finish& one) { out.number(static_cast<std::uint8_t>(one.parting)); }

void get(Reader& in, Ready& one) {
  one.checks = in.number_up_to<std::uint32_t>(confine::kAllChecks);
  one.landlock_abi = in.number<std::uint32_t>();
  one.connections = in.number<std::uint32_t>();
  one.build_id = in.text(kLongestBuildId);
}
void get(Reader& in, Heartbeat& one) {
  one.sequence = in.number<std::uint64_t>();
  one.open = in.number<std::uint32_t>();
}

/// An enumerator from 1 to `last`.
template <class E>
E enumerator(Reader& in, std::uint8_t last) {
  const auto value = in.number_up_to<std::uint8_t>(last);
  if (value == 0) in.fail();
  return static_cast<E>(value);
}

void get(Reader& in, Row& one) {
  one.id = in.number<std::uint32_t>();
  one.verdict = enumerator<Verdict>(in, kLastVerdict);
  one.via = enumerator<Via>(in, kLastVia);
  one.decided_by = static_cast<DecidedBy>(in.number_up_to<std::uint8_t>(kLastDecider));
  one.port = in.number<std::uint16_t>();
  one.rule = in.number<std::uint32_t>();
  one.detail = in.number<std::uint32_t>();
  one.count = in.number<std::uint64_t>();
  one.bytes_out = in.number<std::uint64_t>();
  one.bytes_in = in.number<std::uint64_t>();
  one.host = in.text(kLongestHost);
  get(in, one.address);
}
void get(Reader& in, Question& one) {
  one.id = in.number<std::uint64_t>();
  one.port = in.number<std::uint16_t>();
  one.asker_port = in.number<std::uint16_t>();
  one.asker.family = static_cast<Family>(in.number_up_to<std::uint8_t>(1));
  const auto bytes = in.take(one.asker.bytes.size());
  if (!bytes.empty()) std::memcpy(one.asker.bytes.data(), bytes.data(), bytes.size());
  one.host = in.text(kLongestHost);
}
void get(Reader& in, QuestionGone& one) { one.id = in.number<std::uint64_t>(); }
void get(Reader& in, Failed& one) {
  one.code = in.number<std::int32_t>();
  one.what = in.text(64);
}
void get(Reader&, Finished&) {}
void get(Reader& in, Answer& one) {
  one.id = in.number<std::uint64_t>();
  one.answer = static_cast<GateAnswer>(in.number_up_to<std::uint8_t>(3));
}
void get(Reader& in, Finish& one) {
  one.parting = enumerator<Parting>(in, static_cast<std::uint8_t>(Parting::kWhenDelivered));
}

/// The alternative number `kind`, read whole.
template <std::size_t I = 0>
std::optional<Record> read_kind(Reader& in, std::size_t kind) {
  if constexpr (I == std::variant_size_v<Record>) {
    return std::nullopt;
  } else {
    if (kind != I) return read_kind<I + 1>(in, kind);
    std::variant_alternative_t<I, Record> one;
    get(in, one);
    if (!in.finished()) return std::nullopt;
    return Record(std::move(one));
  }
}

}  // namespace

std::vector<std::byte> encode(const Record& record) {
  Writer out;
  out.number(kMagic);
  out.number(static_cast<std::uint16_t>(record.index()));
  std::visit([&](const auto& one) { put(out, one); }, record);
  return std::move(out.bytes());
}

std::optional<Record> decode_record(std::span<const std::byte> bytes) {
  Reader in(bytes);
  if (bytes.size() > kMostRecordBytes || in.number<std::uint32_t>() != kMagic) return std::nullopt;
  const auto kind = in.number<std::uint16_t>();
  return read_kind(in, kind);
}

}  // namespace cordon::egress
