// dns_fuzz: any bytes as a DNS question. An answer is short, answers that question, and hands out nothing without a
// rule.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "egress/dns_answerer.h"

namespace {

using namespace cordon;

policy::network::Rules rules() {
  policy::network::Rules out;
  out.allow = {*policy::network::parse_rule("a.example", "443", policy::network::SuffixMeaning::kBelowOnly),
               *policy::network::parse_rule("*.b.example", "443", policy::network::SuffixMeaning::kBelowOnly)};
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  egress::NameTable names(4);
  egress::DnsAnswerer answerer(rules(), egress::Gate::kAbsent, egress::Ipv6::kPresent, names);
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  for (int i = 0; i < 2; ++i) {
    const egress::DnsReply reply = answerer.answer(bytes);
    CORDON_CHECK(reply.bytes.size() <= 512 && reply.name.size() <= 255);
    for (const char c : reply.name) CORDON_CHECK(c > 0x20 && c < 0x7f);
    if (reply.bytes.empty()) continue;
    CORDON_CHECK(reply.bytes.size() >= 12 && reply.bytes[0] == bytes[0] && reply.bytes[1] == bytes[1]);
    CORDON_CHECK((reply.bytes[2] & std::byte{0x80}) != std::byte{0});
    // An answer is no question: it may not be answered again.
    CORDON_CHECK(answerer.answer(reply.bytes).bytes.empty());
  }
  CORDON_CHECK(names.size() <= 1);
  if (names.size() == 1) {
    const auto* name = names.find(names.ipv4(0));
    CORDON_CHECK(name != nullptr && (name->str() == "a.example" || name->is_below("b.example")));
  }
  return 0;
}
