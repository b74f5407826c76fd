#include "enforce/supervise/socket_owner.h"

#include <gtest/gtest.h>

namespace cordon::enforce::supervise {
namespace {

constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0\n"
    "   1: 010012C6:9C40 23B8D85D:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 22 1 0 20 4 30 10 -1\n"
    "   2: 010012C6:9C41 23B8D85D:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n";

TEST(SocketOwner, IsFoundByTheConnectedPort) { EXPECT_EQ(connected_socket(kTable, 40'000), 22U); }

TEST(SocketOwner, IsNobodyForAListenerForAClosedSocketAndForAnotherPort) {
  EXPECT_EQ(connected_socket(kTable, 8080), std::nullopt);
  EXPECT_EQ(connected_socket(kTable, 40'001), std::nullopt);
  EXPECT_EQ(connected_socket(kTable, 1), std::nullopt);
  EXPECT_EQ(connected_socket("", 40'000), std::nullopt);
  EXPECT_EQ(connected_socket("   1: :9C40 x 01\n", 40'000), std::nullopt);
}

}  // namespace
}  // namespace cordon::enforce::supervise
