#include "enforce/outlet/outlet.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "confine/confine.h"
#include "cordon_build_id.h"
#include "enforce/outlet/destinations.h"
#include "enforce/outlet/programs.h"
#include "enforce/outlet/settings.h"
#include "kernel/event.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::enforce::outlet {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;

constexpr std::uint64_t kMs = 1'000'000;
// Silence is counted in ticks of our own, so that time in which nobody ran is one tick at most, however long it was.
constexpr std::uint64_t kTickMs = 500;
constexpr unsigned kSilentTicks = 5;  // two seconds at least, as docs/network.md says
constexpr unsigned kStartTicks = 20;  // a machine that is short of everything still starts a program in that
constexpr std::uint64_t kLateMs = 250;
constexpr int kFarewellMs = 10'000;  // of one that speaks
constexpr int kExitMs = 3'000;
constexpr int kFarewellPollMs = 100;
constexpr std::size_t kMostResolverStarts = 16;
constexpr std::uint64_t kTriesBeforeTold = 2;
constexpr std::size_t kMostBlockedTold = 3;  // at once; the report has all

Result<void> worded(kernel::Sys<void> done) {
  if (!done) return base::fail(kernel::error_at(done.error(), kBroker));
  return {};
}

std::optional<egress::Record> record_in(const kernel::Received& got, std::span<const std::byte> buffer) {
  return got.bytes > buffer.size() ? std::nullopt : egress::decode_record(buffer.first(got.bytes));
}

}  // namespace

Result<Outlet> Outlet::make(const plan::Plan& plan, std::string directory) {
  Outlet out;
  out.directory_ = std::move(directory);
  CORDON_OK(out.set_up(plan));
  return out;
}

bool Outlet::needed_by(const plan::Plan& plan) {
  return plan.egress || std::ranges::any_of(plan.steps, [](const plan::Step& step) {
           return std::holds_alternative<plan::step::Publish>(step.act);
         });
}

void Outlet::add_slots(const plan::Plan& plan) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto id = static_cast<std::uint16_t>(i + 1);
    if (std::holds_alternative<plan::step::Listen>(plan.steps[i].act)) slots_.push_back({.step = id});
    const auto* pool = std::get_if<plan::step::SocketPool>(&plan.steps[i].act);
    for (std::uint16_t n = 0; pool != nullptr && n < pool->count; ++n)
      slots_.push_back({.step = id, .what = pool->ipv6 ? Slot::For::kInnerIpv6 : Slot::For::kInnerIpv4});
  }
}

std::vector<FdView> Outlet::sockets_for_broker() const {
  std::vector<FdView> out;
  const auto add = [&](Slot::For what) {
    for (const Slot& slot : slots_)
      if (slot.what == what) out.push_back(slot.socket);
  };
  add(Slot::For::kListening);
  for (const HostListener& one : published_) out.push_back(one.socket);
  add(Slot::For::kInnerIpv4);
  add(Slot::For::kInnerIpv6);
  return out;
}

void Outlet::drop_sockets() {
  for (Slot& slot : slots_) slot.socket.reset();
  published_.clear();
  room_.give_back();
}

Result<void> Outlet::set_up(const plan::Plan& plan) {
  CORDON_TRY(config_, settings_of(plan));
  CORDON_OK(check_descriptors(plan));
  CORDON_TRY(published_, listen_on_host(plan));
  for (const HostListener& one : published_) config_.listeners.push_back(one.listener);
  add_slots(plan);
  auto epoll = kernel::epoll_create();
  if (!epoll) return base::fail(kernel::error_at(epoll.error(), kBroker));
  epoll_ = std::move(*epoll);
  auto timer = kernel::timerfd_create();
  if (!timer) return base::fail(kernel::error_at(timer.error(), kBroker));
  timer_ = std::move(*timer);
  return watch(Source::kTimer, timer_);
}

Result<void> Outlet::take_socket(base::StepId step, Fd socket) {
  const auto found =
      std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.step == step.value && !slot.socket.valid(); });
  if (state_ != State::kWaiting || found == slots_.end()) {
    return base::fail(Error{.operation = "recvmsg",
                            .subject = "the launcher's report",
                            .step = step,
                            .detail = "a socket that nobody asked for"});
  }
  if (found->what != Slot::For::kListening) {
    CORDON_OK(check_inner(socket, published_, step));
    room_.make();  // not before: the launcher has the limit that it was started with, and so has the target
  }
  found->socket = std::move(socket);
  if (++taken_ < slots_.size()) return {};
  state_ = State::kStarting;
  return start_broker(From::kInstalled);
}

Result<void> Outlet::start_broker(From from) {
  Fd program = from == From::kInstalled ? installed_program(directory_, kBroker) : Fd();
  broker_from_ = program.valid() ? From::kInstalled : From::kEmbedded;
  if (!program.valid()) {
    CORDON_TRY(program, embedded_program(kBroker));
  }
  CORDON_TRY(const Fd config, sealed_memory("cordon-egress", encode(config_), kernel::kMfdNoexecSeal));
  auto control = kernel::socketpair(SOCK_SEQPACKET);
  auto resolver = kernel::socketpair(SOCK_SEQPACKET);
  if (!control) return base::fail(kernel::error_at(control.error(), kBroker));
  if (!resolver) return base::fail(kernel::error_at(resolver.error(), kBroker));
  std::vector<FdView> fds = {config, control->theirs, resolver->theirs};
  std::ranges::copy(sockets_for_broker(), std::back_inserter(fds));
  CORDON_TRY(broker_, spawn(program, kBroker, fds));
  control_ = std::move(control->ours);
  resolver_socket_ = std::move(resolver->ours);
  silent_ticks_ = 0;
  CORDON_OK(arm_tick());
  CORDON_OK(watch(Source::kControl, control_));
  return watch(Source::kResolver, resolver_socket_);
}

Result<void> Outlet::watch(Source source, FdView fd) {
  return worded(kernel::epoll_add(epoll_, fd, EPOLLIN, static_cast<std::uint64_t>(source)));
}

void Outlet::forget(FdView fd) { static_cast<void>(kernel::epoll_remove(epoll_, fd).has_value()); }

void Outlet::service() {
  std::array<epoll_event, 4> events{};
  const auto got = kernel::epoll_wait(epoll_, events, 0);
  for (const epoll_event& event : std::span(events).first(got.value_or(0))) {
    switch (static_cast<Source>(event.data.u64)) {
      case Source::kControl:
        on_control();
        break;
      case Source::kTimer:
        on_timer();
        break;
      case Source::kResolver:
        on_resolver();
        break;
      case Source::kResolverEnd:
        on_resolver_end();
        break;
    }
  }
}

Result<void> Outlet::arm_tick() { return worded(kernel::timerfd_settime(timer_, kTickMs * kMs)); }

/// What it said while we were stopped is read first: that was no silence. Where we and it stood still together (a
/// frozen container, a snapshot of the machine), that was one tick, and it has the others to be heard.
void Outlet::on_timer() {
  std::array<std::byte, 8> expirations{};
  static_cast<void>(kernel::read(timer_, expirations).has_value());
  on_control();
  if (state_ == State::kLost) return;
  if (++silent_ticks_ >= (state_ == State::kServing ? kSilentTicks : kStartTicks))
    return lose("it gave no sign of life");
  if (!arm_tick()) lose("its silence cannot be timed");
}

void Outlet::on_control() {
  std::array<std::byte, egress::kMostRecordBytes> buffer;
  while (state_ != State::kLost && !finished_) {
    const auto got = kernel::receive_message(control_, buffer, MSG_DONTWAIT);
    if (!got && got.error().code == EAGAIN) return;
    if (!got || got->bytes == 0) return lose("it is gone");
    const auto record = record_in(*got, buffer);
    if (!record) return lose("what it says cannot be understood");
    silent_ticks_ = 0;
    take(*record);
  }
}

void Outlet::take(const egress::Record& record) {
  if (const auto* row = std::get_if<egress::Row>(&record)) {
    note_blocked(*row);
    rows_[row->id] = *row;
    if (wants_descriptors(*row)) lose("it has run out of descriptors", EMFILE);
  } else if (const auto* ready = std::get_if<egress::Ready>(&record)) {
    take_ready(*ready);
  } else if (const auto* asked = std::get_if<egress::Question>(&record)) {
    questions_.push_back({asked->id, asked->host, asked->port, asked->asker_port});
  } else if (const auto* gone = std::get_if<egress::QuestionGone>(&record)) {
    if (std::erase_if(questions_, [&](const Asked& one) { return one.id == gone->id; }) == 0) gone_.push_back(gone->id);
  } else if (std::holds_alternative<egress::Finished>(record)) {
    finished_ = true;
  } else if (const auto* failed = std::get_if<egress::Failed>(&record)) {
    lose("it could not be set up: " + failed->what, failed->code);
  }
}

/// A client may go on asking for minutes: whoever waits for it wants to know now. One that asks once and goes on
/// without (an update check) can wait for the report.
void Outlet::note_blocked(const egress::Row& row) {
  if (row.verdict != egress::Verdict::kGuardBlocked || !row.address || row.count < kTriesBeforeTold) return;
  const auto known = rows_.find(row.id);
  const bool is_news = known == rows_.end() || known->second.count < kTriesBeforeTold;
  if (!is_news || blocked_told_ == kMostBlockedTold) return;
  ++blocked_told_;
  blocked_.push_back(destinations_of({{row.id, row}}).front());
}

/// Another build's broker has said nothing yet that counts: ours takes its place.
void Outlet::take_ready(const egress::Ready& ready) {
  if (ready.build_id != CORDON_BUILD_ID) {
    if (broker_from_ == From::kEmbedded) return lose("it is of another build");
    broker_.end();
    if (auto started = start_broker(From::kEmbedded); !started) {
      state_ = State::kLost;
      error_ = std::move(started).error();
    }
    return;
  }
  // It ends by itself where a check does not hold. That it did is not taken on trust.
  if (!confine::is_confined(ready.checks, ready.landlock_abi)) return lose("it is not confined");
  state_ = State::kServing;
  drop_sockets();  // whoever holds them keeps the network open: from here on the broker alone does
}

void Outlet::on_resolver() {
  if (resolver_.valid() || state_ == State::kLost) return;
  // A resolver that always dies is not started for ever: its names stay unreachable, which is closed.
  if (++resolver_starts_ > kMostResolverStarts) return forget(resolver_socket_);
  auto started = start_resolver();
  if (!started) return forget(resolver_socket_);
  resolver_ = std::move(*started);
  forget(resolver_socket_);
  if (!watch(Source::kResolverEnd, resolver_.pidfd())) resolver_.end();
}

Result<Child> Outlet::start_resolver() {
  Fd program = broker_from_ == From::kInstalled ? installed_program(directory_, kResolver) : Fd();
  if (!program.valid()) {
    CORDON_TRY(program, embedded_program(kResolver));
  }
  const std::array<FdView, 1> fds = {resolver_socket_};
  return spawn(program, kResolver, fds);
}

void Outlet::on_resolver_end() {
  forget(resolver_.pidfd());
  resolver_.end();
  static_cast<void>(watch(Source::kResolver, resolver_socket_).has_value());
}

void Outlet::lose(std::string detail, int code) {
  if (state_ == State::kLost) return;
  state_ = State::kLost;
  error_ = Error{.operation = "serve", .subject = kBroker, .code = code, .detail = std::move(detail)};
  if (!slots_.empty()) error_->step = {slots_.front().step};
  drop_sockets();
  broker_.end();  // what it held goes with it: closed
}

void Outlet::answer(std::uint64_t id, GateAnswer answer) {
  static_assert(static_cast<int>(GateAnswer::kNever) == static_cast<int>(egress::GateAnswer::kNever));
  const auto bytes = encode(egress::Answer{id, static_cast<egress::GateAnswer>(answer)});
  static_cast<void>(kernel::send(control_, bytes, MSG_NOSIGNAL | MSG_DONTWAIT).has_value());
}

void Outlet::ask_to_finish(egress::Parting parting) {
  if (state_ != State::kServing || std::exchange(asked_to_finish_, true)) return;
  const auto bytes = encode(egress::Finish{parting});
  static_cast<void>(kernel::send(control_, bytes, MSG_NOSIGNAL | MSG_DONTWAIT).has_value());
}

Outlet::Counted Outlet::finish() {
  ask_to_finish(egress::Parting::kAtOnce);
  // It may still need the resolver, for what the target sent in its last moment.
  std::uint64_t before = kernel::monotonic_ns();
  std::uint64_t until = before + kFarewellMs * kMs;
  while (state_ == State::kServing && !finished_ && before < until) {
    std::array<pollfd, 1> more{pollfd{.fd = epoll_.get(), .events = POLLIN, .revents = 0}};
    static_cast<void>(kernel::poll(more, kFarewellPollMs).has_value());
    const std::uint64_t now = kernel::monotonic_ns();
    if (now - before > (kFarewellPollMs + kLateMs) * kMs) until += now - before;  // nobody ran
    before = now;
    service();
  }
  if (state_ == State::kServing && !finished_) lose("it did not take its leave");
  control_.reset();  // by which both end, if they have not yet
  resolver_socket_.reset();
  resolver_.end();
  broker_.end(state_ == State::kServing ? kExitMs : 0);
  return {.destinations = destinations_of(rows_), .inbound = inbound_of(rows_)};
}

}  // namespace cordon::enforce::outlet
