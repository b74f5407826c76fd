// Promise: what a program has sent before it ended arrives, as it does without Cordon, where the kernel goes on to
// deliver for a process that is gone. And a run that is ended by force is cut at once.

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "network/way_out.h"

namespace cordon::test {
namespace {

constexpr std::uint16_t kPort = 8080;
constexpr std::size_t kMuch = 3'000'000;

const std::string kGranted = rules({{"a.example", "8080"}});

/// Counts what arrives until the client's end, and whether that was an orderly one.
class Sink {
 public:
  explicit Sink(std::chrono::milliseconds before_reading = {})
      : before_reading_(before_reading), server_(kPublic4, kPort, [this](const base::Fd& client) { take(client); }) {}

  /// What arrived, once its end did; waits for it.
  std::size_t arrived() {
    for (int i = 0; i < 500 && !ended_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ended_ ? bytes_.load() : 0;
  }
  [[nodiscard]] bool was_cut() const { return cut_; }

 private:
  void take(const base::Fd& client) {
    std::this_thread::sleep_for(before_reading_);
    std::array<char, 65'536> buffer;
    ssize_t got = 0;
    while ((got = ::recv(client.get(), buffer.data(), buffer.size(), 0)) > 0) bytes_ += static_cast<std::size_t>(got);
    cut_ = got < 0;
    ended_ = true;
  }
  std::chrono::milliseconds before_reading_;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<bool> ended_ = false, cut_ = false;
  Server server_;
};

class Delivery : public WayOut {
 protected:
  Finished shell(const std::string& body) { return sandboxed(program("/bin/bash", {"-c", body}, kGranted)); }
};
INSTANTIATE_TEST_SUITE_P(As, Delivery, testing::ValuesIn(identities()), identity_name);

TEST_P(Delivery, ALineThatIsSentByAProgramThatEndsAtOnceArrives) {
  for (int i = 0; i < 5; ++i) {
    Sink sink;
    const Finished sent = shell("echo hello > /dev/tcp/a.example/8080");
    EXPECT_EQ(sent.code, 0) << sent;
    EXPECT_EQ(sink.arrived(), 6U) << sent;
    EXPECT_FALSE(sink.was_cut());
  }
}

TEST_P(Delivery, EverythingThatTheKernelTookArrives) {
  Sink sink(std::chrono::milliseconds(300));
  const Finished sent = python(
      "s = socket.create_connection(('a.example', 8080))\n"
      "s.settimeout(0.2)\n"
      "taken = 0\n"
      "try:\n"
      "  while taken < " +
          std::to_string(kMuch) +
          ": taken += s.send(b'x' * 50000)\n"
          "except TimeoutError: pass\n"
          "print(taken, flush=True); os._exit(0)\n",
      kGranted);
  EXPECT_EQ(sink.arrived(), std::stoul("0" + sent.out)) << sent;
  EXPECT_GT(sink.arrived(), 50'000U) << sent;
}

// With its answer unread the client's kernel resets the connection; that must not take back what was sent before.
TEST_P(Delivery, ACommandWhoseAnswerNobodyReadsArrives) {
  std::atomic<std::size_t> got = 0;
  const Server server(kPublic4, kPort, [&](const base::Fd& client) {
    std::array<char, 64> buffer;
    EXPECT_EQ(::send(client.get(), "banner\n", 7, 0), 7);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (ssize_t n = 0; (n = ::recv(client.get(), buffer.data(), buffer.size(), 0)) > 0;)
      got += static_cast<std::size_t>(n);
  });
  const Finished sent = python(
      "s = socket.create_connection(('a.example', 8080)); s.recv(1)\n"
      "s.sendall(b'command'); os._exit(0)\n",
      kGranted);
  for (int i = 0; i < 200 && got < 7; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(got, 7U) << sent;
}

/// The target has sent everything and ended, and it is the broker alone that has it.
TEST_P(Delivery, ABrokerThatIsLostBeforeEverythingArrivedIsNoSuccess) {
  Sink sink(std::chrono::milliseconds(500));
  const std::string report = scene.in_work("r.json");
  Running running = run_of(python_manifest("s = socket.create_connection(('a.example', 8080))\n"
                                           "s.settimeout(0.2)\n"
                                           "try:\n"
                                           "  while True: s.send(b'x' * 50000)\n"
                                           "except TimeoutError: pass\n"
                                           "print('sent', flush=True); sys.stdin.readline(); os._exit(0)\n") +
                               kGranted,
                           {"--report", report})
                        .pty()
                        .start();
  ASSERT_TRUE(running.expect("sent")) << running.seen();
  const pid_t broker = broker_of(running.pid());
  ASSERT_GT(broker, 0);
  ASSERT_EQ(::kill(broker, SIGSTOP), 0);
  running.type("\n");
  ASSERT_TRUE(gone(scene.in_work("main.py"))) << "the target";
  ASSERT_EQ(::kill(broker, SIGKILL), 0);
  const Finished ended = running.wait();
  EXPECT_EQ(ended.code, 124) << ended;
  EXPECT_TRUE(ended.says("cordon-broker was lost")) << ended;
  // Which of the two ends the supervisor hears of first is not ours to say.
  EXPECT_TRUE(ended.says("may not have arrived") || ended.says("nothing of the network could be reached")) << ended;
  const auto document = nlohmann::json::parse(scene.bare({"/bin/cat", report}).out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(document["report"]["fully_enforced"], false);
  sink.arrived();
  EXPECT_TRUE(sink.was_cut()) << "what was cut short never looks whole";
}

TEST_P(Delivery, ARunThatIsEndedByForceIsCutAtOnce) {
  Sink sink(std::chrono::milliseconds(3'500));
  const Finished sent = python(
      "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
      "s = socket.create_connection(('a.example', 8080))\n"
      "while True: s.send(b'x' * 50000)\n",
      kGranted + "limits:\n  timeout: 1s\n");
  EXPECT_EQ(sent.code, 124) << sent;
  sink.arrived();
  EXPECT_TRUE(sink.was_cut()) << "what was cut short never looks whole";
}

}  // namespace
}  // namespace cordon::test
