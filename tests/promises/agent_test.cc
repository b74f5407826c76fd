// Promise: with `agent: [ssh]` a program lists the keys of the caller's ssh agent and signs with them, and asks nothing
// else of it; which keys signed is said; without the line it signs nothing. The agent's own socket is never seen.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/promise.h"
#include "support/require.h"
#include "support/ssh_agent.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string real(const char* path) { return std::filesystem::canonical(path).string(); }

/// Asks the agent by hand: each argument is a kind and, after a colon, what follows it, in hexadecimal; the kind of
/// each answer is printed.
constexpr const char* kAsk = R"(import os, socket, struct, sys
def whole(s, n):
    out = b''
    while len(out) < n:
        got = s.recv(n - len(out))
        if not got: raise EOFError
        out += got
    return out
for word in sys.argv[1:]:
    kind, _, rest = word.partition(':')
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(os.environ['SSH_AUTH_SOCK'])
        body = bytes([int(kind)]) + bytes.fromhex(rest)
        s.sendall(struct.pack('>I', len(body)) + body)
        answer = whole(s, struct.unpack('>I', whole(s, 4))[0])
        print(f'{kind}={answer[0]}')
    except Exception as why:
        print(f'{kind}={type(why).__name__}')
)";

class Agent : public Promise {
 protected:
  Agent() {
    scene.tree().write("work/ask.py", kAsk);
    scene.tree().write("work/data", "to be signed\n");
    scene.tree().make_directory("work/out");
    key = agent.add_key("one", "a comment of mine");
  }

  /// The program is a script of the project's own; `lines`: the rest of the manifest.
  [[nodiscard]] std::string script(const std::string& text, const std::string& lines) const {
    scene.tree().write("work/s.sh", text, 0755);
    return scene.manifest("entrypoint: ./s.sh\ninterpreter: " + real("/usr/bin/bash") +
                          "\nexec: all\nread: [./ask.py, ./data, ./keys/one.pub]\n" + lines);
  }
  [[nodiscard]] Command cordon(const std::string& manifest, std::vector<std::string> flags = {}) const {
    std::vector<std::string> words = {"run", "--allow-unapproved"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back(manifest);
    Command out = scene.cordon(std::move(words));
    out.env("SSH_AUTH_SOCK", agent.socket());
    return out;
  }
  [[nodiscard]] Finished run(const std::string& text, const std::string& lines = "agent: [ssh]\n") const {
    return cordon(script(text, lines)).run();
  }
  /// The document of a run's report.
  [[nodiscard]] nlohmann::json document(const std::string& text, Finished* finished = nullptr) const {
    const Finished got = cordon(script(text, "agent: [ssh]\n"), {"--report", scene.in_work("report.json")}).run();
    if (finished != nullptr) *finished = got;
    return nlohmann::json::parse(scene.tree().read("work/report.json").value_or("{}"), nullptr, false);
  }
  /// As a shell's words.
  static std::string ask(const std::string& words) { return real("/usr/bin/python3") + " ask.py " + words + "\n"; }

  SshAgent agent{scene.tree(), scene.who(), "work/keys"};
  std::string key;
};
INSTANTIATE_TEST_SUITE_P(As, Agent, testing::ValuesIn(identities()), identity_name);

constexpr const char* kSign =
    "cd /tmp && cp $OLDPWD/data . && ssh-keygen -q -Y sign -n file -f $OLDPWD/keys/one.pub data && cat data.sig\n";

TEST_P(Agent, ListsItsKeysAndSignsAndTheReportNamesTheKey) {
  const Finished got = run(std::string("ssh-add -l\n") + kSign + "echo code=$?\n");
  EXPECT_THAT(got.out, AllOf(HasSubstr(agent.fingerprint(key)), HasSubstr("code=0"))) << got;
  EXPECT_TRUE(got.says("the ssh agent signed once with " + agent.fingerprint(key) + " (\"a comment of mine\")")) << got;
  const std::size_t begin = got.out.find("-----BEGIN");
  ASSERT_NE(begin, std::string::npos) << got;
  const std::string end = "-----END SSH SIGNATURE-----\n";
  scene.tree().write("work/sig", got.out.substr(begin, got.out.find(end) + end.size() - begin));
  const Finished valid =
      Command({"/usr/bin/ssh-keygen", "-Y", "check-novalidate", "-n", "file", "-s", scene.in_work("sig")})
          .as(scene.who())
          .input("to be signed\n")
          .run();
  EXPECT_TRUE(valid.ok()) << valid;
}

TEST_P(Agent, WithoutTheLineNothingIsSignedWhateverTheEnvironmentSays) {
  const Finished got =
      run(std::string("echo sock=$SSH_AUTH_SOCK\nssh-add -l\necho list=$?\n") + kSign, "env: [SSH_AUTH_SOCK]\n");
  EXPECT_THAT(got.out, AllOf(HasSubstr("sock=" + agent.socket()), HasSubstr("list=2"), Not(HasSubstr("BEGIN")))) << got;
  EXPECT_FALSE(got.says("signed")) << got;
}

TEST_P(Agent, TheVariableNamesTheSocketInsideWhateverTheEnvironmentSays) {
  const Finished got = run("echo sock=$SSH_AUTH_SOCK\nssh-add -l\n", "agent: [ssh]\nenv: [SSH_AUTH_SOCK]\n");
  EXPECT_THAT(got.out, AllOf(HasSubstr("sock=/run/cordon/ssh-agent.sock"), HasSubstr(agent.fingerprint(key)))) << got;
}

// Adding an identity, removing one and all, locking and unlocking, adding by smartcard, an extension. The control is
// the same outside: the agent does as it is told (6), or says why not in its own words.
TEST_P(Agent, NothingElseOfTheAgentCanBeAskedFor) {
  const std::string lock = "22:0000000161", unlock = "23:0000000161", remove_all = "19";
  const std::string before = agent.listed();
  const Finished inside = run(ask("11 17 18 " + remove_all + " 20 21 " + lock + " " + unlock + " 25 26 27 1 9 0 255"));
  for (const char* kind : {"17", "18", "19", "20", "21", "22", "23", "25", "26", "27", "1", "9", "0", "255"})
    EXPECT_THAT(inside.out, HasSubstr("\n" + std::string(kind) + "=5\n")) << inside;
  EXPECT_THAT(inside.out, HasSubstr("11=12\n")) << inside;
  EXPECT_EQ(agent.listed(), before) << "nothing of it changed";
  const Finished outside =
      agent.with({real("/usr/bin/python3"), scene.in_work("ask.py"), lock, unlock, remove_all}).run();
  EXPECT_EQ(outside.out, "22=6\n23=6\n19=6\n") << "the control, with the agent itself" << outside;
  EXPECT_NE(agent.listed(), before);
}

TEST_P(Agent, SshAddCannotAddOrRemoveAKey) {
  const std::string before = agent.listed();
  const std::string acts =
      "ssh-keygen -q -t ed25519 -N '' -f /tmp/k$$; ssh-add -q /tmp/k$$; echo add=$?; ssh-add -q -D; echo remove=$?; rm "
      "-f /tmp/k$$*\n";
  const Finished inside = run(acts);
  EXPECT_THAT(inside.out, AllOf(HasSubstr("add=1"), HasSubstr("remove=1"))) << inside;
  EXPECT_EQ(agent.listed(), before);
  const Finished outside = agent.with({real("/usr/bin/bash"), "-c", acts}).run();
  EXPECT_THAT(outside.out, AllOf(HasSubstr("add=0"), HasSubstr("remove=0"))) << "the control" << outside;
}

TEST_P(Agent, ItsOwnSocketIsNotSeenUnderABroadGrant) {
  const std::string see = real("/usr/bin/python3") +
                          " -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('" + agent.socket() +
                          "'); print('connected')\"\n";
  const Finished inside = run("ls keys\n" + see + "ssh-add -l\n", "agent: [ssh]\nwrite: [./keys]\n");
  EXPECT_THAT(inside.out, AllOf(HasSubstr("one.pub"), Not(HasSubstr("connected")), HasSubstr(agent.fingerprint(key))))
      << inside;
  EXPECT_THAT(inside.err, Not(HasSubstr("No such file"))) << "the name is there, and something else stands there";
  const Finished outside = agent.with({real("/usr/bin/bash"), "-c", see}).run();
  EXPECT_THAT(outside.out, HasSubstr("connected")) << "the control" << outside;
}

TEST_P(Agent, AKeyThatIsNotListedIsNotSignedWith) {
  // string "ssh-ed25519" and 32 bytes that are no key of the agent's, data "x", no flags
  const std::string blob = "0000000b7373682d6564323535313900000020" + std::string(64, 'a');
  const Finished inside = run(ask("13:00000033" + blob + "000000017800000000 13:00 13 11:00"));
  EXPECT_EQ(inside.out, "13=5\n13=5\n13=5\n11=5\n") << inside;
}

TEST_P(Agent, WhatWasAskedIsCountedInTheDocument) {
  Finished got;
  const auto all = document(std::string("ssh-add -l >/dev/null\n") + kSign + "rm /tmp/data.sig\n" + "cd $OLDPWD\n" +
                                kSign + "cd $OLDPWD\n" + ask("19"),
                            &got);
  ASSERT_TRUE(all.contains("agent")) << all.dump(1) << got;
  ASSERT_EQ(all["agent"]["signed"].size(), 1U) << all["agent"];
  EXPECT_EQ(all["agent"]["signed"][0]["key"], agent.fingerprint(key));
  EXPECT_EQ(all["agent"]["signed"][0]["comment"], "a comment of mine");
  EXPECT_EQ(all["agent"]["signed"][0]["count"], 2);
  EXPECT_GE(all["agent"]["listed"], 1);
  EXPECT_GE(all["agent"]["refused"], 1);
  EXPECT_TRUE(scene.cordon({"explain"}).run().says("the ssh agent signed 2 times with " + agent.fingerprint(key)));
}

TEST_P(Agent, AFloodOfConnectionsHangsNobodyAndIsCounted) {
  scene.tree().write("work/ask.py", R"(import os, socket
held = []
for i in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ['SSH_AUTH_SOCK'])
    try:
        s.send(b'\0\0\0\1' if i % 2 else b'\0')
    except OSError:
        pass
    held.append(s)
print('held', len(held))
)");
  Finished got;
  const auto all = document(ask(""), &got);
  EXPECT_THAT(got.out, HasSubstr("held 400")) << got;
  EXPECT_EQ(got.code, 0) << got;
  EXPECT_GE(all["agent"]["no_room"], 300) << all["agent"];
}

/// True once that relay is no more, or nobody has waited for it yet; waits until then.
bool gone_relay(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    const std::vector<pid_t> relays = processes_with("cordon-agent");
    if (std::ranges::find(relays, pid) == relays.end()) return true;
    ::usleep(10'000);
  }
  return false;
}

/// A run in a terminal that has begun, and lists when it is told to go on.
class Begun {
 public:
  explicit Begun(Command command) : run(command.pty().start()) {
    require(run.expect("begun"), "the run begins: " + run.seen());
  }
  static constexpr const char* kScript = "echo begun\nread line\nssh-add -l\necho list=$?\n";

  /// Of this run alone: other tests run beside it.
  [[nodiscard]] pid_t relay() const {
    for (const pid_t one : processes_with("cordon-agent")) {
      std::ifstream status("/proc/" + std::to_string(one) + "/status");
      for (std::string line; std::getline(status, line);)
        if (line == "PPid:\t" + std::to_string(run.pid())) return one;
    }
    return 0;
  }
  Finished go() {
    run.type("go\n");
    return run.wait();
  }
  Running run;
};

TEST_P(Agent, ARelayThatDiesEndsSigningAndNotTheRun) {
  Begun begun(cordon(script(Begun::kScript, "agent: [ssh]\n")));
  const pid_t relay = begun.relay();
  ASSERT_GT(relay, 0);
  ASSERT_EQ(::kill(relay, SIGKILL), 0);
  ASSERT_TRUE(gone_relay(relay));
  const Finished got = begun.go();
  EXPECT_THAT(got.out, HasSubstr("list=2")) << "nobody answers" << got;
  EXPECT_EQ(got.code, 0) << "the target's own" << got;
  EXPECT_TRUE(got.says("cordon-agent was lost")) << got;
}

TEST_P(Agent, AnAgentThatDiesEndsSigningAndNotTheRun) {
  Begun begun(cordon(script(Begun::kScript, "agent: [ssh]\n")));
  agent.end();
  const Finished got = begun.go();
  EXPECT_THAT(got.out, HasSubstr("list=1")) << "a failure" << got;
  EXPECT_EQ(got.code, 0) << got;
  EXPECT_TRUE(got.says("the ssh agent was lost")) << got;
}

TEST_P(Agent, NothingIsLeftOfARunThatWasKilled) {
  Begun begun(cordon(script(Begun::kScript, "agent: [ssh]\n")));
  const pid_t relay = begun.relay();
  ASSERT_GT(relay, 0);
  ASSERT_EQ(::kill(begun.run.pid(), SIGKILL), 0);
  begun.run.wait();
  EXPECT_TRUE(gone_relay(relay));
  EXPECT_TRUE(gone(scene.in_work("s.sh")));
  EXPECT_THAT(agent.listed(), HasSubstr(agent.fingerprint(key))) << "the agent itself is as it was";
}

TEST_P(Agent, TheRelayIsConfinedAndHoldsNothingButItsSockets) {
  Begun begun(cordon(script(Begun::kScript, "agent: [ssh]\n")));
  const std::string proc = "/proc/" + std::to_string(begun.relay());
  std::stringstream status;
  status << std::ifstream(proc + "/status").rdbuf();
  EXPECT_THAT(status.str(),
              AllOf(HasSubstr("Seccomp:\t2"), HasSubstr("NoNewPrivs:\t1"), HasSubstr("CapEff:\t0000000000000000")));
  if (running_as_root()) {
    std::vector<std::string> held;
    for (const auto& one : std::filesystem::directory_iterator(proc + "/fd"))
      held.push_back(std::filesystem::read_symlink(one).string().substr(0, 8));
    EXPECT_THAT(held,
                testing::UnorderedElementsAre("/dev/nul", "/dev/nul", "/dev/nul", "socket:[", "socket:[", "socket:["));
  }
  EXPECT_EQ(begun.go().code, 0);
}

TEST_P(Agent, ACommandHasItByAFlag) {
  scene.tree().make_directory("work/project/.git");
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "ssh-add", "-l"});
    return scene.cordon(flags).in(scene.in_work("project")).env("SSH_AUTH_SOCK", agent.socket()).run();
  };
  EXPECT_THAT(run({"--agent", "ssh"}).out, HasSubstr(agent.fingerprint(key)));
  EXPECT_THAT(run({}).out, Not(HasSubstr(agent.fingerprint(key)))) << "the control";
  const Finished unknown = run({"--agent", "gpg"});
  EXPECT_EQ(unknown.code, 125);
  EXPECT_TRUE(unknown.says("--agent \"gpg\" is not known here")) << unknown;
}

TEST_P(Agent, NoAgentRefusesAtItsLineWithTheMend) {
  const std::string manifest = script("true\n", "agent: [ssh]\n");
  const Finished unset = scene.cordon({"run", "--allow-unapproved", manifest}).run();
  EXPECT_EQ(unset.code, 125);
  EXPECT_TRUE(unset.says("SSH_AUTH_SOCK is not set")) << unset;
  EXPECT_THAT(unset.err, AllOf(HasSubstr("m.yaml:5:9: error:"), HasSubstr("eval $(ssh-agent)"))) << unset;
  const Finished file =
      scene.cordon({"run", "--allow-unapproved", manifest}).env("SSH_AUTH_SOCK", scene.in_work("data")).run();
  EXPECT_TRUE(file.says("is no socket")) << file;
  agent.end();
  const Finished dead = cordon(manifest).run();
  EXPECT_EQ(dead.code, 125);
  EXPECT_TRUE(dead.says("nothing answers at")) << dead;
  EXPECT_THAT(dead.err, AllOf(HasSubstr("m.yaml:5:9: error:"), HasSubstr("eval $(ssh-agent)"))) << dead;
}

TEST_P(Agent, WhoeverApprovesIsToldWhatItMeans) {
  const Finished shown =
      scene.cordon({"validate", script("true\n", "agent: [ssh]\n")}).env("SSH_AUTH_SOCK", agent.socket()).run();
  EXPECT_TRUE(shown.says("agent: ssh: the program can sign as you, to any host that it can reach, as long as it runs"))
      << shown;
}

CORDON_ROOT_PROMISE(AgentOfAnother);

TEST_P(AgentOfAnother, IsNotAsked) {
  const SshAgent agent(scene.tree(), other_user(), "work/keys");
  scene.tree().write("work/s.sh", "ssh-add -l\n", 0755);
  const std::string manifest =
      scene.manifest("entrypoint: ./s.sh\ninterpreter: " + real("/usr/bin/bash") + "\nexec: all\nagent: [ssh]\n");
  const Finished got = scene.cordon({"run", "--allow-unapproved", manifest}).env("SSH_AUTH_SOCK", agent.socket()).run();
  EXPECT_EQ(got.code, 125) << got;
  EXPECT_TRUE(got.says("belongs to uid " + std::to_string(other_user().uid))) << got;
  EXPECT_THAT(agent.listed(), HasSubstr("no identities")) << "the control: its own user may ask it";
}

TEST_P(AgentOfAnother, IsNotAskedUnderANameOfOurs) {
  const SshAgent agent(scene.tree(), other_user(), "work/keys");
  ASSERT_EQ(::chown(agent.socket().c_str(), 0, 0), 0);
  scene.tree().write("work/s.sh", "ssh-add -l\n", 0755);
  const std::string manifest =
      scene.manifest("entrypoint: ./s.sh\ninterpreter: " + real("/usr/bin/bash") + "\nexec: all\nagent: [ssh]\n");
  const Finished got = scene.cordon({"run", "--allow-unapproved", manifest}).env("SSH_AUTH_SOCK", agent.socket()).run();
  EXPECT_EQ(got.code, 125) << got;
  EXPECT_TRUE(got.says("another user listens there: " + std::to_string(other_user().uid))) << got;
}

TEST_P(AgentOfAnother, IsAskedWhereItIsThatOfTheUserWhomRootRunsAs) {
  scene.tree().write("work/s.sh", "id -u\nssh-add -l\n", 0755);
  const std::string manifest =
      scene.manifest("entrypoint: ./s.sh\ninterpreter: " + real("/usr/bin/bash") + "\nexec: all\nagent: [ssh]\n");
  for (const char* each : {"home", "work", "work/s.sh", "work/m.yaml"}) scene.tree().give(each, ordinary_user());
  const SshAgent agent(scene.tree(), ordinary_user(), "work/keys");
  const std::string key = agent.add_key("one", "deploy");
  const Finished got = scene.cordon({"run", "--allow-unapproved", manifest}).env("SSH_AUTH_SOCK", agent.socket()).run();
  EXPECT_EQ(got.out.substr(0, got.out.find('\n')), std::to_string(ordinary_user().uid)) << got;
  EXPECT_THAT(got.out, HasSubstr(agent.fingerprint(key))) << got;
}

}  // namespace
}  // namespace cordon::test
