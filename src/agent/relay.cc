#include "agent/relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::agent {

using kernel::Errno;
using kernel::Sys;

namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kRestMs = 100;
std::uint64_t now_ms() { return kernel::monotonic_ns() / kNsPerMs; }

short if_any(bool wanted, short events) { return wanted ? events : short{0}; }

/// Some of the message; false where the other side is gone. Descriptors that come along are dropped by the kernel.
bool read_some(base::FdView socket, Incoming& into) {
  const auto got = kernel::read(socket, into.room());
  if (!got) return got.error().code == EAGAIN;
  into.took(*got);
  return *got != 0;
}

bool write_some(base::FdView socket, Outgoing& from) {
  const auto sent = kernel::send(socket, from.rest(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (!sent) return sent.error().code == EAGAIN;
  from.sent(*sent);
  return true;
}

bool is_ready(const pollfd& one) { return one.revents != 0; }

}  // namespace

Sys<void> Relay::run(const Record& ready) {
  CORDON_OK(say(ready));
  for (bool finished = false; !finished;) CORDON_OK(turn(finished));
  job_.reset();
  waiting_.clear();
  clients_.clear();
  sockets_.listener.reset();
  tell_tally();
  return say(told(Told::kFinished));
}

/// Control, the listener, the agent, then the clients in the order of clients_.
std::vector<pollfd> Relay::watched() const {
  std::vector<pollfd> out;
  out.push_back({.fd = sockets_.control.get(), .events = POLLIN, .revents = 0});
  const bool accepts = accept_after_ms_ <= now_ms();
  out.push_back({.fd = accepts ? sockets_.listener.get() : -1, .events = POLLIN, .revents = 0});
  const auto to_agent = static_cast<short>(POLLIN | if_any(!to_agent_.done(), POLLOUT));
  out.push_back({.fd = sockets_.agent.valid() ? sockets_.agent.get() : -1, .events = to_agent, .revents = 0});
  for (const ClientPtr& client : clients_) {
    const short events = client->state == Client::State::kReading     ? POLLIN
                         : client->state == Client::State::kAnswering ? POLLOUT
                                                                      : short{0};
    out.push_back({.fd = client->socket.get(), .events = events, .revents = 0});
  }
  return out;
}

int Relay::patience_ms() const {
  const std::uint64_t now = now_ms();
  std::uint64_t due = accept_after_ms_ > now ? accept_after_ms_ : UINT64_MAX;
  for (const ClientPtr& client : clients_) {
    if (client->due_ms != 0) due = std::min(due, client->due_ms);
  }
  if (due == UINT64_MAX) return -1;
  return due > now ? static_cast<int>(due - now) : 0;
}

Sys<void> Relay::turn(bool& finished) {
  std::vector<pollfd> fds = watched();
  if (auto waited = kernel::poll(fds, patience_ms()); !waited && waited.error().code != EINTR)
    return base::fail(waited.error());
  finished = is_ready(fds[0]);
  if (finished) return {};
  const std::vector<ClientPtr> clients = clients_;  // what the rest does may change them
  if (is_ready(fds[2])) {
    write_to_agent();
    read_from_agent();
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (!is_ready(fds[3 + i]) || clients[i]->over) continue;
    if (clients[i]->state == Client::State::kReading) {
      read_from(clients[i]);
    } else if (clients[i]->state == Client::State::kAnswering) {
      write_to(*clients[i]);
    } else {
      clients[i]->over = true;  // it hung up
    }
  }
  if (is_ready(fds[1])) accept_one();
  close_late();
  std::erase_if(clients_, [](const ClientPtr& client) { return client->over; });
  start_next();
  if (failed_) return base::fail(*failed_);
  return {};
}

void Relay::accept_one() {
  base::Fd socket(kernel::retry(
      [&] { return ::accept4(sockets_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
  if (!socket.valid()) {
    // No descriptor is free, on this machine or for this user: whoever waits is asked again, and not all the time.
    accept_after_ms_ = now_ms() + kRestMs;
    return;
  }
  if (clients_.size() >= bounds_.clients) {
    ++tally_.no_room;
    return;
  }
  clients_.push_back(std::make_shared<Client>());
  clients_.back()->socket = std::move(socket);
  clients_.back()->due_ms = now_ms() + bounds_.idle_ms;
}

void Relay::read_from(const ClientPtr& client) {
  const bool begun = client->in.begun();
  client->over = !read_some(client->socket, client->in);
  if (client->over) return;
  if (!begun && client->in.begun()) client->due_ms = now_ms() + bounds_.message_ms;
  if (client->in.state() == Incoming::State::kMore) return;
  if (client->in.state() == Incoming::State::kBad) {  // where the next message begins cannot be told
    ++tally_.refused;
    client->over = true;
    return;
  }
  if (std::holds_alternative<Refused>(read_request(client->in.message()))) {
    ++tally_.refused;
    return refuse(*client);
  }
  client->state = Client::State::kWaiting;
  client->due_ms = 0;
  waiting_.push_back(client);
}

void Relay::write_to(Client& client) {
  client.over = !write_some(client.socket, client.out);
  if (client.over || !client.out.done()) return;
  client.state = Client::State::kReading;
  client.in.clear();
  client.out = {};
  client.due_ms = now_ms() + bounds_.idle_ms;
}

void Relay::answer(Client& client, std::vector<std::byte> message) {
  client.out.set(std::move(message));
  client.state = Client::State::kAnswering;
  client.due_ms = now_ms() + bounds_.message_ms;
}

void Relay::refuse(Client& client) { answer(client, write_failure()); }

void Relay::close_late() {
  const std::uint64_t now = now_ms();
  for (const ClientPtr& client : clients_) {
    if (client->over || client->due_ms == 0 || client->due_ms > now) continue;
    client->over = true;
    ++tally_.no_room;
  }
}

/// Those who left meanwhile are passed over.
void Relay::start_next() {
  while (!job_ && !waiting_.empty()) {
    const ClientPtr client = std::move(waiting_.front());
    waiting_.pop_front();
    if (client->over) continue;
    const Request request = read_request(client->in.message());
    if (!sockets_.agent.valid()) {
      ++tally_.declined;
      refuse(*client);
    } else if (const auto* sign = std::get_if<Sign>(&request)) {
      const bool known = identity_of(sign->key) != nullptr;
      ask_agent(known ? Job::For::kSign : Job::For::kFindKey, client, known ? write_sign(*sign) : write_list());
    } else {
      ask_agent(Job::For::kList, client, write_list());
    }
  }
}

void Relay::ask_agent(Job::For what, const ClientPtr& client, std::vector<std::byte> message) {
  job_ = Job{.what = what, .client = client};
  to_agent_.set(std::move(message));
  write_to_agent();
}

void Relay::write_to_agent() {
  if (sockets_.agent.valid() && !to_agent_.done() && !write_some(sockets_.agent, to_agent_)) lose_agent("it is gone");
}

void Relay::read_from_agent() {
  if (!sockets_.agent.valid()) return;
  if (!read_some(sockets_.agent, from_agent_)) return lose_agent("it is gone");
  if (!from_agent_.begun()) return;
  // An answer to a question that was not asked, or not whole yet, could be taken for the next one's.
  const bool asked = job_ && to_agent_.done();
  if (!asked || from_agent_.state() == Incoming::State::kBad) return lose_agent("what it says cannot be understood");
  if (from_agent_.state() != Incoming::State::kWhole) return;
  const Incoming whole = std::exchange(from_agent_, {});
  answered(whole.message());
}

void Relay::answered(Bytes message) {
  const Job job = std::move(*std::exchange(job_, std::nullopt));
  if (job.what == Job::For::kSign) return take_signature(job, message);
  take_list(job, message);
}

void Relay::take_list(const Job& job, Bytes message) {
  auto identities = read_identities(message);
  identities_ = identities ? std::move(*identities) : std::vector<Identity>();
  if (job.client->over) return;
  if (!identities) {
    ++tally_.declined;
    return refuse(*job.client);
  }
  if (job.what == Job::For::kList) {
    ++tally_.listed;
    return answer(*job.client, write_identities(identities_));
  }
  const Request request = read_request(job.client->in.message());
  const auto* sign = std::get_if<Sign>(&request);
  if (sign == nullptr || identity_of(sign->key) == nullptr) {
    ++tally_.refused;
    return refuse(*job.client);
  }
  ask_agent(Job::For::kSign, job.client, write_sign(*sign));
}

void Relay::take_signature(const Job& job, Bytes message) {
  const auto signature = read_signature(message);
  const Request request = read_request(job.client->in.message());
  const auto* sign = std::get_if<Sign>(&request);
  const Identity* identity = sign == nullptr ? nullptr : identity_of(sign->key);
  if (!signature || identity == nullptr) {
    ++tally_.declined;
    if (!job.client->over) refuse(*job.client);
    return;
  }
  note_used(*identity);
  if (!job.client->over && !failed_) answer(*job.client, write_signature(*signature));
}

void Relay::lose_agent(std::string_view why) {
  sockets_.agent.reset();
  to_agent_ = {};
  from_agent_.clear();
  identities_.clear();
  if (auto said = say(told(Told::kLost, why)); !said) failed_ = said.error();
  if (!job_) return;
  const Job job = std::move(*std::exchange(job_, std::nullopt));
  ++tally_.declined;
  if (!job.client->over) refuse(*job.client);
}

const Identity* Relay::identity_of(Bytes key) const {
  const auto found =
      std::ranges::find_if(identities_, [&](const Identity& one) { return std::ranges::equal(one.key, key); });
  return found == identities_.end() ? nullptr : &*found;
}

Sys<void> Relay::say(const Record& record) {
  CORDON_TRY([[maybe_unused]] const std::size_t sent,
             kernel::send(sockets_.control, std::as_bytes(std::span(&record, 1)), MSG_NOSIGNAL));
  return {};
}

/// Said before the signature is handed out. A key that is too long to be told shares the row of those beyond the bound.
void Relay::note_used(const Identity& identity) {
  std::vector<std::byte> key = plain_key(identity.key);
  auto row = std::ranges::find(used_, key, &Used::key);
  const bool fits = key.size() <= kLongestToldKey && used_.size() < kMostUsedKeys;
  if (row == used_.end() && fits) row = used_.insert(row, {.key = key, .count = 0});
  Record record{.what = Told::kUsed, .id = static_cast<std::uint32_t>(row - used_.begin())};
  if (row == used_.end()) {
    record.id = kMostUsedKeys;
    record.counts[0] = ++used_beyond_;
  } else {
    record.counts[0] = ++row->count;
    record.key_size = static_cast<std::uint32_t>(key.size());
    std::ranges::copy(key, record.key.begin());
    record.comment_size =
        static_cast<std::uint32_t>(identity.comment.copy(record.comment.data(), record.comment.size()));
  }
  if (auto said = say(record); !said) failed_ = said.error();
  tell_tally();
}

void Relay::tell_tally() {
  if (std::exchange(told_, tally_) == tally_) return;
  if (auto said = say(told(tally_)); !said) failed_ = said.error();
}

}  // namespace cordon::agent
