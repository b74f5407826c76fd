#include "policy/ssh/fingerprint.h"

#include <gtest/gtest.h>

#include <string_view>

namespace cordon::policy::ssh {
namespace {

std::string of(std::string_view text) { return fingerprint(std::as_bytes(std::span(text.data(), text.size()))); }

TEST(Fingerprint, IsTheDigestInBase64WithoutPadding) {
  // printf abc | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(of("abc"), "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0");
  EXPECT_EQ(of(""), "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU");
}

}  // namespace
}  // namespace cordon::policy::ssh
