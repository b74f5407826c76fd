// Landlock's rights (linux/landlock.h), each with the ABI that added it, and what both engines make of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cordon::planner {

inline constexpr std::uint64_t kExecute = 1ULL << 0;
inline constexpr std::uint64_t kWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kReadFile = 1ULL << 2;
inline constexpr std::uint64_t kReadDir = 1ULL << 3;
inline constexpr std::uint64_t kRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kRefer = 1ULL << 13;     // ABI 2
inline constexpr std::uint64_t kTruncate = 1ULL << 14;  // ABI 3
inline constexpr std::uint64_t kIoctlDev = 1ULL << 15;  // ABI 5
inline constexpr std::uint64_t kScopes = 0b11;          // ABI 6: abstract unix sockets, signals

// Device nodes are handled and granted nowhere: the target cannot make one.
inline constexpr std::uint64_t kChange =
    kRemoveDir | kRemoveFile | kMakeDir | kMakeReg | kMakeSock | kMakeFifo | kMakeSym | kRefer;
inline constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;

/// Rules for siblings: each costs some microseconds at every start.
inline constexpr std::size_t kMostSiblings = 1'024;

inline constexpr int kScopingAbi = 6;
inline constexpr int kLeastAbi = 2;  // ABI 1 refuses every rename and link from one directory to another

}  // namespace cordon::planner
