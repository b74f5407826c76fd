#include <gtest/gtest.h>

#include <cstring>

#include "kernel/event.h"
#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/process.h"
#include "kernel/security.h"
#include "kernel/socket.h"
#include "kernel/terminal.h"

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

TEST(Kernel, WaitsForManyDescriptorsAtOnce) {
  auto epoll = epoll_create();
  auto event = eventfd();
  ASSERT_TRUE(epoll && event);
  ASSERT_TRUE(epoll_add(*epoll, *event, EPOLLIN, 42));
  std::array<epoll_event, 4> into{};
  EXPECT_EQ(epoll_wait(*epoll, into, 0).value(), 0U);
  ASSERT_TRUE(eventfd_raise(*event));
  ASSERT_EQ(epoll_wait(*epoll, into, 0).value(), 1U);
  EXPECT_EQ(into[0].data.u64, 42U);
}

TEST(Kernel, ReadsMemoryUpToTheFirstPartThatIsNotThere) {
  const long page = sysconf(_SC_PAGESIZE);
  const auto size = static_cast<std::size_t>(page);
  void* two = mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  auto* bytes = static_cast<char*>(two);
  std::memcpy(bytes + size - 4, "/bin", 4);
  ASSERT_EQ(munmap(bytes + size, size), 0);
  const std::array<iovec, 2> parts{iovec{bytes + size - 4, 4}, iovec{bytes + size, size}};
  std::array<std::byte, 64> into{};
  EXPECT_EQ(read_memory(getpid(), parts, into).value(), 4U);
  munmap(two, size);
}

}  // namespace
}  // namespace cordon::kernel
