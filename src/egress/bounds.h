// Bounds: everything that the broker waits for, keeps or counts has an end, and all ends stand in this one table.
//
// A configuration may set each within its limits; docs/network.md shows the table (bounds_test.cc compares). Beyond a
// bound a connection is refused by a reset and counted, never left to hang.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cordon::egress {

struct Bounds {
  std::uint64_t connections = 4'096;
  std::uint64_t head_bytes = 32'768;
  std::uint64_t head_line_bytes = 8'192;
  std::uint64_t head_fields = 64;
  std::uint64_t head_ms = 10'000;
  std::uint64_t gate_ms = 300'000;
  std::uint64_t gate_questions = 64;
  std::uint64_t gate_answers = 4'096;
  std::uint64_t lookup_ms = 10'000;
  std::uint64_t lookups = 64;
  std::uint64_t pin_ms = 30'000;
  std::uint64_t nat64_ms = 3'000;
  std::uint64_t dial_ms = 15'000;
  std::uint64_t stagger_ms = 250;
  std::uint64_t upstream_ms = 30'000;
  std::uint64_t stall_ms = 300'000;
  std::uint64_t idle_ms = 3'600'000;
  std::uint64_t half_closed_ms = 300'000;
  std::uint64_t life_ms = 86'400'000;
  std::uint64_t splice_after_bytes = 1'048'576;
  std::uint64_t pipes = 64;
  std::uint64_t names = 16'384;
  std::uint64_t rows = 4'096;
  std::uint64_t dns_connections = 64;
  std::uint64_t dns_ms = 10'000;
  std::uint64_t waiting_inside = 512;
  std::uint64_t reclaim_ms = 5'000;
  std::uint64_t early_ms = 5'000;
  std::uint64_t delivery_ms = 2'000;
  std::uint64_t heartbeat_ms = 500;

  friend bool operator==(const Bounds&, const Bounds&) = default;
};

struct BoundInfo {
  std::string_view name;
  std::uint64_t Bounds::* value;
  std::uint64_t least, most;
  std::string_view unit;  ///< "", "bytes" or "ms"
  std::string_view meaning;
};

inline constexpr std::array kBounds = {
    BoundInfo{"connections", &Bounds::connections, 1, 65'536, "",
              "connections open at once; fewer where descriptors are scarce"},
    BoundInfo{"head-bytes", &Bounds::head_bytes, 1'024, 32'768, "bytes", "a proxy request's head"},
    BoundInfo{"head-line-bytes", &Bounds::head_line_bytes, 256, 32'768, "bytes", "one line of it"},
    BoundInfo{"head-fields", &Bounds::head_fields, 1, 256, "", "fields of it"},
    BoundInfo{"head-time", &Bounds::head_ms, 100, 60'000, "ms", "until the head is whole"},
    BoundInfo{"gate-time", &Bounds::gate_ms, 100, 3'600'000, "ms",
              "until the gate has answered; then the answer is no"},
    BoundInfo{"gate-questions", &Bounds::gate_questions, 1, 1'024, "", "questions that wait for an answer"},
    BoundInfo{"gate-answers", &Bounds::gate_answers, 1, 65'536, "", "answers kept for the run"},
    BoundInfo{"lookup-time", &Bounds::lookup_ms, 100, 60'000, "ms", "until a name is resolved"},
    BoundInfo{"lookups", &Bounds::lookups, 1, 1'024, "", "names that are being resolved"},
    BoundInfo{"pin-time", &Bounds::pin_ms, 0, 3'600'000, "ms", "that the addresses of a name are used again"},
    BoundInfo{"nat64-time", &Bounds::nat64_ms, 100, 60'000, "ms", "until the network has said whether it has NAT64"},
    BoundInfo{"dial-time", &Bounds::dial_ms, 100, 120'000, "ms", "until one of a host's addresses has answered"},
    BoundInfo{"dial-stagger", &Bounds::stagger_ms, 10, 10'000, "ms", "before the next address is tried as well"},
    BoundInfo{"upstream-time", &Bounds::upstream_ms, 100, 300'000, "ms",
              "until an upstream proxy has opened the tunnel"},
    BoundInfo{"stall-time", &Bounds::stall_ms, 100, 86'400'000, "ms", "that bytes wait for a side that does not read"},
    BoundInfo{"idle-time", &Bounds::idle_ms, 100, 86'400'000, "ms", "without a byte in either direction"},
    BoundInfo{"half-closed-time", &Bounds::half_closed_ms, 100, 86'400'000, "ms",
              "the same, once one side has ended its stream"},
    BoundInfo{"life", &Bounds::life_ms, 1'000, 604'800'000, "ms", "of a connection"},
    BoundInfo{"splice-after", &Bounds::splice_after_bytes, 0, 1'073'741'824, "bytes",
              "in one direction, before a pipe carries it"},
    BoundInfo{"pipes", &Bounds::pipes, 0, 1'024, "", "that carry bulk at once"},
    BoundInfo{"names", &Bounds::names, 1, 131'000, "", "that get an address in one run"},
    BoundInfo{"rows", &Bounds::rows, 16, 65'536, "", "destinations told apart in the report"},
    BoundInfo{"dns-connections", &Bounds::dns_connections, 1, 1'024, "", "DNS over TCP, open at once"},
    BoundInfo{"dns-time", &Bounds::dns_ms, 100, 60'000, "ms", "between two questions on one of them"},
    BoundInfo{"waiting", &Bounds::waiting_inside, 1, 4'096, "",
              "connections to published ports that wait to be led inside, each for `dial-time`"},
    BoundInfo{"reclaim-time", &Bounds::reclaim_ms, 100, 86'400'000, "ms",
              "that one to a published port is quiet before it gives way to one that waits"},
    BoundInfo{"early-time", &Bounds::early_ms, 0, 60'000, "ms",
              "that one to a published port is dialled again, where nothing has listened there yet"},
    BoundInfo{"delivery-time", &Bounds::delivery_ms, 0, 2'500, "ms",
              "for what a run has sent, once it has ended by itself; the supervisor waits 10,000"},
    BoundInfo{"heartbeat", &Bounds::heartbeat_ms, 50, 1'000, "ms",
              "between two signs of life; the supervisor waits 2,000"},
};

inline constexpr bool within_limits(const Bounds& bounds) {
  for (const BoundInfo& info : kBounds) {
    if (bounds.*info.value < info.least || bounds.*info.value > info.most) return false;
  }
  return true;
}
static_assert(within_limits(Bounds{}));

}  // namespace cordon::egress
