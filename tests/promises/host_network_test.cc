// Promise: `--allow-all-network` gives a command this host's network, says so, and opens nothing else of the host;
// nothing less gives it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "base/fd.h"
#include "support/promise.h"
#include "support/require.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;

CORDON_PROMISE(HostNetwork);

/// A server of the host's at a port of its own.
class Server {
 public:
  Server() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    require(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0, "bind");
    require(::listen(socket_.get(), 8) == 0, "listen");
    require(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0, "getsockname");
    port_ = ntohs(at.sin_port);
  }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }

 private:
  base::Fd socket_;
  std::uint16_t port_ = 0;
};

std::string connect_to(const std::string& port) {
  return "import socket; socket.create_connection(('127.0.0.1', " + port + ")); print('reached')";
}

TEST_P(HostNetwork, IsGivenByTheFlagAndByNothingElse) {
  const Server server;
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "python3", "-c", connect_to(server.port())});
    return scene.cordon(flags).in(scene.in_work("project")).run();
  };
  EXPECT_EQ(run({"--allow-all-network"}).out, "reached\n");
  EXPECT_EQ(run({}).out, "");
  EXPECT_EQ(run({"--no-proxy"}).out, "");
  EXPECT_EQ(run({"--allow-insecure-linux-network"}).out, "") << "weakens nothing";
}

TEST_P(HostNetwork, TheHostsAbstractSocketsStayOut) {
  const std::string name = "cordon-test-" + std::to_string(::getpid());
  const base::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  name.copy(at.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  require(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0, "bind");
  require(::listen(listener.get(), 8) == 0, "listen");
  scene.tree().make_directory("work/project/.git");
  const std::string script =
      "import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0" + name + "'); print('reached')";
  const Finished inside =
      scene.cordon({"run", "--allow-all-network", "--", "python3", "-c", script}).in(scene.in_work("project")).run();
  EXPECT_EQ(inside.out, "") << inside;
  EXPECT_EQ(scene.bare({"/usr/bin/python3", "-c", script}).out, "reached\n") << "the control";
}

TEST_P(HostNetwork, IsNoPartOfAStrictRunAndSaysWhatItIs) {
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "--allow-all-network"});
    flags.insert(flags.end(), {"--", "true"});
    return scene.cordon(flags).in(scene.in_work("project")).run();
  };
  for (const char* other : {"--strict", "--ask"}) {
    const Finished got = run({other});
    EXPECT_EQ(got.code, 125) << got;
    EXPECT_TRUE(got.says("--allow-all-network")) << got;
  }
  const Finished shown =
      scene.cordon({"inspect", "--allow-all-network", "--", "true"}).in(scene.in_work("project")).run();
  EXPECT_THAT(shown.out, HasSubstr("this host's own network")) << shown;
}

}  // namespace
}  // namespace cordon::test
