// Promise: git over ssh reaches a granted host:22 with no configuration of ssh inside, believes the keys that the
// host's own ssh knows of it and no others, and sees nothing of ~/.ssh.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "network/stage.h"
#include "support/promise.h"
#include "support/require.h"
#include "support/ssh_agent.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// An sshd on port 22 of an address, as the ordinary user: started for each connection, as inetd would.
class SshServer {
 public:
  explicit SshServer(const std::string& address)
      : server_(address, 22, [this](const base::Fd& client) { serve(client); }) {
    prepare();
  }

  /// "TYPE KEY" of the host.
  [[nodiscard]] std::string host_key() const {
    const std::string all = tree_.read("host.pub").value_or("");
    return all.substr(0, all.find(' ', all.find(' ') + 1));
  }
  void authorize(const std::string& public_key) const { tree_.write("authorized", public_key, 0600); }
  [[nodiscard]] std::string url(const std::string& host) const {
    return "ssh://" + ordinary_user().account + "@" + host + tree_.path("repo.git");
  }

 private:
  [[nodiscard]] std::vector<std::string> argv() const {
    return {"/usr/sbin/sshd",
            "-i",
            "-f",
            "/dev/null",
            "-h",
            tree_.path("host"),
            "-o",
            "UsePAM=no",
            "-o",
            "StrictModes=no",
            "-o",
            "AuthorizedKeysFile=" + tree_.path("authorized"),
            "-E",
            tree_.path("log")};
  }
  void serve(const base::Fd& client) const {
    std::vector<std::string> words = argv();
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const Identity who = ordinary_user();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(client.get(), 0);
      ::dup2(client.get(), 1);
      if (::geteuid() == 0 && (::setgid(who.gid) != 0 || ::setuid(who.uid) != 0)) ::_exit(98);
      ::execv(pointers[0], pointers.data());
      ::_exit(99);
    }
    ::waitpid(pid, nullptr, 0);
  }
  void prepare() const {
    const auto as_user = [&](std::vector<std::string> command) {
      const Finished done =
          Command(std::move(command)).as(ordinary_user()).in(tree_.root()).env("HOME", tree_.root()).run();
      require(done.ok(), "prepare the ssh server: " + done.err);
    };
    as_user({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tree_.path("host")});
    as_user({"/bin/sh", "-c",
             "git init -q w && cd w && echo cloned > file && git add file && "
             "git -c user.name=t -c user.email=t@t commit -qm first && cd .. && git clone -q --bare w repo.git"});
  }

  Tree tree_{ordinary_user()};
  Server server_;
};

class Ssh : public Promise {
 protected:
  void SetUp() override {
    const Finished made = Command({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scene.in_work("key")})
                              .as(scene.who())
                              .run();
    ASSERT_TRUE(made.ok()) << made;
    // No shell is needed for it: in an ordinary user's own namespace /bin is nobody's link.
    scene.tree().write("work/ssh",
                       "#!" + std::filesystem::canonical("/usr/bin/python3").string() +
                           "\nimport os, sys\nos.execv('/usr/bin/ssh', ['ssh', '-4', '-o', 'BatchMode=yes', '-i', '" +
                           scene.in_work("key") + "'] + sys.argv[1:])\n",
                       0755);
    server.authorize(scene.tree().read("work/key.pub").value());
  }
  void know(const std::string& text) const { scene.tree().write("home/.ssh/known_hosts", text, 0600); }
  Finished clone(const std::string& host) const {
    scene.tree().remove("work/out");
    const std::string manifest =
        scene.manifest("entrypoint: " + std::filesystem::canonical("/usr/bin/git").string() + "\n" +
                       list("args", {"clone", "-q", server.url(host), scene.in_work("out/repo")}) +
                       "exec: all\nenv: [GIT_SSH]\nread: [./key, ./ssh]\nwrite: [./out]\n"
                       "network: [{host: a.example, port: '22'}]\n");
    return scene.cordon({"run", "--allow-unapproved", "--env", "GIT_SSH=" + scene.in_work("ssh"), manifest}).run();
  }
  [[nodiscard]] std::string cloned() const { return scene.tree().read("work/out/repo/file").value_or(""); }

  SshServer server{kPublic4};
};
INSTANTIATE_TEST_SUITE_P(As, Ssh, testing::ValuesIn(identities()), identity_name);

TEST_P(Ssh, GitReachesAGrantedHostWhoseKeyIsKnown) {
  know("a.example,93.184.216.34 " + server.host_key() + " a comment\n");
  const Finished got = clone("a.example");
  EXPECT_EQ(cloned(), "cloned\n") << got;
  EXPECT_EQ(got.code, 0) << got;
}

TEST_P(Ssh, AHashedKeyIsFoundByTheHostsName) {
  know("a.example " + server.host_key() + "\nb.example " + server.host_key() + "\n");
  const std::string file = scene.home() + "/.ssh/known_hosts";
  ASSERT_TRUE(Command({"/usr/bin/ssh-keygen", "-q", "-H", "-f", file}).as(scene.who()).run().ok());
  scene.tree().remove("home/.ssh/known_hosts.old");
  ASSERT_THAT(scene.tree().read("home/.ssh/known_hosts").value(), Not(HasSubstr("a.example")));
  const Finished got = clone("a.example");
  EXPECT_EQ(cloned(), "cloned\n") << got;
}

TEST_P(Ssh, AHostWithAnotherKeyOrNoneIsNotBelieved) {
  EXPECT_THAT(clone("a.example").err, HasSubstr("Host key verification failed")) << "nothing is known";
  know("a.example " + scene.tree().read("work/key.pub").value());
  const Finished other = clone("a.example");
  EXPECT_THAT(other.err, HasSubstr("Host key verification failed")) << "another key";
  EXPECT_EQ(cloned(), "");
}

TEST_P(Ssh, AHostThatIsNotGrantedIsNotReached) {
  know("b.example " + server.host_key() + "\n");
  const Finished got = clone("b.example");
  EXPECT_NE(got.code, 0);
  EXPECT_TRUE(got.says("denied: looking up b.example")) << got;
}

TEST_P(Ssh, OfTheKnownHostsOnlyGrantedOnesAreSeenAndNothingOfTheDirectory) {
  know("a.example,secret.inner " + server.host_key() + " someone@home\nother.example " + server.host_key() + "\n");
  scene.tree().write("work/show.py",
                     "import os\nprint(open('/etc/ssh/ssh_known_hosts').read())\n"
                     "for path in ['" +
                         scene.home() + "/.ssh', '" + scene.home() +
                         "/.ssh/known_hosts']:\n"
                         "  print('there' if os.path.exists(path) else 'hidden')\n");
  const std::string start =
      "entrypoint: show.py\ninterpreter: " + std::filesystem::canonical("/usr/bin/python3").string() + "\n";
  const auto shown = [&](const std::string& port) {
    return scene
        .cordon({"run", "--allow-unapproved",
                 scene.manifest(start + "network: [{host: a.example, port: '" + port + "'}]\n", "show.yaml")})
        .run();
  };
  const Finished got = shown("22");
  EXPECT_THAT(got.out, HasSubstr("a.example " + server.host_key() + "\n")) << got;
  EXPECT_THAT(got.out, testing::AllOf(Not(HasSubstr("secret")), Not(HasSubstr("other")), Not(HasSubstr("someone")),
                                      Not(HasSubstr("there"))))
      << got;
  EXPECT_THAT(shown("443").err, HasSubstr("No such file")) << "without a rule for ssh's port there is no such file";
}

/// The only key that the server takes is in the agent and nowhere else.
class SshByAgent : public Promise {
 protected:
  void SetUp() override {
    key = agent.add_key("one", "deploy");
    server.authorize(scene.tree().read("work/keys/one.pub").value());
    scene.tree().write("home/.ssh/known_hosts", "a.example " + server.host_key() + "\n", 0600);
  }
  Finished clone(const std::string& lines) const {
    scene.tree().remove("work/out");
    const std::string manifest =
        scene.manifest("entrypoint: " + std::filesystem::canonical("/usr/bin/git").string() + "\n" +
                       list("args", {"clone", "-q", "-c", "core.sshCommand=ssh -4 -o BatchMode=yes",
                                     server.url("a.example"), scene.in_work("out/repo")}) +
                       "exec: all\nwrite: [./out]\nnetwork: [{host: a.example, port: '22'}]\n" + lines);
    return scene.cordon({"run", "--allow-unapproved", manifest}).env("SSH_AUTH_SOCK", agent.socket()).run();
  }
  [[nodiscard]] std::string cloned() const { return scene.tree().read("work/out/repo/file").value_or(""); }

  SshServer server{kPublic4};
  SshAgent agent{scene.tree(), scene.who(), "work/keys"};
  std::string key;
};
INSTANTIATE_TEST_SUITE_P(As, SshByAgent, testing::ValuesIn(identities()), identity_name);

TEST_P(SshByAgent, GitSignsInWithAKeyOfTheAgentAndTheReportNamesIt) {
  const Finished got = clone("agent: [ssh]\n");
  EXPECT_EQ(cloned(), "cloned\n") << got;
  EXPECT_TRUE(got.says("the ssh agent signed once with " + agent.fingerprint(key) + " (deploy)")) << got;
}

TEST_P(SshByAgent, WithoutTheLineNobodySignsIn) {
  const Finished got = clone("env: [SSH_AUTH_SOCK]\n");
  EXPECT_EQ(cloned(), "");
  EXPECT_THAT(got.err, HasSubstr("Permission denied")) << got;
  EXPECT_FALSE(got.says("signed")) << got;
}

}  // namespace
}  // namespace cordon::test
