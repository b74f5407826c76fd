#include "enforce/launch/streams.h"

#include <linux/magic.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "kernel/file.h"
#include "kernel/socket.h"
#include "kernel/terminal.h"

namespace cordon::enforce::launch {
namespace {

using base::FdView;

constexpr std::array<std::uint64_t, 9> kKernelFileSystems = {
    PROC_SUPER_MAGIC,    SYSFS_MAGIC,    DEBUGFS_MAGIC,    TRACEFS_MAGIC, CGROUP_SUPER_MAGIC,
    CGROUP2_SUPER_MAGIC, EFIVARFS_MAGIC, SECURITYFS_MAGIC, 0x1021997 /* BINFMTFS */};
/// Regular files to stat(2): of namespaces, processes, programs and whatever else has a descriptor for a face.
constexpr std::array<std::uint64_t, 4> kHandles = {NSFS_MAGIC, BPF_FS_MAGIC, ANON_INODE_FS_MAGIC,
                                                   0x50494446 /* PIDFS, 6.9 */};
constexpr std::array<unsigned, 5> kMemoryDevices = {3, 5, 7, 8, 9};

bool is_harmless_device(FdView stream, const struct statx& facts) {
  if (facts.stx_rdev_major == 1) return std::ranges::find(kMemoryDevices, facts.stx_rdev_minor) != kMemoryDevices.end();
  return kernel::tcgetattr(stream).has_value();
}

/// Why a file of this kind is refused, or "".
std::string_view fault_of_file(FdView stream, const struct statx& facts) {
  auto where = kernel::fstatfs(stream);
  if (!where) return "the file system that it is on cannot be told";
  const auto magic = static_cast<std::uint32_t>(where->f_type);
  if (std::ranges::find(kHandles, magic) != kHandles.end()) return "it is a handle of the kernel's, not a file";
  if (std::ranges::find(kKernelFileSystems, magic) == kKernelFileSystems.end()) return "";
  const bool reading = (kernel::open_flags(stream).value_or(O_RDWR) & O_ACCMODE) == O_RDONLY;
  if ((facts.stx_mode & S_IROTH) != 0 && reading) return "";
  return "it is a file of the kernel's that not everybody may read, or that is open for writing";
}

/// A socket that is not joined to its peer for good could be joined from inside to a service of the host's that has an
/// abstract name: such names belong to the network namespace that the socket was made in.
std::string_view fault_of_socket(FdView stream) {
  if (kernel::socket_domain(stream).value_or(AF_UNSPEC) != AF_UNIX) return "it is a socket that leaves this host";
  const int type = kernel::socket_type(stream).value_or(SOCK_DGRAM);
  if (type != SOCK_STREAM && type != SOCK_SEQPACKET) return "it is a datagram socket, which can send to anybody";
  return kernel::has_peer(stream) ? "" : "it is a socket without a peer, which can be connected to anybody";
}

std::string_view fault_of(FdView stream, const struct statx& facts) {
  switch (facts.stx_mode & S_IFMT) {
    case S_IFIFO:
      return "";
    case S_IFREG:
      return fault_of_file(stream, facts);
    case S_IFCHR:
      return is_harmless_device(stream, facts) ? "" : "it is a device other than a terminal or /dev/null and its kind";
    case S_IFSOCK:
      return fault_of_socket(stream);
    case S_IFDIR:
      return "it is a directory";
    case S_IFBLK:
      return "it is a block device";
    default:
      return "it is none of file, pipe, socket and terminal";  // anonymous inodes: pidfds, epoll, BPF, io_uring, …
  }
}

}  // namespace

base::Result<void> screen_stream(FdView stream, std::string_view name) {
  auto facts = kernel::statx(stream);
  if (!facts && facts.error().code == EBADF) return {};  // closed: start() puts /dev/null there
  if (!facts) return base::fail(kernel::error_at(facts.error(), name));
  const std::string_view fault = fault_of(stream, *facts);
  if (fault.empty()) return {};
  return base::fail(base::Error{.operation = "screen", .subject = std::string(name), .detail = std::string(fault)});
}

}  // namespace cordon::enforce::launch
