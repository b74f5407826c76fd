// What the files of a control group (cgroup v2) say and are told, as texts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::cgroup {

/// One file, and what is written into it and then read back.
struct Setting {
  std::string file;    ///< "memory.max"
  std::string text;    ///< as it is written
  std::string expect;  ///< as it reads afterwards, without the newline
  bool needed = true;  ///< false: a kernel without this file holds the limit as well
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// `page` is the size of a page: the kernel keeps memory limits in whole ones. Zero: no limit of that kind.
struct Wanted {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_hundredths = 0;  ///< of a percent of one CPU
  std::uint64_t pids = 0;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
std::vector<Setting> settings_of(const Wanted& wanted, std::uint64_t page);

/// The controllers that these limits need: "memory", "cpu", "pids".
std::vector<std::string_view> controllers_of(const Wanted& wanted);

/// The number behind `key` in a file of "key value" lines; nothing where it has no such line.
std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key);

/// A word of a list that is separated by spaces, as in cgroup.controllers.
bool has_word(std::string_view list, std::string_view word);
/// A line that is this number, as in cgroup.procs.
bool has_line(std::string_view text, std::uint64_t number);

/// The path of /proc/PID/cgroup's line of the v2 hierarchy; nothing where it has none.
std::optional<std::string> unified_path(std::string_view proc_cgroup);
/// Whether /proc/PID/cgroup binds this controller to a hierarchy of v1.
bool is_bound_to_v1(std::string_view proc_cgroup, std::string_view controller);
/// Where the whole cgroup2 hierarchy (of our cgroup namespace) is mounted; "" where it is not.
std::string unified_mount(std::string_view mountinfo);

/// Letters, digits and underscores, 1 to 64: what --run-id takes, and what follows "cordon-" in a group's name.
bool is_run_id(std::string_view id);
/// "cordon-ID": the name of a group of ours, or nothing.
bool is_group_name(std::string_view name);

}  // namespace cordon::cgroup
