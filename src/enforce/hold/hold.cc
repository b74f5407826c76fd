#include "enforce/hold/hold.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "enforce/hold/janitor.h"
#include "enforce/hold/removal.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "plan/wire.h"

namespace cordon::enforce::hold {
namespace {

static_assert(text_of(Entry{.text = static_cast<std::uint32_t>(plan::step::StubText::kDot)}) ==
              plan::step::text_of(plan::step::StubText::kDot));
static_assert(kMostEntries == plan::wire::kMostHoldPoints, "what may be planned may be kept");

using base::Error;
using base::Result;
using base::StepId;
using kernel::Errno;
using plan::step::HoldPoint;

constexpr std::uint64_t kNoLinks = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks;

/// A point on its way: its step, its directory, what the journal says of it.
struct Point {
  StepId step;
  const HoldPoint* planned = nullptr;
  Fd directory;
  Entry entry;
};

auto failed_at(const Point& point, Errno why, std::string detail = {}) {
  Error error = kernel::error_at(why, point.planned->directory + "/" + point.planned->name, point.step);
  error.detail = std::move(detail);
  return base::fail(std::move(error));
}

bool is_planned(const plan::FileId& id, const struct statx& facts) {
  const Identity seen = identity_of(facts);
  return seen.device == id.device && seen.inode == id.inode && (facts.stx_mode & S_IFMT) == id.type &&
         (!id.has_birth_time || seen.birth_ns == static_cast<std::uint64_t>(id.birth_ns));
}

/// Makes `name` or enters it where it is there by now, as Bind::create does: it stays, a write grant asked for it.
Sys<Fd> enter(FdView parent, const std::string& name, uid_t owner) {
  if (auto made = kernel::mkdirat(parent, name.c_str(), 0700); !made && made.error().code != EEXIST) {
    return base::fail(made.error());
  }
  CORDON_TRY(Fd there, kernel::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  CORDON_TRY(const auto facts, kernel::statx(there));
  if (facts.stx_uid != owner) return base::fail(Errno{ESTALE, "mkdirat"});
  return there;
}

/// This thread with the ids of a workspace's owner for what it makes, and no more rights than that owner: root that
/// made a directory and gave it away by its name would give away whatever the owner had put there meanwhile.
class AsOwner {
 public:
  static Sys<AsOwner> become(const HoldPoint& planned) {
    AsOwner out;
    if (!planned.create_owner_uid && !planned.create_owner_gid) return out;
    CORDON_TRY(out.dumpable_, kernel::prctl_get(PR_GET_DUMPABLE));
    out.active_ = true;
    CORDON_OK(kernel::setfsgid(planned.create_owner_gid.value_or(::getegid())));
    CORDON_OK(kernel::setfsuid(planned.create_owner_uid.value_or(::geteuid())));
    return out;
  }
  AsOwner(AsOwner&& other) noexcept : active_(std::exchange(other.active_, false)), dumpable_(other.dumpable_) {}
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;
  AsOwner& operator=(AsOwner&&) = delete;
  ~AsOwner() {
    if (!active_) return;
    CORDON_CHECK(kernel::setfsuid(::geteuid()).has_value());
    CORDON_CHECK(kernel::setfsgid(::getegid()).has_value());
    // A change of ids sets it anew, to what fs.suid_dumpable says.
    static_cast<void>(kernel::prctl(PR_SET_DUMPABLE, static_cast<unsigned long>(dumpable_)).has_value());
  }

 private:
  AsOwner() = default;
  bool active_ = false;
  int dumpable_ = 1;
};

Sys<Fd> open_planned(const HoldPoint& planned) {
  std::size_t length = planned.directory.size();
  for (const std::string& name : planned.create) length -= std::min(length, name.size() + 1);
  const std::string deepest = length == 0 ? "/" : planned.directory.substr(0, length);
  CORDON_TRY(Fd at,
             kernel::openat2(kernel::kHere, deepest.c_str(), {.flags = O_PATH | O_DIRECTORY, .resolve = kNoLinks}));
  CORDON_TRY(const auto facts, kernel::statx(at));
  if (!is_planned(planned.id, facts)) return base::fail(Errno{ESTALE, "statx"});
  if (planned.create.empty()) return at;
  CORDON_TRY([[maybe_unused]] const AsOwner as_owner, AsOwner::become(planned));
  for (const std::string& name : planned.create) {
    CORDON_TRY(at, enter(at, name, planned.create_owner_uid.value_or(::geteuid())));
  }
  return at;
}

std::uint64_t file_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the one that inodes get their times from
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

Result<void> prepare(Point& point) {
  const HoldPoint& planned = *point.planned;
  auto directory = open_planned(planned);
  if (!directory) return failed_at(point, directory.error());
  const auto facts = kernel::statx(*directory);
  if (!facts) return failed_at(point, facts.error());
  Entry& entry = point.entry;
  if (planned.name.size() >= entry.name.size() || planned.directory.size() >= entry.directory.size()) {
    return failed_at(point, {ENAMETOOLONG, "mkdirat"});
  }
  planned.name.copy(entry.name.data(), entry.name.size() - 1);
  planned.directory.copy(entry.directory.data(), entry.directory.size() - 1);
  entry.directory_id = identity_of(*facts);
  entry.made_after_ns = file_clock_ns();
  entry.type = planned.is_directory ? S_IFDIR : S_IFREG;
  entry.text = static_cast<std::uint32_t>(planned.text);
  if (!valid(entry)) return failed_at(point, {EINVAL, "mkdirat"});
  point.directory = std::move(*directory);
  return {};
}

Result<std::vector<Point>> prepare_all(const plan::Plan& plan) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto* planned = std::get_if<HoldPoint>(&plan.steps[i].act);
    if (planned == nullptr) continue;
    Point point{.step = {static_cast<std::uint16_t>(i + 1)}, .planned = planned, .directory = {}, .entry = {}};
    CORDON_OK(prepare(point));
    points.push_back(std::move(point));
  }
  if (points.size() > kMostEntries) return failed_at(points.back(), {E2BIG, "mkdirat"});
  return points;
}

Sys<void> create(const Point& point) {
  const char* name = point.entry.name.data();
  if (point.entry.type == S_IFDIR) return kernel::mkdirat(point.directory, name, 0700);
  const std::string_view text = plan::step::text_of(point.planned->text);
  const mode_t mode = text.empty() ? 0600 : 0444;  // what says something is read by whoever works there
  CORDON_TRY(const Fd file, kernel::openat(point.directory, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode));
  return text.empty() ? Sys<void>{} : kernel::write_all(file, std::as_bytes(std::span(text)));
}

/// The points of all runs that go on.
class Live final : public Visitor {
 public:
  explicit Live(FdView registry) : registry_(registry) {}
  void visit(const char* name) override {
    const Fd journal = open_journal(registry_, name);
    Entry entry;
    if (!journal.valid() || !is_live(journal)) return;
    for (std::size_t i = 0; read_entry(journal, i, entry); ++i) {
      if (entry.point.inode != 0) entries.push_back(entry);
    }
  }
  std::vector<Entry> entries;

 private:
  FdView registry_;
};

bool is_anothers(FdView registry, const Identity& there) {
  Live live(registry);
  each_journal(registry, live);
  return std::ranges::any_of(live.entries, [&](const Entry& entry) { return is_same(entry.point, there); });
}

/// Makes the point or finds the one that a run which goes on has made.
Result<void> make_or_share(FdView registry, const Point& point) {
  const auto made = create(point);
  if (made) return {};
  if (made.error().code != EEXIST) return failed_at(point, made.error());
  const auto facts = kernel::statx(point.directory, point.entry.name.data(), AT_SYMLINK_NOFOLLOW);
  if (facts && is_anothers(registry, identity_of(*facts))) return {};
  return failed_at(point, made.error(), "something was made there while the run was planned");
}

Result<void> learn_identity(Point& point) {
  const auto facts = kernel::statx(point.directory, point.entry.name.data(), AT_SYMLINK_NOFOLLOW);
  if (!facts) return failed_at(point, facts.error());
  if ((facts->stx_mode & S_IFMT) != point.entry.type || facts->stx_uid != ::geteuid()) {
    return failed_at(point, {ESTALE, "statx"});
  }
  point.entry.point = identity_of(*facts);
  return {};
}

Result<Fd> open_registry(const std::string& path) {
  if (path.empty()) {
    return base::fail(Error{.operation = "openat",
                            .subject = "the state directory",
                            .detail = "there is none to keep the journal of mount points in; set HOME"});
  }
  auto fd = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) return base::fail(kernel::error_at(fd.error(), path));
  const auto facts = kernel::statx(*fd);
  if (!facts) return base::fail(kernel::error_at(facts.error(), path));
  if (facts->stx_uid != ::geteuid() || (facts->stx_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return base::fail(Error{.operation = "statx", .subject = path, .detail = "others could have written it"});
  }
  return std::move(*fd);
}

Result<std::pair<Fd, std::string>> new_journal(FdView registry) {
  std::uint64_t number = 0;
  const auto at = [&](Errno why) { return base::fail(kernel::error_at(why, "the journal of mount points")); };
  if (auto drawn = kernel::getrandom(std::as_writable_bytes(std::span(&number, 1))); !drawn) return at(drawn.error());
  std::string name = kJournalPrefix + std::to_string(number);
  auto journal = kernel::openat(registry, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!journal) return at(journal.error());
  if (auto locked = kernel::flock(*journal, LOCK_EX | LOCK_NB); !locked) return at(locked.error());
  return std::pair(std::move(*journal), std::move(name));
}

}  // namespace

struct Holds::State {
  Fd registry, journal;
  std::string name;
  std::vector<Point> points;
  std::optional<Janitor> janitor;

  Result<void> write(std::size_t index) const {
    const Entry& entry = points[index].entry;
    auto written = kernel::pwrite_all(journal, std::as_bytes(std::span(&entry, 1)), index * sizeof entry);
    if (!written) return base::fail(kernel::error_at(written.error(), "the journal of mount points"));
    return {};
  }
  /// Before anything is made, and durably: after a power failure the next command must know of it.
  Result<void> write_intents() const {
    for (std::size_t i = 0; i < points.size(); ++i) CORDON_OK(write(i));
    for (const Fd* fd : {&journal, &registry}) {
      if (auto synced = kernel::fsync(*fd); !synced) {
        return base::fail(kernel::error_at(synced.error(), "the journal of mount points"));
      }
    }
    return {};
  }
  Result<void> make_all() {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (auto made = make_or_share(registry, points[i]); !made) {
        // Neither this intent nor a later one may take away what is somebody's.
        static_cast<void>(kernel::ftruncate(journal, i * sizeof(Entry)));
        return made;
      }
      CORDON_OK(learn_identity(points[i]));
      CORDON_OK(write(i));
    }
    return {};
  }
  void remove() {
    std::vector<Fd> directories;
    for (Point& point : points) directories.push_back(std::move(point.directory));
    clean_up(registry, journal, name.c_str(), directories);
  }
  ~State() {
    if (!janitor) return;
    if (const auto lock = lock_all(registry)) {
      remove();
      janitor->done();
    }
  }
};

Holds::Holds(std::unique_ptr<State> state) : state_(std::move(state)) {}
Holds::Holds(Holds&&) noexcept = default;
Holds& Holds::operator=(Holds&&) noexcept = default;
Holds::~Holds() = default;

bool Holds::needed_by(const plan::Plan& plan) {
  return std::ranges::any_of(plan.steps,
                             [](const plan::Step& step) { return std::holds_alternative<HoldPoint>(step.act); });
}

Result<Holds> Holds::make(const plan::Plan& plan, const std::string& registry) {
  auto state = std::make_unique<State>();
  CORDON_TRY(state->registry, open_registry(registry));
  CORDON_TRY(state->points, prepare_all(plan));
  auto lock = lock_all(state->registry);
  if (!lock) return base::fail(kernel::error_at(lock.error(), registry));
  CORDON_TRY(auto journal, new_journal(state->registry));
  state->journal = std::move(journal.first);
  state->name = std::move(journal.second);
  auto made = [&]() -> Result<void> {
    CORDON_TRY(state->janitor, Janitor::start(state->registry, state->journal, state->name));
    CORDON_OK(state->write_intents());
    return state->make_all();
  }();
  if (!made && !state->janitor) static_cast<void>(kernel::unlinkat(state->registry, state->name.c_str(), 0));
  lock->reset();  // the state's end takes it again
  if (!made) return base::fail(std::move(made).error());
  return Holds(std::move(state));
}

Result<void> Holds::init_is_born(base::FdView init_pidfd) { return state_->janitor->init_is_born(init_pidfd); }

namespace {

/// The journals of dead runs, which are cleaned up after the directory was read.
class Dead final : public Visitor {
 public:
  void visit(const char* name) override { names.emplace_back(name); }
  std::vector<std::string> names;
};

}  // namespace

std::vector<plan::HeldPoint> clean(const std::string& path) {
  if (path.empty()) return {};
  const auto registry = open_registry(path);
  if (!registry) return {};
  Dead all;
  each_journal(*registry, all);
  if (all.names.empty()) return {};
  const auto lock = lock_all(*registry);
  if (!lock) return {};
  for (const std::string& name : all.names) {
    const Fd journal = open_journal(*registry, name.c_str());
    if (journal.valid() && !is_live(journal)) clean_up(*registry, journal, name.c_str(), {});
  }
  Live live(*registry);
  each_journal(*registry, live);
  std::vector<plan::HeldPoint> out;
  for (const Entry& entry : live.entries) {
    out.push_back({.path = std::string(entry.directory.data()) + "/" + entry.name.data(),
                   .id = {.device = entry.point.device,
                          .inode = entry.point.inode,
                          .type = entry.type,
                          .has_birth_time = entry.point.birth_ns != 0,
                          .birth_ns = static_cast<std::int64_t>(entry.point.birth_ns)}});
  }
  return out;
}

}  // namespace cordon::enforce::hold
