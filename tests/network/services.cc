#include "network/services.h"

#include <openssl/ssl.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "support/command.h"
#include "support/require.h"

namespace cordon::test {
namespace {

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U), static_cast<char>(value >> 8U),
          static_cast<char>(value)};
}

std::uint32_t from_big_endian(std::string_view four) {
  std::uint32_t value = 0;
  for (const char one : four) value = value << 8U | static_cast<unsigned char>(one);
  return value;
}

/// One message of PostgreSQL's: its kind, the length with itself, the rest.
std::string message(char kind, const std::string& rest) {
  return kind + big_endian(static_cast<std::uint32_t>(rest.size() + 4)) + rest;
}

/// Without the kind; "" where the client has ended.
std::string read_message(const base::Fd& client) {
  const std::string size = read_some(client, 4);
  return size.size() == 4 ? read_some(client, from_big_endian(size) - 4) : "";
}

std::string tls_head(SSL* connection) {
  std::string head;
  std::array<char, 4096> buffer{};
  while (!head.contains("\r\n\r\n")) {
    const int got = ::SSL_read(connection, buffer.data(), buffer.size());
    if (got <= 0) return "";
    head.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return head;
}

}  // namespace

std::string http_response(const std::string& body, const std::string& status, const std::string& type) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string path_of(const std::string& head) {
  const auto first = head.find(' ');
  const auto last = head.find_first_of(" ?", first + 1);
  return last == std::string::npos ? "" : head.substr(first + 1, last - first - 1);
}

HttpAnswer files_below(std::string directory) {
  return [directory = std::move(directory)](const std::string& head) {
    std::ifstream in(directory + path_of(head), std::ios::binary);
    if (!in || std::filesystem::is_directory(directory + path_of(head))) return http_response("", "404 Not Found");
    return http_response({std::istreambuf_iterator<char>(in), {}}, "200 OK", "application/octet-stream");
  };
}

void serve_http(const base::Fd& client, const HttpAnswer& answer) {
  const std::string head = head_from(client);
  if (head.contains("\r\n\r\n")) write_all(client, answer(head));
}

Authority::Authority(const std::string& directory) {
  const auto file = [&](const char* name) { return directory + "/" + name; };
  const auto openssl = [&](std::vector<std::string> more) {
    std::vector<std::string> argv{"/usr/bin/openssl",        "req",    "-x509", "-newkey", "ec", "-pkeyopt",
                                  "ec_paramgen_curve:P-256", "-nodes", "-days", "2"};
    argv.insert(argv.end(), more.begin(), more.end());
    const Finished made = Command(argv).run();
    require(made.code == 0, "openssl: " + made.err);
  };
  openssl({"-subj", "/CN=Tests", "-keyout", file("ca.key"), "-out", file("ca.pem")});
  const std::string names =
      std::string("subjectAltName=DNS:a.example,DNS:b.example,DNS:alias.example,IP:") + kPublic4 + ",IP:" + kPublic6;
  openssl({"-subj", "/CN=a.example", "-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-addext", names, "-addext",
           "basicConstraints=critical,CA:FALSE", "-keyout", file("server.key"), "-out", file("server.pem")});
  std::filesystem::permissions(file("ca.pem"), std::filesystem::perms(0644));
  context_ = std::shared_ptr<SSL_CTX>(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  require(::SSL_CTX_use_certificate_chain_file(context_.get(), file("server.pem").c_str()) == 1 &&
              ::SSL_CTX_use_PrivateKey_file(context_.get(), file("server.key").c_str(), SSL_FILETYPE_PEM) == 1,
          "the server's certificate");
}

void Authority::serve(const base::Fd& client, const HttpAnswer& answer) const {
  const std::shared_ptr<SSL> connection(::SSL_new(context_.get()), ::SSL_free);
  ::SSL_set_fd(connection.get(), client.get());
  if (::SSL_accept(connection.get()) != 1) return;
  const std::string head = tls_head(connection.get());
  if (head.empty()) return;
  const std::string out = answer(head);
  ::SSL_write(connection.get(), out.data(), static_cast<int>(out.size()));
  ::SSL_shutdown(connection.get());
}

void serve_redis(const base::Fd& client) {
  while (true) {
    const std::string count = read_some(client, 1);  // '*', then a line with the number of arguments
    if (count != "*") return;
    const auto line = [&] {
      std::string out;
      while (!out.ends_with("\r\n")) {
        const std::string one = read_some(client, 1);
        if (one.size() != 1) return std::string("0");
        out += one;
      }
      return out;
    };
    for (int left = std::stoi(line()); left > 0; --left) {
      const std::string size = line();
      read_some(client, std::stoul(size.substr(1)) + 2);
    }
    write_all(client, "$4\r\nover\r\n");
  }
}

void serve_postgres(const base::Fd& client) {
  const std::string ready = message('Z', "I");
  std::string first = read_message(client);
  while (first.size() == 4) {  // asks for TLS, then for GSSAPI
    write_all(client, "N");
    first = read_message(client);
  }
  if (first.empty()) return;
  write_all(client, message('R', big_endian(0)) + ready);
  while (read_some(client, 1) == "Q") {
    read_message(client);
    const std::string column = std::string("c\0", 2) + big_endian(0) + std::string("\0\0\0\0\0\x19\xff\xff", 8) +
                               big_endian(0xffffffff) + std::string("\0\0", 2);
    write_all(client, message('T', std::string("\0\1", 2) + column) +
                          message('D', std::string("\0\1", 2) + big_endian(4) + "over") +
                          message('C', std::string("SELECT 1\0", 9)) + ready);
  }
}

}  // namespace cordon::test
