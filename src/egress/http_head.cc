#include "egress/http_head.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace cordon::egress {
namespace {

using policy::network::Host;
using policy::network::lower_case;

constexpr std::string_view kEnd = "\r\n\r\n";

struct Field {
  std::string name;  ///< lower case
  std::string_view spelled;
  std::string_view value;
};

struct Head {
  std::string_view first_line;
  std::vector<Field> fields;
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count(fields, name, &Field::name));
  }
  [[nodiscard]] const Field* find(std::string_view name) const {
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
  }
};
using ParsedHead = std::variant<Incomplete, Malformed, Head>;

bool is_token_char(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_char); }
bool is_visible(char c) { return c > 0x20 && c < 0x7f; }

/// A NUL, a lone CR or LF, or another control byte, anywhere in what has come so far.
bool has_stray_control(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\r') {
      if (i + 1 < bytes.size() && bytes[i + 1] != '\n') return true;
    } else if (c == '\n') {
      if (i == 0 || bytes[i - 1] != '\r') return true;
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return true;
    }
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A line "name: value"; nothing for a folded one, or white space before the colon.
std::optional<Field> parse_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  return Field{lower_case(line.substr(0, colon)), line.substr(0, colon), trimmed(line.substr(colon + 1))};
}

ParsedHead parse_head(std::string_view bytes, const HeadLimits& limits) {
  const std::size_t end = bytes.find(kEnd);
  const std::string_view head = bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + kEnd.size());
  if (has_stray_control(head) || head.starts_with("\r\n")) return Malformed{400};
  const std::size_t line_end = head.find("\r\n");
  if (std::min(line_end, head.size()) > limits.line_bytes) return Malformed{414};
  if (head.size() > limits.bytes || (end == std::string_view::npos && bytes.size() >= limits.bytes))
    return Malformed{431};
  if (end == std::string_view::npos) return Incomplete{};
  Head out{.first_line = head.substr(0, line_end), .bytes = head.size()};
  std::string_view rest = head.substr(line_end + 2, end - line_end);
  while (!rest.empty()) {
    const std::size_t next = rest.find("\r\n");
    if (next > limits.line_bytes || out.fields.size() == limits.fields) return Malformed{431};
    auto field = parse_field(rest.substr(0, next));
    if (!field) return Malformed{400};
    out.fields.push_back(std::move(*field));
    rest.remove_prefix(next + 2);
  }
  return out;
}

struct RequestLine {
  std::string_view method, target;
};

std::variant<Malformed, RequestLine> parse_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Malformed{400};
  const RequestLine out{line.substr(0, first), line.substr(first + 1, last - first - 1)};
  const std::string_view version = line.substr(last + 1);
  if (!is_token(out.method) || out.target.empty() || !std::ranges::all_of(out.target, is_visible))
    return Malformed{400};
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return out;
  return Malformed{version.starts_with("HTTP/") ? 505 : 400};
}

struct Authority {
  Host host;
  std::uint16_t port = 0;
};

/// "host", "host:port", "[v6]:port". No userinfo: it is in no host's spelling.
std::optional<Authority> parse_authority(std::string_view text, std::uint16_t default_port) {
  const std::size_t colon =
      text.starts_with('[') ? text.find(':', std::min(text.find(']'), text.size())) : text.find(':');
  std::uint16_t port = default_port;
  if (colon != std::string_view::npos) {
    const auto parsed = policy::network::parse_port(text.substr(colon + 1));
    if (!parsed) return std::nullopt;
    port = *parsed;
  }
  auto host = policy::network::parse_client_host(text.substr(0, colon));
  if (!host || port == 0) return std::nullopt;
  return Authority{std::move(*host), port};
}

std::string spelled(const Host& host) {
  const bool brackets = host.address() != nullptr && host.address()->family == policy::network::Family::kIpv6;
  return brackets ? "[" + to_string(host) + "]" : to_string(host);
}

std::string spelled(const Host& host, std::uint16_t port) { return spelled(host) + ":" + std::to_string(port); }

/// The length of the body, where that can be read in one way only.
std::variant<Malformed, std::uint64_t> body_length(const Head& head) {
  if (head.count("transfer-encoding") != 0) return Malformed{411};
  if (head.count("content-length") > 1 || head.count("host") > 1) return Malformed{400};
  const Field* length = head.find("content-length");
  if (length == nullptr) return std::uint64_t{0};
  const auto value = base::parse_decimal(length->value);
  if (!value) return Malformed{400};
  return *value;
}

/// Fields of one hop only, those that the client names as such, and those that are written anew.
bool stays_behind(const Field& field, const std::vector<std::string>& named) {
  constexpr std::array<std::string_view, 13> kHop = {"connection",
                                                     "proxy-connection",
                                                     "proxy-authorization",
                                                     "proxy-authenticate",
                                                     "keep-alive",
                                                     "te",
                                                     "trailer",
                                                     "upgrade",
                                                     "http2-settings",
                                                     "host",
                                                     "content-length",
                                                     "transfer-encoding",
                                                     "proxy-features"};
  return std::ranges::find(kHop, field.name) != kHop.end() || std::ranges::find(named, field.name) != named.end();
}

std::string rewritten(const Head& head, const RequestLine& line, const Authority& to, std::string_view path) {
  std::vector<std::string> named;
  for (const Field& field : head.fields) {
    if (field.name != "connection" && field.name != "proxy-connection") continue;
    for (const std::string_view one : base::split(field.value, ',')) named.push_back(lower_case(trimmed(one)));
  }
  std::string out(line.method);
  out += " ";
  out += path.starts_with('?') || path.empty() ? "/" : "";
  out += path;
  out += " HTTP/1.1\r\nHost: " + (to.port == 80 ? spelled(to.host) : spelled(to.host, to.port)) + "\r\n";
  for (const Field& field : head.fields) {
    if (stays_behind(field, named)) continue;
    out += std::string(field.spelled) + ": " + std::string(field.value) + "\r\n";
  }
  if (const Field* length = head.find("content-length"))
    out += "Content-Length: " + std::string(length->value) + "\r\n";
  return out + "Connection: close\r\n\r\n";
}

ParsedRequest parse_connect(const Head& head, const RequestLine& line, std::uint64_t length) {
  // A body of CONNECT means one thing to one reader and another to the next.
  if (length != 0) return Malformed{400};
  auto to = parse_authority(line.target, 0);
  if (!to) return Malformed{400};
  return Request{.host = std::move(to->host), .port = to->port, .head_bytes = head.bytes};
}

ParsedRequest parse_forward(const Head& head, const RequestLine& line, std::uint64_t length) {
  constexpr std::string_view kScheme = "http://";
  if (lower_case(line.target.substr(0, kScheme.size())) != kScheme) return Malformed{400};
  const std::string_view rest = line.target.substr(kScheme.size());
  const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  auto to = parse_authority(rest.substr(0, path), 80);
  if (!to || rest.find('#') != std::string_view::npos) return Malformed{400};
  Request out{.kind = RequestKind::kForward, .port = to->port, .head_bytes = head.bytes, .content_length = length};
  out.forwarded = rewritten(head, line, *to, rest.substr(path));
  out.host = std::move(to->host);
  return out;
}

/// "https://host/…" in the place where a tunnel should be asked for: whom it was for is said in the report.
Malformed named(Malformed wrong, std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return wrong;
  const std::string name = lower_case(target.substr(0, scheme));
  const std::uint16_t usual = name == "https" ? 443 : name == "http" ? 80 : 0;
  const std::string_view rest = target.substr(scheme + 3);
  auto to = parse_authority(rest.substr(0, rest.find_first_of("/?#")), usual);
  if (!to) return wrong;
  wrong.host = std::move(to->host);
  wrong.port = to->port;
  return wrong;
}

}  // namespace

ParsedRequest parse_request(std::string_view bytes, const HeadLimits& limits) {
  const ParsedHead parsed = parse_head(bytes, limits);
  if (std::holds_alternative<Incomplete>(parsed)) return Incomplete{};
  if (const auto* wrong = std::get_if<Malformed>(&parsed)) return *wrong;
  const Head& head = std::get<Head>(parsed);
  const auto line = parse_request_line(head.first_line);
  if (const auto* wrong = std::get_if<Malformed>(&line)) return *wrong;
  const auto length = body_length(head);
  const auto& request = std::get<RequestLine>(line);
  if (const auto* wrong = std::get_if<Malformed>(&length)) return named(*wrong, request.target);
  if (request.method == "CONNECT") return parse_connect(head, request, std::get<std::uint64_t>(length));
  ParsedRequest forward = parse_forward(head, request, std::get<std::uint64_t>(length));
  if (const auto* wrong = std::get_if<Malformed>(&forward)) return named(*wrong, request.target);
  return forward;
}

ParsedAnswer parse_upstream_answer(std::string_view bytes, const HeadLimits& limits) {
  const ParsedHead parsed = parse_head(bytes, limits);
  if (std::holds_alternative<Incomplete>(parsed)) return Incomplete{};
  if (const auto* wrong = std::get_if<Malformed>(&parsed)) return *wrong;
  const Head& head = std::get<Head>(parsed);
  const std::string_view line = head.first_line;
  if (!line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.0 ")) return Malformed{502};
  const auto status = base::parse_decimal(line.substr(9, 3));
  const bool ends = line.size() == 12 || (line.size() > 12 && line[12] == ' ');
  if (!status || *status < 100 || *status > 599 || !ends) return Malformed{502};
  return UpstreamAnswer{static_cast<int>(*status), head.bytes};
}

std::string_view response_for(int status) {
#define CORDON_ANSWER(line, text) \
  "HTTP/1.1 " line "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " text
  switch (status) {
    case 200:
      return "HTTP/1.1 200 Connection Established\r\n\r\n";
    case 403:
      return CORDON_ANSWER("403 Forbidden", "36\r\n\r\ncordon: no rule allows this request\n");
    case 408:
      return CORDON_ANSWER("408 Request Timeout", "44\r\n\r\ncordon: the request did not come to its end\n");
    case 411:
      return CORDON_ANSWER("411 Length Required", "41\r\n\r\ncordon: a body needs its Content-Length.\n");
    case 414:
      return CORDON_ANSWER("414 URI Too Long", "33\r\n\r\ncordon: the request is too long.\n");
    case 431:
      return CORDON_ANSWER("431 Request Header Fields Too Large", "30\r\n\r\ncordon: the head is too long.\n");
    case 502:
      return CORDON_ANSWER("502 Bad Gateway", "38\r\n\r\ncordon: the host could not be reached\n");
    case 503:
      return CORDON_ANSWER("503 Service Unavailable", "38\r\n\r\ncordon: too many connections are open\n");
    case 505:
      return CORDON_ANSWER("505 HTTP Version Not Supported", "34\r\n\r\ncordon: HTTP/1.1 or HTTP/1.0 only\n");
    default:
      return CORDON_ANSWER("400 Bad Request", "40\r\n\r\ncordon: this is no request for a proxy.\n");
  }
#undef CORDON_ANSWER
}

std::string connect_request(const Host& host, std::uint16_t port, std::string_view authorization) {
  const std::string to = spelled(host, port);
  std::string out = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
  if (!authorization.empty()) out += "Proxy-Authorization: " + std::string(authorization) + "\r\n";
  return out + "\r\n";
}

}  // namespace cordon::egress
