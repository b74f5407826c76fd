// What a sandbox's network is made of, said to the kernel by netlink(7): addresses and routes of lo, and the one
// nf_tables rule that leads every TCP connection to a listener. Of the caller's network namespace, with CAP_NET_ADMIN
// there. No allocation and no state: usable where nothing else is.
#pragma once

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernel/errno.h"
#include "kernel/net.h"

namespace cordon::kernel {

/// Messages in one buffer, sent at once and each answered. Every message says what it is about in attributes, which may
/// hold further ones. What does not fit is E2BIG at the end, never cut.
class Netlink {
 public:
  template <class Header>
  void begin(int type, int flags, const Header& header) {
    message_ = size_;
    nlmsghdr head{};
    head.nlmsg_type = static_cast<std::uint16_t>(type);
    head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    if ((flags & NLM_F_ACK) != 0) ++answers_;
    raw(&head, sizeof head);
    raw(&header, sizeof header);
    end();
  }
  void attribute(int type, const void* data, std::size_t size) {
    const nlattr head{static_cast<std::uint16_t>(sizeof(nlattr) + size), static_cast<std::uint16_t>(type)};
    raw(&head, sizeof head);
    raw(data, size);
    constexpr std::uint32_t kNothing = 0;
    raw(&kNothing, NLMSG_ALIGN(size) - size);
    end();
  }
  void text(int type, const char* value) { attribute(type, value, std::strlen(value) + 1); }
  void big32(int type, std::uint32_t value) {
    const std::uint32_t big = htonl(value);
    attribute(type, &big, sizeof big);
  }
  template <class Body>
  void nest(int type, Body body) {
    const std::size_t at = size_;
    const nlattr head{0, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    raw(&head, sizeof head);
    body();
    const auto size = static_cast<std::uint16_t>(size_ - at);
    if (!full_) std::memcpy(&bytes_[at], &size, sizeof size);
    end();
  }

  /// Sends all, and reads the answers: the first that is a refusal is the error.
  Sys<void> send(int protocol, const char* what) {
    if (full_) return base::fail(Errno{E2BIG, what});
    const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    if (!socket.valid()) return failed("socket(AF_NETLINK)");
    if (retry([&] { return ::send(socket.get(), bytes_.data(), size_, 0); }) < 0) return failed(what);
    for (unsigned seen = 0; seen < answers_;) {
      alignas(nlmsghdr) std::array<char, 4096> answer{};
      const ssize_t got = retry([&] { return ::recv(socket.get(), answer.data(), answer.size(), 0); });
      if (got < 0) return failed(what);
      auto left = static_cast<unsigned>(got);
      for (auto* head = reinterpret_cast<nlmsghdr*>(answer.data()); NLMSG_OK(head, left);
           head = NLMSG_NEXT(head, left)) {
        if (head->nlmsg_type != NLMSG_ERROR) continue;
        const int code = -reinterpret_cast<const nlmsgerr*>(head + 1)->error;
        if (code != 0) return base::fail(Errno{code, what});
        ++seen;
      }
    }
    return {};
  }

 private:
  void raw(const void* data, std::size_t size) {
    full_ = full_ || size > bytes_.size() - size_;
    if (full_) return;
    std::memcpy(&bytes_[size_], data, size);
    size_ += size;
  }
  void end() {
    const auto size = static_cast<std::uint32_t>(size_ - message_);
    if (!full_) std::memcpy(&bytes_[message_], &size, sizeof size);
  }

  alignas(nlmsghdr) std::array<std::byte, 4096> bytes_{};
  std::size_t size_ = 0, message_ = 0;
  unsigned answers_ = 0;
  bool full_ = false;
};

/// lo has this index in every network namespace.
inline constexpr std::uint32_t kLoopbackIndex = 1;

/// Gives lo this address, and makes every other address of its family a local one, from which no packet leaves, with
/// this one as the source. lo must be up.
inline Sys<void> make_all_local(const Endpoint& own) {
  const bool ipv4 = own.family == AF_INET;
  const std::size_t size = ipv4 ? 4 : 16;
  Netlink out;
  ifaddrmsg address{};
  address.ifa_family = static_cast<std::uint8_t>(own.family);
  address.ifa_prefixlen = static_cast<std::uint8_t>(size * 8);
  address.ifa_flags = IFA_F_NODAD;
  address.ifa_index = kLoopbackIndex;
  out.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK, address);
  out.attribute(IFA_LOCAL, own.address.data(), size);
  out.attribute(IFA_ADDRESS, own.address.data(), size);
  rtmsg route{};
  route.rtm_family = static_cast<std::uint8_t>(own.family);
  if (!ipv4) {
    // The kernel adds this route too, but in its own time, and until then no answer to `own` gets there.
    route.rtm_dst_len = address.ifa_prefixlen;
    route.rtm_table = RT_TABLE_LOCAL;
    route.rtm_protocol = RTPROT_KERNEL;
    route.rtm_type = RTN_LOCAL;
    out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, route);
    out.attribute(RTA_OIF, &kLoopbackIndex, sizeof kLoopbackIndex);
    out.attribute(RTA_DST, own.address.data(), size);
    route.rtm_dst_len = 0;
  }
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, route);
  out.attribute(RTA_OIF, &kLoopbackIndex, sizeof kLoopbackIndex);
  out.attribute(RTA_PREFSRC, own.address.data(), size);
  return out.send(NETLINK_ROUTE, "netlink(route)");
}

/// The words of nf_tables for: TCP that leaves, but to the machine itself, goes to a port of the machine.
class RedirectRule {
 public:
  RedirectRule(Netlink& out, int family, std::uint16_t port) : out_(out), ipv4_(family == AF_INET), port_(port) {}

  void add() {
    constexpr const char* kTable = "cordon";
    constexpr const char* kChain = "output";
    out_.begin(kind(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_ACK, header());
    out_.text(NFTA_TABLE_NAME, kTable);
    out_.begin(kind(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_ACK, header());
    out_.text(NFTA_CHAIN_TABLE, kTable);
    out_.text(NFTA_CHAIN_NAME, kChain);
    out_.text(NFTA_CHAIN_TYPE, "nat");
    out_.nest(NFTA_CHAIN_HOOK, [&] {
      out_.big32(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
      out_.big32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(-100));
    });
    out_.begin(kind(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK, header());
    out_.text(NFTA_RULE_TABLE, kTable);
    out_.text(NFTA_RULE_CHAIN, kChain);
    out_.nest(NFTA_RULE_EXPRESSIONS, [&] { expressions(); });
  }

  static int kind(int type) { return NFNL_SUBSYS_NFTABLES << 8 | type; }

 private:
  [[nodiscard]] nfgenmsg header() const {
    return {static_cast<std::uint8_t>(ipv4_ ? NFPROTO_IPV4 : NFPROTO_IPV6), NFNETLINK_V0, 0};
  }
  template <class Body>
  void expression(const char* name, Body body) {
    out_.nest(NFTA_LIST_ELEM, [&] {
      out_.text(NFTA_EXPR_NAME, name);
      out_.nest(NFTA_EXPR_DATA, body);
    });
  }
  void value(int type, std::span<const std::uint8_t> bytes) {
    out_.nest(type, [&] { out_.attribute(NFTA_DATA_VALUE, bytes.data(), bytes.size()); });
  }
  void compare(std::uint32_t how, std::span<const std::uint8_t> bytes) {
    expression("cmp", [&] {
      out_.big32(NFTA_CMP_SREG, NFT_REG_1);
      out_.big32(NFTA_CMP_OP, how);
      value(NFTA_CMP_DATA, bytes);
    });
  }
  void expressions() {
    constexpr std::array<std::uint8_t, 1> kTcp = {IPPROTO_TCP};
    constexpr std::array<std::uint8_t, 16> kOwn4 = {127};
    constexpr std::array<std::uint8_t, 16> kOwn6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    const std::size_t compared = ipv4_ ? 1 : 16;  // 127/8 is one byte
    const std::array<std::uint8_t, 2> port = {static_cast<std::uint8_t>(port_ >> 8),
                                              static_cast<std::uint8_t>(port_ & 0xff)};
    expression("meta", [&] {
      out_.big32(NFTA_META_KEY, NFT_META_L4PROTO);
      out_.big32(NFTA_META_DREG, NFT_REG_1);
    });
    compare(NFT_CMP_EQ, kTcp);
    expression("payload", [&] {
      out_.big32(NFTA_PAYLOAD_DREG, NFT_REG_1);
      out_.big32(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
      out_.big32(NFTA_PAYLOAD_OFFSET, ipv4_ ? 16 : 24);  // of the destination in the header
      out_.big32(NFTA_PAYLOAD_LEN, static_cast<std::uint32_t>(compared));
    });
    compare(NFT_CMP_NEQ, std::span(ipv4_ ? kOwn4 : kOwn6).first(compared));
    expression("immediate", [&] {
      out_.big32(NFTA_IMMEDIATE_DREG, NFT_REG_1);
      value(NFTA_IMMEDIATE_DATA, port);
    });
    expression("redir", [&] { out_.big32(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1); });
  }

  Netlink& out_;
  bool ipv4_;
  std::uint16_t port_;
};

/// Every TCP connection to another address than 127.0.0.0/8 or ::1 arrives at 127.0.0.1 or ::1, at this port, and
/// original_destination() says what it was for. One transaction: all of it or nothing.
inline Sys<void> redirect_tcp(std::uint16_t port, bool ipv6) {
  Netlink out;
  const nfgenmsg batch{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)};
  out.begin(NFNL_MSG_BATCH_BEGIN, 0, batch);
  RedirectRule(out, AF_INET, port).add();
  if (ipv6) RedirectRule(out, AF_INET6, port).add();
  out.begin(NFNL_MSG_BATCH_END, 0, batch);
  return out.send(NETLINK_NETFILTER, "netlink(nf_tables)");
}

}  // namespace cordon::kernel
