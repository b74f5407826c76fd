#include "cgroup/probe.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cgroup/group.h"
#include "kernel/process.h"
#include "kernel/system.h"
#include "kernel/terminal.h"

namespace cordon::cgroup {
namespace {

using base::Error;
using base::Result;

/// Generous: the child of the probe must live in it.
constexpr Wanted kSample{.memory_bytes = 64ULL << 20, .cpu_hundredths = 50'00, .pids = 16};
constexpr std::array<std::string_view, 3> kControllers = {"memory", "cpu", "pids"};

/// A process that waits for its end.
class Idle {
 public:
  static Result<Idle> start() {
    auto pid = kernel::fork();
    if (!pid) return base::fail(kernel::error_at(pid.error(), "a probe's child"));
    if (*pid == 0) {
      (void)kernel::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
    }
    return Idle(*pid);
  }
  Idle(Idle&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Idle& operator=(Idle&&) = delete;
  ~Idle() {
    if (pid_ == 0) return;
    static_cast<void>(kernel::kill(pid_, SIGKILL).has_value());  // not reaped yet, so the number is its own
    static_cast<void>(kernel::waitid(P_PID, static_cast<id_t>(pid_), WEXITED).has_value());
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit Idle(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

struct Tried {
  Wanted held;  ///< what could be limited; nothing where no group could be made
  std::optional<Error> missing;
};

/// A process is put into it and seen there, and the limits read back.
Result<void> try_with(Place place, const Wanted& wanted, const std::string& id) {
  CORDON_TRY(Group group, Group::make_in(std::move(place), wanted, id));
  CORDON_TRY(const Idle idle, Idle::start());
  CORDON_OK(group.admit(idle.pid()));
  const std::array<pid_t, 1> inside{idle.pid()};
  return group.attest(inside);
}

/// Of the sample what the place has controllers for; the first that is missing is named.
Wanted offered(const Place& place, std::optional<Error>& missing) {
  Wanted out = kSample;
  const auto there = read_file(place.directory, "cgroup.controllers", place.path);
  const std::array<std::uint64_t*, 3> kinds = {&out.memory_bytes, &out.cpu_hundredths, &out.pids};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (there && has_word(*there, kControllers[i])) continue;
    *kinds[i] = 0;
    if (!missing)
      missing = Error{.operation = "read",
                      .subject = place.path + "/cgroup.controllers",
                      .detail = fmt::format("the {} controller is not delegated to here", kControllers[i])};
  }
  return out;
}

Tried try_in(Result<Place> found, const std::string& id) {
  Tried out;
  if (!found) {
    out.missing = std::move(found).error();
    return out;
  }
  if (!found->helper.valid()) sweep(found->directory, ::geteuid());
  const Wanted wanted = offered(*found, out.missing);
  if (wanted == Wanted{}) return out;
  if (auto held = try_with(std::move(*found), wanted, id); held) {
    out.held = wanted;
  } else {
    out.missing = std::move(held).error();
  }
  return out;
}

bool is_whole(const Tried& tried) {
  return tried.held.memory_bytes != 0 && tried.held.cpu_hundredths != 0 && tried.held.pids != 0;
}

std::string v1_controllers(const Hierarchy& hierarchy) {
  std::string out;
  for (const std::string_view one : kControllers)
    if (is_bound_to_v1(hierarchy.membership, one)) out += fmt::format("{}{}", out.empty() ? "" : ", ", one);
  return out;
}

void explain(const Hierarchy& hierarchy, const Error& direct, const Error& scope, plan::LimitsFact& out) {
  const bool root = ::geteuid() == 0;
  const Error& error = hierarchy.systemd ? scope : direct;
  out.code = error.code;
  out.operation = error.operation;
  if (const std::string bound = v1_controllers(hierarchy); !bound.empty()) {
    out.cause = fmt::format("this host binds {} to cgroup v1, where limits cannot be held", bound);
    out.mend = hierarchy.systemd ? "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"
                                 : "boot with cgroup_no_v1=all on the kernel's command line, and mount cgroup2 at "
                                   "/sys/fs/cgroup";
    return;
  }
  if (hierarchy.mount.empty()) {
    out.cause = "no cgroup v2 hierarchy is mounted here";
    out.mend = "mount -t cgroup2 none /sys/fs/cgroup";
    return;
  }
  out.cause = base::to_string(error);
  if (!hierarchy.systemd) {
    out.cause += ", and no systemd manages this host";
    out.mend =
        "start it in a group of its own below one that holds no process and has the memory, cpu and pids "
        "controllers in cgroup.subtree_control, and that you own";
  } else if (!root && error.subject.ends_with("/systemd/private")) {
    out.cause = "you have no user manager here: " + out.cause;
    out.mend = fmt::format("loginctl enable-linger {} (as root; needs libpam-systemd or the like)", ::geteuid());
  } else if (!root && error.detail.contains("not delegated")) {
    out.mend =
        "as root: mkdir -p /etc/systemd/system/user@.service.d, write there in delegate.conf: [Service] "
        "Delegate=cpu memory pids; then systemctl daemon-reload, and log in again";
  } else if (error.detail.contains("libsystemd")) {
    out.mend = "install libsystemd (Debian: apt-get install libsystemd0)";
  }
}

}  // namespace

plan::LimitsFact probe() {
  const Hierarchy hierarchy = read_hierarchy();
  plan::LimitsFact out;
  const auto take = [&](const Tried& tried, plan::CgroupWay way) {
    out.way = tried.held == Wanted{} ? plan::CgroupWay::kNone : way;
    out.memory = tried.held.memory_bytes != 0;
    out.cpu = tried.held.cpu_hundredths != 0;
    out.pids = tried.held.pids != 0;
  };
  const auto id = new_id();
  if (!id) {
    out.cause = base::to_string(id.error());
    return out;
  }
  Tried direct = try_in(direct_place(hierarchy, Claim::kOnlyOurs), *id);
  if (is_whole(direct)) {
    take(direct, plan::CgroupWay::kDirect);
    return out;
  }
  const Tried scope = try_in(scope_place(hierarchy, *id), *id);
  if (is_whole(scope)) {
    take(scope, plan::CgroupWay::kScope);
    return out;
  }
  // The last resort of root: a group that a manager does not know of. What it takes from it is seen at the end.
  if (::geteuid() == 0 && hierarchy.systemd && direct.held == Wanted{})
    direct = try_in(direct_place(hierarchy, Claim::kForced), *id);
  const bool by_scope = scope.held != Wanted{};
  take(by_scope ? scope : direct, by_scope ? plan::CgroupWay::kScope : plan::CgroupWay::kDirect);
  if (!is_whole(by_scope ? scope : direct))
    explain(hierarchy, direct.missing.value_or(Error{}), scope.missing.value_or(Error{}), out);
  return out;
}

}  // namespace cordon::cgroup
