// Promises of `cordon run --publish PORT -- CMD`: the host gets in by that port, and by none that was not published;
// who starts a server and has not published its port is told by which flag.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>

#include "base/fd.h"
#include "support/promise.h"
#include "support/turn.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::Not;

CORDON_PROMISE(CommandPublish);

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

base::Fd tcp_socket() { return base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// One that nobody listens on, of those that a person would choose; 0 where there is none. It stays free while the
/// caller has the Turn "port".
std::uint16_t free_port() {
  for (std::uint16_t port = 20'000; port < 30'000; ++port) {
    const base::Fd socket = tcp_socket();
    const sockaddr_in at = loopback(port);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return port;
  }
  return 0;
}

/// What whoever is at this port says; "(none)" where nobody is.
std::string heard_at(std::uint16_t port) {
  const base::Fd socket = tcp_socket();
  const sockaddr_in at = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return "(none)";
  char text[64] = {};
  const ssize_t got = ::recv(socket.get(), text, sizeof text, MSG_WAITALL);
  return got < 0 ? "(reset)" : std::string(text, static_cast<std::size_t>(got));
}

/// `npm run dev` by a tool of the test's own, whose words decide what the command is about: a server.
class Server {
 public:
  Server(const Scene& scene, std::uint16_t port, std::vector<std::string> flags) {
    scene.tree().write("home/bin/npm",
                       "#!/bin/sh\n"
                       "if [ \"$1\" = config ]; then echo https://mirror.example/; exit 0; fi\n"
                       "exec /usr/bin/python3 -c \"\n"
                       "import socket\n"
                       "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                       "s.bind(('127.0.0.1', " +
                           std::to_string(port) +
                           ")); s.listen(); print('serving now', flush=True)\n"
                           "while True: c = s.accept()[0]; c.sendall(b'inside'); c.close()\n\"\n",
                       0755);
    scene.tree().write("work/project/package.json", "{\"name\":\"p\"}\n");
    scene.tree().make_directory("work/project/.git");
    std::vector<std::string> words = {"run", "--allow-read", "~/bin"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", scene.home() + "/bin/npm", "run", "dev"});
    // At a terminal, whose one stream has what Cordon says as well.
    running_.emplace(scene.cordon(words).in(scene.in_work("project")).env("NO_COLOR", "1").pty().start());
  }
  Running& operator*() { return *running_; }
  Running* operator->() { return &*running_; }

 private:
  std::optional<Running> running_;
};

TEST_P(CommandPublish, ThePortThatTheFlagNamesIsReachedByTheHost) {
  const Turn turn("port");
  const std::uint16_t port = free_port();
  Server server(scene, port, {"--publish", std::to_string(port)});
  ASSERT_TRUE(server->expect("serving now")) << server->seen();
  EXPECT_EQ(heard_at(port), "inside");
  server->signal(SIGTERM);
  const Finished ended = server->wait();
  EXPECT_THAT(ended.out, Not(HasSubstr("--publish"))) << ended;
}

TEST_P(CommandPublish, AServerWithoutTheFlagIsNotReachedAndTheFlagIsNamed) {
  const Turn turn("port");
  const std::uint16_t port = free_port();
  Server server(scene, port, {});
  ASSERT_TRUE(server->expect("--publish " + std::to_string(port))) << server->seen();
  EXPECT_EQ(heard_at(port), "(none)");
}

TEST_P(CommandPublish, WhatIsNoPortIsRefused) {
  for (const char* flag : {"--publish", "--host-service"}) {
    for (const char* wrong : {"0", "65536", "80-90", "localhost:80"}) {
      const Finished got = scene.cordon({"run", flag, wrong, "--", "true"}).in(scene.work()).run();
      EXPECT_EQ(got.code, 125) << got;
      EXPECT_TRUE(got.says("is not a port")) << got;
      EXPECT_TRUE(got.says("cordon: error: " + std::string(flag) + ": ")) << "the flag, not a key" << got;
      EXPECT_THAT(got.err, Not(HasSubstr("usage:"))) << "which would push the mend off the screen" << got;
    }
  }
  for (const auto& [wrong, mend] : {std::pair{"80-90", "one number from 1024 to 65535"},
                                    {"5173:80", "--publish 5173: host and inside have the same port"},
                                    {"127.0.0.1:5173", "--publish 5173: host and inside have the same port"},
                                    {"443", "a port from 1024 to 65535"}}) {
    const Finished got = scene.cordon({"run", "--publish", wrong, "--", "true"}).in(scene.work()).run();
    EXPECT_TRUE(got.says(mend)) << got;
  }
  const Finished twice =
      scene.cordon({"run", "--publish", "8080", "--publish", "8080", "--", "true"}).in(scene.work()).run();
  EXPECT_TRUE(twice.says("--publish: port 8080 is there twice")) << twice;
}

TEST_P(CommandPublish, ALimitBeyondWhatThereIsNamesTheMostAndAnotherSpellingTheRightOne) {
  const auto refused = [&](const char* flag, const char* value) {
    const Finished got = scene.cordon({"run", flag, value, "--", "true"}).in(scene.work()).run();
    EXPECT_EQ(got.code, 125) << got;
    EXPECT_THAT(got.err, Not(HasSubstr("usage:"))) << got;
    return got;
  };
  EXPECT_TRUE(refused("--timeout", "9000h").says("at most 8760h"));
  EXPECT_TRUE(refused("--timeout", "infinity").says("at most 8760h"));
  EXPECT_TRUE(refused("--timeout", "90").says("did you mean 90s?"));
  EXPECT_TRUE(refused("--pids", "99999999").says("--pids 4194304 or less"));
  EXPECT_TRUE(refused("--memory", "99999999999G").says("at most 8589934591G"));
  EXPECT_TRUE(refused("--memory", "512m").says("did you mean 512M?"));
  EXPECT_TRUE(refused("--memory", "2GiB").says("did you mean 2G?"));
  EXPECT_TRUE(refused("--cpu", "150").says("did you mean 150%?"));
}

/// A view would make every other run of the project wait until the server ends.
TEST_P(CommandPublish, AServerHoldsNoViewThatOthersWouldWaitFor) {
  const Turn turn("port");
  scene.tree().write("work/project/package.json", "{\"name\":\"p\"}\n");
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags, const char* script) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "/bin/sh", "-c", script});
    return scene.cordon(flags).in(scene.in_work("project")).pty();
  };
  const std::string port = std::to_string(free_port());
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--publish", port}, {"--publish", port, "--workspace", "view"}}) {
    Running server = run(flags, "echo up; read go").start();
    ASSERT_TRUE(server.expect("up")) << server.seen();
    Running other = run({}, "echo through").start();
    if (flags.size() == 2) {
      EXPECT_TRUE(server.seen().contains("--publish makes")) << server.seen();
      EXPECT_TRUE(other.expect("through")) << other.seen();
    } else {
      EXPECT_TRUE(other.expect("waiting for process")) << "the control" << other.seen();
      EXPECT_TRUE(other.expect("--workspace live")) << other.seen();
    }
    server.type("\n");
    EXPECT_EQ(server.wait().code, 0);
    EXPECT_EQ(other.wait().code, 0);
  }
}

}  // namespace
}  // namespace cordon::test
