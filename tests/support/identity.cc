#include "support/identity.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <ostream>

#include "support/command.h"
#include "support/require.h"

namespace cordon::test {
namespace {

/// Two tests may want the account at once: the second waits and finds it made.
void make_account(const std::string& account) {
  const int lock = ::open("/var/tmp/cordon-test-accounts.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  require(lock >= 0 && ::flock(lock, LOCK_EX) == 0, "lock for the test accounts");
  if (::getpwnam(account.c_str()) == nullptr) {
    const Finished made = Command({"/usr/sbin/useradd", "-m", "-s", "/bin/bash", account}).run();
    require(made.code == 0, "useradd " + account + ": " + made.err);
  }
  ::close(lock);
}

Identity account_identity(const std::string& name, const std::string& account) {
  if (::getpwnam(account.c_str()) == nullptr) make_account(account);
  const passwd* entry = ::getpwnam(account.c_str());
  require(entry != nullptr, "account " + account);
  return {.name = name, .account = account, .uid = entry->pw_uid, .gid = entry->pw_gid};
}

Identity caller() {
  const passwd* entry = ::getpwuid(::geteuid());
  return {.name = "user", .account = entry != nullptr ? entry->pw_name : "", .uid = ::geteuid(), .gid = ::getegid()};
}

}  // namespace

bool running_as_root() { return ::geteuid() == 0; }

const Identity& ordinary_user() {
  static const Identity who = running_as_root() ? account_identity("user", "cordontest") : caller();
  return who;
}

const Identity& other_user() {
  static const Identity who = account_identity("other", "cordonother");
  return who;
}

std::vector<Identity> identities() {
  std::vector<Identity> all;
  if (running_as_root()) all.push_back({.name = "root", .account = "root", .uid = 0, .gid = 0});
  all.push_back(ordinary_user());
  return all;
}

void PrintTo(const Identity& who, std::ostream* out) { *out << who.name; }

}  // namespace cordon::test
