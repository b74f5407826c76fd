// Services: what the tests' clients talk to. HTTP over TLS with an authority of the tests' own, and as much of Redis
// and of PostgreSQL as their own clients need to get one answer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "network/stage.h"

struct ssl_ctx_st;

namespace cordon::test {

/// From a request's head to the whole response.
using HttpAnswer = std::function<std::string(const std::string& head)>;

std::string http_response(const std::string& body, const std::string& status = "200 OK",
                          const std::string& type = "text/plain");
/// "/x" of "GET /x HTTP/1.1".
std::string path_of(const std::string& head);

/// Files below `directory`, as they are.
HttpAnswer files_below(std::string directory);

/// One connection, one request. The body of a request is not read.
void serve_http(const base::Fd& client, const HttpAnswer& answer);

/// A certificate for the stage's names and addresses, signed by an authority that no system trusts.
class Authority {
 public:
  /// Made in `directory`, by openssl: ca.pem for the clients, and what the server needs.
  explicit Authority(const std::string& directory);
  void serve(const base::Fd& client, const HttpAnswer& answer) const;

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

/// Answers every command with "over".
void serve_redis(const base::Fd& client);
/// Answers every query with one row, "over". Declines TLS and asks for no password.
void serve_postgres(const base::Fd& client);

}  // namespace cordon::test
