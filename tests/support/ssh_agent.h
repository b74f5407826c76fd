// SshAgent: an ssh agent of the test's own with keys made for it, ended with it.
#pragma once

#include <csignal>
#include <string>

#include "support/command.h"
#include "support/require.h"
#include "support/tree.h"

namespace cordon::test {

class SshAgent {
 public:
  /// Below `directory` of the tree: the agent's socket, and the public halves of its keys.
  SshAgent(const Tree& tree, const Identity& who, std::string directory)
      : tree_(tree), who_(who), directory_(std::move(directory)) {
    tree.make_directory(directory_);
    tree.give(directory_, who);
    // It is ready once it has said its number and left its parent.
    const Finished started = Command({"/usr/bin/ssh-agent", "-s", "-a", socket()}).as(who).run();
    const std::size_t at = started.out.find("SSH_AGENT_PID=");
    require(started.ok() && at != std::string::npos, "ssh-agent: " + started.err);
    pid_ = std::stoi(started.out.substr(at + 14));
  }
  ~SshAgent() { end(); }
  SshAgent(const SshAgent&) = delete;
  SshAgent& operator=(const SshAgent&) = delete;

  void end() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    pid_ = 0;
  }

  [[nodiscard]] std::string socket() const { return tree_.path(directory_ + "/socket"); }
  /// Makes a key and adds it; its private half is nowhere but in the agent then. Answers the path of the public one.
  std::string add_key(const std::string& name, const std::string& comment) const {
    const std::string path = tree_.path(directory_ + "/" + name);
    must({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path});
    must({"/usr/bin/ssh-add", "-q", path});
    tree_.remove(directory_ + "/" + name);
    return path + ".pub";
  }
  /// "SHA256:…", by ssh's own word.
  [[nodiscard]] std::string fingerprint(const std::string& public_key) const {
    const std::string said = must({"/usr/bin/ssh-keygen", "-l", "-f", public_key}).out;
    const std::size_t at = said.find("SHA256:");
    return said.substr(at, said.find(' ', at) - at);
  }
  /// What `ssh-add -l` says of it, outside.
  [[nodiscard]] std::string listed() const { return with({"/usr/bin/ssh-add", "-l"}).run().out; }
  [[nodiscard]] Command with(std::vector<std::string> argv) const {
    Command out(std::move(argv));
    out.as(who_).env("SSH_AUTH_SOCK", socket()).env("HOME", tree_.root());
    return out;
  }

 private:
  Finished must(std::vector<std::string> argv) const {
    Finished done = with(std::move(argv)).run();
    require(done.ok(), "prepare the ssh agent: " + done.err);
    return done;
  }

  const Tree& tree_;
  Identity who_;
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace cordon::test
