// Relay: serves those who connect inside the sandbox with the one connection to the agent of the host. One request is
// with the agent at a time; those that wait get their turn in the order in which they came.
//
// Beyond a bound a connection is closed, and counted: it accepts always and keeps nobody waiting for room. It does not
// limit how long the agent takes, which may be asking its user. Where the agent is gone, or says what cannot be framed,
// every request is answered with a failure from then on.
//
// One thread, one loop over poll(2); nothing is opened. Works on any sockets that are non-blocking, but for the control
// socket, which blocks: a signature waits until it was said.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/message.h"
#include "agent/protocol.h"
#include "agent/records.h"
#include "base/fd.h"
#include "kernel/errno.h"

namespace cordon::agent {

struct Bounds {
  std::size_t clients = 16;
  std::uint64_t message_ms = 10'000;  ///< from a message's first byte to its last, and for an answer to be taken
  std::uint64_t idle_ms = 300'000;    ///< between messages: ssh keeps its connection while a person types
};

struct Sockets {
  base::FdView control;
  base::Fd listener, agent;
};

class Relay {
 public:
  Relay(Sockets sockets, const Bounds& bounds) : sockets_(std::move(sockets)), bounds_(bounds) {}

  /// Until the control socket's other end is closed or shut down.
  kernel::Sys<void> run(const Record& ready);

 private:
  struct Client {
    base::Fd socket;
    enum class State : std::uint8_t { kReading, kWaiting, kAnswering } state = State::kReading;
    Incoming in;
    Outgoing out;
    std::uint64_t due_ms = 0;  ///< closed then; 0 while it waits for the agent
    bool over = false;
  };
  using ClientPtr = std::shared_ptr<Client>;
  /// What the agent was asked, and for whom.
  struct Job {
    enum class For : std::uint8_t { kList, kFindKey, kSign } what = For::kList;
    ClientPtr client;
  };
  struct Used {
    std::vector<std::byte> key;  ///< plain_key()
    std::uint64_t count = 0;
  };

  kernel::Sys<void> turn(bool& finished);
  [[nodiscard]] std::vector<pollfd> watched() const;
  [[nodiscard]] int patience_ms() const;
  void accept_one();
  void read_from(const ClientPtr& client);
  void write_to(Client& client);
  void close_late();
  void answer(Client& client, std::vector<std::byte> message);
  void refuse(Client& client);

  void start_next();
  void ask_agent(Job::For what, const ClientPtr& client, std::vector<std::byte> message);
  void write_to_agent();
  void read_from_agent();
  void answered(Bytes message);
  void take_list(const Job& job, Bytes message);
  void take_signature(const Job& job, Bytes message);
  void lose_agent(std::string_view why);

  [[nodiscard]] const Identity* identity_of(Bytes key) const;
  kernel::Sys<void> say(const Record& record);
  void note_used(const Identity& identity);
  void tell_tally();

  Sockets sockets_;
  Bounds bounds_;
  std::vector<ClientPtr> clients_;
  std::deque<ClientPtr> waiting_;
  std::optional<Job> job_;
  Incoming from_agent_;
  Outgoing to_agent_;
  std::vector<Identity> identities_;  ///< as the agent listed them last
  std::vector<Used> used_;
  std::uint64_t used_beyond_ = 0;
  Tally tally_, told_;
  std::uint64_t accept_after_ms_ = 0;
  std::optional<kernel::Errno> failed_;  ///< nobody can be told any more
};

}  // namespace cordon::agent
