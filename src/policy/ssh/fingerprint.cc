// The low-level digest: one that is fetched loads OpenSSL's configuration (policy/manifest/digest.cc).
#define OPENSSL_SUPPRESS_DEPRECATED

#include "policy/ssh/fingerprint.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

#include "base/check.h"

namespace cordon::policy::ssh {

std::string fingerprint(std::span<const std::byte> key) {
  SHA256_CTX context;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  CORDON_CHECK(SHA256_Init(&context) == 1 && SHA256_Update(&context, key.data(), key.size()) == 1 &&
               SHA256_Final(digest.data(), &context) == 1);
  std::array<unsigned char, 2 * SHA256_DIGEST_LENGTH> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  std::string out(reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length));
  while (out.ends_with('=')) out.pop_back();
  return "SHA256:" + out;
}

}  // namespace cordon::policy::ssh
