// egress_soak SECONDS [SEED]: the broker between two namespaces, under clients and servers that do at random what is
// right, wrong or rude, until the time is up. Ends with 1 where a byte of a granted connection was lost or changed, a
// refused one was let in, the broker was silent for two seconds, or kept more memory or descriptors than it may.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>

#include "egress/far.h"
#include "egress/sandbox.h"

namespace {

using namespace cordon::test;
using cordon::base::Fd;
using Clock = std::chrono::steady_clock;
using Random = std::minstd_rand;

constexpr int kClients = 24;
constexpr std::size_t kBulk = 1'500'000;  // beyond the point where a pipe carries it

std::string pattern(std::size_t size, unsigned from) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * 31 + from) % 251);
  return out;
}

unsigned up_to(Random& random, unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); }

void reset_at_close(const Fd& socket) {
  const linger now{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/// One letter says what is wanted: 'e' an echo until the end, 'b' bulk, 'r' a reset in the middle, 's' silence.
void serve(const Fd& client) {
  const std::string what = read_some(client, 1);
  if (what == "e") {
    for (std::string got = read_some(client, 1); got.size() == 1; got = read_some(client, 1))
      if (!write_all(client, got)) return;
  } else if (what == "b") {
    if (write_all(client, pattern(kBulk, 7))) ::shutdown(client.get(), SHUT_WR);
    read_all(client);
  } else if (what == "r") {
    write_all(client, pattern(5'000, 1));
    reset_at_close(client);
  } else if (what == "s") {
    pollfd one{client.get(), POLLIN, 0};
    ::poll(&one, 1, 300);
  }
}

class Soak {
 public:
  explicit Soak(unsigned seconds, unsigned seed) : seed_(seed), until_(Clock::now() + std::chrono::seconds(seconds)) {}
  int run();

 private:
  [[nodiscard]] bool over() const { return failed_ || Clock::now() >= until_; }
  void expect(bool held, const std::string& what);
  void client(unsigned number);
  void act(Random& random);
  void right(Random& random, const Fd& to);
  void watch();
  std::uint64_t kib_of(const char* key) const;
  std::size_t descriptors() const;

  unsigned seed_;
  Clock::time_point until_;
  Sandbox box_;
  std::string name4_, name6_;
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::atomic<int> open_ = 0, most_open_ = 0;
  std::atomic<std::uint64_t> acts_ = 0, right_ = 0;
  std::uint64_t most_kib_ = 0;
};

void Soak::expect(bool held, const std::string& what) {
  if (held || failed_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "soak: {} (seed {})\n", what, seed_);
}

/// What a granted connection owes: every byte, and an end where one was sent.
void Soak::right(Random& random, const Fd& to) {
  ++right_;
  if (up_to(random, 3) == 0) {
    write_all(to, "b");
    expect(read_some(to, kBulk) == pattern(kBulk, 7), "bulk came changed");
    return;
  }
  std::string sent, got;
  write_all(to, "e");
  for (unsigned i = up_to(random, 20); i > 0; --i) {
    const std::string part = pattern(1 + up_to(random, 3'000), i);
    write_all(to, part);
    sent += part;
    got += read_some(to, part.size());
  }
  ::shutdown(to.get(), SHUT_WR);
  got += read_all(to);
  expect(got == sent, fmt::format("an echo of {} bytes came as {}", sent.size(), got.size()));
}

void Soak::act(Random& random) {
  const std::string& name = up_to(random, 1) == 0 ? name4_ : name6_;
  const unsigned what = up_to(random, 11);
  if (what <= 4) return right(random, connect_to(name, 8443));
  if (what == 5) return expect(read_all(connect_to(name, 22)) == "(reset)", "another port was let in");
  if (what == 6) return expect(read_all(connect_to(kPublic4, 8443)) == "(reset)", "a raw address was let in");
  if (what == 7) {
    const Fd to = connect_to(name, 8443);
    write_all(to, "r");
    const std::string got = read_all(to);
    return expect(got.ends_with("(reset)"), "a cut stream looked whole");
  }
  if (what == 8) {  // leaves without a word, or in the middle of bulk
    const Fd to = connect_to(name, 8443);
    write_all(to, up_to(random, 1) == 0 ? "b" : "s");
    read_some(to, up_to(random, 100'000));
    return reset_at_close(to);
  }
  const Fd dns = connect_to("127.0.0.1", 53);
  if (!dns.valid()) return;
  write_all(dns, pattern(1 + up_to(random, 600), up_to(random, 250)));
  if (what == 9) ::shutdown(dns.get(), SHUT_WR);
  if (what == 10) reset_at_close(dns);
  if (what == 11) write_all(dns, std::string("\0\x40", 2));
}

void Soak::client(unsigned number) {
  Random random(seed_ * 1'000 + number + 1);
  while (!over()) {
    const int open = ++open_;
    if (open > most_open_) most_open_ = open;
    act(random);
    --open_;
    ++acts_;
  }
}

std::uint64_t Soak::kib_of(const char* key) const {
  std::ifstream status("/proc/" + std::to_string(box_.pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoull(line.substr(std::string(key).size()));
  return 0;
}

/// Its own directory of them is closed to us; the size of its table is not.
std::size_t Soak::descriptors() const { return kib_of("FDSize:"); }

void Soak::watch() {
  while (!over()) {
    expect(box_.next_record(2'000).has_value(), "the broker was silent for two seconds");
    most_kib_ = std::max(most_kib_, kib_of("VmRSS:"));
    expect(most_kib_ <= 12'288 + 64U * kClients, fmt::format("the broker keeps {} KiB", most_kib_));
    expect(descriptors() <= 2'048, "the broker keeps its descriptors");
  }
}

int Soak::run() {
  const Server four(kPublic4, 8443, serve), six(kPublic6, 8443, serve);
  box_.allow("a.example", "8443");
  box_.hosts["a.example"] = {kPublic4, kPublic6};
  box_.config.bounds.dns_ms = 500;
  box_.start();
  name4_ = box_.look_up("a.example");
  name6_ = box_.look_up("a.example", 28);
  {
    std::jthread watching([this] { watch(); });
    box_.inside([this] {
      std::vector<std::jthread> clients;
      for (unsigned i = 0; i < kClients; ++i) clients.emplace_back([this, i] { client(i); });
    });
  }
  std::uint64_t admitted = 0;
  for (const auto& [id, row] : box_.finish())
    if (row.verdict == cordon::egress::Verdict::kAdmitted) admitted += row.count;
  expect(admitted >= right_, "a granted connection was not counted");
  fmt::print("soak: {} acts, {} of them whole transfers, {} admitted, at most {} KiB\n", acts_.load(), right_.load(),
             admitted, most_kib_);
  return failed_ ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  enter_host_network();
  make_far_machine();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
  };
  return Soak(number(1, 10), number(2, static_cast<unsigned>(::getpid()))).run();
}
