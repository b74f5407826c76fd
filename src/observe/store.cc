#include "observe/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/path_calls.h"

namespace cordon::observe {
namespace {

/// Equal for equal executions and for no others: arguments hold no NUL.
std::string key_of(const plan::ExecutedProgram& executed) {
  std::string out = executed.path;
  const auto put = [&out](const std::string& text) {
    out += '\0';
    out += text;
  };
  for (const std::string& argument : executed.argv) put(argument);
  put(executed.argv_cut ? "/" : "");
  for (const std::string& path : executed.loaded) put(path);
  return fmt::format("{}:{}", executed.argv.size(), out);
}

}  // namespace

std::string_view why_name(Why why) {
  switch (why) {
    case Why::kUnreadable:
      return "unreadable";
    case Why::kTooLong:
      return "too-long";
    case Why::kDirectoryGone:
      return "directory-gone";
    case Why::kTooMany:
      return "too-many";
    case Why::kNotResolved:
      return "not-resolved";
    case Why::kEndNotSeen:
      return "end-not-seen";
    case Why::kCount:
      break;
  }
  return "";
}

bool Store::has_room(std::size_t bytes) {
  if (bytes > bounds_.bytes - bytes_) return false;
  bytes_ += bytes;
  return true;
}

Store::Program Store::program(std::string_view path) {
  if (const auto known = by_program_.find(path); known != by_program_.end()) return known->second;
  if (programs_.empty()) programs_.emplace_back();  // 0: not known, or no room
  if (path.empty() || programs_.size() > bounds_.programs || !has_room(path.size())) return 0;
  programs_.emplace_back(path);
  const auto number = static_cast<Program>(programs_.size() - 1);
  by_program_.emplace(programs_.back(), number);
  return number;
}

void Store::add(std::string_view path, std::uint32_t acts, Program program, std::uint8_t row) {
  auto known = by_path_.find(path);
  if (known == by_path_.end()) {
    if (paths_.size() >= bounds_.paths || !has_room(path.size())) return lose(Why::kTooMany);
    paths_.push_back({.text = std::string(path)});
    known = by_path_.emplace(paths_.back().text, &paths_.back()).first;
  }
  Path& entry = *known->second;
  entry.acts |= acts;
  ++entry.count;
  if (program != 0) entry.programs.add(program);
  entry.rows.add(row);
}

void Store::add(plan::ExecutedProgram executed) {
  std::string key = key_of(executed);
  if (const auto known = by_execution_.find(key); known != by_execution_.end()) {
    ++executed_[known->second].count;
    return;
  }
  if (executed_.size() >= bounds_.programs || !has_room(2 * key.size())) return lose(Why::kTooMany);
  by_execution_.emplace(std::move(key), executed_.size());
  executed_.push_back(std::move(executed));
}

void Store::add(const Address& address, Program program, std::uint8_t row) {
  auto entry = std::ranges::find(reached_, address, &Reached::address);
  if (entry == reached_.end()) {
    if (reached_.size() >= bounds_.addresses) return lose(Why::kTooMany);
    entry = reached_.insert(entry, {.address = address});
  }
  ++entry->count;
  if (program != 0) entry->programs.add(program);
  entry->rows.add(row);
}

template <class Entry, class Out>
void Store::name_witnesses(const Entry& entry, Out& out) const {
  for (std::size_t i = 0; i < entry.programs.count; ++i) out.programs.push_back(programs_[entry.programs.list.at(i)]);
  for (std::size_t i = 0; i < entry.rows.count; ++i)
    out.calls.emplace_back(plan::kPathCalls.at(entry.rows.list.at(i)).name);
}

std::vector<plan::ReachedAddress> Store::addresses() const {
  std::vector<plan::ReachedAddress> out;
  for (const Reached& one : reached_) {
    out.push_back({.address = address_text(one.address), .port = one.address.port, .count = one.count});
    name_witnesses(one, out.back());
  }
  return out;
}

plan::Observations Store::take(plan::Watching watching) {
  plan::Observations out{.watching = watching};
  out.paths.reserve(paths_.size());
  for (Path& path : paths_) {
    plan::ObservedPath& entry = out.paths.emplace_back();
    entry.path = std::move(path.text);
    entry.acts = path.acts;
    entry.count = path.count;
    name_witnesses(path, entry);
  }
  out.programs.assign(std::move_iterator(executed_.begin()), std::move_iterator(executed_.end()));
  for (std::size_t i = 0; i < lost_.size(); ++i) {
    if (lost_.at(i) == 0) continue;
    out.losses.push_back({.why = std::string(why_name(static_cast<Why>(i))), .count = lost_.at(i)});
    out.lost += lost_.at(i);
  }
  out.complete = out.lost == 0;
  by_path_.clear();
  return out;
}

}  // namespace cordon::observe
