// Namespaces and mounts: made as the launcher makes them, with clone3(2) and maps written from outside, and filled with
// what a sandbox mounts.
#include <fcntl.h>
#include <net/if.h>

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "host/attempt.h"
#include "host/in_child.h"
#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/netlink.h"
#include "kernel/process.h"
#include "kernel/socket.h"
#include "kernel/system.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using kernel::Errno;
using kernel::Sys;
using plan::Feature;

struct Namespace {
  Feature feature;
  std::uint64_t flag;
  const char* operation;
};
constexpr std::array<Namespace, 6> kNamespaces = {{
    {Feature::kMountNamespace, kernel::kCloneNewns, "clone3(CLONE_NEWUSER | CLONE_NEWNS)"},
    {Feature::kPidNamespace, kernel::kCloneNewpid, "clone3(CLONE_NEWUSER | CLONE_NEWPID)"},
    {Feature::kNetNamespace, kernel::kCloneNewnet, "clone3(CLONE_NEWUSER | CLONE_NEWNET)"},
    {Feature::kIpcNamespace, kernel::kCloneNewipc, "clone3(CLONE_NEWUSER | CLONE_NEWIPC)"},
    {Feature::kUtsNamespace, kernel::kCloneNewuts, "clone3(CLONE_NEWUSER | CLONE_NEWUTS)"},
    {Feature::kCgroupNamespace, kernel::kCloneNewcgroup, "clone3(CLONE_NEWUSER | CLONE_NEWCGROUP)"},
}};
constexpr std::array<Feature, 5> kMounts = {Feature::kMountApi, Feature::kTmpfsMount, Feature::kProcMount,
                                            Feature::kDevptsMount, Feature::kOverlayMount};

/// Tells only what was asked for.
class Filtered {
 public:
  Filtered(FeatureSet wanted, const Reporter& out) : wanted_(wanted), out_(out) {}
  void tell(Feature feature, const Sys<void>& outcome) const {
    if (wanted_.has(feature)) out_.tell(feature, outcome);
  }

 private:
  FeatureSet wanted_;
  const Reporter& out_;
};

/// "/proc/<pid>/<name>" without allocating.
class ProcPath {
 public:
  ProcPath(pid_t pid, const char* name) {
    std::array<char, 16> digits{};
    std::size_t count = 0;
    for (auto rest = static_cast<unsigned>(pid); rest != 0; rest /= 10)
      digits[count++] = static_cast<char>('0' + rest % 10);
    char* at = append(text_.data(), "/proc/");
    while (count != 0) *at++ = digits[--count];
    at = append(at, "/");
    append(at, name);
  }
  [[nodiscard]] const char* c_str() const { return text_.data(); }

 private:
  static char* append(char* at, const char* text) { return ::stpcpy(at, text); }
  std::array<char, 64> text_{};
};

Sys<void> write_proc(pid_t pid, const char* name, std::string_view text) {
  CORDON_TRY(const Fd file, kernel::openat(kernel::kHere, ProcPath(pid, name).c_str(), O_WRONLY));
  return kernel::write_all(file, std::as_bytes(std::span(text)));
}

/// "ID ID 1" for the map.
std::string_view single_map(unsigned id, std::array<char, 32>& buffer) {
  char* at = buffer.data();
  for (int round = 0; round < 2; ++round) {
    std::array<char, 16> digits{};
    std::size_t count = 0;
    auto rest = id;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count != 0) *at++ = digits[--count];
    *at++ = ' ';
  }
  *at++ = '1';
  return {buffer.data(), static_cast<std::size_t>(at - buffer.data())};
}

Sys<void> write_maps(pid_t child) {
  std::array<char, 32> buffer{};
  CORDON_OK(write_proc(child, "setgroups", "deny"));
  CORDON_OK(write_proc(child, "gid_map", single_map(::getegid(), buffer)));
  return write_proc(child, "uid_map", single_map(::geteuid(), buffer));
}

Sys<Fd> new_file_system(const char* type, std::span<const std::array<const char*, 2>> options) {
  CORDON_TRY(const Fd context, kernel::fsopen(type));
  for (const auto& [key, value] : options) {
    CORDON_OK(value != nullptr ? kernel::fsconfig_string(context, key, value) : kernel::fsconfig_flag(context, key));
  }
  CORDON_OK(kernel::fsconfig_create(context));
  return kernel::fsmount(context, 0);
}

Sys<void> attach(FdView mount, FdView directory, const char* path) {
  return kernel::move_mount(mount, "", directory, path, kernel::kMoveMountFromEmptyPath);
}

Sys<void> mount_below(FdView root, const char* type, const char* at,
                      std::span<const std::array<const char*, 2>> options) {
  CORDON_OK(kernel::mkdirat(root, at, 0755));
  CORDON_TRY(const Fd mount, new_file_system(type, options));
  return attach(mount, root, at);
}

Sys<void> try_overlay(FdView root) {
  for (const char* name : {"lower", "upper", "work"}) CORDON_OK(kernel::mkdirat(root, name, 0755));
  CORDON_OK(kernel::fchdir(root));
  constexpr std::array<std::array<const char*, 2>, 4> kOptions = {
      {{"lowerdir", "lower"}, {"upperdir", "upper"}, {"workdir", "work"}, {"userxattr", nullptr}}};
  return mount_below(root, "overlay", "overlay", kOptions);
}

/// Copies a directory's mount, makes the copy read-only, attaches it, and must then fail to write.
Sys<void> try_mount_api(FdView root) {
  CORDON_OK(kernel::mkdirat(root, "from", 0755));
  CORDON_OK(kernel::mkdirat(root, "to", 0755));
  CORDON_TRY(const Fd copy, kernel::open_tree(root, "from", kernel::kOpenTreeClone | kernel::kAtRecursive));
  kernel::MountAttr read_only;
  read_only.attr_set = kernel::kMountAttrRdonly;
  CORDON_OK(kernel::mount_setattr(copy, "", AT_EMPTY_PATH | kernel::kAtRecursive, read_only));
  CORDON_OK(attach(copy, root, "to"));
  const auto written = kernel::mkdirat(root, "to/x", 0755);
  if (written || written.error().code != EROFS) return base::fail(Errno{0, "mkdir below a read-only mount"});
  return {};
}

void try_mounts(const Filtered& out) {
  const auto fail_all = [&](Errno error) {
    for (const Feature feature : kMounts) out.tell(feature, base::fail(error));
  };
  constexpr std::array<std::array<const char*, 2>, 1> kSize = {{{"size", "1m"}}};
  const auto root = new_file_system("tmpfs", kSize);
  if (!root) return fail_all(root.error());
  const auto attached = attach(*root, kernel::kHere, "/");
  if (!attached) return fail_all(attached.error());
  out.tell(Feature::kTmpfsMount, {});
  out.tell(Feature::kMountApi, try_mount_api(*root));
  out.tell(Feature::kProcMount, mount_below(*root, "proc", "proc", {}));
  constexpr std::array<std::array<const char*, 2>, 2> kPts = {{{"newinstance", nullptr}, {"ptmxmode", "0666"}}};
  out.tell(Feature::kDevptsMount, mount_below(*root, "devpts", "pts", kPts));
  out.tell(Feature::kOverlayMount, try_overlay(*root));
}

Sys<void> try_ipv6() {
  CORDON_TRY(const Fd socket, kernel::bind_loopback6());
  return {};
}

/// Pid 1 of the new namespaces. AppArmor may have let it be born and deny it every capability: mounting tells.
int inside(std::uint64_t flags, const Filtered& out) {
  if ((flags & kernel::kCloneNewns) != 0) {
    kernel::MountAttr apart;
    apart.propagation = MS_PRIVATE;
    const auto power = kernel::mount_setattr(kernel::kHere, "/", kernel::kAtRecursive, apart);
    if (!power) {
      const Errno error{power.error().code, "mount_setattr(MS_PRIVATE) in a new namespace"};
      const bool refused = error.code == EPERM || error.code == EACCES;
      if (refused) out.tell(Feature::kUserNamespace, base::fail(error));
      out.tell(Feature::kMountNamespace, base::fail(error));
      for (const Feature feature : kMounts) out.tell(feature, base::fail(error));
      return 0;
    }
    out.tell(Feature::kMountNamespace, {});
  }
  out.tell(Feature::kUserNamespace, {});
  if ((flags & kernel::kCloneNewnet) != 0) {
    const auto socket = kernel::datagram_socket(AF_INET);
    const auto up = socket ? kernel::bring_up(*socket, "lo") : base::fail(socket.error());
    out.tell(Feature::kNetNamespace, up);
    const auto ipv6 = up ? try_ipv6() : up;
    out.tell(Feature::kIpv6, ipv6);
    out.tell(Feature::kNatRedirect, up ? kernel::redirect_tcp(1, ipv6.has_value()) : up);
  }
  if ((flags & kernel::kCloneNewns) != 0) try_mounts(out);
  return 0;
}

/// clone3 with these flags; the child waits for its maps, then runs inside().
Sys<void> enter(std::uint64_t flags, const Filtered& out) {
  CORDON_TRY(auto gate, kernel::pipe());
  kernel::CloneArgs args;
  args.flags = kernel::kCloneNewuser | flags;
  args.exit_signal = SIGCHLD;
  CORDON_TRY(const pid_t pid, kernel::clone3(args));
  if (pid == 0) {
    (void)kernel::prctl(PR_SET_PDEATHSIG, SIGKILL);
    gate.write_end.reset();
    std::array<std::byte, 1> go{};
    const auto got = kernel::read(gate.read_end, go);
    ::_exit(got && *got == 1 ? inside(flags, out) : kNotHeld);
  }
  const auto mapped = write_maps(pid);
  if (mapped) (void)kernel::write(gate.write_end, std::as_bytes(std::span("g", 1)));
  gate.write_end.reset();
  CORDON_TRY(const siginfo_t end, kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED));
  if (!mapped) return base::fail(Errno{mapped.error().code, "write /proc/PID/uid_map"});
  if (end.si_code != CLD_EXITED) return base::fail(Errno{0, "a child in new namespaces, which was killed"});
  return {};
}

/// One namespace beside the user namespace, entered and left.
Sys<void> enter_alone(std::uint64_t flag) {
  kernel::CloneArgs args;
  args.flags = kernel::kCloneNewuser | flag;
  args.exit_signal = SIGCHLD;
  CORDON_TRY(const pid_t pid, kernel::clone3(args));
  if (pid == 0) ::_exit(0);
  CORDON_TRY(const siginfo_t end, kernel::waitid(P_PID, static_cast<id_t>(pid), WEXITED));
  (void)end;
  return {};
}

/// Where not all can be entered together: which one it is.
void try_one_by_one(const Filtered& out) {
  if (const auto user = enter_alone(0); !user) {
    const Errno error{user.error().code, "clone3(CLONE_NEWUSER)"};
    out.tell(Feature::kUserNamespace, base::fail(error));
    for (const Namespace& one : kNamespaces) out.tell(one.feature, base::fail(error));
    for (const Feature feature : kMounts) out.tell(feature, base::fail(error));
    out.tell(Feature::kNatRedirect, base::fail(error));
    out.tell(Feature::kIpv6, try_ipv6());
    return;
  }
  std::uint64_t possible = 0;
  for (const Namespace& one : kNamespaces) {
    const auto alone = enter_alone(one.flag);
    if (alone) {
      possible |= one.flag;
      const bool is_told_inside = one.flag == kernel::kCloneNewns || one.flag == kernel::kCloneNewnet;
      if (!is_told_inside) out.tell(one.feature, {});
      continue;
    }
    const Errno error{alone.error().code, one.operation};
    out.tell(one.feature, base::fail(error));
    if (one.flag == kernel::kCloneNewnet) {
      out.tell(Feature::kNatRedirect, base::fail(error));
      out.tell(Feature::kIpv6, try_ipv6());
    }
    if (one.flag != kernel::kCloneNewns) continue;
    for (const Feature feature : kMounts) out.tell(feature, base::fail(error));
  }
  const auto entered = enter(possible, out);
  if (entered) return;
  out.tell(Feature::kUserNamespace, base::fail(entered.error()));
  if ((possible & kernel::kCloneNewnet) != 0) {
    out.tell(Feature::kNetNamespace, base::fail(entered.error()));
    out.tell(Feature::kNatRedirect, base::fail(entered.error()));
    out.tell(Feature::kIpv6, try_ipv6());
  }
  if ((possible & kernel::kCloneNewns) == 0) return;
  out.tell(Feature::kMountNamespace, base::fail(entered.error()));
  for (const Feature feature : kMounts) out.tell(feature, base::fail(entered.error()));
}

}  // namespace

void try_namespaces(FeatureSet wanted, const Reporter& reporter) {
  bool any = wanted.has(Feature::kUserNamespace) || wanted.has(Feature::kIpv6) || wanted.has(Feature::kNatRedirect);
  std::uint64_t all = 0;
  for (const Namespace& one : kNamespaces) {
    any = any || wanted.has(one.feature);
    all |= one.flag;
  }
  for (const Feature feature : kMounts) any = any || wanted.has(feature);
  if (!any) return;
  const Filtered out(wanted, reporter);
  if (const auto entered = enter(all, out); !entered) return try_one_by_one(out);
  for (const Namespace& one : kNamespaces) {
    const bool is_told_inside = one.flag == kernel::kCloneNewns || one.flag == kernel::kCloneNewnet;
    if (!is_told_inside) out.tell(one.feature, {});
  }
}

}  // namespace cordon::host
