#include "planner/shields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "planner/layout_test.h"

namespace cordon::planner {
namespace {

using testing::FakeHost;
using testing::Layout;
using testing::Node;
using testing::PolicyMaker;

const std::vector<Layout>& layouts() {
  using H = FakeHost&;
  using P = PolicyMaker&;
  static const std::vector<Layout> kLayouts = {
      {"a home that is read is read without its stores",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.file("/home/me/.netrc", "x", 1000);
         p.read("/home/me");
       },
       "",
       {"/home/me/.ssh", "/home/me/.netrc"},
       {},
       {}},
      {"everything is read without stores",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.read("/");
       },
       "",
       {"/home/me/.ssh"},
       {},
       {}},
      {"a directory above the home",
       [](H h, P p) {
         h.directory("/home/me/.aws", 1000);
         p.read("/home");
       },
       "",
       {"/home/me/.aws"},
       {},
       {}},
      {"a store by its own name",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.read("/home/me/.ssh");
       },
       "",
       {},
       {},
       {"/home/me/.ssh"}},
      {"a store by its own name beside its home",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.directory("/home/me/.aws", 1000);
         p.read("/home/me").read("/home/me/.ssh");
       },
       "",
       {"/home/me/.aws"},
       {},
       {"/home/me/.ssh"}},
      {"a file of a store",
       [](H h, P p) {
         h.file("/home/me/.ssh/id", "k", 1000);
         p.read("/home/me/.ssh/id");
       },
       "grant-inside-shield"},
      {"a file of a lifted store",
       [](H h, P p) {
         h.file("/home/me/.ssh/id", "k", 1000);
         p.read("/home/me/.ssh").read("/home/me/.ssh/id");
       },
       "",
       {},
       {},
       {"/home/me/.ssh"}},
      {"what is not there in a store",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.read("/home/me/.ssh/none");
       },
       "grant-inside-shield"},
      {"a store through a link to it",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.link("/home/me/keys", ".ssh", 1000);
         p.read("/home/me/keys");
       },
       "grant-inside-shield"},
      {"a file of a store through a link",
       [](H h, P p) {
         h.file("/home/me/.ssh/id", "k", 1000);
         h.link("/home/me/id", ".ssh/id", 1000);
         p.read("/home/me/id");
       },
       "grant-inside-shield"},
      {"a link in a store that leads out",
       [](H h, P p) {
         h.directory("/home/me/d", 1000);
         h.link("/home/me/.ssh/out", "../d", 1000);
         p.read("/home/me/.ssh/out");
       },
       "grant-inside-shield"},
      {"a store that is a link, by its own name",
       [](H h, P p) {
         h.directory("/data/ssh", 1000);
         h.link("/home/me/.ssh", "/data/ssh", 1000);
         p.read("/home/me/.ssh");
       },
       "",
       {},
       {},
       {"/data/ssh"}},
      {"a store that is a link, at its place",
       [](H h, P p) {
         h.directory("/data/ssh", 1000);
         h.link("/home/me/.ssh", "/data/ssh", 1000);
         p.read("/data/ssh");
       },
       "grant-inside-shield"},
      {"a store that is a link, below a grant of its place",
       [](H h, P p) {
         h.directory("/data/ssh", 1000);
         h.link("/home/me/.ssh", "/data/ssh", 1000);
         p.read("/data");
       },
       "",
       {"/data/ssh"},
       {},
       {}},
      {"a directory on the way to a store is a link",
       [](H h, P p) {
         h.directory("/data/config/gh", 1000);
         h.link("/home/me/.config", "/data/config", 1000);
         p.read("/data");
       },
       "",
       {"/data/config/gh"},
       {},
       {}},
      {"a home that is a link",
       [](H h, P p) {
         h.directory("/data/me/.ssh", 1000);
         h.remove("/home/me");
         h.link("/home/me", "/data/me", 1000);
         h.program("/data/me/p/run", "#!/bin/sh\n", 1000);
         p.read("/home/me");
       },
       "",
       {"/data/me/.ssh"},
       {},
       {}},
      {"a store by its name below a home that is a link",
       [](H h, P p) {
         h.directory("/data/me/.ssh", 1000);
         h.remove("/home/me");
         h.link("/home/me", "/data/me", 1000);
         h.program("/data/me/p/run", "#!/bin/sh\n", 1000);
         p.read("/home/me/.ssh");
       },
       "",
       {},
       {},
       {"/data/me/.ssh"}},
      {"a key in a repository of dotfiles",
       [](H h, P p) {
         h.file("/home/me/dot/id", "k", 1000);
         h.link("/home/me/.ssh/id", "../dot/id", 1000);
         p.read("/home/me/dot");
       },
       "",
       {"/home/me/dot/id"},
       {},
       {}},
      {"a store that leads to the home hides nothing more",
       [](H h, P p) {
         h.link("/home/me/.ssh", ".", 1000);
         h.directory("/home/me/d", 1000);
         p.read("/home/me/d");
       },
       "",
       {},
       {},
       {"/home/me/d"}},
      {"a store that leads to the root hides nothing more",
       [](H h, P p) {
         h.link("/home/me/.aws", "/", 1000);
         h.directory("/srv/d", 1000);
         p.read("/srv/d");
       },
       "",
       {},
       {},
       {"/srv/d"}},
      {"a directory where a file is usual",
       [](H h, P p) {
         h.directory("/home/me/.netrc", 1000);
         p.read("/home/me");
       },
       "",
       {"/home/me/.netrc"},
       {},
       {}},
      {"writing a store",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.write("/home/me/.ssh");
       },
       "write-inside-shield"},
      {"writing a store that is not there", [](H, P p) { p.write("/home/me/.ssh"); }, "write-inside-shield"},
      {"writing a store that is read by name",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.read("/home/me/.ssh").write("/home/me/.ssh");
       },
       "write-inside-shield"},
      {"writing a file of a store",
       [](H h, P p) {
         h.file("/home/me/.ssh/id", "k", 1000);
         p.write("/home/me/.ssh/id");
       },
       "write-inside-shield"},
      {"writing through a link into a store",
       [](H h, P p) {
         h.directory("/home/me/.ssh/d", 1000);
         h.link("/home/me/x", ".ssh/d", 1000);
         p.write("/home/me/x");
       },
       "write-inside-shield"},
      {"writing over a store",
       [](H h, P p) {
         h.directory("/home/me/.config/gh", 1000);
         h.directory("/home/me/.config", 1000);
         p.write("/home/me/.config");
       },
       "",
       {"/home/me/.config/gh"},
       {},
       {}},
      {"writing where a store is a link",
       [](H h, P p) {
         h.directory("/home/me/.config", 1000);
         h.directory("/data/gh", 1000);
         h.link("/home/me/.config/gh", "/data/gh", 1000);
         p.write("/home/me/.config");
       },
       "",
       {},
       {},
       {},
       {"/home/me/.config/gh"}},
      {"writing where the link to a store leaves a directory that it enters",
       [](H h, P p) {
         h.directory("/home/me/.config/a", 1000);
         h.directory("/home/me/.config/b", 1000);
         h.link("/home/me/.config/gh", "a/../b", 1000);
         p.write("/home/me/.config");
       },
       "shield-redirected"},
      {"writing where the store that a link leads to is written too",
       [](H h, P p) {
         h.directory("/home/me/.config/b", 1000);
         h.link("/home/me/.config/gh", "b", 1000);
         p.write("/home/me/.config");
       },
       "",
       {"/home/me/.config/b"},
       {},
       {},
       {"/home/me/.config/gh"}},
      {"writing a start-up file",
       [](H h, P p) {
         h.file("/home/me/.bashrc", "x", 1000);
         p.write("/home/me/.bashrc");
       },
       "write-inside-read-only-shield"},
      {"writing what ordinary work needs, by name",
       [](H h, P p) {
         h.directory("/home/me/.local/bin", 1000);
         p.write("/home/me/.local/bin");
       },
       "",
       {},
       {},
       {"/home/me/.local/bin"}},
      {"the same below it",
       [](H h, P p) {
         h.directory("/home/me/.local/bin/x", 1000);
         p.write("/home/me/.local/bin/x");
       },
       "write-inside-read-only-shield"},
      {"the same through a link",
       [](H h, P p) {
         h.directory("/home/me/.local/bin", 1000);
         h.link("/home/me/b", ".local/bin", 1000);
         p.write("/home/me/b");
       },
       "write-inside-read-only-shield"},
      {"the same above it",
       [](H h, P p) {
         h.directory("/home/me/.local/bin", 1000);
         h.directory("/home/me/.local", 1000);
         p.write("/home/me/.local");
       },
       "",
       {},
       {"/home/me/.local/bin"},
       {}},
      {"what the caller denies stays hidden",
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         p.read("/home/me/.ssh").deny("/home/me/.ssh");
       },
       "grant-inside-deny"},
      {"running services",
       [](H h, P p) {
         h.file("/run/secret", "x");
         p.read("/");
       },
       "",
       {},
       {},
       {}},
      {"a file of running services",
       [](H h, P p) {
         h.file("/run/secret", "x");
         p.read("/run/secret");
       },
       "grant-inside-shield"},
      {"one socket of theirs, by name",
       [](H h, P p) {
         h.special("/run/docker.sock", Node::Kind::kSocket);
         p.read("/run/docker.sock");
       },
       "",
       {},
       {},
       {"/run/docker.sock"}},
      {"the machine's own keys",
       [](H h, P p) {
         h.directory("/etc/ssl/private", 0, 0710);
         h.special("/nix/var/nix/daemon-socket/socket", Node::Kind::kSocket);
         p.read("/");
       },
       "",
       {"/etc/shadow", "/etc/ssl/private", "/nix/var/nix/daemon-socket/socket"},
       {},
       {}},
      {"the machine's own keys, below a narrower grant", [](H, P p) { p.read("/etc"); }, "", {"/etc/shadow"}, {}, {}},
      {"one of the machine's own keys, by name", [](H, P p) { p.read("/etc/shadow"); }, "", {}, {}, {"/etc/shadow"}},
      {"a file among the machine's own keys",
       [](H h, P p) {
         h.file("/etc/ssl/private/web.key", "k");
         p.read("/etc/ssl/private/web.key");
       },
       "grant-inside-shield"},
      {"a socket of the machine, by name",
       [](H h, P p) {
         h.special("/nix/var/nix/daemon-socket/socket", Node::Kind::kSocket);
         p.read("/srv").read("/nix/var/nix/daemon-socket/socket");
       },
       "",
       {},
       {},
       {"/nix/var/nix/daemon-socket/socket"}},
      {"another home by HOME keeps the account's",
       [](H h, P p) {
         h.facts.home = "/srv/other";
         h.directory("/srv/other/.ssh", 1000);
         h.directory("/home/me/.ssh", 1000);
         p.read("/home").read("/srv");
       },
       "",
       {"/home/me/.ssh", "/srv/other/.ssh"},
       {},
       {}},
      {"a store that a variable moved",
       [](H h, P p) {
         h.environment["GNUPGHOME"] = "/srv/gpg";
         h.directory("/srv/gpg", 1000);
         p.read("/srv");
       },
       "",
       {"/srv/gpg"},
       {},
       {}},
      {"a file of a store that a variable moved",
       [](H h, P p) {
         h.environment["GNUPGHOME"] = "/srv/gpg";
         h.file("/srv/gpg/key", "k", 1000);
         p.read("/srv/gpg/key");
       },
       "grant-inside-shield"},
      {"writing a store that a variable moved",
       [](H h, P p) {
         h.environment["GNUPGHOME"] = "/srv/gpg";
         h.directory("/srv/gpg", 1000);
         p.write("/srv/gpg");
       },
       "write-inside-shield"},
  };
  return kLayouts;
}

TEST(Shields, EachLayoutHasItsVerdict) { testing::expect_verdicts(layouts()); }

}  // namespace
}  // namespace cordon::planner
