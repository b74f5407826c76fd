// http_head: the head of a proxy request (CONNECT, and "GET http://host/… HTTP/1.1") and of an upstream proxy's answer.
//
// The bytes come from the target, so reading is strict (RFC 9112 without its leniency): CRLF only, no folded lines, no
// control bytes, one space between the parts of the request line, one Host, one Content-Length, no Transfer-Encoding.
// What two readers could read in two ways is refused with 400: no request can be smuggled through, because nothing but
// the head that was understood is sent on, written anew, and the connection serves that one request.
//
// Pure. A head is read when it is whole; until then the caller keeps at most HeadLimits::bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "policy/network/matcher.h"

namespace cordon::egress {

struct HeadLimits {
  std::size_t bytes = 32 * 1024;
  std::size_t line_bytes = 8 * 1024;
  std::size_t fields = 64;
};

enum class RequestKind : std::uint8_t { kConnect, kForward };

struct Request {
  RequestKind kind = RequestKind::kConnect;
  policy::network::Host host;
  std::uint16_t port = 0;
  std::size_t head_bytes = 0;        ///< that the head took; what follows is body or tunnel
  std::string forwarded;             ///< kForward: the head to send on
  std::uint64_t content_length = 0;  ///< kForward: body bytes that follow
};

/// Not all is there yet.
struct Incomplete {};

struct Malformed {
  int status = 400;  ///< to answer
  // Whom a request was for that is none for us (another scheme, a body without its length); port 0: that is not known.
  policy::network::Host host = {};
  std::uint16_t port = 0;
};

using ParsedRequest = std::variant<Incomplete, Malformed, Request>;
ParsedRequest parse_request(std::string_view bytes, const HeadLimits& limits);

struct UpstreamAnswer {
  int status = 0;
  std::size_t head_bytes = 0;
};
using ParsedAnswer = std::variant<Incomplete, Malformed, UpstreamAnswer>;
ParsedAnswer parse_upstream_answer(std::string_view bytes, const HeadLimits& limits);

/// The whole answer for a status that ends the exchange; for 200 the head that opens a tunnel. Nothing in it depends on
/// why: what the guard refused reads like what could not be reached.
std::string_view response_for(int status);

/// CONNECT for an upstream proxy. `authorization` is "Basic …" or empty.
std::string connect_request(const policy::network::Host& host, std::uint16_t port, std::string_view authorization);

}  // namespace cordon::egress
