// egress_records_fuzz: any bytes as a record of the control socket, and as a question and an answer of the resolver's.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "egress/lookup_wire.h"
#include "egress/records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto record = cordon::egress::decode_record(bytes)) {
    CORDON_CHECK(std::ranges::equal(encode(*record), bytes));
  }
  cordon::egress::LookupQuestion question;
  if (const auto name = cordon::egress::name_in(bytes, question)) {
    CORDON_CHECK(cordon::policy::network::HostName::parse(name->str()) == *name);
  }
  if (const auto answer = cordon::egress::read_answer(bytes)) {
    CORDON_CHECK(cordon::egress::addresses_in(*answer).size() <= cordon::egress::kMostAddresses);
  }
  return 0;
}
