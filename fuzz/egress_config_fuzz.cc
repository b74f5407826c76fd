// egress_config_fuzz: any bytes as the broker's configuration. What is taken comes back byte for byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "egress/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto config = cordon::egress::decode_config(bytes);
  if (!config) return 0;
  CORDON_CHECK(cordon::egress::within_limits(config->bounds));
  const auto again = encode(*config);
  CORDON_CHECK(std::ranges::equal(again, bytes));
  return 0;
}
