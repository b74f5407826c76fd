// Promise: an interactive program behaves as without Cordon (keys, job control, window size), and cannot push input
// into the terminal that it was given.

#include <signal.h>
#include <unistd.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::StartsWith;

CORDON_PROMISE(Terminal);

/// bash as the entrypoint's interpreter, interactive, with a prompt that can be waited for.
std::string shell_manifest(const Scene& scene) {
  scene.tree().write("work/rc", "PS1='ready> '\n");
  scene.tree().write("work/shell", "#!/bin/sh\nexec bash --noprofile --rcfile rc -i\n", 0755);
  return scene.approved("entrypoint: ./shell\nexec: all\nenv: [TERM]\n" + list("read", {"./rc"}), "shell.yaml");
}

TEST_P(Terminal, AnInteractiveShellWorks) {
  const std::string secret = scene.tree().write("home/secret", "top\n");
  Running run = scene.cordon({"run", shell_manifest(scene)}).env("TERM", "xterm").pty().start();
  ASSERT_TRUE(run.expect("ready> ")) << run.seen();
  run.type("echo $((6*7)); tty\n");
  EXPECT_TRUE(run.expect("42")) << run.seen();
  ASSERT_TRUE(run.expect("ready> "));
  run.type("cat " + secret + "\n");
  EXPECT_TRUE(run.expect("No such file")) << run.seen();
  run.type("jobs -l; sleep 100 &\n");
  EXPECT_TRUE(run.expect("[1]")) << "job control" << run.seen();
  run.type("exit 9\n");
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 9) << ended;
  EXPECT_THAT(ended.out, testing::Not(HasSubstr("no job control")));
}

TEST_P(Terminal, CtrlCReachesWhatIsInTheForegroundAndTheShellStays) {
  Running run = scene.cordon({"run", shell_manifest(scene)}).env("TERM", "xterm").pty().start();
  ASSERT_TRUE(run.expect("ready> "));
  run.type("sleep 100; echo slept $?\n");
  ::usleep(300'000);
  run.type("\x03");
  ASSERT_TRUE(run.expect("ready> ", 5'000)) << run.seen();
  run.type("echo a''live\n");
  EXPECT_TRUE(run.expect("alive")) << run.seen();
  run.type("exit 0\n");
  EXPECT_EQ(run.wait().code, 0);
}

TEST_P(Terminal, CtrlCEndsAProgramThatDoesNotCatchIt) {
  const std::string manifest = scene.approved(act_manifest({"read=/proc/self/status", "sleep=100"}));
  Running run = scene.cordon({"run", manifest}).pty().start();
  ASSERT_TRUE(run.expect("ALLOWED"));
  run.type("\x03");
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended;
}

TEST_P(Terminal, CtrlZStopsTheRunAndFgGoesOn) {
  const std::string manifest = scene.approved(act_manifest({"read=/proc/self/status", "sleep=2", "exit=6"}));
  // The outer shell is the user's own; Cordon is one of its jobs.
  Running shell = scene.outside({"/bin/bash", "--noprofile", "--norc", "-i"})
                      .env("PS1", "outer> ")
                      .env("TERM", "xterm")
                      .pty()
                      .start();
  ASSERT_TRUE(shell.expect("outer> "));
  shell.type("'" + programs().cordon + "' run '" + manifest + "'\n");
  ASSERT_TRUE(shell.expect("ALLOWED")) << shell.seen();
  ::usleep(200'000);
  shell.type("\x1a");
  ASSERT_TRUE(shell.expect("Stopped", 5'000)) << shell.seen();
  ASSERT_TRUE(shell.expect("outer> "));
  shell.type("fg\n");
  ASSERT_TRUE(shell.expect("outer> ", 10'000)) << shell.seen();
  shell.type("echo code=$?\n");
  EXPECT_TRUE(shell.expect("code=6")) << shell.seen();
  shell.type("exit\n");
  static_cast<void>(shell.wait());
}

TEST_P(Terminal, TheWindowsSizeIsSeenAndItsChangeIsSignalled) {
  scene.tree().write(
      "work/size.py",
      "import os, signal, time\nchanged = []\n"
      "signal.signal(signal.SIGWINCH, lambda *_: changed.append(1))\nprint('ready', flush=True)\n"
      "for _ in range(200):\n"
      "    time.sleep(0.02)\n"
      "    if changed: s = os.get_terminal_size(0); print('size', s.lines, s.columns, flush=True); break\n");
  const std::string manifest = scene.approved("entrypoint: ./size.py\ninterpreter: /usr/bin/python3\n");
  Running run = scene.cordon({"run", manifest}).pty().start();
  ASSERT_TRUE(run.expect("ready")) << run.seen();
  run.resize(33, 99);
  EXPECT_TRUE(run.expect("size 33 99", 4'000)) << run.seen();
}

TEST_P(Terminal, InputCannotBePushedIntoIt) {
  const std::string manifest = scene.approved(act_manifest({"tiocsti", "tiocsti-high", "tioclinux"}));
  const Finished inside = scene.cordon({"run", manifest}).pty().run();
  EXPECT_EQ(verdict(inside, "tiocsti"), "DENIED EPERM") << inside;
  EXPECT_EQ(verdict(inside, "tiocsti-high"), "DENIED EPERM") << "compared on 32 bits, as the kernel does" << inside;
  EXPECT_EQ(verdict(inside, "tioclinux"), "DENIED EPERM") << inside;
  const Finished outside = scene.outside({scene.in_work("act"), "tioclinux"}).pty().run();
  EXPECT_EQ(verdict(outside, "tioclinux"), "DENIED ENOTTY") << "the control: outside the call reaches the terminal";
}

TEST_P(Terminal, ItIsNotTakenFromItsOwner) {
  const std::string manifest = scene.approved(act_manifest({"tiocexcl", "tiocsetd"}));
  const Finished inside = scene.cordon({"run", manifest}).pty().run();
  EXPECT_EQ(verdict(inside, "tiocexcl"), "DENIED EPERM") << inside;
  EXPECT_EQ(verdict(inside, "tiocsetd"), "DENIED EPERM") << inside;
  const Finished outside = scene.outside({scene.in_work("act"), "tiocexcl"}).pty().run();
  EXPECT_EQ(verdict(outside, "tiocexcl"), "ALLOWED") << "the control" << outside;
}

TEST_P(Terminal, WithoutOneNothingIsATerminal) {
  const Finished inside = scene.acts({"show-terminal"});
  EXPECT_THAT(lines(inside, "isatty "), testing::ElementsAre("0 0 0")) << inside;
}

}  // namespace
}  // namespace cordon::test
