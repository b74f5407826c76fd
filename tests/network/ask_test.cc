// Promise: with --ask, a person at the terminal decides about what no rule covers, and nobody else does: while a
// question is on the screen the run stands still, what was typed before is no answer, and without a terminal there is
// no question.

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "network/stage.h"
#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint16_t kPort = 8080;
constexpr const char* kAsks = "allow b.example:8080? once, run or no: ";

/// Keys count half a second after the question was shown.
void think() { ::usleep(800'000); }

class Ask : public Promise {
 protected:
  std::string manifest(const std::string& body) const {
    scene.tree().write("work/main.py",
                       "import errno, signal, socket, sys, termios, threading, time, tty\n"
                       "def get(host, port=8080):\n"
                       "  try:\n"
                       "    s = socket.create_connection((host, port), 30)\n"
                       "    s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); got = s.makefile('rb').read()\n"
                       "    return got.split(b'\\r\\n')[-1].decode()\n"
                       "  except OSError as e: return errno.errorcode.get(e.errno, type(e).__name__)\n"
                       "def say(*words): print(*words, flush=True)\n" +
                           body);
    return scene.manifest(
        "entrypoint: main.py\ninterpreter: " + std::filesystem::canonical("/usr/bin/python3").string() + "\n");
  }
  Running asked(const std::string& body, const std::vector<std::string>& flags = {"--ask"}) const {
    std::vector<std::string> args{"run", "--allow-unapproved"};
    args.insert(args.end(), flags.begin(), flags.end());
    args.push_back(manifest(body));
    return scene.cordon(args).env("TERM", "xterm").env("NO_COLOR", "1").pty().start();
  }

  WebServer b{kOther4, kPort, "from-b"};
};
INSTANTIATE_TEST_SUITE_P(As, Ask, testing::ValuesIn(identities()), identity_name);

TEST_P(Ask, OnceIsForOneConnectionAndNoIsForTheRun) {
  Running run = asked("for i in range(4): say('try', i, get('b.example'))\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  EXPECT_THAT(run.seen(), HasSubstr("python3")) << "which program asks";
  EXPECT_THAT(run.seen(), HasSubstr("reaches for b.example:8080"));
  think();
  run.type("once\n");
  ASSERT_TRUE(run.expect("try 0 from-b")) << run.seen();
  ASSERT_TRUE(run.expect(kAsks)) << "once was once" << run.seen();
  think();
  run.type("no\n");
  ASSERT_TRUE(run.expect("try 1 ECONNRESET")) << run.seen();
  const Finished ended = run.wait();
  EXPECT_THAT(ended.out, HasSubstr("try 2 ECONNRESET")) << "not asked again" << ended;
  EXPECT_THAT(ended.out, HasSubstr("try 3 ECONNRESET"));
  EXPECT_TRUE(ended.says("allowed: b.example:8080, because you said so")) << ended;
  EXPECT_TRUE(ended.says("network: [{host: b.example, port: '8080'}]")) << ended;
}

TEST_P(Ask, RunIsForTheRestOfTheRunAndForThatPortAlone) {
  const WebServer beside(kOther4, 8081, "beside");
  Running run = asked("for i in range(3): say('try', i, get('b.example'))\nsay('port', get('b.example', 8081))\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  think();
  run.type("run\n");
  ASSERT_TRUE(run.expect("try 2 from-b")) << run.seen();
  ASSERT_TRUE(run.expect("allow b.example:8081?")) << run.seen();
  think();
  run.type("what?\n");
  ASSERT_TRUE(run.expect("none of them")) << run.seen();
  run.type("n\n");
  EXPECT_TRUE(run.expect("port ECONNRESET")) << run.seen();
  EXPECT_EQ(run.wait().code, 0);
}

TEST_P(Ask, WithoutTheFlagNobodyIsAskedAndNothingIsReached) {
  const Finished ended = asked("say('try', get('b.example'))\n", {}).wait();
  EXPECT_THAT(ended.out, testing::AllOf(HasSubstr("try "), Not(HasSubstr("from-b")), Not(HasSubstr("once")))) << ended;
}

TEST_P(Ask, WithoutATerminalTheFlagIsRefused) {
  const Finished refused = scene.cordon({"run", "--allow-unapproved", "--ask", manifest("say('ran')\n")}).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("--ask asks at a terminal, and there is none")) << refused;
  EXPECT_TRUE(refused.says("network:")) << refused;
  EXPECT_THAT(refused.out, Not(HasSubstr("ran")));
}

TEST_P(Ask, WhatWasTypedBeforeTheQuestionIsNoAnswer) {
  Running run = asked("say('ready')\ntime.sleep(1)\nsay('try', get('b.example'))\n");
  ASSERT_TRUE(run.expect("ready")) << run.seen();
  run.type("once\nrun\nonce\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  run.type("once\n");  // too quick to have read it
  think();
  run.type("no\n");
  EXPECT_TRUE(run.expect("try ECONNRESET")) << run.seen();
}

TEST_P(Ask, WhileTheQuestionIsAskedTheTargetNeitherReadsNorWrites) {
  // Two threads that do nothing else, with every signal that a terminal sends ignored.
  Running run = asked(
      "for s in [signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGCONT]: signal.signal(s, signal.SIG_IGN)\n"
      "def write():\n"
      "  while True: say('allow good.example:443? once, run or no: '); time.sleep(0.001)\n"
      "def read():\n"
      "  while True: say('stolen', sys.stdin.readline())\n"
      "for one in [write, read]: threading.Thread(target=one, daemon=True).start()\n"
      "time.sleep(0.3)\n"
      "got = get('b.example')\n"
      "for i in range(9): say('try', got)\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  const std::size_t shown = run.seen().size();
  EXPECT_FALSE(run.expect("good.example", 1'000)) << "the question stays the last on the screen";
  EXPECT_EQ(run.seen().size(), shown) << run.seen().substr(shown);
  run.type("once\n");
  EXPECT_TRUE(run.expect("try from-b")) << run.seen();
  EXPECT_THAT(run.seen(), Not(HasSubstr("stolen once")));
}

TEST_P(Ask, AnAnswerDoesNotCountWhereSomethingOfTheRunWentOn) {
  // A timer's SIGCONT ends the stop of the process that set it, whatever anybody wants.
  Running run = asked(
      "import ctypes, os\n"
      "if os.fork() == 0:\n"
      "  libc = ctypes.CDLL(None)\n"
      "  event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0)\n"
      "  timer = ctypes.c_void_p()\n"
      "  when = (ctypes.c_long * 4)(0, 0, 1, 500000000)\n"
      "  if libc.timer_create(1, event, ctypes.byref(timer)) or libc.timer_settime(timer, 0, when, None): os._exit(1)\n"
      "  end = time.monotonic() + 1.5\n"
      "  while time.monotonic() < end: time.sleep(0.001)\n"
      "  say('allow good.example:443? once, run or no: ')\n"
      "  signal.pause()\n"
      "time.sleep(0.3)\n"
      "say('try', get('b.example'))\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  ASSERT_TRUE(run.expect("good.example")) << "the timer's: " << run.seen();
  think();
  run.type("once\n");
  EXPECT_TRUE(run.expect("the answer is no")) << run.seen();
  EXPECT_TRUE(run.expect("try ECONNRESET")) << run.seen();
}

TEST_P(Ask, AProcessThatHopsFromChildToChildDoesNotOutrunTheQuestion) {
  Running run = asked(
      "import os\n"
      "def hop():\n"
      "  end = time.monotonic() + 4\n"
      "  while time.monotonic() < end:\n"
      "    if os.fork(): os._exit(0)\n"
      "  say('allow good.example:443? once, run or no: ')\n"
      "  os._exit(0)\n"
      "if os.fork() == 0: hop()\n"
      "time.sleep(0.3)\n"
      "say('try', get('b.example'))\n");
  // It was caught between two hops, or never: then nobody could say that the screen is ours alone, and nobody was
  // asked.
  if (run.expect(kAsks, 3'500)) {
    EXPECT_FALSE(run.expect("good.example", 4'000)) << run.seen();
  } else {
    EXPECT_TRUE(run.expect("try ECONNRESET")) << run.seen();
  }
}

TEST_P(Ask, AProgramThatHasTheScreenToItselfGetsItBackAsItWas) {
  Running run = asked(
      "def drawn(*_): global again; again = True\n"
      "again = False\n"
      "signal.signal(signal.SIGWINCH, drawn)\n"
      "tty.setraw(0)\n"
      "before = termios.tcgetattr(0)\n"
      "got = get('b.example')\n"
      "time.sleep(0.2)\n"
      "say('try', got, before == termios.tcgetattr(0), again)\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  think();
  run.type("once\n");
  EXPECT_TRUE(run.expect("try from-b True True")) << run.seen();
}

TEST_P(Ask, CtrlCAtTheQuestionMeansNoAndReachesTheTarget) {
  Running run = asked("get('b.example')\ntime.sleep(60)\n");
  ASSERT_TRUE(run.expect(kAsks)) << run.seen();
  think();
  run.type("\x03");
  const Finished ended = run.wait();
  EXPECT_FALSE(ended.timed_out) << ended;
  EXPECT_THAT(ended.out, HasSubstr("KeyboardInterrupt")) << ended;
  EXPECT_THAT(ended.out, Not(HasSubstr("from-b")));
}

TEST_P(Ask, TheGuardHoldsWhateverIsAnswered) {
  const WebServer inner(kPrivate4, kPort, "inner");
  Running run = asked("say('try', get('inner.example'))\n");
  ASSERT_TRUE(run.expect("allow inner.example:8080?")) << run.seen();
  think();
  run.type("run\n");
  const Finished ended = run.wait();
  EXPECT_THAT(ended.out, Not(HasSubstr("try inner"))) << ended;
  EXPECT_TRUE(ended.says("which is private (10.0.0.0/8)")) << ended;
}

}  // namespace
}  // namespace cordon::test
