// Why a feature is not there, and the exact mend. A pure function of the failure and of what the host's settings say,
// so that hosts which no test machine is (Ubuntu's AppArmor, Debian's sysctl, a stock container) can be tested.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/host_facts.h"

namespace cordon::host {

/// The settings that refuse namespaces, mounts and filters. Texts are the files' first lines; "" where there is none.
struct HostClues {
  std::string kernel_release;
  std::string lsm;                                                                  ///< /sys/kernel/security/lsm
  std::string unprivileged_userns_clone;                                            ///< Debian's sysctl
  std::string apparmor_restrict_userns;                                             ///< Ubuntu's, 23.10 and later
  std::string memfd_noexec;                                                         ///< vm.memfd_noexec
  std::string max_user, max_mount, max_pid, max_net, max_ipc, max_uts, max_cgroup;  ///< user.max_*_namespaces
  bool seccomp_filtered = false;  ///< this process runs behind somebody's filter
  bool chrooted = false;
  bool proc_masked = false;       ///< something is mounted below /proc
  bool privileged = false;        ///< the caller is root
  bool dumpable = true;           ///< PR_GET_DUMPABLE: false after this process changed its ids without an exec
  bool launcher_profile = false;  ///< AppArmor has a profile of Cordon's launcher, found by its path
};
HostClues read_clues(std::uint32_t uid);

struct Failure {
  plan::Feature feature = plan::Feature::kCount;
  int code = 0;
  std::string operation;
};

/// The whole fact: kNo with cause and mend. kUnknown where only the launcher can tell: AppArmor judges it by its path,
/// and a probe made by another program says nothing of it.
plan::FeatureFact explain(const Failure& failure, const HostClues& clues);

}  // namespace cordon::host
