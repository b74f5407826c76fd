// The way out, with everything real: cordon, its broker and resolver, and the clients that people use. What stands for
// the host's network is a network namespace of this program's own, where public addresses lead nowhere but to the
// tests' servers, which are on a machine of their own (egress/far.h); what stands for its names are files and a name
// server of its own, in a mount namespace of its own.
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>

#include "egress/far.h"
#include "egress/netlink.h"
#include "egress/sandbox.h"
#include "network/stage.h"
#include "support/identity.h"
#include "support/require.h"

namespace {

using namespace cordon::test;

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  require(out.good(), "write " + path);
}

/// Keeps its own ids: an ordinary user stays one, with the power over these namespaces alone.
void enter_namespaces() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  const int more = uid == 0 ? 0 : CLONE_NEWUSER;
  require(::unshare(more | CLONE_NEWNET | CLONE_NEWNS) == 0, "unshare");
  if (uid == 0) return;
  const auto same = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  write("/proc/self/setgroups", "deny");
  write("/proc/self/uid_map", same(uid));
  write("/proc/self/gid_map", same(gid));
}

void take_the_place_of(const std::string& path, const std::string& text) {
  char name[] = "/var/tmp/cordon-network-XXXXXX";
  const int fd = ::mkstemp(name);
  require(fd >= 0 && ::fchmod(fd, 0644) == 0, "mkstemp");
  ::close(fd);
  write(name, text);
  require(::mount(name, path.c_str(), nullptr, MS_BIND, nullptr) == 0, "bind over " + path);
  ::unlink(name);
}

void set_the_stage() {
  enter_namespaces();
  ::signal(SIGPIPE, SIG_IGN);
  require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  bring_up("lo");
  make_far_machine();
  take_the_place_of("/etc/hosts", std::string("127.0.0.1 localhost\n") + kPublic4 + " a.example alias.example\n" +
                                      kPublic6 + " a.example alias.example\n" + kOther4 + " b.example\n" + kPrivate4 +
                                      " inner.example\n" + kOwn4 + " own.example\n" + kOwn6 + " own.example\n");
  take_the_place_of("/etc/resolv.conf", "nameserver 127.0.0.1\n");
  take_the_place_of("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
}

}  // namespace

int main(int argc, char** argv) {
  const bool lists = std::any_of(argv, argv + argc, [](const char* one) {
    return std::string_view(one).find("list_tests") != std::string_view::npos;
  });
  if (!lists) {
    static_cast<void>(identities());  // made while accounts can still be made
    set_the_stage();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
