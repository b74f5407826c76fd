#include "egress/netlink.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "support/require.h"

namespace cordon::test {
namespace {

/// Netlink messages in one buffer, attributes nested by scope.
class Messages {
 public:
  template <class Header>
  void begin(std::uint16_t type, std::uint16_t flags, const Header& header) {
    message_ = bytes_.size();
    nlmsghdr head{};
    head.nlmsg_type = type;
    head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    head.nlmsg_seq = ++sequence_;
    raw(&head, sizeof head);
    raw(&header, sizeof header);
    end();
  }
  void attribute(std::uint16_t type, const void* data, std::size_t size) {
    const nlattr head{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
    raw(&head, sizeof head);
    raw(data, size);
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);
    end();
  }
  void text(std::uint16_t type, const std::string& value) { attribute(type, value.c_str(), value.size() + 1); }
  void big32(std::uint16_t type, std::uint32_t value) {
    const std::uint32_t big = htonl(value);
    attribute(type, &big, sizeof big);
  }
  void nest(std::uint16_t type, const std::function<void()>& body) {
    const std::size_t at = bytes_.size();
    const nlattr head{0, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    raw(&head, sizeof head);
    body();
    const auto size = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(&bytes_[at], &size, sizeof size);
    end();
  }
  /// What begins with a header of its own.
  template <class Header>
  void nest(std::uint16_t type, const Header& header, const std::function<void()>& body) {
    nest(type, [&] {
      raw(&header, sizeof header);
      body();
    });
  }
  void send_and_check(int protocol, unsigned answers) {
    const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    require(fd >= 0, "socket(AF_NETLINK)");
    require(::send(fd, bytes_.data(), bytes_.size(), 0) == static_cast<ssize_t>(bytes_.size()), "send to netlink");
    std::array<char, 8192> buffer{};
    for (unsigned seen = 0; seen < answers;) {
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      require(got > 0, "recv from netlink");
      auto left = static_cast<unsigned>(got);
      for (auto* head = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(head, left);
           head = NLMSG_NEXT(head, left)) {
        if (head->nlmsg_type != NLMSG_ERROR) continue;
        const int code = -reinterpret_cast<nlmsgerr*>(head + 1)->error;
        errno = code;
        require(code == 0, "netlink message " + std::to_string(head->nlmsg_seq));
        ++seen;
      }
    }
    ::close(fd);
  }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* at = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), at, at + size);
  }
  void end() {
    const auto size = static_cast<std::uint32_t>(bytes_.size() - message_);
    std::memcpy(&bytes_[message_], &size, sizeof size);
  }
  std::vector<char> bytes_;
  std::size_t message_ = 0;
  std::uint32_t sequence_ = 0;
};

std::pair<int, std::vector<char>> parsed(const std::string& address) {
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  std::vector<char> bytes(family == AF_INET ? 4 : 16);
  require(inet_pton(family, address.c_str(), bytes.data()) == 1, "inet_pton " + address);
  return {family, bytes};
}

constexpr std::uint16_t nft(int type) { return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type); }

class Redirect {
 public:
  Redirect(int family, std::uint16_t port) : family_(family), port_(port) {}

  void send() {
    batch(NFNL_MSG_BATCH_BEGIN);
    out_.begin(nft(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_ACK, header());
    out_.text(NFTA_TABLE_NAME, "t");
    out_.begin(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_ACK, header());
    out_.text(NFTA_CHAIN_TABLE, "t");
    out_.text(NFTA_CHAIN_NAME, "c");
    out_.text(NFTA_CHAIN_TYPE, "nat");
    out_.nest(NFTA_CHAIN_HOOK, [&] {
      out_.big32(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
      out_.big32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(-100));
    });
    out_.begin(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK, header());
    out_.text(NFTA_RULE_TABLE, "t");
    out_.text(NFTA_RULE_CHAIN, "c");
    out_.nest(NFTA_RULE_EXPRESSIONS, [&] { expressions(); });
    batch(NFNL_MSG_BATCH_END);
    out_.send_and_check(NETLINK_NETFILTER, 3);
  }

 private:
  [[nodiscard]] nfgenmsg header() const { return {static_cast<std::uint8_t>(family_), NFNETLINK_V0, 0}; }
  void batch(std::uint16_t type) {
    out_.begin(type, 0, nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  }
  void expression(const char* name, const std::function<void()>& body) {
    out_.nest(NFTA_LIST_ELEM, [&] {
      out_.text(NFTA_EXPR_NAME, name);
      out_.nest(NFTA_EXPR_DATA, body);
    });
  }
  void value(std::uint16_t type, const std::vector<char>& bytes) {
    out_.nest(type, [&] { out_.attribute(NFTA_DATA_VALUE, bytes.data(), bytes.size()); });
  }
  void compare(std::uint32_t how, const std::vector<char>& bytes) {
    expression("cmp", [&] {
      out_.big32(NFTA_CMP_SREG, NFT_REG_1);
      out_.big32(NFTA_CMP_OP, how);
      value(NFTA_CMP_DATA, bytes);
    });
  }
  void expressions() {
    const bool ipv4 = family_ == NFPROTO_IPV4;
    expression("meta", [&] {
      out_.big32(NFTA_META_KEY, NFT_META_L4PROTO);
      out_.big32(NFTA_META_DREG, NFT_REG_1);
    });
    compare(NFT_CMP_EQ, {IPPROTO_TCP});
    expression("payload", [&] {
      out_.big32(NFTA_PAYLOAD_DREG, NFT_REG_1);
      out_.big32(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
      out_.big32(NFTA_PAYLOAD_OFFSET, ipv4 ? 16 : 24);
      out_.big32(NFTA_PAYLOAD_LEN, ipv4 ? 1 : 16);
    });
    compare(NFT_CMP_NEQ, ipv4 ? std::vector<char>{127} : parsed("::1").second);
    expression("immediate", [&] {
      out_.big32(NFTA_IMMEDIATE_DREG, NFT_REG_1);
      value(NFTA_IMMEDIATE_DATA, {static_cast<char>(port_ >> 8), static_cast<char>(port_ & 0xff)});
    });
    expression("redir", [&] { out_.big32(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1); });
  }

  int family_;
  std::uint16_t port_;
  Messages out_;
};

void add_local_default_route(const std::string& source) {
  const auto [family, bytes] = parsed(source);
  rtmsg route{};
  route.rtm_family = static_cast<unsigned char>(family);
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  Messages out;
  out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, route);
  const std::uint32_t lo = 1;
  out.attribute(RTA_OIF, &lo, sizeof lo);
  out.attribute(RTA_PREFSRC, bytes.data(), bytes.size());
  out.send_and_check(NETLINK_ROUTE, 1);
}

}  // namespace

void bring_up(const std::string& device) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  device.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = static_cast<short>(IFF_UP | IFF_RUNNING | (device == "lo" ? 0 : IFF_NOARP));
  require(::ioctl(fd, SIOCSIFFLAGS, &request) == 0, device + " up");
  ::close(fd);
}

void join_by_veth(const std::string& near, const std::string& far, int far_namespace) {
  constexpr std::array<std::uint8_t, 6> kBoth = {2, 0, 0, 0, 0, 1};  // or a frame for the other would be nobody's
  Messages out;
  out.begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, ifinfomsg{});
  out.text(IFLA_IFNAME, near);
  out.attribute(IFLA_ADDRESS, kBoth.data(), kBoth.size());
  out.nest(IFLA_LINKINFO, [&] {
    out.text(IFLA_INFO_KIND, "veth");
    out.nest(IFLA_INFO_DATA, [&] {
      out.nest(VETH_INFO_PEER, ifinfomsg{}, [&] {
        out.text(IFLA_IFNAME, far);
        out.attribute(IFLA_ADDRESS, kBoth.data(), kBoth.size());
        out.attribute(IFLA_NET_NS_FD, &far_namespace, sizeof far_namespace);
      });
    });
  });
  out.send_and_check(NETLINK_ROUTE, 1);
}

void add_route(const std::string& address, const std::string& device) {
  const auto [family, bytes] = parsed(address);
  const std::uint32_t index = ::if_nametoindex(device.c_str());
  require(index != 0, "if_nametoindex " + device);
  rtmsg route{};
  route.rtm_family = static_cast<unsigned char>(family);
  route.rtm_dst_len = static_cast<unsigned char>(bytes.size() * 8);
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_scope = RT_SCOPE_LINK;
  route.rtm_type = RTN_UNICAST;
  Messages out;
  out.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, route);
  out.attribute(RTA_DST, bytes.data(), bytes.size());
  out.attribute(RTA_OIF, &index, sizeof index);
  out.send_and_check(NETLINK_ROUTE, 1);
}

void add_address(const std::string& address) {
  const auto [family, bytes] = parsed(address);
  ifaddrmsg head{};
  head.ifa_family = static_cast<unsigned char>(family);
  head.ifa_prefixlen = static_cast<unsigned char>(bytes.size() * 8);
  head.ifa_flags = IFA_F_NODAD;
  head.ifa_index = 1;
  Messages out;
  out.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK, head);
  out.attribute(IFA_LOCAL, bytes.data(), bytes.size());
  out.attribute(IFA_ADDRESS, bytes.data(), bytes.size());
  out.send_and_check(NETLINK_ROUTE, 1);
}

void add_local_default_routes(const std::string& source4, const std::string& source6) {
  add_local_default_route(source4);
  add_local_default_route(source6);
}

void redirect_tcp(std::uint16_t port4, std::uint16_t port6) {
  Redirect(NFPROTO_IPV4, port4).send();
  Redirect(NFPROTO_IPV6, port6).send();
}

}  // namespace cordon::test
