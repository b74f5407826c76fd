// Accounts: /etc/passwd and /etc/group, read directly.
//
// No NSS: a static program that calls getpwuid loads the host's modules and a second libc, and talks to daemons. Users
// that only a directory service knows are therefore unknown here, and their groups count as shared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/host_facts.h"

namespace cordon::host {

class AccountBook {
 public:
  AccountBook() = default;
  static AccountBook read();
  /// Malformed lines and NIS markers are left out; the first line of an id wins, as for getpwuid(3).
  static AccountBook parse(std::string_view passwd, std::string_view group);

  [[nodiscard]] std::optional<plan::Account> by_uid(std::uint32_t uid) const;

  /// Every home that is absolute and not "/", sorted, each once.
  [[nodiscard]] std::vector<std::string> homes() const;

  /// True where everybody who has this group, by /etc/group or as the primary one, is root or `uid`: write permission
  /// for such a group lets nobody else in.
  [[nodiscard]] bool group_is_private_to(std::uint32_t gid, std::uint32_t uid) const;

 private:
  struct Group {
    std::uint32_t gid = 0;
    std::vector<std::string> members;
  };
  std::vector<plan::Account> accounts_;
  std::vector<Group> groups_;
};

}  // namespace cordon::host
