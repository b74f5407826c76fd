// agent_fuzz: any bytes as a message of a client's and of the ssh agent's, as a stream of messages, and as a record of
// the relay's. What is taken is written anew as exactly what was read, or as something that is read as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "agent/message.h"
#include "agent/protocol.h"
#include "agent/records.h"
#include "base/check.h"

namespace {

using namespace cordon::agent;

Bytes body_of(const std::vector<std::byte>& message) { return Bytes(message).subspan(kLengthBytes); }

void as_request(Bytes bytes) {
  const Request request = read_request(bytes);
  if (const auto* sign = std::get_if<Sign>(&request)) {
    const auto written = write_sign(*sign);
    CORDON_CHECK(std::ranges::equal(body_of(written), bytes));
    CORDON_CHECK(sign->key.size() <= kMostKeyBytes && (sign->flags & ~kKnownFlags) == 0);
  }
  if (std::holds_alternative<List>(request)) CORDON_CHECK(std::ranges::equal(body_of(write_list()), bytes));
}

void as_answer(Bytes bytes) {
  if (const auto signature = read_signature(bytes))
    CORDON_CHECK(std::ranges::equal(body_of(write_signature(*signature)), bytes));
  const auto identities = read_identities(bytes);
  if (!identities) return;
  CORDON_CHECK(identities->size() <= kMostKeys);
  const auto written = write_identities(*identities);
  CORDON_CHECK(written.size() <= kMostMessage + kLengthBytes);
  if (bytes.size() <= kMostMessage) CORDON_CHECK(read_identities(body_of(written)) == identities);
}

void as_stream(Bytes bytes) {
  Incoming in;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), in.room().size());
    CORDON_CHECK(count != 0);
    std::memcpy(in.room().data(), bytes.data(), count);
    in.took(count);
    bytes = bytes.subspan(count);
    if (in.state() == Incoming::State::kBad) return;
    if (in.state() != Incoming::State::kWhole) continue;
    CORDON_CHECK(!in.message().empty() && in.message().size() <= kMostMessage);
    as_request(in.message());
    in.clear();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  as_request(bytes);
  as_answer(bytes);
  as_stream(bytes);
  CORDON_CHECK(plain_key(bytes).size() <= bytes.size() + 1);
  if (const auto record = read_record(bytes)) {
    CORDON_CHECK(record->said().size() <= kLongestTold && record->key_bytes().size() <= kLongestToldKey);
  }
  return 0;
}
