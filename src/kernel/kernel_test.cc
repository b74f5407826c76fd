#include <gtest/gtest.h>

#include <cstring>

#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/socket.h"

namespace cordon::kernel {
namespace {

TEST(Kernel, NamesTheCallAndTheErrno) {
  const auto missing = openat(kHere, "/nonexistent-cordon", O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_STREQ(missing.error().call, "openat");
}

TEST(Kernel, OpensWithoutFollowingLinks) {
  const auto through = openat2(kHere, "/proc/self/exe", {.flags = O_RDONLY, .resolve = kResolveNoSymlinks});
  ASSERT_FALSE(through);
  EXPECT_EQ(through.error().code, ELOOP);
}

TEST(Kernel, HandsADescriptorOverASocket) {
  auto pair = socketpair(SOCK_SEQPACKET);
  ASSERT_TRUE(pair);
  auto memory = memfd_create("handed", 0);
  ASSERT_TRUE(memory);
  const std::byte one[1] = {std::byte{7}};
  ASSERT_TRUE(send_message(pair->ours, one, *memory));
  std::byte into[8];
  auto got = receive_message(pair->theirs, into, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, 1U);
  ASSERT_TRUE(got->fd.valid());
  EXPECT_NE(fcntl(got->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace cordon::kernel
