// Identity: whom a test acts as. Every promise is shown as root and as an ordinary user; where the suite itself does
// not run as root, root's rows do not exist (they are not skipped: nobody asked for them).
//
// As root the ordinary user is an account of the suite's own, made once by useradd and used again by later runs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cordon::test {

struct Identity {
  std::string name;  ///< "root" or "user": also the name of the parameterised test
  std::string account;
  uid_t uid = 0;
  gid_t gid = 0;
  [[nodiscard]] bool is_root() const { return uid == 0; }
};

bool running_as_root();

/// The suite's own account, or the caller where the caller is not root.
const Identity& ordinary_user();

/// A second ordinary account ("somebody else"); only as root.
const Identity& other_user();

/// All identities that this run can take.
std::vector<Identity> identities();

void PrintTo(const Identity& who, std::ostream* out);

}  // namespace cordon::test
