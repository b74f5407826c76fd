#include "egress/http_head.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace cordon::egress {
namespace {

using namespace std::string_literals;

/// "connect host port", "forward host port", "incomplete", or the status.
std::string told(const std::string& text, const HeadLimits& limits = {}) {
  const ParsedRequest parsed = parse_request(text, limits);
  if (std::holds_alternative<Incomplete>(parsed)) return "incomplete";
  if (const auto* wrong = std::get_if<Malformed>(&parsed)) return std::to_string(wrong->status);
  const auto& request = std::get<Request>(parsed);
  return (request.kind == RequestKind::kConnect ? "connect " : "forward ") + to_string(request.host) + " " +
         std::to_string(request.port);
}

std::string connect(const std::string& target, const std::string& fields = "") {
  return "CONNECT " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}
std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}

Request request(const std::string& text) { return std::get<Request>(parse_request(text, {})); }

TEST(HttpHead, ConnectNamesAHostAndAPort) {
  EXPECT_EQ(told(connect("A.com:443")), "connect a.com 443");
  EXPECT_EQ(told(connect("a.com.:443", "Host: other\r\nUser-Agent: x\r\n")), "connect a.com 443");
  EXPECT_EQ(told(connect("192.0.2.1:80")), "connect 192.0.2.1 80");
  EXPECT_EQ(told(connect("[2001:db8::1]:80")), "connect 2001:db8::1 80");
  EXPECT_EQ(told("CONNECT a.com:443 HTTP/1.0\r\n\r\n"), "connect a.com 443");
  EXPECT_EQ(request(connect("a.com:443") + "\x16\x03tls\0"s).head_bytes, connect("a.com:443").size());
}

TEST(HttpHead, HostileTargetsAreRefused) {
  for (const std::string& bad : {"a.com"s,
                                 "a.com:"s,
                                 ":443"s,
                                 "a.com:0"s,
                                 "a.com:65536"s,
                                 "a.com:0443"s,
                                 "a.com:+1"s,
                                 "a.com:443:443"s,
                                 "u@a.com:443"s,
                                 "a.com@b.com:443"s,
                                 "127.1:80"s,
                                 "0x7f000001:80"s,
                                 "2130706433:80"s,
                                 "[::ffff:1.2.3.4]:80"s,
                                 "[fe80::1%25eth0]:80"s,
                                 "[::1:80"s,
                                 "::1:80"s,
                                 "[2001:DB8::1]:80"s,
                                 "a%2ecom:443"s,
                                 "a_b:443"s,
                                 "*:443"s,
                                 "http://a.com:443"s,
                                 "/"s,
                                 "a.com:443/"s,
                                 "a.com:443#"s,
                                 "\xc3\xbc.com:443"s,
                                 "a\0b:443"s})
    EXPECT_EQ(told(connect(bad)), "400") << bad;
}

TEST(HttpHead, ARequestThatAsksForNoTunnelNamesWhomItWasFor) {
  const auto named = [](const std::string& text) {
    const ParsedRequest parsed = parse_request(text, {});
    const auto* wrong = std::get_if<Malformed>(&parsed);
    return wrong == nullptr || wrong->port == 0 ? std::string()
                                                : to_string(wrong->host) + " " + std::to_string(wrong->port);
  };
  EXPECT_EQ(named(get("https://A.com/x")), "a.com 443");
  EXPECT_EQ(named(get("https://a.com:8443")), "a.com 8443");
  EXPECT_EQ(named(get("ftp://a.com:21/x")), "a.com 21");
  EXPECT_EQ(named(get("http://a.com/", "Transfer-Encoding: chunked\r\n")), "a.com 80");
  for (const char* nobody : {"ftp://a.com/", "https://127.1/", "https://u:p@a.com/", "https:///x", "/x", "a.com:443"})
    EXPECT_EQ(named(get(nobody)), "") << nobody;
}

TEST(HttpHead, LinesAreReadInOneWayOnly) {
  for (const std::string& bad : {"CONNECT a.com:443 HTTP/1.1\n\n"s,
                                 "CONNECT a.com:443 HTTP/1.1\r\nA: b\n\r\n"s,
                                 "CONNECT a.com:443 HTTP/1.1\r\rA: b\r\n\r\n"s,
                                 "CONNECT  a.com:443 HTTP/1.1\r\n\r\n"s,
                                 "CONNECT a.com:443  HTTP/1.1\r\n\r\n"s,
                                 "CONNECT\ta.com:443\tHTTP/1.1\r\n\r\n"s,
                                 " CONNECT a.com:443 HTTP/1.1\r\n\r\n"s,
                                 "CONNECT a.com:443\r\n\r\n"s,
                                 "CONNECT a.com:443 http/1.1\r\n\r\n"s,
                                 "connect a.com:443 HTTP/1.1\r\n\r\n"s,
                                 "\r\nCONNECT a.com:443 HTTP/1.1\r\n\r\n"s,
                                 connect("a.com:443", "A : b\r\n"),
                                 connect("a.com:443", " folded\r\n"),
                                 connect("a.com:443", "A: b\r\n folded\r\n"),
                                 connect("a.com:443", "no colon\r\n"),
                                 connect("a.com:443", ": b\r\n"),
                                 connect("a.com:443", "A\0: b\r\n"s),
                                 connect("a.com:443", "A: \x01\r\n"),
                                 connect("a.com:443", "A: \x7f\r\n"),
                                 "(CONNECT) a.com:443 HTTP/1.1\r\n\r\n"s,
                                 "GET / HTTP/1.1\r\n\r\n"s,
                                 "GET * HTTP/1.1\r\n\r\n"s,
                                 "GET https://a.com/ HTTP/1.1\r\n\r\n"s,
                                 "GET ftp://a.com/ HTTP/1.1\r\n\r\n"s,
                                 "GET http:/a.com/ HTTP/1.1\r\n\r\n"s,
                                 "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03"s})
    EXPECT_EQ(told(bad), "400") << base::escape(bad);
  EXPECT_EQ(told("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505");
  EXPECT_EQ(told("CONNECT a.com:443 HTTP/1.2\r\n\r\n"), "505");
}

TEST(HttpHead, SmuggledLengthsAreRefused) {
  EXPECT_EQ(told(connect("a.com:443", "Content-Length: 0\r\n")), "connect a.com 443");
  EXPECT_EQ(told(connect("a.com:443", "Content-Length: 5\r\n")), "400");
  EXPECT_EQ(told(connect("a.com:443", "Transfer-Encoding: chunked\r\n")), "411");
  for (const char* bad : {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1\r\ncontent-length: 2\r\n",
                          "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n", "Content-Length: -1\r\n",
                          "Content-Length: 0x1\r\n", "Content-Length: 01\r\n", "Content-Length: \r\n",
                          "Content-Length: 99999999999999999999\r\n", "Host: a\r\nHost: b\r\n"})
    EXPECT_EQ(told(get("http://a.com/", bad)), "400") << bad;
  EXPECT_EQ(told(get("http://a.com/", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), "411");
  EXPECT_EQ(told(get("http://a.com/",
                     "Transfer-Encoding: \x0b"
                     "chunked\r\n")),
            "400");
  EXPECT_EQ(told(get("http://a.com/", "Transfer-Encoding : chunked\r\n")), "400");
}

TEST(HttpHead, AForwardedRequestIsWrittenAnew) {
  const Request one = request(get("http://A.com:8080/x?y=1",
                                  "Host: evil.example\r\nAccept: */*\r\nProxy-Authorization: Basic c2VjcmV0\r\n"
                                  "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nUpgrade: h2c\r\nHTTP2-Settings: "
                                  "AAMAAABk\r\nContent-Length: 3\r\n") +
                              "abc");
  EXPECT_EQ(one.forwarded,
            "GET /x?y=1 HTTP/1.1\r\nHost: a.com:8080\r\nAccept: */*\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(one.content_length, 3U);
  EXPECT_EQ(one.port, 8080);
  EXPECT_EQ(request(get("http://a.com")).forwarded, "GET / HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request(get("HTTP://a.com?q")).forwarded, "GET /?q HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request(get("http://[2001:db8::1]/")).forwarded,
            "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request(get("http://a.com/", "Connection: Content-Length, Host\r\nContent-Length: 2\r\n")).forwarded,
            "GET / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  for (const char* bad : {"http://u:p@a.com/", "http://a.com/#f", "http://a.com:/", "http:///x", "http://a.com:99999/",
                          "http://127.1/", "http://a.com\\@b.com/", "http://a%00.com/"})
    EXPECT_EQ(told(get(bad)), "400") << bad;
}

TEST(HttpHead, EveryBeginningIsIncompleteAndNoneIsTakenEarly) {
  const std::string whole = connect("a.com:443", "User-Agent: x\r\nA: b\r\n");
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(told(whole.substr(0, i)), "incomplete") << i;
  EXPECT_EQ(told(whole), "connect a.com 443");
}

TEST(HttpHead, EndlessHeadsEndAtTheirBound) {
  const HeadLimits limits{.bytes = 1000, .line_bytes = 200, .fields = 4};
  EXPECT_EQ(told("CONNECT " + std::string(300, 'a'), limits), "414");
  EXPECT_EQ(told("CONNECT a.com:443 HTTP/1.1\r\n" + std::string(2000, 'a'), limits), "431");
  EXPECT_EQ(told(connect("a.com:443", "A: " + std::string(300, 'b') + "\r\n"), limits), "431");
  std::string fields;
  for (int i = 0; i < 4; ++i) fields += "A: b\r\n";
  EXPECT_EQ(told(connect("a.com:443", fields), limits), "connect a.com 443");
  EXPECT_EQ(told(connect("a.com:443", fields + "A: b\r\n"), limits), "431");
  for (int i = 0; i < 300; ++i) fields += "A: b\r\n";
  EXPECT_EQ(told("CONNECT a.com:443 HTTP/1.1\r\n" + fields, limits), "431");
}

TEST(HttpHead, AnswersOfAnUpstreamAreRead) {
  const auto status = [](const std::string& text) {
    const ParsedAnswer parsed = parse_upstream_answer(text, {});
    if (std::holds_alternative<Incomplete>(parsed)) return 0;
    if (std::holds_alternative<Malformed>(parsed)) return -1;
    return std::get<UpstreamAnswer>(parsed).status;
  };
  EXPECT_EQ(status("HTTP/1.1 200 Connection established\r\n\r\n"), 200);
  EXPECT_EQ(status("HTTP/1.0 407 x\r\nProxy-Authenticate: Basic\r\n\r\n"), 407);
  EXPECT_EQ(status("HTTP/1.1 200\r\n\r\n"), 200);
  EXPECT_EQ(status("HTTP/1.1 200 OK\r\n"), 0);
  for (const char* bad : {"HTTP/2 200\r\n\r\n", "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 999 x\r\n\r\n",
                          "HTTP/1.1 abc\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\n\n"})
    EXPECT_EQ(status(bad), -1) << bad;
}

TEST(HttpHead, EveryResponseIsWholeAndSaysHowLongItIs) {
  for (const int code : {400, 403, 408, 411, 414, 431, 502, 503, 505}) {
    const std::string text(response_for(code));
    const std::size_t head = text.find("\r\n\r\n");
    ASSERT_NE(head, std::string::npos);
    EXPECT_NE(text.find("Content-Length: " + std::to_string(text.size() - head - 4) + "\r\n"), std::string::npos)
        << text;
    EXPECT_TRUE(text.starts_with("HTTP/1.1 " + std::to_string(code) + " "));
  }
}

TEST(HttpHead, AnUpstreamIsAskedForTheHostThatWasAdmitted) {
  EXPECT_EQ(connect_request(*policy::network::parse_client_host("a.com"), 443, "Basic eA=="),
            "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\nProxy-Authorization: Basic eA==\r\n\r\n");
  EXPECT_EQ(connect_request(*policy::network::parse_client_host("[2001:db8::1]"), 22, ""),
            "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n");
}

}  // namespace
}  // namespace cordon::egress
