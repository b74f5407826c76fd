// Routes: which addresses the kernel takes for the machine's own, asked of it by rtnetlink(7) (RTM_GETROUTE), address
// by address. That is what decides where a connection ends: addresses of every interface, and blocks that a route makes
// local. Of the network namespace that the socket was made in; needs no capability and changes nothing.
//
// The kernel answers within send(2), so that nobody waits. Used by the broker before it dials.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "kernel/errno.h"
#include "kernel/net.h"

namespace cordon::kernel {

class Routes {
 public:
  static Sys<Routes> open() {
    Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!socket.valid()) return failed("socket(AF_NETLINK)");
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    // Connected: no other process' message gets in between.
    CORDON_OK(done(::connect(socket.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel), "connect"));
    return Routes(std::move(socket));
  }

  /// Whether a connection to this address ends at this machine. Where no route leads to it, it does not.
  Sys<bool> end_here(const Endpoint& address) {
    Question question;
    const std::size_t size = question.ask(address, ++sequence_);
    if (retry([&] { return ::send(socket_.get(), &question, size, MSG_DONTWAIT); }) < 0) return failed("RTM_GETROUTE");
    while (true) {
      alignas(nlmsghdr) std::array<char, 4096> answer{};
      const ssize_t got = retry([&] { return ::recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT); });
      if (got < 0) return failed("RTM_GETROUTE");
      if (const auto said = read(answer.data(), static_cast<unsigned>(got))) return *said;
    }
  }

 private:
  explicit Routes(Fd socket) : socket_(std::move(socket)) {}

  struct Question {
    nlmsghdr head{};
    rtmsg route{};
    rtattr about{};
    std::array<std::uint8_t, 16> address{};

    std::size_t ask(const Endpoint& to, std::uint32_t sequence) {
      const std::size_t bytes = to.family == AF_INET ? 4 : 16;
      const std::size_t size = sizeof head + sizeof route + RTA_LENGTH(bytes);
      head.nlmsg_len = static_cast<std::uint32_t>(size);
      head.nlmsg_type = RTM_GETROUTE;
      head.nlmsg_flags = NLM_F_REQUEST;
      head.nlmsg_seq = sequence;
      route.rtm_family = static_cast<std::uint8_t>(to.family);
      route.rtm_dst_len = static_cast<std::uint8_t>(bytes * 8);
      about.rta_type = RTA_DST;
      about.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(bytes));
      std::memcpy(address.data(), to.address.data(), bytes);
      return size;
    }
  };
  static_assert(sizeof(Question) == sizeof(nlmsghdr) + sizeof(rtmsg) + RTA_LENGTH(16), "no padding in between");

  /// Nothing where the answer to this question is not in it.
  [[nodiscard]] std::optional<Sys<bool>> read(const char* bytes, unsigned left) const {
    for (const auto* head = reinterpret_cast<const nlmsghdr*>(bytes); NLMSG_OK(head, left);
         head = NLMSG_NEXT(head, left)) {
      if (head->nlmsg_seq != sequence_) continue;
      if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
        const int code = -reinterpret_cast<const nlmsgerr*>(head + 1)->error;
        const bool leads_nowhere = code == ENETUNREACH || code == EHOSTUNREACH || code == EACCES || code == EINVAL;
        if (leads_nowhere) return Sys<bool>(false);
        return Sys<bool>(base::fail(Errno{code, "RTM_GETROUTE"}));
      }
      if (head->nlmsg_type == RTM_NEWROUTE && head->nlmsg_len >= NLMSG_LENGTH(sizeof(rtmsg)))
        return Sys<bool>(reinterpret_cast<const rtmsg*>(head + 1)->rtm_type == RTN_LOCAL);
    }
    return std::nullopt;
  }

  Fd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace cordon::kernel
