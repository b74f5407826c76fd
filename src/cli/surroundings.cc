#include "cli/surroundings.h"

#include <dirent.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "kernel/file.h"
#include "policy/ecosystem/registries.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;

constexpr std::size_t kMostLevels = 128;

/// In order; none where the directory cannot be read.
std::vector<std::string> names_in(const std::string& path, const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string> names;
  auto readable = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable->get()), &::closedir);
  if (!stream) return names;
  static_cast<void>(readable->release());
  while (const dirent* entry = ::readdir(stream.get()))
    if (wanted(entry->d_name)) names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<ecosystem::Directory> upwards(const std::string& from) {
  std::vector<ecosystem::Directory> out;
  auto at = base::AbsPath::parse(from);
  while (at && out.size() < kMostLevels) {
    out.push_back({.path = at->str(), .names = names_in(at->str(), ecosystem::tells)});
    if (at->is_root()) break;
    at = at->parent();
  }
  return out;
}

std::vector<base::AbsPath> homes_of(const plan::HostFacts& facts) {
  std::vector<base::AbsPath> out;
  const auto add = [&](const std::string& path) {
    const auto parsed = base::AbsPath::parse(path);
    if (parsed && !parsed->is_root()) out.push_back(*parsed);
  };
  add(facts.home);
  for (const plan::Account& account : facts.accounts) add(account.home);
  for (const std::string& home : facts.account_homes) add(home);
  return out;
}

std::vector<std::string> environment_files(const std::string& directory) {
  return names_in(directory, [](std::string_view name) { return name == ".env" || name.starts_with(".env."); });
}

std::string small_text(const std::string& path) {
  const auto file = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  const auto facts = file ? kernel::statx(*file) : kernel::Sys<struct ::statx>(base::fail(file.error()));
  if (!facts || !S_ISREG(facts->stx_mode) || facts->stx_size > ecosystem::kLargestConfiguration) return {};
  std::string out(static_cast<std::size_t>(facts->stx_size), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(out)).subspan(have), have);
    if (!got || *got == 0) break;
    have += *got;
  }
  out.resize(have);
  return out;
}

bool exists(const std::string& path) { return kernel::statx(kernel::kHere, path.c_str(), 0).has_value(); }

bool is_directory(const std::string& path) {
  const auto facts = kernel::statx(kernel::kHere, path.c_str(), 0);
  return facts && S_ISDIR(facts->stx_mode);
}

std::string as_spelled(const std::string& real, const std::string& working_directory, const std::string& pwd) {
  const auto given = base::AbsPath::parse(pwd);
  if (!given || given->str() != pwd || !working_directory.starts_with(real)) return real;
  const auto one = kernel::statx(kernel::kHere, pwd.c_str(), 0);
  const auto other = kernel::statx(kernel::kHere, working_directory.c_str(), 0);
  const bool same =
      one && other && one->stx_ino == other->stx_ino && kernel::device_of(*one) == kernel::device_of(*other);
  const std::string below = working_directory.substr(real.size());
  if (!same || !pwd.ends_with(below) || pwd.size() == below.size()) return real;
  return pwd.substr(0, pwd.size() - below.size());
}

}  // namespace cordon::cli
