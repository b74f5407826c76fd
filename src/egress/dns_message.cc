#include "egress/dns_message.h"

#include "policy/network/name.h"

namespace cordon::egress {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kLongestWireName = 255;
constexpr std::size_t kLongestLabel = policy::network::kLongestLabel;
constexpr std::uint32_t kTtl = 300;
constexpr std::uint16_t kUdpSize = 1232;
constexpr std::uint16_t kResponse = 0x8000, kRecursionDesired = 0x0100, kRecursionAvailable = 0x0080;

/// Big-endian numbers within bounds.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> all) : all_(all) {}
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool done() const { return at_ == all_.size(); }
  [[nodiscard]] bool bad() const { return bad_; }
  std::uint8_t u8() {
    if (at_ >= all_.size()) {
      bad_ = true;
      return 0;
    }
    return static_cast<std::uint8_t>(all_[at_++]);
  }
  std::uint16_t u16() {
    const unsigned high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::string_view text(std::size_t size) {
    if (size > all_.size() - at_) {
      bad_ = true;
      return {};
    }
    const std::string_view out(reinterpret_cast<const char*>(all_.data()) + at_, size);
    at_ += size;
    return out;
  }

 private:
  std::span<const std::byte> all_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

/// False where it is no plain name of at most 255 bytes. Each turn takes at least two bytes, so it ends.
bool read_name(Bytes& in, std::vector<std::string>& labels) {
  std::size_t size = 1;
  while (const std::uint8_t length = in.u8()) {
    size += 1U + length;
    if (length > kLongestLabel || size > kLongestWireName) return false;
    labels.emplace_back(in.text(length));
    if (in.bad()) return false;
  }
  return !in.bad();
}

/// The one additional record that may be there. True where it is EDNS's, whole and of version 0.
bool read_edns(Bytes& in, DnsRefusal& refusal) {
  const bool root = in.u8() == 0;
  const bool opt = in.u16() == rr::kOpt;
  in.u16();  // the sender's buffer: all our answers fit the smallest
  in.u8();   // upper bits of the rcode
  const std::uint8_t version = in.u8();
  in.u16();  // flags: DO asks for signatures, of which there are none
  in.text(in.u16());
  if (!root || !opt || in.bad()) return false;
  refusal.edns = true;
  if (version != 0) refusal.rcode = Rcode::kBadVersion;
  return version == 0;
}

class Out {
 public:
  void u8(unsigned value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(unsigned value) {
    u8(value >> 8 & 0xff);
    u8(value & 0xff);
  }
  void u32(std::uint32_t value) {
    u16(value >> 16);
    u16(value & 0xffff);
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void name(std::string_view text) {
    while (!text.empty()) {
      const std::size_t dot = text.find('.');
      const std::string_view label = text.substr(0, dot);
      u8(static_cast<unsigned>(label.size()));
      raw(std::as_bytes(std::span(label.data(), label.size())));
      text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
    }
    u8(0);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

void write_header(Out& out, const DnsRefusal& about, unsigned questions, unsigned answers) {
  const unsigned rd = about.recursion_desired ? kRecursionDesired : 0U;
  out.u16(about.id);
  out.u16(kResponse | kRecursionAvailable | rd | static_cast<unsigned>(about.opcode) << 11 |
          (static_cast<unsigned>(about.rcode) & 0xf));
  out.u16(questions);
  out.u16(answers);
  out.u16(0);
  out.u16(about.edns ? 1 : 0);
}

void write_edns(Out& out, const DnsRefusal& about) {
  if (!about.edns) return;
  out.u8(0);
  out.u16(rr::kOpt);
  out.u16(kUdpSize);
  out.u8(static_cast<unsigned>(about.rcode) >> 4);
  out.u8(0);
  out.u16(0);
  out.u16(0);
}

void write_data(Out& out, const DnsQuery& query, const DnsData& data) {
  Out content;
  if (const auto* address = std::get_if<policy::network::Address>(&data)) {
    content.raw(std::as_bytes(std::span(address->bytes)).first(address->bits() / 8));
  } else if (const auto* name = std::get_if<std::string>(&data)) {
    content.name(*name);
  } else {
    return;
  }
  const auto bytes = content.take();
  out.u16(0xc000 | kHeader);  // the question's name
  out.u16(query.type);
  out.u16(rr::kIn);
  out.u32(kTtl);
  out.u16(static_cast<unsigned>(bytes.size()));
  out.raw(bytes);
}

}  // namespace

DnsParsed parse_query(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader || bytes.size() > kLongestQuery) return {};
  Bytes in(bytes);
  DnsRefusal refusal;
  refusal.id = in.u16();
  const std::uint16_t flags = in.u16();
  if ((flags & kResponse) != 0) return {};  // an answer to an answer would go round for ever
  refusal.recursion_desired = (flags & kRecursionDesired) != 0;
  refusal.opcode = flags >> 11 & 0xf;
  if (refusal.opcode != 0) {
    refusal.rcode = Rcode::kNotImp;
    return refusal;
  }
  const bool one_question = in.u16() == 1;
  const bool nothing_answered = (in.u16() | in.u16()) == 0;
  const std::uint16_t additional = in.u16();
  if (!one_question || !nothing_answered || additional > 1) return refusal;
  DnsQuery query{.id = refusal.id, .recursion_desired = refusal.recursion_desired};
  const std::size_t begin = in.at();
  if (!read_name(in, query.labels)) return refusal;
  query.type = in.u16();
  query.klass = in.u16();
  if (in.bad()) return refusal;
  query.question = bytes.subspan(begin, in.at() - begin);
  if (additional == 1 && !read_edns(in, refusal)) return refusal;
  query.edns = refusal.edns;
  if (!in.done()) return refusal;
  return query;
}

std::vector<std::byte> write_answer(const DnsQuery& query, Rcode rcode, const DnsData& data) {
  const DnsRefusal about{query.id, query.recursion_desired, query.edns, 0, rcode};
  Out out;
  write_header(out, about, 1, std::holds_alternative<std::monostate>(data) ? 0 : 1);
  out.raw(query.question);
  write_data(out, query, data);
  write_edns(out, about);
  return out.take();
}

std::vector<std::byte> write_refusal(const DnsRefusal& refusal) {
  Out out;
  write_header(out, refusal, 0, 0);
  write_edns(out, refusal);
  return out.take();
}

}  // namespace cordon::egress
