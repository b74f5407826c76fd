// The low-level functions are deprecated in OpenSSL 3 in favour of fetched ones, and fetching is the cost that a no-op
// run must not pay: it loads the configuration file and every provider that it names. They compute the same digest.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "policy/manifest/digest.h"

#include <openssl/sha.h>

#include <cstring>

#include "base/check.h"

namespace cordon::policy::manifest {
namespace {

SHA256_CTX load(const void* bytes) {
  SHA256_CTX context;
  std::memcpy(&context, bytes, sizeof context);
  return context;
}

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(SHA256_CTX) <= kStateBytes);
  SHA256_CTX context;
  CORDON_CHECK(SHA256_Init(&context) == 1);
  std::memcpy(state_.data(), &context, sizeof context);
}

Sha256& Sha256::update(std::string_view bytes) {
  SHA256_CTX context = load(state_.data());
  CORDON_CHECK(SHA256_Update(&context, bytes.data(), bytes.size()) == 1);
  std::memcpy(state_.data(), &context, sizeof context);
  return *this;
}

std::string Sha256::hex() const {
  SHA256_CTX context = load(state_.data());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  CORDON_CHECK(SHA256_Final(digest.data(), &context) == 1);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 0xf];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) { return Sha256().update(bytes).hex(); }

}  // namespace cordon::policy::manifest
