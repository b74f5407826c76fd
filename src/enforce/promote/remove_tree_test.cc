#include "enforce/promote/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "enforce/promote/beneath.h"
#include "enforce/promote/desk_test.h"
#include "kernel/process.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;

class RemoveTree : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, RemoveTree, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

Fd open_directory_at(const std::string& path) {
  auto opened = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_TRUE(opened) << path;
  return opened ? std::move(*opened) : Fd();
}

TEST_P(RemoveTree, RemovesAChainWhosePathNoSystemCallTakes) {
  as(GetParam(), [] {
    Desk desk;
    const Fd top = open_directory_at(desk.at("scratch"));
    testing::make_chain(top, "chain", 3'000);  // some 105 kB
    const auto removed = remove_tree(top, "chain");
    ASSERT_TRUE(removed) << base::to_string(removed.error());
    EXPECT_EQ(desk.listing("scratch"), "");
  });
}

TEST_P(RemoveTree, RemovesWhatNobodyMayEnterAndFollowsNoLink) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/outside/file");
    desk.file("scratch/t/a/b/file", "x", 0);
    desk.link("scratch/t/a/link", desk.at("ws/outside"));
    desk.link("scratch/t/link", desk.at("ws/outside"));
    ASSERT_EQ(::mkfifo(desk.at("scratch/t/a/fifo").c_str(), 0644), 0);
    desk.directory("scratch/t/a/.0");
    desk.file("scratch/t/.1");
    desk.file("scratch/t/.2/x");
    desk.directory("scratch/t/a/b", 0);
    desk.directory("scratch/t/a", 0500);
    desk.directory("scratch/t", 0);
    const Fd scratch = open_directory_at(desk.at("scratch"));
    const auto removed = remove_tree(scratch, "t");
    ASSERT_TRUE(removed) << base::to_string(removed.error());
    EXPECT_EQ(desk.listing("scratch"), "");
    EXPECT_TRUE(desk.exists("ws/outside/file"));
  });
}

TEST_P(RemoveTree, RemovesALinkAndNotWhatItPointsTo) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/outside/file");
    desk.link("scratch/link", desk.at("ws/outside"));
    const Fd scratch = open_directory_at(desk.at("scratch"));
    EXPECT_TRUE(remove_tree(scratch, "link"));
    EXPECT_TRUE(remove_tree(scratch, "nothing-there"));
    EXPECT_TRUE(desk.exists("ws/outside/file"));
    EXPECT_EQ(desk.listing("scratch"), "");
  });
}

TEST_P(RemoveTree, StopsAtItsBoundAndGoesOnNextTime) {
  as(GetParam(), [] {
    Desk desk;
    for (int i = 0; i < 30; ++i) desk.file("scratch/t/d" + std::to_string(i % 3) + "/f" + std::to_string(i));
    const Fd scratch = open_directory_at(desk.at("scratch"));
    const auto bounded = remove_tree(scratch, "t", 10);
    ASSERT_FALSE(bounded);
    EXPECT_EQ(bounded.error().code, EFBIG);
    EXPECT_TRUE(desk.exists("scratch/t"));
    EXPECT_TRUE(remove_tree(scratch, "t"));
    EXPECT_FALSE(desk.exists("scratch/t"));
  });
}

TEST_P(RemoveTree, RemovesAHundredThousandEntriesWithAHandfulOfDescriptors) {
  as(GetParam(), [] {
    char name[] = "/dev/shm/cordon-promote-XXXXXX";
    const std::string place = mkdtemp(name);
    const Fd scratch = open_directory_at(place);
    ASSERT_TRUE(kernel::mkdirat(scratch, "t", 0755));
    for (int d = 0; d < 100; ++d) {
      const std::string path = "t/d" + std::to_string(d);
      ASSERT_TRUE(kernel::mkdirat(scratch, path.c_str(), 0755));
      const Fd directory = std::move(*open_directory(scratch, path));
      for (int f = 0; f < 1'000; ++f) ASSERT_TRUE(kernel::make_file(directory, std::to_string(f).c_str(), 0644));
    }
    ASSERT_TRUE(kernel::setrlimit(RLIMIT_NOFILE, {.rlim_cur = 16, .rlim_max = 16}));
    const auto removed = remove_tree(scratch, "t");
    ASSERT_TRUE(removed) << base::to_string(removed.error());
    EXPECT_GE(removed->entries, 100'101U);
    EXPECT_EQ(::rmdir(place.c_str()), 0);  // nothing is left in it
  });
}

}  // namespace
}  // namespace cordon::enforce::promote
