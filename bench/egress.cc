// bench/egress: what the broker costs. One machine, two network namespaces on lo: a client in the sandbox reaches a
// server of the host through the broker, and a client beside the server reaches it directly. Rounds of both take turns,
// (ROUNDS is the only argument; 10) so that what else the machine does meets both; ratios are what counts.
//
//   bulk        one stream of BULK bytes to the client, MB/s
//   trip        one byte there and back on an open connection, µs
//   connect     connect, one byte there and back, close, µs; by DNS name and a pinned address
//   parallel    1,000 open connections, one byte on each in turn, µs a byte; and the broker's memory with them
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "egress/netlink.h"
#include "egress/sandbox.h"

namespace {

using namespace cordon::test;
using cordon::base::Fd;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBulk = 256U << 20;
constexpr int kTrips = 1'000, kConnects = 300, kParallel = 1'000;

double seconds(const std::function<void()>& act) {
  const auto start = Clock::now();
  act();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// 'b': bulk; anything else is sent back.
void serve(const Fd& client) {
  const std::string chunk(1U << 20, 'x');
  while (true) {
    const std::string got = read_some(client, 1);
    if (got.size() != 1) return;
    if (got == "b") {
      for (std::size_t sent = 0; sent < kBulk; sent += chunk.size())
        if (!write_all(client, chunk)) return;
    } else if (!write_all(client, got)) {
      return;
    }
  }
}

void trip(const Fd& client) {
  write_all(client, "x");
  read_some(client, 1);
}

struct Times {
  std::vector<double> bulk, trip, connect, parallel;
};

void measure(const std::function<Fd()>& connect, Times& into) {
  const Fd client = connect();
  into.trip.push_back(seconds([&] {
                        for (int i = 0; i < kTrips; ++i) trip(client);
                      }) /
                      kTrips * 1e6);
  into.connect.push_back(seconds([&] {
                           for (int i = 0; i < kConnects; ++i) trip(connect());
                         }) /
                         kConnects * 1e6);
  write_all(client, "b");
  into.bulk.push_back(static_cast<double>(kBulk) / 1e6 / seconds([&] {
                        std::vector<char> buffer(1U << 20);
                        for (std::size_t got = 0; got < kBulk;) {
                          const ssize_t n = ::recv(client.get(), buffer.data(), buffer.size(), 0);
                          if (n <= 0) return;
                          got += static_cast<std::size_t>(n);
                        }
                      }));
}

std::uint64_t memory_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  return 0;
}

void measure_parallel(const std::function<Fd()>& connect, Times& into) {
  std::vector<Fd> clients;
  for (int i = 0; i < kParallel; ++i) clients.push_back(connect());
  into.parallel.push_back(seconds([&] {
                            for (const Fd& client : clients) write_all(client, "x");
                            for (const Fd& client : clients) read_some(client, 1);
                          }) /
                          kParallel * 1e6);
}

void print(const char* what, const std::vector<double>& direct, const std::vector<double>& broker, const char* unit) {
  const double a = median(direct), b = median(broker);
  fmt::print("{:10} {:10.1f} {:10.1f} {:8.2f}  {}\n", what, a, b, b / a, unit);
}

int run(int rounds) {
  const Server server(kPublic4, 8443, serve);
  Sandbox box;
  box.allow("a.example", "8443");
  box.hosts["a.example"] = {kPublic4};
  box.start();
  const std::string address = box.look_up("a.example");
  const auto direct = [] { return connect_to(kPublic4, 8443); };
  const auto broker = [&] { return connect_to(address, 8443); };
  Times straight, through;
  const std::uint64_t idle = memory_kib(box.pid());
  for (int i = 0; i < rounds; ++i) {
    measure(direct, straight);
    box.inside([&] { measure(broker, through); });
  }
  measure_parallel(direct, straight);
  std::uint64_t loaded = 0;
  box.inside([&] {
    measure_parallel(broker, through);
    loaded = memory_kib(box.pid());
  });
  fmt::print("{:10} {:>10} {:>10} {:>8}\n", "", "direct", "broker", "ratio");
  print("bulk", straight.bulk, through.bulk, "MB/s");
  print("trip", straight.trip, through.trip, "us");
  print("connect", straight.connect, through.connect, "us");
  print("parallel", straight.parallel, through.parallel, "us");
  fmt::print("broker's memory: {} KiB idle, {} KiB after {} connections\n", idle, loaded, kParallel);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  enter_host_network();
  add_address(kPublic4, 32);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return run(argc > 1 ? std::atoi(argv[1]) : 10);
}
