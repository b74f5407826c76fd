#include "host/accounts.h"

#include <algorithm>
#include <limits>

#include "base/abs_path.h"
#include "base/text.h"
#include "host/small_file.h"

namespace cordon::host {
namespace {

constexpr std::size_t kMostAccounts = 16U << 20U;

std::optional<std::uint32_t> parse_id(std::string_view text) {
  const auto id = base::parse_decimal(text);
  // 2^32 - 1 is chown's "leave it": no account has it.
  if (!id || *id >= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*id);
}

bool is_name(std::string_view name) {
  return !name.empty() && !name.starts_with('+') && !name.starts_with('-') && !name.starts_with('#');
}

}  // namespace

AccountBook AccountBook::read() {
  return parse(read_small_file("/etc/passwd", kMostAccounts).value_or(""),
               read_small_file("/etc/group", kMostAccounts).value_or(""));
}

AccountBook AccountBook::parse(std::string_view passwd, std::string_view group) {
  AccountBook book;
  for (const std::string_view line : base::split(passwd, '\n')) {
    const auto fields = base::split(line, ':');
    if (fields.size() != 7 || !is_name(fields[0])) continue;
    const auto uid = parse_id(fields[2]);
    const auto gid = parse_id(fields[3]);
    if (!uid || !gid) continue;
    book.accounts_.push_back({.name = std::string(fields[0]),
                              .uid = *uid,
                              .gid = *gid,
                              .groups = {},
                              .home = std::string(fields[5]),
                              .shell = std::string(fields[6])});
  }
  for (const std::string_view line : base::split(group, '\n')) {
    const auto fields = base::split(line, ':');
    if (fields.size() != 4 || !is_name(fields[0])) continue;
    const auto gid = parse_id(fields[2]);
    if (!gid) continue;
    Group& entry = book.groups_.emplace_back(Group{.gid = *gid, .members = {}});
    for (const std::string_view member : base::split(fields[3], ',')) {
      if (!member.empty()) entry.members.emplace_back(member);
    }
  }
  return book;
}

std::optional<plan::Account> AccountBook::by_uid(std::uint32_t uid) const {
  const auto it = std::ranges::find(accounts_, uid, &plan::Account::uid);
  if (it == accounts_.end()) return std::nullopt;
  plan::Account account = *it;
  for (const Group& group : groups_) {
    const bool listed = std::ranges::find(group.members, account.name) != group.members.end();
    const bool known = std::ranges::find(account.groups, group.gid) != account.groups.end();
    if (listed && !known && group.gid != account.gid) account.groups.push_back(group.gid);
  }
  return account;
}

std::vector<std::string> AccountBook::homes() const {
  std::vector<std::string> out;
  for (const plan::Account& account : accounts_) {
    const auto home = base::AbsPath::parse(account.home);
    if (home && !home->is_root()) out.push_back(home->str());
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

bool AccountBook::group_is_private_to(std::uint32_t gid, std::uint32_t uid) const {
  const auto harmless = [&](std::uint32_t id) { return id == 0 || id == uid; };
  bool known = false;
  for (const plan::Account& account : accounts_) {
    if (account.gid != gid) continue;
    known = true;
    if (!harmless(account.uid)) return false;
  }
  for (const Group& group : groups_) {
    if (group.gid != gid) continue;
    known = true;
    for (const std::string& member : group.members) {
      const auto it = std::ranges::find(accounts_, member, &plan::Account::name);
      if (it == accounts_.end() || !harmless(it->uid)) return false;
    }
  }
  return known;
}

}  // namespace cordon::host
