#include "policy/approval/accounts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "kernel/file.h"

namespace cordon::policy::approval {
namespace {

constexpr std::size_t kMostAccountBytes = 4U << 20;

std::optional<std::string> read_text(const char* path) {
  auto file = kernel::openat(kernel::kHere, path, O_RDONLY | O_NONBLOCK);
  if (!file) return std::nullopt;
  std::string text;
  std::array<std::byte, 65536> block{};
  while (text.size() <= kMostAccountBytes) {
    auto n = kernel::read(*file, block);
    if (!n) return std::nullopt;
    if (*n == 0) return text;
    text.append(reinterpret_cast<const char*>(block.data()), *n);
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// The sources of one nsswitch line without its [STATUS=action] parts; nothing where a bracket does not close.
std::optional<std::string> without_actions(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('[');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    out += ' ';
    text.remove_prefix(close + 1);
  }
}

enum class Sources : std::uint8_t { kAbsent, kLocal, kOther };

/// All lines of `database` together: one that names a foreign source spoils them all.
Sources sources_of(std::string_view nsswitch, std::string_view database) {
  Sources found = Sources::kAbsent;
  for (std::string_view line : base::split(nsswitch, '\n')) {
    line = line.substr(0, line.find('#'));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = words_of(line.substr(0, colon));
    if (name.size() != 1 || name.front() != database) continue;
    const auto sources = without_actions(line.substr(colon + 1));
    if (!sources) return Sources::kOther;
    const auto words = words_of(*sources);
    const auto is_local = [](std::string_view word) { return word == "files" || word == "systemd"; };
    if (words.empty() || !std::ranges::all_of(words, is_local)) return Sources::kOther;
    found = Sources::kLocal;
  }
  return found;
}

bool files_are_everything(std::string_view nsswitch) {
  // Without a line of its own initgroups follows group; passwd and group must say it themselves, since what a missing
  // line means differs between C libraries.
  return sources_of(nsswitch, "passwd") == Sources::kLocal && sources_of(nsswitch, "group") == Sources::kLocal &&
         sources_of(nsswitch, "initgroups") != Sources::kOther;
}

struct User {
  std::string_view name;
  uid_t uid = 0;
  gid_t gid = 0;
};
struct Group {
  std::string_view name, password;
  gid_t gid = 0;
  std::vector<std::string_view> members;
};

template <class Id>
std::optional<Id> parse_id(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of('0'), text.size() - (text.empty() ? 0 : 1));
  const auto value = base::parse_decimal(text.substr(digits));
  if (!value || *value > std::numeric_limits<Id>::max()) return std::nullopt;
  return static_cast<Id>(*value);
}

/// The fields of each record; nothing where a line is not a record of at least `least` fields, or pulls in another
/// source ("+", "-"): then the file proves nothing.
std::optional<std::vector<std::vector<std::string_view>>> records(std::string_view text, std::size_t least) {
  std::vector<std::vector<std::string_view>> out;
  for (std::string_view line : base::split(text, '\n')) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || line[start] == '#') continue;
    if (line[start] == '+' || line[start] == '-') return std::nullopt;
    auto fields = base::split(line, ':');
    if (fields.size() < least) return std::nullopt;
    out.push_back(std::move(fields));
  }
  return out;
}

std::optional<std::vector<User>> users_of(std::string_view passwd) {
  const auto lines = records(passwd, 7);
  if (!lines) return std::nullopt;
  std::vector<User> users;
  for (const auto& fields : *lines) {
    const auto uid = parse_id<uid_t>(fields[2]);
    const auto gid = parse_id<gid_t>(fields[3]);
    if (!uid || !gid) return std::nullopt;
    users.push_back({.name = fields[0], .uid = *uid, .gid = *gid});
  }
  return users;
}

std::optional<std::vector<Group>> groups_of(std::string_view group) {
  const auto lines = records(group, 4);
  if (!lines) return std::nullopt;
  std::vector<Group> groups;
  for (const auto& fields : *lines) {
    const auto gid = parse_id<gid_t>(fields[2]);
    if (!gid) return std::nullopt;
    Group one{.name = fields[0], .password = fields[1], .gid = *gid, .members = {}};
    for (std::string_view member : base::split(fields[3], ',')) {
      const auto words = words_of(member);
      if (words.size() > 1) return std::nullopt;
      if (!words.empty()) one.members.push_back(words.front());
    }
    groups.push_back(std::move(one));
  }
  return groups;
}

/// A group password lets anybody who knows it join by newgrp(1).
bool can_be_joined(const Group& group) {
  return !group.password.empty() && group.password != "x" && group.password != "*" && !group.password.starts_with('!');
}

GroupPrivacy judge_members(const Group& group, std::span<const User> users, Caller caller) {
  GroupPrivacy verdict = can_be_joined(group) ? GroupPrivacy::kUnknown : GroupPrivacy::kPrivate;
  for (std::string_view member : group.members) {
    const auto named = [&](const User& user) { return user.name == member; };
    // A name without an account proves nothing: the account may be made tomorrow.
    if (std::ranges::none_of(users, named)) verdict = GroupPrivacy::kUnknown;
    const auto somebody_else = [&](const User& user) { return named(user) && user.uid != 0 && user.uid != caller.uid; };
    if (std::ranges::any_of(users, somebody_else)) return GroupPrivacy::kShared;
  }
  return verdict;
}

std::string shown_id(std::uint32_t id, std::optional<std::string_view> name) {
  return std::to_string(id) + (name ? " (" + base::shown(*name) + ")" : "");
}

}  // namespace

AccountFiles read_account_files() {
  return {.nsswitch = read_text("/etc/nsswitch.conf"),
          .passwd = read_text("/etc/passwd"),
          .group = read_text("/etc/group")};
}

GroupPrivacy judge_group(const AccountFiles& accounts, gid_t group, Caller caller) {
  if (!accounts.nsswitch || !accounts.passwd || !accounts.group) return GroupPrivacy::kUnknown;
  if (!files_are_everything(*accounts.nsswitch)) return GroupPrivacy::kUnknown;
  const auto users = users_of(*accounts.passwd);
  const auto groups = groups_of(*accounts.group);
  if (!users || !groups) return GroupPrivacy::kUnknown;

  const auto has_as_primary = [&](const User& user) {
    return user.gid == group && user.uid != 0 && user.uid != caller.uid;
  };
  if (std::ranges::any_of(*users, has_as_primary)) return GroupPrivacy::kShared;
  bool known = group == caller.gid;
  GroupPrivacy verdict = GroupPrivacy::kPrivate;
  for (const Group& line : *groups) {  // several lines may carry one number: their members add up
    if (line.gid != group) continue;
    known = true;
    const GroupPrivacy one = judge_members(line, *users, caller);
    if (one == GroupPrivacy::kShared) return one;
    if (one == GroupPrivacy::kUnknown) verdict = one;
  }
  return known ? verdict : GroupPrivacy::kUnknown;
}

std::string shown_user(const AccountFiles& accounts, uid_t uid) {
  const auto users = accounts.passwd ? users_of(*accounts.passwd) : std::nullopt;
  if (!users) return shown_id(uid, std::nullopt);
  const auto found = std::ranges::find(*users, uid, &User::uid);
  return shown_id(uid, found == users->end() ? std::nullopt : std::optional(found->name));
}

std::string shown_group(const AccountFiles& accounts, gid_t gid) {
  const auto groups = accounts.group ? groups_of(*accounts.group) : std::nullopt;
  if (!groups) return shown_id(gid, std::nullopt);
  const auto found = std::ranges::find(*groups, gid, &Group::gid);
  return shown_id(gid, found == groups->end() ? std::nullopt : std::optional(found->name));
}

}  // namespace cordon::policy::approval
