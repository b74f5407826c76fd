// A private proc, hardened. Uid 0 without a single capability may otherwise write core_pattern, which is code as root
// on the host: sysctls and their kind look at the uid. So everything at the top of proc that is not a process is
// read-only, and what tells of the host's kernel or memory is covered.
#include <dirent.h>

#include <algorithm>
#include <string_view>

#include "enforce/launch/program/tree.h"

namespace cordon::enforce::launch {

namespace {

/// Covered whatever their mode is. What others may not read is covered without being named here.
constexpr std::array<std::string_view, 24> kCovered = {
    "acpi",       "asound",        "dynamic_debug", "iomem",      "ioports",      "kallsyms",
    "kcore",      "key-users",     "keys",          "kmsg",       "kpagecgroup",  "kpagecount",
    "kpageflags", "latency_stats", "modules",       "mtrr",       "pagetypeinfo", "sched_debug",
    "scsi",       "slabinfo",      "sysrq-trigger", "timer_list", "vmallocinfo",  "timer_stats"};

enum class Treatment { kLeave, kReadOnly, kCoverDirectory, kCoverFile };

/// Links lead into processes ("self", "net"); processes are the target's own. Pid 1 is not: it is init, and where the
/// target is root its files would open for writing.
Sys<Treatment> treatment_of(FdView proc, const char* name, unsigned char type) {
  const bool process = *name >= '0' && *name <= '9';
  if (type == DT_LNK || (process && std::string_view(name) != "1")) return Treatment::kLeave;
  const bool covered = std::ranges::find(kCovered, name) != kCovered.end();
  if (type == DT_DIR) return covered ? Treatment::kCoverDirectory : Treatment::kReadOnly;
  if (covered) return Treatment::kCoverFile;
  CORDON_TRY(auto facts, kernel::statx(proc, name, AT_SYMLINK_NOFOLLOW));
  if ((facts.stx_mode & S_IROTH) == 0) return Treatment::kCoverFile;
  return (facts.stx_mode & 0222) != 0 ? Treatment::kReadOnly : Treatment::kLeave;
}

Sys<Fd> clone_for(const Tree& tree, FdView proc, const char* name, Treatment treatment) {
  if (treatment == Treatment::kReadOnly) {
    constexpr unsigned kClone = kernel::kOpenTreeClone | AT_SYMLINK_NOFOLLOW;
    return kernel::open_tree_attr(proc, name, kClone, {.attr_set = kernel::kMountAttrRdonly});
  }
  return kernel::open_tree(tree.blank, treatment == Treatment::kCoverDirectory ? "directory" : "file",
                           kernel::kOpenTreeClone);
}

/// By name: nobody but the kernel puts names at the top of proc, and a link in the last place is not followed.
Sys<void> harden_entry(const Tree& tree, FdView proc, const char* name, unsigned char type) {
  CORDON_TRY(const Treatment treatment, treatment_of(proc, name, type));
  if (treatment == Treatment::kLeave) return {};
  CORDON_TRY(const Fd mount, clone_for(tree, proc, name, treatment));
  return kernel::attach_at(mount, proc, name);
}

Sys<void> harden(const Tree& tree, FdView proc) {
  CORDON_TRY(const Fd listing, kernel::openat(proc, ".", O_RDONLY | O_DIRECTORY));
  alignas(dirent64) std::array<std::byte, 8192> buffer;
  while (true) {
    CORDON_TRY(const std::size_t size, kernel::getdents64(listing, buffer));
    if (size == 0) return {};
    for (std::size_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      if (entry->d_name[0] == '.') continue;
      CORDON_OK(harden_entry(tree, proc, entry->d_name, entry->d_type));
    }
  }
}

}  // namespace

/// It must be attached to be mounted on: over the host's proc, as what masks show (build_blank), and goes with that
/// where no step moves it.
Sys<Fd> make_proc(const Tree& tree) {
  CORDON_TRY(const Fd context, kernel::fsopen("proc"));
  CORDON_OK(kernel::fsconfig_create(context));
  constexpr auto kAttributes = kernel::kMountAttrNosuid | kernel::kMountAttrNodev | kernel::kMountAttrNoexec;
  CORDON_TRY(Fd proc, kernel::fsmount(context, kAttributes));
  CORDON_OK(kernel::attach_at(proc, kernel::kHere, "/proc"));
  CORDON_OK(harden(tree, proc));
  return proc;
}

Sys<void> mount_proc(Tree& tree, const char* path) {
  if (!tree.proc) return base::fail(tree.proc.error());
  return attach(tree, *tree.proc, path, Object::kDirectory);
}

}  // namespace cordon::enforce::launch
