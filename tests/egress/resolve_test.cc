// cordon-resolve as a program: in a view of its own, with a hosts file and a DNS server of the test's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "egress/lookup_wire.h"
#include "egress/sandbox.h"
#include "kernel/net.h"
#include "kernel/process.h"
#include "support/require.h"

namespace cordon::test {
namespace {

using base::Fd;
using egress::LookupAnswer;
using egress::LookupFamily;
using egress::LookupQuestion;
using egress::LookupStatus;
using policy::network::HostName;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Answers A with 192.0.2.7 for names below "served.example", nothing to "silent.example", NXDOMAIN to the rest.
class NameServer {
 public:
  NameServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    kernel::SocketAddress at = kernel::to_socket_address({AF_INET, {127, 0, 0, 53}, 53});
    require(::bind(socket_.get(), at.get(), at.size) == 0, "bind the name server");
    const timeval often{0, 50'000};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &often, sizeof often);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) answer_one();
    });
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void answer_one() {
    std::array<char, 512> in{};
    kernel::SocketAddress from;
    const ssize_t n = ::recvfrom(socket_.get(), in.data(), in.size(), 0, from.get(), &from.size);
    if (n < 17) return;
    std::string name;
    std::size_t at = 12;
    while (in[at] != 0) {
      name += (name.empty() ? "" : ".") + std::string(&in[at + 1], static_cast<std::size_t>(in[at]));
      at += 1 + static_cast<std::size_t>(in[at]);
    }
    const bool wants_a = in[at + 2] == 1;
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(name);
    }
    if (name == "silent.example") return;
    const bool known = name.ends_with("served.example");
    std::string out(in.data(), at + 5);
    out[2] = static_cast<char>(0x81);
    out[3] = static_cast<char>(known ? 0x80 : 0x83);
    out[7] = static_cast<char>(known && wants_a ? 1 : 0);
    out[11] = 0;
    if (known && wants_a) out += std::string("\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x07", 16);
    ::sendto(socket_.get(), out.data(), out.size(), 0, from.get(), from.size);
  }
  Fd socket_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::jthread thread_;
};

class Resolver : public testing::Test {
 protected:
  Resolver() {
    std::string path = "/tmp/cordon-resolve-XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "mkdtemp");
    directory_ = path;
    std::ofstream(directory_ + "/hosts")
        << "127.0.0.1 localhost\n10.9.9.9 inhosts.example\n2001:db8::9 inhosts.example\n";
    std::ofstream(directory_ + "/resolv.conf") << "nameserver 127.0.0.53\nsearch corp.served.example\n";
    std::ofstream(directory_ + "/nsswitch.conf") << "hosts: files dns\n";
    start();
  }
  ~Resolver() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    std::filesystem::remove_all(directory_);
  }
  void start() {
    std::array<int, 2> pair{};
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0, "socketpair");
    socket_ = Fd(pair[0]);
    const timeval patience{20, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    child_ = ::fork();
    if (child_ == 0) {
      require(::unshare(CLONE_NEWNS) == 0, "unshare");
      require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
      for (const char* name : {"hosts", "resolv.conf", "nsswitch.conf"})
        require(::mount((directory_ + "/" + name).c_str(), (std::string("/etc/") + name).c_str(), nullptr, MS_BIND,
                        nullptr) == 0,
                name);
      const int at = ::fcntl(pair[1], F_DUPFD_CLOEXEC, 200);
      ::dup2(at, 3);
      char* const none[] = {nullptr};
      const char* sanitizer = std::getenv("TSAN_OPTIONS");  // scripts/race
      std::string options = "TSAN_OPTIONS=" + std::string(sanitizer != nullptr ? sanitizer : "");
      char* const environment[] = {options.data(), nullptr};
      ::execve(CORDON_RESOLVE, none, environment);
      ::_exit(127);
    }
    ::close(pair[1]);
  }
  void send(std::uint32_t id, const std::string& name, LookupFamily family = LookupFamily::kAny,
            std::uint64_t seconds = 30) {
    const auto question =
        egress::make_question(id, *HostName::parse(name), family, kernel::monotonic_ns() + seconds * kSecond);
    send_raw({reinterpret_cast<const char*>(&question), sizeof question});
  }
  void send_raw(std::string_view bytes) {
    require(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "send");
  }
  std::optional<LookupAnswer> receive() {
    std::array<std::byte, 1024> buffer{};
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return n > 0 ? egress::read_answer(std::span(buffer).first(static_cast<std::size_t>(n))) : std::nullopt;
  }
  std::pair<LookupStatus, std::vector<std::string>> ask(const std::string& name,
                                                        LookupFamily family = LookupFamily::kAny) {
    send(7, name, family);
    const auto answer = receive();
    if (!answer) return {LookupStatus::kNoResolver, {}};
    EXPECT_EQ(answer->id, 7U);
    std::vector<std::string> out;
    for (const auto& one : egress::addresses_in(*answer)) out.push_back(to_string(one));
    return {answer->status, out};
  }

  NameServer server_;
  std::string directory_;
  Fd socket_;
  pid_t child_ = -1;
};

TEST_F(Resolver, AsksTheHostsFileAndItsNameServer) {
  EXPECT_THAT(ask("inhosts.example").second, testing::UnorderedElementsAre("10.9.9.9", "2001:db8::9"));
  EXPECT_THAT(ask("inhosts.example", LookupFamily::kIpv6).second, ElementsAre("2001:db8::9"));
  EXPECT_THAT(ask("a.served.example").second, ElementsAre("192.0.2.7"));
  EXPECT_EQ(ask("a.served.example").first, LookupStatus::kOk);
}

TEST_F(Resolver, NeverAddsASearchDomain) {
  EXPECT_EQ(ask("unknown.example").first, LookupStatus::kNoSuchName);
  EXPECT_EQ(ask("wiki").first, LookupStatus::kNoSuchName);
  for (const std::string& name : server_.asked()) EXPECT_TRUE(name == "unknown.example" || name == "wiki") << name;
}

TEST_F(Resolver, FollowsItsSettingsWhereTheyAreWrittenAnewInPlace) {
  const auto write = [&](const char* server) {
    std::ofstream(directory_ + "/resolv.conf") << "nameserver " << server << "\n";
  };
  EXPECT_EQ(ask("a.served.example").first, LookupStatus::kOk);
  write("127.0.0.98");  // nobody
  EXPECT_NE(ask("b.served.example").first, LookupStatus::kOk);
  write("127.0.0.53");
  EXPECT_EQ(ask("c.served.example").first, LookupStatus::kOk);
}

TEST_F(Resolver, IsNotHeldUpByANameWithoutAnswer) {
  for (std::uint32_t i = 0; i < 4; ++i) send(i, "silent.example");
  for (std::uint32_t i = 100; i < 200; ++i) send(i, "h" + std::to_string(i) + ".served.example");
  for (int i = 0; i < 100; ++i) {
    const auto answer = receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_GE(answer->id, 100U);
  }
  for (int i = 0; i < 4; ++i) {
    const auto answer = receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, LookupStatus::kTryAgain);
  }
}

TEST_F(Resolver, LooksNothingUpThatNobodyWaitsFor) {
  send(1, "late.served.example", LookupFamily::kAny, 0);
  EXPECT_EQ(receive()->status, LookupStatus::kTooLate);
  EXPECT_THAT(server_.asked(), IsEmpty());
}

TEST_F(Resolver, TakesNothingButQuestions) {
  LookupQuestion question = egress::make_question(1, *HostName::parse("a.served.example"), LookupFamily::kAny, ~0ULL);
  const auto bytes = [&] { return std::string(reinterpret_cast<const char*>(&question), sizeof question); };
  send_raw("x");
  send_raw(bytes() + "x");
  question.magic = 0;
  send_raw(bytes());
  question.magic = egress::kLookupMagic;
  for (const char* bad : {"A.served.example", "127.1", "a b.example", "a.served.example.", "-a.example", "a/b"}) {
    question.name = {};
    std::strncpy(question.name.data(), bad, question.name.size() - 1);
    question.name_size = static_cast<std::uint8_t>(std::strlen(bad));
    send_raw(bytes());
  }
  question.name_size = 255;
  send_raw(bytes());
  EXPECT_THAT(ask("b.served.example").second, ElementsAre("192.0.2.7"));
  for (const std::string& name : server_.asked()) EXPECT_EQ(name, "b.served.example");
}

TEST_F(Resolver, EndsWithTheBroker) {
  ask("inhosts.example");
  socket_.reset();
  int status = -1;
  ::waitpid(child_, &status, 0);
  child_ = -1;
  EXPECT_EQ(status, 0);
}

TEST_F(Resolver, EndsWithTheBrokerAlthoughEveryLookupHangs) {
  for (std::uint32_t i = 0; i < 16; ++i) send(i, "silent.example");
  ::usleep(300'000);
  const std::uint64_t began = kernel::monotonic_ns();
  socket_.reset();
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  EXPECT_LT(kernel::monotonic_ns() - began, 5 * kSecond) << "a lookup takes ten";
}

TEST_F(Resolver, HasNoPowers) {
  ask("inhosts.example");
  std::ifstream file("/proc/" + std::to_string(child_) + "/status");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, testing::HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(text, testing::HasSubstr("CapEff:\t0000000000000000"));
}

}  // namespace
}  // namespace cordon::test
