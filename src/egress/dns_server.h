// DnsServer: the DNS sockets of the sandbox, over UDP and TCP, in front of a DnsAnswerer.
//
// UDP answers from the address that was asked. TCP takes one question after another on a connection, keeps at most one
// question and one answer of each connection in memory, and ends what is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "egress/bounds.h"
#include "egress/dns_answerer.h"
#include "egress/poller.h"
#include "egress/records.h"
#include "kernel/net.h"

namespace cordon::egress {

class DnsServer {
 public:
  /// `tell` is given what is to be counted.
  DnsServer(DnsAnswerer& answerer, const Bounds& bounds, Poller& poller, std::function<void(Row)> tell);

  void on_datagrams(kernel::FdView socket);
  void accept(kernel::Fd socket, std::uint64_t now_ns);
  void on_event(Handle handle, std::uint64_t now_ns);
  void expire(std::uint64_t now_ns);
  [[nodiscard]] std::size_t open() const { return open_; }

 private:
  struct Stream {
    kernel::Fd socket;
    Watch watch;
    std::uint16_t generation = 0;
    std::vector<std::byte> in, out;
    std::size_t out_at = 0;
    std::uint64_t until_ns = 0;
  };
  std::vector<std::byte> answer(std::span<const std::byte> question);
  bool receive(Stream& stream);
  bool answer_whole(Stream& stream, std::uint64_t now_ns);
  bool flush(Stream& stream);
  void close(Stream& stream);

  DnsAnswerer& answerer_;
  const Bounds& bounds_;
  Poller& poller_;
  std::function<void(Row)> tell_;
  std::vector<Stream> streams_;
  std::size_t open_ = 0;
};

}  // namespace cordon::egress
