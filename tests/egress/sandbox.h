// Sandbox: two network namespaces and a cordon-broker between them, as a run will have them.
//
// The calling process' own namespace (enter_host_network) stands for the host, another for the machine that its servers
// are on (far.h); their addresses are public ones too, and nothing can leave the machine. A thread stands for the
// sandbox: its namespace has the addresses, routes and the redirect that the launcher makes. The broker is the program,
// started with its descriptors; the resolver is the test itself, which answers from a table.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "egress/config.h"
#include "egress/lookup_wire.h"
#include "egress/records.h"

namespace cordon::test {

// Addresses of the far machine: a public one of each family, a second public one, a private one.
inline constexpr const char* kPublic4 = "93.184.216.34";
inline constexpr const char* kPublic6 = "2606:2800:220::1";
inline constexpr const char* kOther4 = "93.184.216.35";
inline constexpr const char* kPrivate4 = "10.1.2.3";
// Those of the host itself.
inline constexpr const char* kOwn4 = "93.184.216.1";
inline constexpr const char* kOwn6 = "2606:2800:220::ff";
inline constexpr const char* kOwnPrivate4 = "10.1.2.1";

/// Once, at the start of the program: an own network namespace (and, for an ordinary user, a user namespace for it).
void enter_host_network();

/// kAgain is for the tests' own servers, which follow each other on one port; a sandbox's sockets never allow it.
enum class Reuse : std::uint8_t { kNever, kAgain };

/// A listening TCP socket in the caller's namespace; port 0: any.
base::Fd listen_on(const std::string& address, std::uint16_t port, Reuse reuse = Reuse::kNever);
/// Blocking, with a time limit on every call.
/// A connection that is reset before connect() returns counts as one that was made, and reads as "(reset)".
base::Fd connect_to(const std::string& address, std::uint16_t port);
std::uint16_t port_of(const base::Fd& socket);

/// All until the end; "(reset)" is appended where it ended in a reset, "(timeout)" where nothing came.
std::string read_all(const base::Fd& socket);
std::string read_some(const base::Fd& socket, std::size_t size);
bool write_all(const base::Fd& socket, std::string_view text);

/// Accepts for ever, on the machine that has the address; each connection is answered by `serve` on a thread of its
/// own.
class Server {
 public:
  Server(const std::string& address, std::uint16_t port, std::function<void(const base::Fd&)> serve);
  ~Server();
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  base::Fd listener_;
  std::uint16_t port_;
  std::function<void(const base::Fd&)> serve_;
  std::jthread thread_;
};

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();

  egress::Config config;                                  ///< before start(); listeners are filled in
  std::map<std::string, std::vector<std::string>> hosts;  ///< what the resolver answers; before start()
  void move_host(const std::string& name, std::vector<std::string> addresses);  ///< after it
  void allow(const std::string& host, const std::string& ports);
  void deny(const std::string& host, const std::string& ports);
  /// Before start(): the host's 127.0.0.1 and ::1 lead to this port inside, over as many sockets of each family.
  void publish(std::uint16_t port, std::uint16_t sockets);
  void start();

  /// In the sandbox's namespace.
  void inside(const std::function<void()>& act);
  base::Fd connect(const std::string& address, std::uint16_t port);
  base::Fd proxy();
  /// The address that DNS gives for a name; "" where there is none.
  std::string look_up(const std::string& name, std::uint16_t type = 1);
  /// A name, as a client without a proxy reaches it.
  base::Fd reach(const std::string& name, std::uint16_t port);

  std::optional<egress::Record> next_record(int timeout_ms = 3'000);
  void say(const egress::Record& record);
  /// Finish, and every row by its id.
  std::map<std::uint32_t, egress::Row> finish();
  /// As "admitted name:port count", sorted.
  std::vector<std::string> summary();
  void close_control();
  void kill_broker();
  int wait_broker();
  /// Of the program; ends the test where there is none: -1 would be everybody to kill().
  [[nodiscard]] pid_t pid() const;
  [[nodiscard]] std::vector<std::string> asked();  ///< names that the resolver was asked for
  egress::Ready ready;

 private:
  void make_listeners();
  void answer_lookups();

  std::jthread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void()> act_;
  bool over_ = false, done_ = false;
  std::vector<base::Fd> listeners_;
  std::vector<base::Fd> inner4_, inner6_;
  std::uint16_t proxy_port_ = 0;
  base::Fd control_, resolver_;
  std::jthread resolver_thread_;
  std::vector<std::string> asked_;
  std::map<std::uint32_t, egress::Row> rows_;  ///< as last told
  void start_broker(int control, int resolver);
  pid_t broker_ = -1;
  std::jthread broker_thread_;  ///< under the thread sanitizer, instead of the program
};

}  // namespace cordon::test
