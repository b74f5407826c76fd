// The relay between clients and an agent that are the test's own, over real sockets: what passes, what does not, and
// what happens when somebody misbehaves.
#include "agent/relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "agent/testing_test.h"
#include "kernel/socket.h"

namespace cordon::agent {
namespace {

using base::Fd;
using testing::bytes;
using testing::key;
using testing::message;
using testing::number;
using testing::string;

constexpr const char* kFailed = "\x05";

/// Blocking; "" where the other side is gone.
std::string receive(int fd) {
  const auto exactly = [&](std::size_t size) {
    std::string out;
    while (out.size() < size) {
      char buffer[4096];
      const ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, size - out.size()));
      if (got <= 0) return std::string();
      out.append(buffer, static_cast<std::size_t>(got));
    }
    return out;
  };
  const std::string length = exactly(kLengthBytes);
  if (length.empty()) return {};
  return exactly(read_length(std::span<const std::byte, kLengthBytes>(bytes(length))).value_or(0));
}

void send(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

std::string sign_body(const std::string& blob, const std::string& data = "data") {
  return "\x0d" + string(blob) + string(data) + number(0);
}
std::string list_of(const std::vector<std::string>& keys) {
  std::string out = "\x0c" + number(static_cast<std::uint32_t>(keys.size()));
  for (const std::string& one : keys) out += string(one) + string("comment of " + one.substr(one.size() - 3));
  return out;
}
std::string signature() { return "\x0e" + string(string("ssh-ed25519") + string("signed")); }

class AgentRelay : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("agent-relay-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    path_ = directory_ / "socket";
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(directory_);
  }
  void start(const Bounds& bounds = {}) {
    auto control = kernel::socketpair(SOCK_SEQPACKET);
    auto agent = kernel::socketpair(SOCK_STREAM);
    auto listener = kernel::unix_listener(path_.c_str());
    ASSERT_TRUE(control && agent && listener);
    control_ = std::move(control->ours);
    relays_control_ = std::move(control->theirs);
    agent_ = std::move(agent->ours);
    ASSERT_EQ(::fcntl(agent->theirs.get(), F_SETFL, O_NONBLOCK), 0);
    relay_ = std::make_unique<Relay>(
        Sockets{.control = relays_control_, .listener = std::move(*listener), .agent = std::move(agent->theirs)},
        bounds);
    thread_ = std::thread([this] {
      ok_ = relay_->run(told(Told::kReady, "build")).has_value();
      relays_control_.reset();
    });
    EXPECT_EQ(hear().what, Told::kReady);
  }
  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(control_.get(), SHUT_WR);
    thread_.join();
  }
  [[nodiscard]] Fd client() const {
    auto out = kernel::connect_unix(path_.c_str());
    EXPECT_TRUE(out);
    EXPECT_EQ(::fcntl(out->get(), F_SETFL, 0), 0);
    return std::move(*out);
  }
  Record hear() {
    std::array<std::byte, sizeof(Record) + 1> buffer;
    const ssize_t got = ::recv(control_.get(), buffer.data(), buffer.size(), 0);
    const auto record = read_record(std::span(buffer).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
    EXPECT_TRUE(record) << got;
    if (record && record->what == Told::kTally) tally_ = record->tally();
    return record.value_or(Record{});
  }
  /// Until the end, which is asked for.
  void hear_all() {
    ::shutdown(control_.get(), SHUT_WR);
    for (Told what = hear().what; what != Told::kFinished && what != Told{};) what = hear().what;
    thread_.join();
  }
  Tally last_tally() {
    hear_all();
    return tally_;
  }

  std::filesystem::path directory_, path_;
  Fd control_, relays_control_, agent_;
  std::unique_ptr<Relay> relay_;
  std::thread thread_;
  bool ok_ = false;
  Tally tally_;
};

TEST_F(AgentRelay, PassesAListAndASignatureAndSaysWhichKeyBeforeItHandsItOut) {
  start();
  const Fd one = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(agent_.get(), message(list_of({key("one"), key("two")})));
  EXPECT_EQ(receive(one.get()), list_of({key("one"), key("two")}));
  for (int i = 1; i <= 2; ++i) {
    send(one.get(), message(sign_body(key("two"))));
    EXPECT_EQ(receive(agent_.get()), sign_body(key("two")));
    send(agent_.get(), message(signature()));
    Record used = hear();
    while (used.what == Told::kTally) used = hear();
    EXPECT_EQ(used.what, Told::kUsed);
    EXPECT_EQ(used.counts[0], static_cast<std::uint64_t>(i));
    EXPECT_EQ(testing::text(used.key_bytes()), key("two"));
    EXPECT_EQ(used.comment_text(), "comment of two");
    EXPECT_EQ(receive(one.get()), signature());
  }
  EXPECT_EQ(last_tally(), (Tally{.listed = 1}));
  EXPECT_TRUE(ok_);
}

TEST_F(AgentRelay, NothingElseReachesTheAgent) {
  start();
  const Fd one = client();
  for (int kind = 0; kind < 256; ++kind) {
    if (kind == 11 || kind == 13) continue;
    send(one.get(), message(static_cast<char>(kind) + std::string("whatever")));
    EXPECT_EQ(receive(one.get()), kFailed) << kind;
  }
  send(one.get(), message(sign_body("no key")));
  EXPECT_EQ(receive(one.get()), kFailed);
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b") << "the first that it hears of";
  send(agent_.get(), message(list_of({})));
  EXPECT_EQ(receive(one.get()), list_of({}));
  EXPECT_EQ(last_tally(), (Tally{.listed = 1, .refused = 255}));
}

TEST_F(AgentRelay, AKeyThatTheAgentDoesNotListIsNotSignedWith) {
  start();
  const Fd one = client();
  send(one.get(), message(sign_body(key("one"))));
  EXPECT_EQ(receive(agent_.get()), "\x0b") << "it asks which there are";
  send(agent_.get(), message(list_of({key("two")})));
  EXPECT_EQ(receive(one.get()), kFailed);
  send(one.get(), message(sign_body(key("one"))));
  EXPECT_EQ(receive(agent_.get()), "\x0b") << "it may have been added meanwhile";
  send(agent_.get(), message(list_of({key("one")})));
  EXPECT_EQ(receive(agent_.get()), sign_body(key("one")));
  send(agent_.get(), message(signature()));
  EXPECT_EQ(receive(one.get()), signature());
  EXPECT_EQ(last_tally(), (Tally{.refused = 1}));
}

TEST_F(AgentRelay, WhatTheAgentDeclinesOrGarblesIsAFailureAndNotPassedOn) {
  start();
  const Fd one = client();
  for (const std::string& answer : {std::string(kFailed), std::string("\x1e"), std::string("\x66"), signature(),
                                    "\x0c" + number(7), list_of({key("one")}) + "more"}) {
    send(one.get(), message("\x0b"));
    EXPECT_EQ(receive(agent_.get()), "\x0b");
    send(agent_.get(), message(answer));
    EXPECT_EQ(receive(one.get()), kFailed) << ::testing::PrintToString(answer);
  }
  EXPECT_EQ(last_tally(), (Tally{.declined = 6}));
}

TEST_F(AgentRelay, OneRequestIsWithTheAgentAtATimeAndEachGetsItsOwnAnswer) {
  start();
  const Fd one = client(), two = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(two.get(), message("\x0b"));
  char nothing = 0;
  EXPECT_EQ(::recv(agent_.get(), &nothing, 1, MSG_DONTWAIT), -1) << "the first has no answer yet";
  send(agent_.get(), message(list_of({key("one")})));
  EXPECT_EQ(receive(one.get()), list_of({key("one")}));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(agent_.get(), message(list_of({key("two")})));
  EXPECT_EQ(receive(two.get()), list_of({key("two")}));
}

TEST_F(AgentRelay, AnAnswerForWhoHasLeftGoesToNobody) {
  start();
  Fd one = client();
  const Fd two = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  one.reset();
  send(two.get(), message("\x0b"));
  send(agent_.get(), message(list_of({key("one")})));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(agent_.get(), message(list_of({key("two")})));
  EXPECT_EQ(receive(two.get()), list_of({key("two")}));
}

TEST_F(AgentRelay, ManyMessagesInOneAndOneInManyPiecesAreTheSame) {
  start();
  const Fd one = client();
  send(one.get(), message("\x13") + message("\x16") + message("\x0b"));
  EXPECT_EQ(receive(one.get()), kFailed);
  EXPECT_EQ(receive(one.get()), kFailed);
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  for (const char each : message(list_of({key("one")}))) send(agent_.get(), std::string(1, each));
  EXPECT_EQ(receive(one.get()), list_of({key("one")}));
  for (const char each : message(sign_body(key("one")))) send(one.get(), std::string(1, each));
  EXPECT_EQ(receive(agent_.get()), sign_body(key("one")));
}

TEST_F(AgentRelay, ALengthThatCannotBeClosesTheConnectionAndNoOther) {
  start();
  const Fd other = client();
  for (const std::uint32_t length : {0U, static_cast<std::uint32_t>(kMostMessage) + 1, 0xffffffffU}) {
    const Fd one = client();
    send(one.get(), number(length) + "x");
    EXPECT_EQ(receive(one.get()), "") << length;
  }
  send(other.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
}

TEST_F(AgentRelay, BeyondTheBoundAConnectionIsClosedAtOnceAndCounted) {
  start({.clients = 2});
  const Fd one = client(), two = client();
  for (int i = 0; i < 50; ++i) {
    const Fd more = client();
    EXPECT_EQ(receive(more.get()), "");
  }
  send(two.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b") << "who is there is served";
  EXPECT_EQ(last_tally(), (Tally{.no_room = 50}));
}

TEST_F(AgentRelay, WhoSaysNothingOrHalfAMessageIsClosedInTime) {
  start({.clients = 1, .message_ms = 20, .idle_ms = 20});
  for (const std::string& said : {std::string(), std::string("\0\0", 2), number(100) + "half"}) {
    const Fd one = client();
    send(one.get(), said);
    EXPECT_EQ(receive(one.get()), "");
  }
  EXPECT_EQ(last_tally(), (Tally{.no_room = 3}));
}

TEST_F(AgentRelay, WhoWaitsForTheAgentIsNotClosedWhoeverElseIs) {
  start({.clients = 2, .message_ms = 20, .idle_ms = 20});
  const Fd one = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  const Fd two = client();
  EXPECT_EQ(receive(two.get()), "") << "time has passed";
  send(agent_.get(), message(list_of({})));
  EXPECT_EQ(receive(one.get()), list_of({}));
}

TEST_F(AgentRelay, AnAgentThatIsGoneIsSaidAndEveryRequestIsAFailure) {
  start();
  const Fd one = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  agent_.reset();
  EXPECT_EQ(receive(one.get()), kFailed);
  EXPECT_EQ(hear().what, Told::kLost);
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(one.get()), kFailed);
  EXPECT_EQ(last_tally(), (Tally{.declined = 2}));
}

TEST_F(AgentRelay, AnAgentThatSpeaksUnaskedIsNotHeardAgain) {
  start();
  send(agent_.get(), message(list_of({key("one")})));
  const Record record = hear();
  EXPECT_EQ(record.what, Told::kLost);
  EXPECT_THAT(record.said(), ::testing::HasSubstr("understood"));
  EXPECT_EQ(receive(agent_.get()), "");
}

TEST_F(AgentRelay, AnAgentWhoseMessageHasNoEndIsNotHeardAgain) {
  start();
  const Fd one = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(agent_.get(), number(0xffffffffU));
  EXPECT_EQ(receive(one.get()), kFailed);
  EXPECT_EQ(hear().what, Told::kLost);
}

TEST_F(AgentRelay, WithoutAFreeDescriptorItWaitsAndServesOnceThereIsOne) {
  start();
  const Fd one = client();
  send(one.get(), message("\x13"));
  EXPECT_EQ(receive(one.get()), kFailed) << "it is accepted";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const Fd two(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int lowest_free = Fd(::dup(two.get())).get();  // the relay's descriptors are this process's
  const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto address = kernel::unix_address(path_.c_str());
  ASSERT_EQ(::connect(two.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  send(two.get(), message("\x13"));
  send(one.get(), message("\x13"));
  EXPECT_EQ(receive(one.get()), kFailed) << "who is there is served";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(receive(two.get()), kFailed);
}

TEST_F(AgentRelay, EndsWithTheSupervisor) {
  start();
  const Fd one = client();
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  control_.reset();
  thread_.join();
  EXPECT_FALSE(ok_) << "nobody could be told any more";
  EXPECT_EQ(receive(one.get()), "");
}

TEST_F(AgentRelay, KeysBeyondTheBoundShareOneRow) {
  start();
  const Fd one = client();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kMostUsedKeys + 2; ++i) keys.push_back(key("key " + std::to_string(i)));
  send(one.get(), message("\x0b"));
  EXPECT_EQ(receive(agent_.get()), "\x0b");
  send(agent_.get(), message(list_of(keys)));
  EXPECT_EQ(receive(one.get()), list_of(keys));
  Record used;
  for (const std::string& each : keys) {
    send(one.get(), message(sign_body(each)));
    EXPECT_EQ(receive(agent_.get()), sign_body(each));
    send(agent_.get(), message(signature()));
    do used = hear();
    while (used.what == Told::kTally);
    EXPECT_EQ(receive(one.get()), signature());
  }
  EXPECT_EQ(used.id, kMostUsedKeys);
  EXPECT_EQ(used.counts[0], 2U);
  EXPECT_EQ(used.key_size, 0U);
}

TEST(AgentRecords, AreOfOneSizeAndWithinTheirFields) {
  Record record = told(Told::kLost, std::string(200, 'x'), 7);
  const auto as_bytes = [&] { return std::as_bytes(std::span(&record, 1)); };
  ASSERT_TRUE(read_record(as_bytes()));
  EXPECT_EQ(read_record(as_bytes())->said(), std::string(kLongestTold, 'x'));
  EXPECT_FALSE(read_record(as_bytes().first(sizeof record - 1)));
  EXPECT_FALSE(read_record({}));
  const auto spoilt = [&](auto spoil) {
    record = told(Told::kLost, "x");
    spoil(record);
    return !read_record(as_bytes());
  };
  EXPECT_TRUE(spoilt([](Record& r) { r.text_size = kLongestTold + 1; }));
  EXPECT_TRUE(spoilt([](Record& r) { r.comment_size = kLongestToldComment + 1; }));
  EXPECT_TRUE(spoilt([](Record& r) { r.key_size = kLongestToldKey + 1; }));
  EXPECT_TRUE(spoilt([](Record& r) { r.what = static_cast<Told>(7); }));
  EXPECT_TRUE(spoilt([](Record& r) { r.reserved = 1; }));
  EXPECT_FALSE(spoilt([](Record&) {}));
}

}  // namespace
}  // namespace cordon::agent
