// bench/egress: what the way out costs. Three network namespaces on one machine: a server's, joined to the host's by a
// veth pair, and a sandbox's. A client reaches the server three ways, which take turns in ROUNDS (the only argument;
// 10), so that what else the machine does meets all of them; ratios are what counts:
//
//   direct   from the host's namespace, over the veth pair
//   broker   from the sandbox through cordon-broker, which dials over the same pair
//   bridge   from the sandbox as sandboxes without a broker do it: socat inside, to a unix socket, to a proxy outside
//            that speaks CONNECT and dials over the same pair
//
//   bulk        one stream of 256 MiB to the client, MB/s; the bar: at least 0.4 of direct
//   request     connect, a GET of 100 bytes, the answer read to its end, close; one after the other, us a request; the
//               bar: at most 3 times direct
//   trip        one byte there and back on an open connection, us
//   connect     connect, one byte there and back, close, us; by a pinned address
//   parallel    1,000 open connections, one byte on each in turn, us a byte; the bar: none is lost
//
// The threads that serve `request` wait beforehand: making one for each would be counted to all ways alike, and flatter
// the ratio. `connect` makes one.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "egress/netlink.h"
#include "egress/sandbox.h"
#include "policy/network/address_class.h"

namespace {

using namespace cordon::test;
using cordon::base::Fd;
using Clock = std::chrono::steady_clock;

constexpr const char* kNear = "203.0.113.1";
constexpr const char* kFar = "203.0.113.10";
constexpr std::size_t kBulk = 256U << 20;
constexpr int kTrips = 1'000, kConnects = 300, kRequests = 1'000, kParallel = 1'000;
constexpr std::uint16_t kPort = 8443, kRequestPort = 8444;
constexpr std::size_t kRequestBytes = 100;

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

/// Answers one request after the other, by as many threads as may wait at once.
void serve_requests(const Fd& listener) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  while (true) {
    const Fd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) return;
    if (read_some(client, kRequestBytes).size() == kRequestBytes) write_all(client, answer);
  }
}

bool request(const Fd& client) {
  static const std::string kHead = "GET / HTTP/1.1\r\nHost: a.example\r\nX-Padding: ";
  static const std::string kText = kHead + std::string(kRequestBytes - kHead.size() - 4, 'x') + "\r\n\r\n";
  write_all(client, kText);
  return read_all(client).ends_with("ok");
}

void trip(const Fd& client) {
  write_all(client, "x");
  read_some(client, 1);
}

struct Times {
  std::vector<double> bulk, request, trip, connect, parallel;
  int lost = 0;  ///< connections and answers that should have been there
};

using Connect = std::function<Fd(std::uint16_t port)>;

void measure(const Connect& connect_to_port, Times& into) {
  const auto connect = [&] { return connect_to_port(kPort); };
  const Fd client = connect();
  into.request.push_back(seconds([&] {
                           for (int i = 0; i < kRequests; ++i)
                             into.lost += request(connect_to_port(kRequestPort)) ? 0 : 1;
                         }) /
                         kRequests * 1e6);
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

void measure_parallel(const Connect& connect, Times& into) {
  std::vector<Fd> clients;
  for (int i = 0; i < kParallel; ++i) clients.push_back(connect(kPort));
  into.parallel.push_back(seconds([&] {
                            for (const Fd& client : clients) write_all(client, "x");
                            for (const Fd& client : clients) into.lost += read_some(client, 1) == "x" ? 0 : 1;
                          }) /
                          kParallel * 1e6);
}

void command(const std::string& text) {
  if (std::system(text.c_str()) != 0) {
    fmt::print(stderr, "failed: {}\n", text);
    std::exit(1);
  }
}

/// The server, in a namespace of its own at the other end of a veth pair.
class Far {
 public:
  Far() {
    thread_ = std::thread([this] {
      if (::unshare(CLONE_NEWNET) != 0) std::exit(1);
      const std::string own = std::to_string(::gettid());
      tid_ = own;
      born_.count_down();
      joined_.wait();
      command("ip link set far up && ip address add " + std::string(kFar) + "/24 dev far");
      const Server server(kFar, kPort, serve);
      const Fd requests = listen_on(kFar, kRequestPort);
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back([&] { serve_requests(requests); });
      serving_.count_down();
      over_.wait();
      ::shutdown(requests.get(), SHUT_RDWR);
      for (std::thread& one : threads) one.join();
    });
    born_.wait();
    command("ip link add near type veth peer name far netns " + tid_);
    command("ip link set near up && ip address add " + std::string(kNear) + "/24 dev near");
    joined_.count_down();
    serving_.wait();
  }
  ~Far() {
    over_.count_down();
    thread_.join();
  }

 private:
  std::string tid_;
  std::latch born_{1}, joined_{1}, serving_{1}, over_{1};
  std::thread thread_;
};

void copy_until_end(const Fd& from, const Fd& to) {
  std::vector<char> buffer(1U << 18);
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(from.get(), buffer.data(), buffer.size(), 0);
    if (got > 0 && !write_all(to, {buffer.data(), static_cast<std::size_t>(got)})) break;
  }
  ::shutdown(to.get(), SHUT_WR);
}

/// CONNECT, for whoever asks, by two threads for each connection.
void serve_connect(const Fd& client) {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    const std::string one = read_some(client, 1);
    if (one.size() != 1) return;
    head += one;
  }
  const Fd to = connect_to(kFar, head.find(":8444 ") == std::string::npos ? kPort : kRequestPort);
  write_all(client, "HTTP/1.1 200 OK\r\n\r\n");
  std::thread out([&] { copy_until_end(client, to); });
  copy_until_end(to, client);
  out.join();
}

class Bridge {
 public:
  explicit Bridge(Sandbox& box) : path_("/tmp/cordon-bench." + std::to_string(::getpid())) {
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(at.sun_path, sizeof at.sun_path - 1);
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(listener_.get(), 4096) != 0)
      std::exit(1);
    thread_ = std::thread([this] {
      while (true) {
        const int client = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        std::thread([client] { serve_connect(Fd(client)); }).detach();
      }
    });
    box.inside([this] {
      socat_ = ::fork();
      if (socat_ == 0) {
        ::execlp("socat", "socat", "TCP-LISTEN:3128,bind=127.0.0.1,reuseaddr,fork,backlog=4096",
                 ("UNIX-CONNECT:" + path_).c_str(), nullptr);
        ::_exit(127);
      }
      while (!connect_to("127.0.0.1", 3128).valid()) ::usleep(10'000);
    });
  }
  ~Bridge() {
    ::kill(socat_, SIGTERM);
    ::waitpid(socat_, nullptr, 0);
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    ::unlink(path_.c_str());
  }
  static Fd connect(std::uint16_t port) {
    Fd to = connect_to("127.0.0.1", 3128);
    write_all(to, fmt::format("CONNECT a.example:{0} HTTP/1.1\r\nHost: a.example:{0}\r\n\r\n", port));
    read_some(to, 19);
    return to;
  }

 private:
  std::string path_;
  Fd listener_;
  pid_t socat_ = -1;
  std::thread thread_;
};

void print(const char* what, const char* unit, std::array<const std::vector<double>*, 3> ways, const char* bar = "") {
  const double direct = median(*ways[0]), broker = median(*ways[1]), bridge = median(*ways[2]);
  fmt::print("{:10} {:10.1f} {:10.1f} {:10.1f} {:8.2f} {:8.2f}  {:6}{}\n", what, direct, broker, bridge,
             broker / direct, bridge / direct, unit, bar);
}

int run(int rounds) {
  const Far far;
  Sandbox box;
  box.allow("a.example", "8443-8444");
  box.config.opened = {*cordon::policy::network::parse_block("203.0.113.0/24")};
  box.hosts["a.example"] = {kFar};
  box.start();
  const Bridge bridge(box);
  const std::string address = box.look_up("a.example");
  const Connect direct = [](std::uint16_t port) { return connect_to(kFar, port); };
  const Connect broker = [&](std::uint16_t port) { return connect_to(address, port); };
  Times straight, through, bridged;
  const std::uint64_t idle = memory_kib(box.pid());
  for (int i = 0; i < rounds; ++i) {
    measure(direct, straight);
    box.inside([&] {
      measure(broker, through);
      measure(Bridge::connect, bridged);
    });
  }
  measure_parallel(direct, straight);
  std::uint64_t loaded = 0;
  box.inside([&] {
    measure_parallel(broker, through);
    loaded = memory_kib(box.pid());
    measure_parallel(Bridge::connect, bridged);
  });
  fmt::print("{:10} {:>10} {:>10} {:>10} {:>8} {:>8}\n", "", "direct", "broker", "bridge", "ratio", "bridge's");
  print("bulk", "MB/s", {&straight.bulk, &through.bulk, &bridged.bulk}, "bar: ratio at least 0.40");
  print("request", "us", {&straight.request, &through.request, &bridged.request}, "bar: ratio at most 3.00");
  print("trip", "us", {&straight.trip, &through.trip, &bridged.trip});
  print("connect", "us", {&straight.connect, &through.connect, &bridged.connect});
  print("parallel", "us", {&straight.parallel, &through.parallel, &bridged.parallel},
        fmt::format("bar: none lost; lost through the broker: {}", through.lost).c_str());
  fmt::print("connections a second: direct {:.0f}, broker {:.0f}, bridge {:.0f}\n", 1e6 / median(straight.connect),
             1e6 / median(through.connect), 1e6 / median(bridged.connect));
  fmt::print("broker's memory: {} KiB idle, {} KiB with {} connections open; the bound is {} KiB\n", idle, loaded,
             kParallel, 12'288 + 64 * kParallel);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  enter_host_network();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return run(argc > 1 ? std::atoi(argv[1]) : 10);
}
