// http_head_fuzz: any bytes as a request and as an upstream's answer. What is sent on is itself read as one request, to
// the host that was decided on, and no prefix of a head is taken for another.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "egress/http_head.h"

namespace {

using namespace cordon;

/// One head, by the bytes alone: nothing in it can be read as the end of it.
void expect_one_head(std::string_view forwarded) {
  CORDON_CHECK(forwarded.ends_with("\r\n\r\n"));
  CORDON_CHECK(forwarded.find("\r\n\r\n") == forwarded.size() - 4);
  for (std::size_t i = 0; i < forwarded.size(); ++i) {
    const auto c = static_cast<unsigned char>(forwarded[i]);
    CORDON_CHECK(c >= 0x20 || c == '\t' || c == '\r' || c == '\n');
    CORDON_CHECK(c != '\n' || (i > 0 && forwarded[i - 1] == '\r'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const egress::HeadLimits limits{.bytes = 2048, .line_bytes = 512, .fields = 16};
  const auto parsed = egress::parse_request(text, limits);
  if (const auto* request = std::get_if<egress::Request>(&parsed)) {
    CORDON_CHECK(request->port != 0 && request->head_bytes <= size && request->head_bytes <= limits.bytes);
    const auto again = policy::network::parse_client_host(
        request->host.address() != nullptr && request->host.address()->family == policy::network::Family::kIpv6
            ? "[" + to_string(request->host) + "]"
            : to_string(request->host));
    CORDON_CHECK(again == request->host);
    if (request->kind == egress::RequestKind::kForward) expect_one_head(request->forwarded);
    // One byte less is not a head yet.
    CORDON_CHECK(std::holds_alternative<egress::Incomplete>(
        egress::parse_request(text.substr(0, request->head_bytes - 1), limits)));
  }
  const auto answer = egress::parse_upstream_answer(text, limits);
  if (const auto* one = std::get_if<egress::UpstreamAnswer>(&answer))
    CORDON_CHECK(one->status >= 100 && one->status <= 599 && one->head_bytes <= size);
  return 0;
}
