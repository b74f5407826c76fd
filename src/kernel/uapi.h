// Kernel constants and structures of our own, each with the version that added it: the headers that we are built with
// may be older than the kernel that we run on.
#pragma once

#include <cstdint>

namespace cordon::kernel {

// clone(2), clone3(2)
inline constexpr std::uint64_t kCloneVm = 0x00000100;
inline constexpr std::uint64_t kClonePidfd = 0x00001000;  // 5.2
inline constexpr std::uint64_t kCloneVfork = 0x00004000;
inline constexpr std::uint64_t kCloneParent = 0x00008000;
inline constexpr std::uint64_t kCloneNewns = 0x00020000;
inline constexpr std::uint64_t kCloneNewcgroup = 0x02000000;  // 4.6
inline constexpr std::uint64_t kCloneNewuts = 0x04000000;
inline constexpr std::uint64_t kCloneNewipc = 0x08000000;
inline constexpr std::uint64_t kCloneNewuser = 0x10000000;
inline constexpr std::uint64_t kCloneNewpid = 0x20000000;
inline constexpr std::uint64_t kCloneNewnet = 0x40000000;

struct CloneArgs {  // clone3, 5.3; this much of it 5.7
  std::uint64_t flags = 0, pidfd = 0, child_tid = 0, parent_tid = 0, exit_signal = 0, stack = 0, stack_size = 0,
                tls = 0;
  std::uint64_t set_tid = 0, set_tid_size = 0, cgroup = 0;
};

// openat2(2), 5.6
struct OpenHow {
  std::uint64_t flags = 0, mode = 0, resolve = 0;
};
inline constexpr std::uint64_t kResolveNoXdev = 0x01;
inline constexpr std::uint64_t kResolveNoMagiclinks = 0x02;
inline constexpr std::uint64_t kResolveNoSymlinks = 0x04;
inline constexpr std::uint64_t kResolveBeneath = 0x08;
inline constexpr std::uint64_t kResolveInRoot = 0x10;

// open_tree(2), move_mount(2), fsopen(2), fsconfig(2), fsmount(2): 5.2; mount_setattr(2): 5.12
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kAtRecursive = 0x8000;
inline constexpr unsigned kMoveMountFromEmptyPath = 0x04;
inline constexpr unsigned kMoveMountToEmptyPath = 0x40;
inline constexpr unsigned kFsopenCloexec = 1;
inline constexpr unsigned kFsmountCloexec = 1;
inline constexpr unsigned kFsconfigSetFlag = 0;
inline constexpr unsigned kFsconfigSetString = 1;
inline constexpr unsigned kFsconfigCmdCreate = 6;
struct MountAttr {
  std::uint64_t attr_set = 0, attr_clr = 0, propagation = 0, userns_fd = 0;
};
inline constexpr std::uint64_t kMountAttrRdonly = 0x01;
inline constexpr std::uint64_t kMountAttrNosuid = 0x02;
inline constexpr std::uint64_t kMountAttrNodev = 0x04;
inline constexpr std::uint64_t kMountAttrNoexec = 0x08;
inline constexpr std::uint64_t kMountAttrNosymfollow = 0x200000;  // 5.14

// Landlock: 5.13. Each constant with the ABI that added it.
inline constexpr std::uint32_t kLandlockCreateRulesetVersion = 1U << 0;
inline constexpr std::uint32_t kLandlockCreateRulesetErrata = 1U << 1;  // 6.15, and stable
inline constexpr int kLandlockRulePathBeneath = 1;
inline constexpr std::uint64_t kLandlockBindTcp = 1ULL << 0;  // ABI 4, 6.7; of handled_access_net
inline constexpr std::uint64_t kLandlockExecute = 1ULL << 0;
inline constexpr std::uint64_t kLandlockWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kLandlockReadFile = 1ULL << 2;
inline constexpr std::uint64_t kLandlockReadDir = 1ULL << 3;
inline constexpr std::uint64_t kLandlockRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kLandlockRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kLandlockMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kLandlockMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kLandlockMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kLandlockMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kLandlockMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kLandlockMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kLandlockMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kLandlockRefer = 1ULL << 13;             // ABI 2, 5.19
inline constexpr std::uint64_t kLandlockTruncate = 1ULL << 14;          // ABI 3, 6.2
inline constexpr std::uint64_t kLandlockIoctlDev = 1ULL << 15;          // ABI 5, 6.10
inline constexpr std::uint64_t kLandlockScopeAbstractUnix = 1ULL << 0;  // ABI 6, 6.12
inline constexpr std::uint64_t kLandlockScopeSignal = 1ULL << 1;        // ABI 6, 6.12
struct LandlockRulesetAttr {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4, 6.7
  std::uint64_t scoped = 0;              // ABI 6, 6.12
};
struct [[gnu::packed]] LandlockPathBeneathAttr {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

// seccomp(2)
inline constexpr unsigned kSeccompSetModeFilter = 1;
inline constexpr unsigned kSeccompGetActionAvail = 2;                // 4.14
inline constexpr unsigned kSeccompGetNotifSizes = 3;                 // 5.0
inline constexpr unsigned kSeccompFilterNewListener = 1U << 3;       // 5.0
inline constexpr unsigned kSeccompFilterWaitKillableRecv = 1U << 5;  // 5.19
inline constexpr std::uint32_t kSeccompRetUserNotif = 0x7fc00000;    // 5.0
inline constexpr std::uint32_t kSeccompUserNotifContinue = 1;        // 5.5
inline constexpr std::uint64_t kSeccompUserNotifSyncWakeUp = 1;      // 6.6

// pidfd: pidfd_send_signal 5.1, pidfd_open 5.3, pidfd_getfd 5.6
inline constexpr unsigned kPidfdThread = 0200;  // 6.9 (O_EXCL)

// memfd_create(2)
inline constexpr unsigned kMfdCloexec = 1;
inline constexpr unsigned kMfdAllowSealing = 2;
inline constexpr unsigned kMfdNoexecSeal = 8;  // 6.3
inline constexpr unsigned kMfdExec = 16;       // 6.3

// close_range(2): 5.9; CLOEXEC 5.11
inline constexpr unsigned kCloseRangeCloexec = 4;

// prctl(2)
inline constexpr int kPrCapAmbient = 47;
inline constexpr unsigned long kPrCapAmbientClearAll = 4;

inline constexpr std::uint64_t kProcSuperMagic = 0x9fa0;
inline constexpr std::uint64_t kTmpfsMagic = 0x01021994;

}  // namespace cordon::kernel
