#include "enforce/launch/start.h"

#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "enforce/launch/encode.h"
#include "enforce/launch/image.h"
#include "enforce/launch/spawn.h"
#include "enforce/launch/streams.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"
#include "kernel/terminal.h"
#include "plan/wire.h"

namespace cordon::enforce::launch {
namespace {

using base::Error;
using base::Fd;
using base::FdView;
using base::Result;
using kernel::error_at;

/// A Sys<T> as a Result<T> that says what it was done to.
template <class T>
Result<T> of(kernel::Sys<T> result, std::string_view subject) {
  if (!result) return base::fail(error_at(result.error(), subject));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*result);
  }
}

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

/// Read-only for good, for us as well: what was checked cannot be changed.
Result<Fd> sealed(const char* name, std::span<const std::byte> bytes, unsigned kind) {
  auto memory = kernel::memfd_create(name, kernel::kMfdAllowSealing | kind);
  // The kinds came with 6.3; before that every memfd may be executed and none need be said to be.
  if (!memory && memory.error().code == EINVAL) memory = kernel::memfd_create(name, kernel::kMfdAllowSealing);
  if (!memory) return base::fail(error_at(memory.error(), name));
  if (auto written = kernel::write_all(*memory, bytes); !written) {
    Error error = error_at(written.error(), name);
    if (error.code == EFBIG) error.detail = "the limit on the size of files is too low (ulimit -f)";
    return base::fail(std::move(error));
  }
  CORDON_OK(of(kernel::add_seals(*memory, kSeals), name));
  return std::move(*memory);
}

Result<Fd> sealed_plan(const plan::Plan& plan) {
  const auto bytes = encode(plan);
  if (auto view = plan::wire::View::decode(bytes); !view) {
    return base::fail(Error{.operation = "encode",
                            .subject = "plan",
                            .step = {view.error().step},
                            .detail = std::string("not a plan that the launcher would take: ") +
                                      plan::wire::fault_name(view.error().fault)});
  }
  return sealed("cordon-plan", bytes, kernel::kMfdNoexecSeal);
}

struct Launcher {
  Fd program;
  LauncherKind kind = LauncherKind::kEmbedded;
  std::string passed_over;  ///< Started's
};

Result<Launcher> embedded_launcher(std::string passed_over) {
  CORDON_TRY(Fd program, sealed("cordon-launch", launcher_image(), kernel::kMfdExec));
  return Launcher{
      .program = std::move(program), .kind = LauncherKind::kEmbedded, .passed_over = std::move(passed_over)};
}

/// The installed launcher, opened: what is checked is what will be executed. It enforces everything, so whoever can
/// write it can do everything.
Result<Launcher> installed_launcher(const std::string& path) {
  CORDON_TRY(Fd program, of(kernel::openat(kernel::kHere, path.c_str(), O_RDONLY), path));
  CORDON_TRY(auto facts, of(kernel::statx(program), path));
  const auto refuse = [&](const char* why) {
    return base::fail(Error{.operation = "openat", .subject = path, .detail = why});
  };
  if (!S_ISREG(facts.stx_mode)) return refuse("not a regular file");
  if (facts.stx_uid != 0 && facts.stx_uid != ::geteuid()) return refuse("belongs to another user");
  if ((facts.stx_mode & (S_IWGRP | S_IWOTH)) != 0) return refuse("writable by others than its owner");
  return Launcher{.program = std::move(program), .kind = LauncherKind::kInstalled, .passed_over = {}};
}

/// The installed one where it may be taken.
Result<Launcher> find_launcher(const LauncherSource& source) {
  if (source.installed_path.empty()) return embedded_launcher("");
  auto installed = installed_launcher(source.installed_path);
  if (installed) return installed;
  Error why = std::move(installed).error();
  return embedded_launcher(why.detail.empty() ? base::errno_name(why.code) : std::move(why.detail));
}

/// The signals that this process ignores; all of them where that cannot be told. Bit n - 1 is signal n.
std::uint64_t ignored_signals() {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  std::array<char, 4096> status;
  const auto file = kernel::openat(kernel::kHere, "/proc/self/status", O_RDONLY);
  const auto size = file ? kernel::read(*file, std::as_writable_bytes(std::span(status))) : 0;
  const std::string_view text(status.data(), size.value_or(0));
  constexpr std::string_view kField = "\nSigIgn:\t";
  constexpr std::size_t kDigits = 16;
  const std::size_t at = text.find(kField);
  if (at == std::string_view::npos || text.size() < at + kField.size() + kDigits) return kAll;
  std::uint64_t mask = 0;
  const char* const digits = text.data() + at + kField.size();
  return std::from_chars(digits, digits + kDigits, mask, 16).ptr == digits + kDigits ? mask : kAll;
}

/// Every signal at its default but those that are to stay ignored.
void set_signals_and_session(Spawn& spawn, const Options& options) {
  std::uint64_t defaults = ignored_signals();
  for (const int kept : options.keep_ignored) defaults &= ~(std::uint64_t{1} << static_cast<unsigned>(kept - 1));
  spawn.set_defaults(defaults);
  if (options.session == Session::kOwn) spawn.in_own_session();
}

/// Above every place that something is put at, so that no dup2 overwrites what a later one needs.
constexpr int kAbovePlaces = 16;

using Streams3 = std::array<Fd, 3>;
struct Placed {
  Fd program, control, life;
};

Result<Fd> lifted(FdView fd, std::string_view subject) { return of(kernel::duplicate(fd, kAbovePlaces), subject); }

Result<Fd> null_stream(std::size_t place) {
  CORDON_TRY(const Fd null,
             of(kernel::openat(kernel::kHere, "/dev/null", place == 0 ? O_RDONLY : O_WRONLY), "/dev/null"));
  return lifted(null, "/dev/null");
}

/// The streams, screened and out of everybody's way. Before anything else is opened: where the caller's own standard
/// input is closed, the next descriptor that we make would take its number. In the place of one that is closed stands
/// /dev/null, or else what launcher or target open next would be its standard input.
Result<Streams3> take_streams(const Streams& streams) {
  const std::array<FdView, 3> given = {streams.in, streams.out, streams.error};
  constexpr std::array<std::string_view, 3> kNames = {"standard input", "standard output", "standard error"};
  Streams3 out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    CORDON_OK(screen_stream(given[i], kNames[i]));
    auto duplicate = kernel::duplicate(given[i], kAbovePlaces);
    if (!duplicate && duplicate.error().code != EBADF) return base::fail(error_at(duplicate.error(), kNames[i]));
    if (duplicate) {
      out[i] = std::move(*duplicate);
    } else {
      CORDON_TRY(out[i], null_stream(i));
    }
  }
  return out;
}

void place_streams(Spawn& spawn, const Streams3& streams) {
  for (std::size_t i = 0; i < streams.size(); ++i) spawn.put(streams[i], static_cast<int>(i));
}

struct Sockets {
  Fd control, life;  ///< our ends
};

Result<Sockets> place_sockets(Spawn& spawn, Placed& placed) {
  CORDON_TRY(auto control, of(kernel::socketpair(SOCK_SEQPACKET), "control"));
  CORDON_TRY(auto life, of(kernel::socketpair(SOCK_SEQPACKET), "life"));
  CORDON_TRY(placed.control, lifted(control.theirs, "control"));
  CORDON_TRY(placed.life, lifted(life.theirs, "life"));
  spawn.put(placed.control, kControlFd);
  spawn.put(placed.life, kLifeFd);
  return Sockets{.control = std::move(control.ours), .life = std::move(life.ours)};
}

/// The outer launcher is a short-lived child of ours. Where somebody else reaped it (SIGCHLD ignored) it is gone too.
void reap(pid_t pid) { static_cast<void>(kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED).has_value()); }

Error failure_of(const Message& message) {
  return {.operation = message.text.data(), .subject = "", .code = message.code, .step = {message.step}};
}

/// A refusal of the launcher's, before anything was made. `other_build` where only another launcher will do.
struct Refused {
  Error error;
  bool other_build = false;
};

/// What the outer launcher said last: that init was born, or why not.
Result<Started, Refused> take_birth(Sockets sockets) {
  auto batch = receive(sockets.control, 0);
  if (!batch) return base::fail(Refused{error_at(batch.error(), "control")});
  const Message message = batch->count == 0 ? Message{} : batch->messages[0];
  if (message.kind == Kind::kPlanRefused) {
    Error error = failure_of(message);
    error.operation = "cordon-launch";
    error.detail = std::string("refuses the plan: ") + message.text.data();
    return base::fail(Refused{std::move(error), std::string_view(message.text.data()) == kOtherBuild});
  }
  if (message.kind == Kind::kStepFailed) return base::fail(Refused{failure_of(message)});
  if (message.kind != Kind::kInitStarted || !batch->fd.valid()) {
    return base::fail(Refused{Error{.operation = "cordon-launch", .detail = "ended without a word"}});
  }
  return Started{.init_pidfd = std::move(batch->fd),
                 .init = static_cast<pid_t>(message.value),
                 .control = std::move(sockets.control),
                 .life = std::move(sockets.life)};
}

/// A launcher that was started and told its opening; to be given to finish().
struct Begun {
  pid_t pid = 0;
  Sockets sockets;
  std::unique_ptr<Spawn> spawn;  ///< until it was waited for
};

Result<Begun> begin(const Launcher& launcher, const plan::step::Any& opening, const Streams3& streams,
                    const Options& options) {
  auto spawn = std::make_unique<Spawn>();
  Placed placed;
  CORDON_TRY(placed.program, lifted(launcher.program, "cordon-launch"));
  place_streams(*spawn, streams);
  set_signals_and_session(*spawn, options);
  CORDON_TRY(Sockets sockets, place_sockets(*spawn, placed));
  CORDON_TRY([[maybe_unused]] const auto sent, of(kernel::send_message(sockets.control, encode(opening)), "control"));
  CORDON_TRY(const pid_t pid, spawn->begin(placed.program));
  // Its own ends are closed here: it has them.
  return Begun{.pid = pid, .sockets = std::move(sockets), .spawn = std::move(spawn)};
}

/// A launcher that is gone by now has said why, and finish() reads that.
void send_plan(FdView control, FdView plan, Kind kind = Kind::kPlan) {
  const Message message{.kind = kind};
  const auto bytes = std::as_bytes(std::span(&message, 1));
  static_cast<void>(kernel::send_message(control, bytes, plan).has_value());
}

Result<Started, Refused> finish(Begun begun, const Launcher& launcher) {
  auto started = take_birth(std::move(begun.sockets));
  reap(begun.pid);
  if (const int code = begun.spawn->exec_failure(); code != 0) {
    return base::fail(Refused{Error{.operation = "execve", .subject = "cordon-launch", .code = code}});
  }
  if (!started) return started;
  started->launcher = launcher.kind;
  started->passed_over = launcher.passed_over;
  return started;
}

void end(const Started& started) {
  const FdView init = started.init_pidfd;
  static_cast<void>(kernel::pidfd_send_signal(init, SIGKILL).has_value());
  static_cast<void>(kernel::waitid(P_PIDFD, static_cast<id_t>(init.get()), WEXITED | __WALL).has_value());
}

/// Gives it the plan. Where somebody is to see init first, init is waited for before.
Result<Started, Refused> give_plan(Begun begun, const Launcher& launcher, FdView plan, const OnBorn& on_born) {
  if (!on_born) {
    send_plan(begun.sockets.control, plan);
    return finish(std::move(begun), launcher);
  }
  auto started = finish(std::move(begun), launcher);
  if (!started) return started;
  if (auto seen = on_born(started->init); !seen) {
    end(*started);
    return base::fail(Refused{std::move(seen).error()});
  }
  send_plan(started->control, plan);
  return started;
}

constexpr int kLongestBirthMs = 1'000;

/// One that does not say in time whom it bore (somebody stopped it) is continued, so that it can; only then is it made
/// to bear nobody any more. An init that is stopped as well, and named by nobody, would keep us waiting for ever: it is
/// left to whoever stopped it, and exits as soon as it is continued, for nobody holds its life socket.
void end(Begun begun) {
  std::array<pollfd, 1> control{pollfd{.fd = begun.sockets.control.get(), .events = POLLIN, .revents = 0}};
  const auto is_silent = [&] { return kernel::poll(control, kLongestBirthMs).value_or(0) == 0; };
  bool silent = is_silent();
  for (const int signal : {SIGCONT, SIGKILL}) {
    if (!silent) break;
    static_cast<void>(kernel::kill(begun.pid, signal).has_value());  // not reaped yet, so the number is its own
    silent = is_silent();
  }
  if (silent) return reap(begun.pid);
  auto started = finish(std::move(begun), {});
  if (started) end(*started);
}

/// sealed_plan() has seen that there is one.
const plan::step::Any& opening_of(const plan::Plan& plan) { return plan.steps.front().act; }

Result<Started, Refused> launch(const Launcher& launcher, const plan::Plan& plan, FdView memory,
                                const Streams3& streams, const Options& options, const OnBorn& on_born) {
  auto begun = begin(launcher, opening_of(plan), streams, options);
  if (!begun) return base::fail(Refused{std::move(begun).error()});
  return give_plan(std::move(*begun), launcher, memory, on_born);
}

Result<Started> start_afresh(const plan::Plan& plan, FdView memory, const Streams3& streams,
                             const LauncherSource& source, const Options& options, const OnBorn& on_born) {
  CORDON_TRY(Launcher launcher, find_launcher(source));
  auto started = launch(launcher, plan, memory, streams, options, on_born);
  if (!started && started.error().other_build && launcher.kind == LauncherKind::kInstalled) {
    CORDON_TRY(launcher, embedded_launcher("is of another build"));
    started = launch(launcher, plan, memory, streams, options, on_born);
  }
  if (!started) return base::fail(std::move(started).error().error);
  return std::move(*started);
}

bool begins_with(const plan::Plan& plan, std::span<const plan::Step> beginning) {
  const auto same = [](const plan::Step& a, const plan::Step& b) { return a.act == b.act; };
  // Not the first: it is compared by opening_of(), and the time limit is in it.
  return beginning.empty() || (plan.steps.size() > beginning.size() &&
                               std::equal(beginning.begin() + 1, beginning.end(), plan.steps.begin() + 1, same));
}

/// Init keeps a descriptor on each bind of a beginning.
bool has_room_for_a_beginning() {
  constexpr rlim_t kEnough = 256;
  const auto limit = kernel::getrlimit(RLIMIT_NOFILE);
  return limit && limit->rlim_cur >= kEnough;
}

/// Since it was opened. The launcher's own copy of the mounts is from then.
bool has_changed(FdView mount_table) {
  std::array<pollfd, 1> table{pollfd{.fd = mount_table.get(), .events = POLLPRI, .revents = 0}};
  return kernel::poll(table, 0).value_or(1) != 0;
}

}  // namespace

Result<Started> start(const plan::Plan& plan, const LauncherSource& source, const Options& options,
                      const OnBorn& on_born) {
  CORDON_TRY(const Streams3 streams, take_streams(options.streams));
  CORDON_TRY(const Fd memory, sealed_plan(plan));
  return start_afresh(plan, memory, streams, source, options, on_born);
}

struct Early::Parts {
  plan::step::EnterNamespaces assumed;
  LauncherSource source;
  Options options;
  Streams3 streams;
  Fd mount_table;
  Launcher launcher;
  std::optional<Begun> begun;
  std::vector<plan::Step> beginning;  ///< what init was told that the plan begins with
  ~Parts() {
    if (begun) launch::end(std::move(*begun));
  }
};

Early::Early(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Early::Early(Early&&) noexcept = default;
Early& Early::operator=(Early&&) noexcept = default;
Early::~Early() = default;

Result<Early> Early::begin(const plan::step::EnterNamespaces& assumed, const LauncherSource& source,
                           const Options& options) {
  std::unique_ptr<Parts> parts(new Parts{.assumed = assumed,
                                         .source = source,
                                         .options = options,
                                         .streams = {},
                                         .mount_table = {},
                                         .launcher = {},
                                         .begun = {},
                                         .beginning = {}});
  CORDON_TRY(parts->streams, take_streams(options.streams));
  CORDON_TRY(parts->mount_table, of(kernel::openat(kernel::kHere, "/proc/self/mountinfo", O_RDONLY), "/proc"));
  CORDON_TRY(parts->launcher, find_launcher(source));
  CORDON_TRY(parts->begun, launch::begin(parts->launcher, assumed, parts->streams, options));
  return Early(std::move(parts));
}

void Early::begin_plan(std::vector<plan::Step> steps) {
  if (steps.size() < 3 || !parts_->beginning.empty() || !has_room_for_a_beginning()) return;
  const auto* opening = std::get_if<plan::step::EnterNamespaces>(&steps.front().act);
  if (opening == nullptr || *opening != parts_->assumed) return;
  const auto bytes = encode(steps);
  if (!plan::wire::View::decode(bytes, plan::wire::Extent::kBeginning)) return;
  const auto memory = sealed("cordon-plan", bytes, kernel::kMfdNoexecSeal);
  if (!memory) return;
  send_plan(parts_->begun->sockets.control, *memory, Kind::kBeginning);
  parts_->beginning = std::move(steps);
}

Result<Started> Early::start(const plan::Plan& plan, const OnBorn& on_born) && {
  const auto parts = std::move(parts_);
  CORDON_TRY(const Fd memory, sealed_plan(plan));
  Begun begun = *std::exchange(parts->begun, std::nullopt);
  if (opening_of(plan) != plan::step::Any(parts->assumed) || !begins_with(plan, parts->beginning) ||
      has_changed(parts->mount_table)) {
    end(std::move(begun));
  } else {
    if (auto started = give_plan(std::move(begun), parts->launcher, memory, on_born)) return std::move(*started);
    // Whatever was wrong with it, a fresh one says so.
  }
  return start_afresh(plan, memory, parts->streams, parts->source, parts->options, on_born);
}

}  // namespace cordon::enforce::launch
