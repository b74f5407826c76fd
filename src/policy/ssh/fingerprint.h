// How ssh names a public key to people.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cordon::policy::ssh {

/// "SHA256:" and base64 without padding, as ssh-keygen -l prints it, of a key in ssh's wire form. Of a certificate,
/// give the key that it certifies.
std::string fingerprint(std::span<const std::byte> key);

}  // namespace cordon::policy::ssh
