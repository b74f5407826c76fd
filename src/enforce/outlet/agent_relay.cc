#include "enforce/outlet/agent_relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "confine/confine.h"
#include "cordon_build_id.h"
#include "enforce/outlet/programs.h"
#include "kernel/event.h"
#include "kernel/process.h"
#include "kernel/short_text.h"
#include "kernel/socket.h"
#include "policy/ssh/fingerprint.h"

namespace cordon::enforce::outlet {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;
using plan::step::AgentSocket;

constexpr std::uint64_t kStartNs = 10'000'000'000;  // a machine that is short of everything still starts a program
constexpr int kFarewellMs = 3'000;

bool is_of(const plan::FileId& id, const struct ::statx& facts) {
  const std::int64_t birth_ns = facts.stx_btime.tv_sec * 1'000'000'000 + facts.stx_btime.tv_nsec;
  return kernel::device_of(facts) == id.device && facts.stx_ino == id.inode && (facts.stx_mode & S_IFMT) == id.type &&
         (!id.has_birth_time || birth_ns == id.birth_ns);
}

Error foreign(const AgentSocket& act, base::StepId step, std::string detail) {
  return {.operation = "connect", .subject = act.source, .code = 0, .step = step, .detail = std::move(detail)};
}

/// By descriptor: between the look at the object and the connection nothing can take its place.
Result<Fd> connect_to(const AgentSocket& act, base::StepId step) {
  const auto failed = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, act.source, step)); };
  const kernel::OpenHow how{.flags = O_PATH | O_NOFOLLOW,
                            .resolve = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks};
  auto object = kernel::openat2(kernel::kHere, act.source.c_str(), how);
  if (!object) return failed(object.error());
  const auto facts = kernel::statx(*object);
  if (!facts) return failed(facts.error());
  if (!is_of(act.id, *facts) || facts->stx_uid != act.owner)
    return base::fail(foreign(act, step, "it is not the socket that was planned"));
  kernel::ShortText path;
  path.add("/proc/self/fd/").number(static_cast<std::uint64_t>(object->get()));
  auto agent = kernel::connect_unix(path.c_str());
  if (!agent) return failed(agent.error());
  const auto peer = kernel::peer_of(*agent);
  if (!peer) return failed(peer.error());
  if (peer->uid != act.owner && peer->uid != 0)
    return base::fail(foreign(act, step, "another user listens there: " + std::to_string(peer->uid)));
  return std::move(*agent);
}

}  // namespace

base::StepId AgentRelay::step_of(const plan::Plan& plan) {
  const auto found = std::ranges::find_if(
      plan.steps, [](const plan::Step& step) { return std::holds_alternative<AgentSocket>(step.act); });
  if (found == plan.steps.end()) return {};
  return {static_cast<std::uint16_t>(found - plan.steps.begin() + 1)};
}

Result<AgentRelay> AgentRelay::make(const plan::Plan& plan, std::string directory) {
  AgentRelay out;
  out.directory_ = std::move(directory);
  out.step_ = step_of(plan);
  CORDON_TRY(out.agent_, connect_to(std::get<AgentSocket>(plan.at(out.step_).act), out.step_));
  auto epoll = kernel::epoll_create();
  if (!epoll) return base::fail(kernel::error_at(epoll.error(), kAgent, out.step_));
  auto timer = kernel::timerfd_create();
  if (!timer) return base::fail(kernel::error_at(timer.error(), kAgent, out.step_));
  out.epoll_ = std::move(*epoll);
  out.timer_ = std::move(*timer);
  if (auto added = kernel::epoll_add(out.epoll_, out.timer_, EPOLLIN, 0); !added)
    return base::fail(kernel::error_at(added.error(), kAgent, out.step_));
  return out;
}

Result<void> AgentRelay::take_socket(base::StepId step, Fd socket) {
  if (state_ != State::kWaiting || step != step_) {
    return base::fail(Error{.operation = "recvmsg",
                            .subject = "the launcher's report",
                            .step = step,
                            .detail = "a socket that nobody asked for"});
  }
  listener_ = std::move(socket);
  return start(From::kInstalled);
}

Result<void> AgentRelay::start(From from) {
  const auto failed = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, kAgent, step_)); };
  Fd program = from == From::kInstalled ? installed_program(directory_, kAgent) : Fd();
  from_ = program.valid() ? From::kInstalled : From::kEmbedded;
  if (!program.valid()) {
    CORDON_TRY(program, embedded_program(kAgent));
  }
  auto control = kernel::socketpair(SOCK_SEQPACKET);
  if (!control) return failed(control.error());
  const std::array<FdView, 3> fds = {control->theirs, listener_, agent_};
  CORDON_TRY(relay_, spawn(program, kAgent, fds));
  control_ = std::move(control->ours);
  state_ = State::kStarting;
  if (auto armed = kernel::timerfd_settime(timer_, kStartNs); !armed) return failed(armed.error());
  if (auto added = kernel::epoll_add(epoll_, control_, EPOLLIN, 1); !added) return failed(added.error());
  return {};
}

void AgentRelay::service() {
  hear();
  std::array<std::byte, 8> expirations{};
  const bool late = kernel::read(timer_, expirations).has_value();
  if (late && state_ == State::kStarting) lose("it gave no sign of life");
}

void AgentRelay::hear() {
  std::array<std::byte, sizeof(agent::Record) + 1> buffer;
  while (control_.valid() && !finished_) {
    const auto got = kernel::receive_message(control_, buffer, MSG_DONTWAIT);
    if (!got && got.error().code == EAGAIN) return;
    if (!got || got->bytes == 0) return lose("it is gone");
    const auto record = agent::read_record(std::span(buffer).first(got->bytes));
    if (!record) return lose("what it says cannot be understood");
    take(*record);
  }
}

void AgentRelay::take(const agent::Record& record) {
  switch (record.what) {
    case agent::Told::kReady:
      return take_ready(record);
    case agent::Told::kUsed: {
      plan::SignedWith& row = used_[record.id];
      if (record.key_size != 0) row.key = policy::ssh::fingerprint(record.key_bytes());
      row.comment = record.comment_text();
      row.count = record.counts[0];
      return;
    }
    case agent::Told::kTally:
      tally_ = record.tally();
      return;
    case agent::Told::kLost:
      lost_ = "the ssh agent was lost: " + std::string(record.said());
      return;
    case agent::Told::kFinished:
      finished_ = true;
      return;
    case agent::Told::kFailed:
      return lose("it could not be set up: " + std::string(record.said()), static_cast<int>(record.id));
  }
}

/// Another build's relay has said nothing yet that counts: ours takes its place.
void AgentRelay::take_ready(const agent::Record& ready) {
  if (ready.said() != CORDON_BUILD_ID) {
    if (from_ == From::kEmbedded) return lose("it is of another build");
    relay_.end();
    control_.reset();
    if (auto started = start(From::kEmbedded); !started) {
      state_ = State::kLost;
      error_ = std::move(started).error();
    }
    return;
  }
  // It ends by itself where a check does not hold. That it did is not taken on trust.
  if (!confine::is_confined(static_cast<std::uint32_t>(ready.counts[0]), ready.id)) return lose("it is not confined");
  state_ = State::kServing;
  listener_.reset();
  agent_.reset();  // from here on the relay alone holds them: with it signing ends
}

void AgentRelay::lose(std::string detail, int code) {
  listener_.reset();
  agent_.reset();
  if (control_.valid()) static_cast<void>(kernel::epoll_remove(epoll_, control_).has_value());
  control_.reset();
  relay_.end();
  if (state_ == State::kServing) {
    state_ = State::kOver;
    lost_ = std::string(kAgent) + " was lost: " + detail;
    return;
  }
  state_ = State::kLost;
  error_ = Error{.operation = "serve", .subject = kAgent, .code = code, .step = step_, .detail = std::move(detail)};
}

void AgentRelay::ask_to_finish() {
  if (state_ != State::kServing || std::exchange(asked_to_finish_, true)) return;
  static_cast<void>(::shutdown(control_.get(), SHUT_WR));
}

plan::AgentUse AgentRelay::finish() {
  ask_to_finish();
  const std::uint64_t until = kernel::monotonic_ns() + std::uint64_t{kFarewellMs} * 1'000'000;
  while (state_ == State::kServing && !finished_ && kernel::monotonic_ns() < until) {
    std::array<pollfd, 1> more{pollfd{.fd = control_.get(), .events = POLLIN, .revents = 0}};
    static_cast<void>(kernel::poll(more, kFarewellMs).has_value());
    hear();
  }
  if (state_ == State::kServing && !finished_) lose("it did not take its leave");
  control_.reset();
  relay_.end(state_ == State::kServing ? kFarewellMs : 0);
  if (state_ == State::kServing) state_ = State::kOver;
  plan::AgentUse out{.step = step_,
                     .keys = {},
                     .listed = tally_.listed,
                     .declined = tally_.declined,
                     .refused = tally_.refused,
                     .no_room = tally_.no_room,
                     .lost = lost_};
  for (auto& [id, row] : used_) out.keys.push_back(std::move(row));
  return out;
}

}  // namespace cordon::enforce::outlet
