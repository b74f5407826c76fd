#include "egress/dns_server.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cordon::egress {
namespace {

constexpr int kDatagramsPerTurn = 64;
constexpr std::size_t kLengthBytes = 2;

Row row_of(DnsEvent event, std::string name) {
  Row row{.verdict = Verdict::kMalformed, .via = Via::kDns, .host = std::move(name)};
  if (event == DnsEvent::kDenied) row.verdict = Verdict::kDenied;
  if (event == DnsEvent::kFull) {
    row.verdict = Verdict::kOverBound;
    row.detail = static_cast<std::uint32_t>(Bound::kNames);
  }
  return row;
}

}  // namespace

DnsServer::DnsServer(DnsAnswerer& answerer, const Bounds& bounds, Poller& poller, std::function<void(Row)> tell)
    : answerer_(answerer), bounds_(bounds), poller_(poller), tell_(std::move(tell)), streams_(bounds.dns_connections) {}

std::vector<std::byte> DnsServer::answer(std::span<const std::byte> question) {
  DnsReply reply = answerer_.answer(question);
  if (reply.event != DnsEvent::kNone) tell_(row_of(reply.event, std::move(reply.name)));
  return std::move(reply.bytes);
}

void DnsServer::on_datagrams(kernel::FdView socket) {
  std::array<std::byte, kLongestQuery> buffer;
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    const auto got = kernel::receive_datagram(socket, buffer);
    if (!got) return;
    if (got->cut) {
      tell_(row_of(DnsEvent::kMalformed, {}));
      continue;
    }
    const auto bytes = answer(std::span(buffer).first(got->bytes));
    // An answer that the kernel has no room for is lost, as datagrams are; the client asks again.
    if (!bytes.empty()) static_cast<void>(kernel::send_datagram(socket, bytes, got->from, got->to).has_value());
  }
}

void DnsServer::accept(kernel::Fd socket, std::uint64_t now_ns) {
  const auto free = std::ranges::find_if(streams_, [](const Stream& one) { return !one.socket.valid(); });
  if (free == streams_.end()) {
    tell_({.verdict = Verdict::kOverBound,
           .via = Via::kDns,
           .detail = static_cast<std::uint32_t>(Bound::kDnsConnections)});
    static_cast<void>(kernel::reset_on_close(socket).has_value());
    return;
  }
  free->socket = std::move(socket);
  free->until_ns = now_ns + bounds_.dns_ms * 1'000'000;
  ++open_;
  const Handle handle{static_cast<std::uint32_t>(free - streams_.begin()), ++free->generation};
  if (!poller_.watch(free->socket, {Owner::kDnsConnection, 0, handle}, EPOLLIN, free->watch)) close(*free);
}

void DnsServer::close(Stream& stream) {
  poller_.forget(stream.socket, stream.watch);
  stream.socket.reset();
  stream.in = {};
  stream.out = {};
  stream.out_at = 0;
  --open_;
}

/// False where the connection is to be closed.
bool DnsServer::receive(Stream& stream) {
  std::array<std::byte, kLengthBytes + kLongestQuery> buffer;
  const std::size_t room = buffer.size() - stream.in.size();
  const auto got = kernel::receive(stream.socket, std::span(buffer).first(room));
  if (!got) return got.error().code == EAGAIN;
  if (*got == 0) return false;
  stream.in.insert(stream.in.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
  return true;
}

/// Answers the first question that is whole, if the last answer has gone out.
bool DnsServer::answer_whole(Stream& stream, std::uint64_t now_ns) {
  while (stream.out.empty() && stream.in.size() >= kLengthBytes) {
    const std::size_t size =
        std::to_integer<std::size_t>(stream.in[0]) << 8 | std::to_integer<std::size_t>(stream.in[1]);
    if (size > kLongestQuery || size == 0) return false;
    if (stream.in.size() < kLengthBytes + size) return true;
    const auto bytes = answer(std::span(stream.in).subspan(kLengthBytes, size));
    stream.in.erase(stream.in.begin(), stream.in.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + size));
    if (bytes.empty()) return false;
    stream.out = {static_cast<std::byte>(bytes.size() >> 8), static_cast<std::byte>(bytes.size() & 0xff)};
    stream.out.insert(stream.out.end(), bytes.begin(), bytes.end());
    stream.until_ns = now_ns + bounds_.dns_ms * 1'000'000;  // a question buys time, one byte now and then does not
    if (!flush(stream)) return false;
  }
  return true;
}

bool DnsServer::flush(Stream& stream) {
  while (stream.out_at < stream.out.size()) {
    const auto sent = kernel::send(stream.socket, std::span(stream.out).subspan(stream.out_at));
    if (!sent) return sent.error().code == EAGAIN;
    stream.out_at += *sent;
  }
  stream.out.clear();
  stream.out_at = 0;
  return true;
}

void DnsServer::on_event(Handle handle, std::uint64_t now_ns) {
  if (handle.slot >= streams_.size()) return;
  Stream& stream = streams_[handle.slot];
  if (!stream.socket.valid() || stream.generation != handle.generation) return;
  bool goes_on = flush(stream) && answer_whole(stream, now_ns);
  if (goes_on && stream.out.empty()) goes_on = receive(stream) && answer_whole(stream, now_ns);
  if (!goes_on) return close(stream);
  const std::uint32_t events = stream.out.empty() ? EPOLLIN : EPOLLOUT;
  if (!poller_.watch(stream.socket, {Owner::kDnsConnection, 0, handle}, events, stream.watch)) close(stream);
}

void DnsServer::expire(std::uint64_t now_ns) {
  if (open_ == 0) return;
  for (Stream& stream : streams_) {
    if (stream.socket.valid() && stream.until_ns <= now_ns) close(stream);
  }
}

}  // namespace cordon::egress
