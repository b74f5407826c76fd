#include "cli/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;

class Records : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cordon-records-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = fs::path(name);
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::string state() const { return (root_ / "state" / "cordon").string(); }
  [[nodiscard]] fs::path runs() const { return fs::path(state()) / "runs"; }
  [[nodiscard]] bool write(const std::string& id) const {
    const auto records = open_records(state(), {}, caller_, Missing::kMake);
    return records && write_record(*records, id, "{}\n").has_value();
  }
  [[nodiscard]] long count() const { return std::distance(fs::directory_iterator(runs()), fs::directory_iterator()); }

  fs::path root_;
  policy::approval::Caller caller_{::geteuid(), ::getegid()};
};

mode_t mode_of(const fs::path& path) {
  struct stat facts{};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return facts.st_mode & 07777U;
}

TEST_F(Records, ArePrivate) {
  const mode_t before = ::umask(0);
  EXPECT_TRUE(write("a"));
  ::umask(before);
  EXPECT_EQ(mode_of(runs()), 0700U);
  EXPECT_EQ(mode_of(runs() / "a.json"), 0600U);
}

TEST_F(Records, OnlyTheNewestAreKept) {
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(write(std::to_string(1000 + i)));
  EXPECT_EQ(count(), static_cast<long>(kMostRecords));
  EXPECT_FALSE(fs::exists(runs() / "1009.json"));
  EXPECT_TRUE(fs::exists(runs() / "1010.json"));
  EXPECT_TRUE(fs::exists(runs() / "1059.json"));
}

TEST_F(Records, WhatIsNoRecordIsNeverRemoved) {
  EXPECT_TRUE(write("0"));
  std::ofstream(runs() / "0-note.txt") << "mine";
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(write(std::to_string(1000 + i)));
  EXPECT_TRUE(fs::exists(runs() / "0-note.txt"));
}

TEST_F(Records, ADirectoryThatOthersCanWriteIsNotUsed) {
  fs::create_directories(runs());
  ASSERT_EQ(::chmod(runs().c_str(), 0777), 0);
  EXPECT_FALSE(write("a"));
  EXPECT_EQ(count(), 0);
}

TEST_F(Records, ALinkInTheRecordsPlaceIsNotFollowed) {
  fs::create_directories(runs());
  ASSERT_EQ(::chmod(runs().c_str(), 0700), 0);
  std::ofstream(root_ / "victim") << "precious";
  fs::create_symlink(root_ / "victim", runs() / "a.json");
  EXPECT_FALSE(write("a"));
  std::ifstream in(root_ / "victim");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "precious");
}

TEST_F(Records, AreMadeOnlyWhereThatIsAskedFor) {
  EXPECT_FALSE(open_records(state(), {}, caller_, Missing::kLeave).has_value());
  EXPECT_FALSE(fs::exists(state()));
  EXPECT_TRUE(write("a"));
  EXPECT_TRUE(open_records(state(), {}, caller_, Missing::kLeave).has_value());
}

TEST_F(Records, WithoutAHomeThereIsAReasonAndNoRecord) {
  EXPECT_FALSE(open_records("", {}, caller_, Missing::kMake).has_value());
}

TEST(RunId, SortsByTimeAndIsUnique) {
  const std::string first = new_run_id(), second = new_run_id();
  EXPECT_LT(first.substr(0, 25), second.substr(0, 25));
  EXPECT_NE(first, second);
}

TEST(Now, IsRfc3339InUtc) { EXPECT_THAT(now_rfc3339(), testing::MatchesRegex("[0-9-]+T[0-9:]+Z")); }

}  // namespace
}  // namespace cordon::cli
