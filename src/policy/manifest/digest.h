// SHA-256, in the one way that costs a short-lived program nothing: no provider is fetched and no configuration file is
// read. For fingerprints, pinned content and journal names; never for passwords or signatures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::policy::manifest {

/// Takes bytes piece by piece (a pinned file is read in blocks). Copyable; a plain value.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::string_view bytes);
  [[nodiscard]] std::string hex() const;  ///< of what was taken so far: 64 lower-case hex digits

 private:
  static constexpr std::size_t kStateBytes = 128;
  alignas(16) std::array<std::byte, kStateBytes> state_{};
};

std::string sha256_hex(std::string_view bytes);

}  // namespace cordon::policy::manifest
