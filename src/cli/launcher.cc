#include "cli/launcher.h"

#include <unistd.h>

#include <array>
#include <climits>

#include "cordon_build_id.h"
#include "kernel/file.h"

namespace cordon::cli {
namespace {

std::string own_directory() {
  const std::string path = own_program();
  return path.substr(0, path.rfind('/'));
}

/// The whole program; a launcher is a few hundred kilobytes, and what is larger is none.
std::string bytes_of(base::FdView file) {
  constexpr std::size_t kMost = 16U << 20, kBlock = 64U << 10;
  std::string out;
  while (out.size() <= kMost) {
    const std::size_t at = out.size();
    out.resize(at + kBlock);
    const auto got = kernel::read(file, std::as_writable_bytes(std::span(out).subspan(at)));
    out.resize(at + (got ? *got : 0));
    if (!got || *got == 0) return out;
  }
  return {};
}

/// Why launch::start() would pass this file over, before it asks for its build.
std::string why_unsafe(base::FdView file) {
  const auto facts = kernel::statx(file);
  if (!facts) return "it cannot be looked at";
  if (!S_ISREG(facts->stx_mode)) return "it is no regular file";
  if (facts->stx_uid != 0 && facts->stx_uid != ::geteuid()) return "it belongs to another user";
  if ((facts->stx_mode & (S_IWGRP | S_IWOTH)) != 0) return "others than its owner can write it";
  return {};
}

bool is_there(const std::string& path) { return kernel::statx(kernel::kHere, path.c_str(), 0).has_value(); }

}  // namespace

std::string own_program() {
  std::array<char, PATH_MAX> text{};
  const auto length = kernel::readlinkat(kernel::kHere, "/proc/self/exe", text);
  if (!length || *length >= text.size()) return {};
  return {text.data(), *length};
}

std::vector<std::string> launcher_places() {
  const std::string here = own_directory();
  if (here.empty()) return {};
  const std::string prefix = here.substr(0, here.rfind('/'));
  std::vector<std::string> out;
  for (const std::string& path : {prefix + "/libexec/cordon/cordon-launch", here + "/cordon-launch"}) {
    out.push_back(path);
    if (is_there(path)) break;
  }
  return out;
}

std::string installed_launcher() {
  const std::vector<std::string> places = launcher_places();
  return !places.empty() && is_there(places.back()) ? places.back() : std::string();
}

report::LauncherState launcher_state() {
  report::LauncherState out;
  out.path = installed_launcher();
  out.found = !out.path.empty();
  if (!out.found) return out;
  const auto file = kernel::openat(kernel::kHere, out.path.c_str(), O_RDONLY);
  if (!file) {
    out.detail = base::to_string(kernel::error_at(file.error(), out.path));
    return out;
  }
  out.detail = why_unsafe(*file);
  // The id stands in the program as a string: it is compared without running what may be somebody else's.
  out.same_build = bytes_of(*file).find(CORDON_BUILD_ID) != std::string::npos;
  out.usable = out.same_build && out.detail.empty();
  return out;
}

enforce::launch::LauncherSource launcher_source() { return {installed_launcher()}; }

}  // namespace cordon::cli
