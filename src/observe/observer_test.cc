// The observer against this kernel: children that make each call, badly behaved ones among them.
#include "observe/observer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "observe/watched_test.h"

namespace cordon::observe {
namespace {

using namespace testing;  // NOLINT: of this room
using plan::CallForm;
using plan::PathCall;

/// A directory that goes with the test.
class Observing : public ::testing::Test {
 protected:
  Observing() {
    std::string name = "/tmp/observe-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
  }
  ~Observing() override {
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }
  std::string home_;
};

struct OpenHow {
  std::uint64_t flags = 0, mode = 0, resolve = 0;
};

/// Makes the call with each path that it can name; none of them is there.
void make(const plan::WatchedCall& watched) {
  const PathCall& row = plan::kPathCalls.at(watched.row);
  static sockaddr_un address{};
  static const OpenHow how{};
  std::array<std::uint64_t, 6> arguments{};
  const auto put = [&](const plan::PathArgument& one, const char* path) {
    if (one.path < 0) return;
    arguments.at(static_cast<std::size_t>(one.path)) = reinterpret_cast<std::uint64_t>(path);
    if (one.directory >= 0)
      arguments.at(static_cast<std::size_t>(one.directory)) = static_cast<std::uint64_t>(AT_FDCWD);
  };
  put(row.first, "not/./there//first");
  put(row.second, "not/there/../there/second");
  if (row.form == CallForm::kHow) {
    arguments[2] = reinterpret_cast<std::uint64_t>(&how);
    arguments[3] = sizeof how;
  }
  static mmsghdr message{};
  const bool has_message = row.form == CallForm::kMessage || row.form == CallForm::kMessages;
  if (row.form == CallForm::kSocket || row.form == CallForm::kSend || has_message) {
    const int kind = row.form == CallForm::kSocket ? SOCK_STREAM : SOCK_DGRAM;
    arguments[0] = static_cast<std::uint64_t>(::socket(AF_UNIX, kind | SOCK_CLOEXEC, 0));
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, "not/there/first");
    message.msg_hdr.msg_name = &address;
    message.msg_hdr.msg_namelen = sizeof address;
    const auto at = static_cast<std::size_t>(row.first.path);
    arguments.at(at) =
        has_message ? reinterpret_cast<std::uint64_t>(&message) : reinterpret_cast<std::uint64_t>(&address);
    arguments.at(at + 1) = row.form == CallForm::kMessages ? 1 : (has_message ? 0 : sizeof address);
  }
  ::syscall(static_cast<long>(watched.number), arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
            arguments[5]);
}

TEST_F(Observing, EveryCallOfTheTableIsSeenWithItsPaths) {
  int seen = 0;
  for (const plan::WatchedCall& watched : native_calls(plan::Watching::kPaths)) {
    const PathCall& row = plan::kPathCalls.at(watched.row);
    if (row.first.path < 0) continue;
    const auto got = watch([&] {
      if (::chdir(home_.c_str()) == 0) make(watched);
    });
    const auto* first = find(got, home_ + "/not/there/first");
    ASSERT_NE(first, nullptr) << row.name;
    const bool opens = row.form == CallForm::kOpen || row.form == CallForm::kHow;
    EXPECT_EQ(first->acts, opens ? std::uint32_t{plan::kActRead} : row.first.acts) << row.name;
    EXPECT_EQ(first->calls, std::vector<std::string>{row.name});
    EXPECT_EQ(first->count, 1U) << row.name;
    EXPECT_EQ(first->programs.size(), 1U);
    const auto* second = find(got, home_ + "/not/there/../there/second");
    EXPECT_EQ(second != nullptr, row.second.path >= 0) << row.name;
    if (second != nullptr) {
      EXPECT_EQ(second->acts, row.second.acts) << row.name;
    }
    EXPECT_EQ(got.lost, 0U) << row.name;
    EXPECT_TRUE(got.complete);
    ++seen;
  }
  EXPECT_GE(seen, 40);
}

/// The links of /proc that are held must tell of now: nothing says when a descriptor is closed or made another's.
TEST_F(Observing, ADescriptorThatBecomesAnotherDirectoryIsFollowed) {
  std::filesystem::create_directories(home_ + "/one");
  std::filesystem::create_directories(home_ + "/two");
  const auto got = watch([&] {
    struct stat facts{};
    const int one = ::open((home_ + "/one").c_str(), O_PATH | O_DIRECTORY);
    const int two = ::open((home_ + "/two").c_str(), O_PATH | O_DIRECTORY);
    ::fstatat(one, "first", &facts, 0);
    ::dup2(two, one);
    ::fstatat(one, "second", &facts, 0);
    ::close(one);
    ::fstatat(one, "nowhere", &facts, 0);
    if (::fchdir(two) == 0) ::stat("third", &facts);
    if (::chdir("../one") == 0) ::stat("fourth", &facts);
  });
  for (const char* path : {"/one/first", "/two/second", "/two/third", "/one/fourth"})
    EXPECT_NE(find(got, home_ + path), nullptr) << path;
  for (const char* path : {"/one/second", "/two/fourth", "/one/nowhere", "/two/nowhere"})
    EXPECT_EQ(find(got, home_ + path), nullptr) << path;
  EXPECT_EQ(lost(got, "directory-gone"), 1U);
}

/// The link is gone when the run ends, and with it what the calls through it named.
TEST_F(Observing, WhereALinkOfTheRunsOwnMakingLeadsIsSeen) {
  const auto got = watch([&] {
    if (::chdir(home_.c_str()) != 0 || ::symlink("/some/where", "l") != 0 || ::rename("l", "m") != 0) return;
    static_cast<void>(::open("m/file", O_RDONLY | O_CLOEXEC));
    struct stat into{};
    static_cast<void>(::lstat("m", &into));
    static_cast<void>(::unlink("m"));
    static_cast<void>(::open("m/later", O_RDONLY | O_CLOEXEC));
  });
  const auto* led = find(got, "/some/where/file");
  ASSERT_NE(led, nullptr);
  EXPECT_EQ(led->acts, std::uint32_t{plan::kActRead});
  EXPECT_EQ(find(got, "/some/where"), nullptr) << "the control: who names the link goes nowhere";
  EXPECT_EQ(find(got, "/some/where/later"), nullptr) << "the control: it is gone";
}

TEST_F(Observing, ADescriptorNamesNothing) {
  const auto got = watch([] {
    struct stat facts{};
    ::fstat(0, &facts);
    ::syscall(SYS_newfstatat, 0, "", &facts, AT_EMPTY_PATH);
    ::syscall(SYS_utimensat, 0, nullptr, nullptr, 0);
    ::fchmod(-1, 0);  // not 0: that is somebody's file
    struct statfs whole{};
    ::fstatfs(0, &whole);
  });
  EXPECT_TRUE(got.paths.empty());
  EXPECT_EQ(got.lost, 0U);
}

TEST_F(Observing, RelativePathsStartFromTheDescriptorOrTheWorkingDirectory) {
  std::filesystem::create_directory(home_ + "/a");
  const auto got = watch([&] {
    const int directory = ::open((home_ + "/a").c_str(), O_RDONLY | O_DIRECTORY);
    ::faccessat(directory, "../b/c", F_OK, 0);
    if (::fchdir(directory) == 0) ::access("d", F_OK);
    ::access("/../e", F_OK);
  });
  EXPECT_EQ(find(got, home_ + "/a")->acts, plan::kActEnumerate);
  EXPECT_NE(find(got, home_ + "/b/c"), nullptr);
  EXPECT_NE(find(got, home_ + "/a/d"), nullptr);
  EXPECT_NE(find(got, "/e"), nullptr);
  EXPECT_EQ(got.paths.size(), 4U);
}

TEST_F(Observing, ADeletedDirectoryAFileAndNoDescriptorAreLosses) {
  const auto got = watch([&] {
    const std::string gone = home_ + "/gone";
    if (::mkdir(gone.c_str(), 0700) != 0 || ::chdir(gone.c_str()) != 0 || ::rmdir(gone.c_str()) != 0) return;
    ::access("x", F_OK);
    const int file = ::open("/dev/null", O_RDONLY);
    ::faccessat(file, "y", F_OK, 0);
    ::faccessat(4711, "z", F_OK, 0);
  });
  EXPECT_EQ(lost(got, "directory-gone"), 3U);
  EXPECT_FALSE(got.complete);
}

TEST_F(Observing, MemoryThatIsNotThereAndPathsWithoutAnEndAreLosses) {
  const auto got = watch([] {
    const std::string endless(65'536, 'x');
    ::access(endless.c_str(), F_OK);
    ::access(reinterpret_cast<const char*>(std::uintptr_t{8}), F_OK);
    // A path that ends with the last byte that is there is whole.
    auto* pages = static_cast<char*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::munmap(pages + 4096, 4096);
    std::strcpy(pages + 4096 - 7, "/there");
    ::access(pages + 4096 - 7, F_OK);
    pages[4095] = 'x';
    ::access(pages + 4096 - 7, F_OK);
  });
  EXPECT_EQ(lost(got, "too-long"), 1U);
  EXPECT_EQ(lost(got, "unreadable"), 2U);
  EXPECT_EQ(got.lost, 3U);
  EXPECT_NE(find(got, "/there"), nullptr);
}

TEST_F(Observing, LongPathsAndStrangeBytesAreKeptAsTheyAre) {
  std::string longest = "/";
  while (longest.size() < 4000) longest += std::string(99, 'n') + "/";
  longest += "end";
  const std::string strange = "/\xff\xfe\n\x1b[31m \xe2\x80\xae";
  const auto got = watch([&] {
    ::access(longest.c_str(), F_OK);
    ::access(strange.c_str(), F_OK);
    ::access("/proc/self/fd/3", F_OK);
  });
  EXPECT_NE(find(got, longest), nullptr);
  EXPECT_NE(find(got, strange), nullptr);
  EXPECT_NE(find(got, "/proc/self/fd/3"), nullptr);
  EXPECT_EQ(got.lost, 0U);
}

TEST_F(Observing, WritingIsToldFromReadingByTheFlags) {
  const auto got = watch([&] {
    const auto open = [&](const char* name, int flags) { ::open((home_ + name).c_str(), flags, 0600); };
    open("/read", O_RDONLY);
    open("/write", O_WRONLY);
    open("/both", O_RDWR);
    open("/made", O_RDONLY | O_CREAT);
    open("/appended", O_RDONLY | O_APPEND);
    open("/looked-at", O_PATH);
    open("/again", O_RDONLY);
    open("/again", O_WRONLY);
  });
  const auto acts = [&](const char* name) { return find(got, home_ + name)->acts; };
  EXPECT_EQ(acts("/read"), plan::kActRead);
  EXPECT_EQ(acts("/write"), plan::kActWrite);
  EXPECT_EQ(acts("/both"), plan::kActRead | plan::kActWrite);
  EXPECT_EQ(acts("/made"), plan::kActWrite);
  EXPECT_EQ(acts("/appended"), plan::kActWrite);
  EXPECT_EQ(acts("/looked-at"), plan::kActProbe);
  EXPECT_EQ(acts("/again"), plan::kActRead | plan::kActWrite);
  EXPECT_EQ(find(got, home_ + "/again")->count, 2U);
}

TEST_F(Observing, SocketsOfOtherKindsNameNoPath) {
  const auto got = watch([] {
    sockaddr_un abstract{};
    abstract.sun_family = AF_UNIX;
    std::strcpy(abstract.sun_path + 1, "abstract");
    const int unix_socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const auto* address = reinterpret_cast<const sockaddr*>(&abstract);
    ::connect(unix_socket, address, sizeof abstract);
    ::connect(unix_socket, address, 2);
    ::connect(unix_socket, address, 0xffffffff);
    abstract.sun_family = AF_INET;
    ::connect(::socket(AF_INET, SOCK_STREAM, 0), address, 16);
  });
  EXPECT_TRUE(got.paths.empty());
  EXPECT_EQ(got.lost, 0U);
}

void run_shell(const char* script) {
  ::execl("/bin/sh", "sh", "-c", script, nullptr);
  ::_exit(98);
}

std::string real(const char* path) { return std::filesystem::canonical(path); }

const plan::ExecutedProgram* executed(const plan::Observations& in, const std::vector<std::string>& argv) {
  for (const plan::ExecutedProgram& one : in.programs) {
    if (one.argv == argv) return &one;
  }
  return nullptr;
}

TEST_F(Observing, EveryProgramThatWasExecutedIsToldByTheKernelsWord) {
  for (const plan::Watching watching : {plan::Watching::kPrograms, plan::Watching::kPaths}) {
    const auto got =
        watch([] { run_shell("/bin/true; /bin/true; (/bin/echo a b & wait) > /dev/null; exec env true"); }, watching);
    const auto* twice = executed(got, {"/bin/true"});
    ASSERT_NE(twice, nullptr);
    EXPECT_EQ(twice->count, 2U);
    EXPECT_EQ(twice->path, real("/bin/true"));
    ASSERT_EQ(twice->loaded.size(), 1U) << "its loader";
    EXPECT_TRUE(twice->loaded.front().contains("ld-linux")) << twice->loaded.front();
    ASSERT_NE(executed(got, {"/bin/echo", "a", "b"}), nullptr);
    ASSERT_NE(executed(got, {"env", "true"}), nullptr);
    ASSERT_NE(executed(got, {"true"}), nullptr) << "found in PATH, after names that were not there";
    EXPECT_EQ(got.programs.size(), 5U);
    EXPECT_TRUE(got.complete);
    EXPECT_EQ(got.paths.empty(), watching == plan::Watching::kPrograms);
  }
}

TEST_F(Observing, AScriptIsToldWithItsInterpreters) {
  const std::string script = home_ + "/script";
  std::ofstream(script) << "#!/bin/sh\nexit 0\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto got = watch([&] { ::execl(script.c_str(), "whatever", "one", nullptr); });
  ASSERT_EQ(got.programs.size(), 1U);
  EXPECT_EQ(got.programs[0].path, real("/bin/sh"));
  EXPECT_EQ(got.programs[0].argv, (std::vector<std::string>{"/bin/sh", script, "one"}));
  ASSERT_EQ(got.programs[0].loaded.size(), 3U);
  EXPECT_EQ(got.programs[0].loaded[0], script);
  EXPECT_EQ(got.programs[0].loaded[1], "/bin/sh");
  EXPECT_NE(find(got, script)->acts & plan::kActExecute, 0U);
}

TEST_F(Observing, AnExecveThatWasRefusedIsNoProgram) {
  const auto got = watch([&] {
    ::execl("/not/there", "x", nullptr);
    ::execl(home_.c_str(), "x", nullptr);
  });
  EXPECT_TRUE(got.programs.empty());
  EXPECT_NE(find(got, "/not/there"), nullptr);
  EXPECT_TRUE(got.complete);
}

TEST_F(Observing, AProgramThatAThreadExecutesIsTheProcess) {
  const auto got = watch([] { std::thread([] { ::execl("/bin/true", "true", "by", "thread", nullptr); }).join(); },
                         plan::Watching::kPrograms);
  EXPECT_NE(executed(got, {"true", "by", "thread"}), nullptr);
  EXPECT_TRUE(got.complete);
}

TEST_F(Observing, AProgramThatIsKilledAtOnceWasExecutedAllTheSame) {
  const auto got = watch([] { run_shell("kill -9 $$"); }, plan::Watching::kPrograms);
  EXPECT_EQ(got.programs.size(), 1U);
  EXPECT_TRUE(got.complete);
}

TEST_F(Observing, WhoCallsIsTheProgramThatRunsThen) {
  const auto got = watch([] { run_shell("test -e /asked/by/sh; env test -e /asked/by/test"); });
  ASSERT_NE(find(got, "/asked/by/sh"), nullptr);
  EXPECT_EQ(find(got, "/asked/by/sh")->programs, std::vector<std::string>{real("/bin/sh")});
  EXPECT_EQ(find(got, "/asked/by/test")->programs, std::vector<std::string>{real("/usr/bin/test")});
}

TEST_F(Observing, NothingIsLostOfManyThreadsAndProcesses) {
  constexpr int kThreads = 50, kProcesses = 50, kEach = 40;
  const auto got = watch([] {
    const auto ask = [](char kind, int number) {
      for (int i = 0; i < kEach; ++i) ::access(fmt::format("/{}/{}/{}", kind, number, i).c_str(), F_OK);
    };
    for (int i = 0; i < kProcesses; ++i) {
      if (::fork() != 0) continue;
      if (i % 2 == 0 && ::fork() != 0) ::_exit(0);  // the rest is nobody's child
      ::setsid();
      ask('p', i);
      ::_exit(0);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(ask, 't', i);
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(got.paths.size(), std::size_t{(kThreads + kProcesses) * kEach});
  EXPECT_EQ(got.lost, 0U);
}

TEST_F(Observing, ATargetThatChangesItsArgumentsMeanwhileDoesNotConfuseUs) {
  const auto got = watch([] {
    static std::array<char, 32> path{"/race/aaaa"};
    static std::atomic<bool> stop = false;
    std::thread racer([] {
      while (!stop) {
        path[6] = path[6] == 'a' ? 'b' : 'a';
        path[10] = path[10] == '\0' ? 'x' : '\0';
      }
    });
    for (int i = 0; i < 2'000; ++i) ::access(path.data(), F_OK);
    stop = true;
    racer.join();
  });
  std::uint64_t count = 0;
  for (const auto& path : got.paths) count += path.path.starts_with("/race/") ? path.count : 0;
  EXPECT_EQ(count, 2'000U) << "each call once, with one of the names that it had";
}

TEST_F(Observing, ACallerThatIsKilledWhileItWaitsHoldsNobodyUp) {
  const auto got = watch([] {
    for (int i = 0; i < 40; ++i) {
      const pid_t victim = ::fork();
      if (victim == 0) {
        while (true) ::access("/victim", F_OK);
      }
      ::usleep(500);
      ::kill(victim, SIGKILL);
      ::waitpid(victim, nullptr, 0);
    }
    ::access("/after", F_OK);
  });
  EXPECT_NE(find(got, "/victim"), nullptr);
  EXPECT_NE(find(got, "/after"), nullptr);
  EXPECT_EQ(got.lost, 0U);
}

TEST_F(Observing, WhatIsStillRunningIsToldBeforeItIsKilled) {
  const auto got = watch([] { ::execl("/bin/sleep", "sleep", "1000", nullptr); }, plan::Watching::kPrograms,
                         [](Observer& observer, pid_t child) {
                           observer.look_at_all();
                           ::kill(child, SIGKILL);
                         });
  EXPECT_NE(executed(got, {"sleep", "1000"}), nullptr);
}

}  // namespace
}  // namespace cordon::observe
