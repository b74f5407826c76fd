// Who is in a group, as far as the local files can prove it. Pure: the texts come in, so that a test can hand in any
// host.
//
// The files prove something only where they are the whole account database: nsswitch.conf must limit passwd, group and
// initgroups to "files" and "systemd", and neither file may pull in others by a "+" or "-" entry. Everything else is
// kUnknown, never "private".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/approval/facts.h"

namespace cordon::policy::approval {

/// /etc/nsswitch.conf, /etc/passwd, /etc/group; nothing where one cannot be read or is beyond 4 MiB.
struct AccountFiles {
  std::optional<std::string> nsswitch, passwd, group;
};
AccountFiles read_account_files();

enum class GroupPrivacy : std::uint8_t {
  kPrivate,  ///< proven: no member but the caller and root
  kShared,   ///< proven: somebody else is a member
  kUnknown,
};
GroupPrivacy judge_group(const AccountFiles& accounts, gid_t group, Caller caller);

/// "1001 (alice)", or "1001" where the files do not name it. The name is quoted where it needs it.
std::string shown_user(const AccountFiles& accounts, uid_t uid);
std::string shown_group(const AccountFiles& accounts, gid_t gid);

}  // namespace cordon::policy::approval
