#include "network/stage.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "support/require.h"

namespace cordon::test {

void lose_sockets(int domain, int protocol, int code) {
  const auto load = [](std::size_t index) {
    return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                static_cast<unsigned>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t))));
  };
  const auto unsigned_of = [](int value) { return static_cast<unsigned>(value); };
  const bool any = protocol == -1;
  std::array<sock_filter, 9> code_of_filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 6),
      load(0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned_of(domain), 0, 4),
      load(2),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned_of(any ? 0 : protocol), 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, any ? 0U : UINT32_MAX, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned_of(code)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code_of_filter.size(), code_of_filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(99);
}

std::string head_from(const base::Fd& client) {
  std::string head;
  while (!head.contains("\r\n\r\n")) {
    const std::string more = read_some(client, 1);
    if (more.size() != 1) break;
    head += more;
  }
  return head;
}

WebServer::WebServer(const std::string& address, std::uint16_t port, std::string body)
    : server_(address, port, [body = std::move(body)](const base::Fd& client) {
        if (!head_from(client).contains("\r\n\r\n")) return;
        write_all(client, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body);
      }) {}

NameServer::NameServer() {
  socket_ = base::Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(53);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "bind the name server");
  thread_ = std::jthread([this] { serve(); });
}

NameServer::~NameServer() { ::shutdown(socket_.get(), SHUT_RDWR); }

std::vector<std::string> NameServer::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void NameServer::serve() {
  std::array<char, 512> packet{};
  while (true) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t got =
        ::recvfrom(socket_.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 17) return;
    std::string name;
    std::size_t at = 12;
    while (at < static_cast<std::size_t>(got) && packet[at] != 0) {
      const auto length = static_cast<std::size_t>(packet[at]);
      name += (name.empty() ? "" : ".") + std::string(packet.data() + at + 1, length);
      at += 1 + length;
    }
    const std::size_t question = at + 5;
    const bool known = name == "dns.example" && packet[at + 2] == 1;  // A
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(name);
    }
    std::string answer(packet.data(), question);
    answer[2] = static_cast<char>(0x81);
    answer[3] = static_cast<char>(name == "dns.example" ? 0x80 : 0x83);
    answer[7] = known ? 1 : 0;
    answer[9] = answer[11] = 0;
    if (known) {
      answer += std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4", 12);
      in_addr address{};
      ::inet_pton(AF_INET, kPublic4, &address);
      answer.append(reinterpret_cast<const char*>(&address), sizeof address);
    }
    ::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }
}

}  // namespace cordon::test
