#include "agent/protocol.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cordon::agent {
namespace {

constexpr std::size_t kLongestAlgorithm = 64;

/// Takes fields off the front. A field that is not there makes the reader bad, and what it answers empty.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  std::uint8_t byte() {
    const Bytes one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::uint32_t number() {
    std::uint32_t out = 0;
    for (const std::byte one : take(sizeof out)) out = out << 8U | static_cast<std::uint32_t>(one);
    return out;
  }
  Bytes string() { return take(number()); }

  [[nodiscard]] bool bad() const { return bad_; }
  /// All was there, and nothing is left.
  [[nodiscard]] bool finished() const { return !bad_ && rest_.empty(); }

 private:
  Bytes take(std::size_t size) {
    if (bad_ || size > rest_.size()) {
      bad_ = true;
      return {};
    }
    const Bytes out = rest_.first(size);
    rest_ = rest_.subspan(size);
    return out;
  }

  Bytes rest_;
  bool bad_ = false;
};

/// A message; its length is set when it is taken.
class Writer {
 public:
  explicit Writer(Kind kind) : bytes_(kLengthBytes + 1) { bytes_.back() = static_cast<std::byte>(kind); }

  void number(std::uint32_t value) { put(bytes_, value); }
  void string(Bytes bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() {
    set(0, static_cast<std::uint32_t>(bytes_.size() - kLengthBytes));
    return std::move(bytes_);
  }
  void set(std::size_t at, std::uint32_t value) {
    std::vector<std::byte> number;
    put(number, value);
    std::ranges::copy(number, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }

 private:
  static void put(std::vector<std::byte>& out, std::uint32_t value) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) out.push_back(static_cast<std::byte>(value >> shift & 0xffU));
  }
  std::vector<std::byte> bytes_;
};

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// "ssh-ed25519", "rsa-sha2-512": what a key and a signature begin with.
bool is_algorithm(Bytes name) {
  const auto is_graphic = [](std::byte one) { return one > std::byte{0x20} && one < std::byte{0x7f}; };
  return !name.empty() && name.size() <= kLongestAlgorithm && std::ranges::all_of(name, is_graphic);
}

/// The name of an algorithm, and something after it.
bool begins_with_algorithm(Bytes blob) {
  Reader in(blob);
  const Bytes name = in.string();
  return !in.bad() && is_algorithm(name) && !in.finished();
}

bool is_key(Bytes blob) { return blob.size() <= kMostKeyBytes && begins_with_algorithm(blob); }

/// A kind of certificates: what it certifies, and in how many fields after the nonce that is written.
struct Certificate {
  std::string_view name, plain;
  std::size_t fields = 0;
};
constexpr auto kCertificates = std::to_array<Certificate>({
    {"ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2},
    {"ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2},
    {"ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2},
    {"sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3},
    {"sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2},
    {"ssh-dss-cert-v01@openssh.com", "ssh-dss", 4},
    {"ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1},
    {"ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2},
});

}  // namespace

Request read_request(Bytes message) {
  Reader in(message);
  const auto kind = static_cast<Kind>(in.byte());
  if (kind == Kind::kRequestIdentities && in.finished()) return List{};
  if (kind != Kind::kSignRequest) return Refused{};
  Sign sign;
  sign.key = in.string();
  sign.data = in.string();
  sign.flags = in.number();
  if (!in.finished() || !is_key(sign.key) || (sign.flags & ~kKnownFlags) != 0) return Refused{};
  return sign;
}

std::optional<std::vector<Identity>> read_identities(Bytes message) {
  Reader in(message);
  if (static_cast<Kind>(in.byte()) != Kind::kIdentitiesAnswer) return std::nullopt;
  const std::uint32_t count = in.number();
  if (in.bad() || count > kMostKeys) return std::nullopt;
  std::vector<Identity> out;
  for (std::uint32_t i = 0; i < count && !in.bad(); ++i) {
    const Bytes key = in.string();
    const Bytes comment = in.string();
    if (in.bad() || !is_key(key)) continue;
    out.push_back({{key.begin(), key.end()}, std::string(text_of(comment).substr(0, kMostComment))});
  }
  if (!in.finished()) return std::nullopt;
  return out;
}

std::optional<Bytes> read_signature(Bytes message) {
  Reader in(message);
  if (static_cast<Kind>(in.byte()) != Kind::kSignResponse) return std::nullopt;
  const Bytes signature = in.string();
  if (!in.finished() || !begins_with_algorithm(signature)) return std::nullopt;
  return signature;
}

std::vector<std::byte> write_failure() { return Writer(Kind::kFailure).take(); }

std::vector<std::byte> write_list() { return Writer(Kind::kRequestIdentities).take(); }

std::vector<std::byte> write_sign(const Sign& sign) {
  Writer out(Kind::kSignRequest);
  out.string(sign.key);
  out.string(sign.data);
  out.number(sign.flags);
  return out.take();
}

std::vector<std::byte> write_identities(std::span<const Identity> identities) {
  Writer out(Kind::kIdentitiesAnswer);
  const std::size_t count_at = out.size();
  out.number(0);
  std::uint32_t count = 0;
  for (const Identity& one : identities) {
    if (out.size() + one.key.size() + one.comment.size() + 2 * kLengthBytes > kMostMessage) break;
    out.string(one.key);
    out.string(bytes_of(one.comment));
    ++count;
  }
  out.set(count_at, count);
  return out.take();
}

std::vector<std::byte> write_signature(Bytes signature) {
  Writer out(Kind::kSignResponse);
  out.string(signature);
  return out.take();
}

std::vector<std::byte> plain_key(Bytes key) {
  Reader in(key);
  const std::string_view name = text_of(in.string());
  const auto certificate = std::ranges::find(kCertificates, name, &Certificate::name);
  const std::vector<std::byte> as_it_is(key.begin(), key.end());
  if (certificate == kCertificates.end()) return as_it_is;
  static_cast<void>(in.string());  // the nonce
  Writer out(Kind::kFailure);
  const std::size_t head = out.size();
  out.string(bytes_of(certificate->plain));
  for (std::size_t i = 0; i < certificate->fields; ++i) out.string(in.string());
  if (in.bad()) return as_it_is;
  std::vector<std::byte> plain = out.take();
  plain.erase(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(head));
  return plain;
}

std::optional<std::size_t> read_length(std::span<const std::byte, kLengthBytes> bytes) {
  const std::size_t length = Reader(bytes).number();
  if (length == 0 || length > kMostMessage) return std::nullopt;
  return length;
}

}  // namespace cordon::agent
