// What the tests of the way out share: servers of the host's network, and a name server that remembers.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "egress/sandbox.h"

namespace cordon::test {

/// From here on, and in what is started: no socket of this domain (and, where it is not -1, this protocol). As on a
/// kernel that was built without it.
void lose_sockets(int domain, int protocol, int code);

/// Up to the empty line; shorter where the client has ended before.
std::string head_from(const base::Fd& client);

/// Answers every HTTP request with this body.
class WebServer {
 public:
  WebServer(const std::string& address, std::uint16_t port, std::string body);

 private:
  Server server_;
};

/// The name server at 127.0.0.1: knows "dns.example" (kPublic4) and nothing else, and keeps what it was asked.
class NameServer {
 public:
  NameServer();
  ~NameServer();
  [[nodiscard]] std::vector<std::string> asked();

 private:
  void serve();
  base::Fd socket_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::jthread thread_;
};

}  // namespace cordon::test
