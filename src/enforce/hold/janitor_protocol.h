// Where the janitor finds its descriptors, and the two words that it is told.
#pragma once

#include <cstddef>

namespace cordon::enforce::hold {

inline constexpr int kRegistryFd = 3;
inline constexpr int kJournalFd = 4;
inline constexpr int kSupervisorFd = 5;  ///< SOCK_SEQPACKET; its end without kDone is the supervisor's death

inline constexpr std::byte kInitIsBorn{1};  ///< comes with init's pidfd
inline constexpr std::byte kDone{2};        ///< the supervisor has cleaned up

}  // namespace cordon::enforce::hold
