#include "cli/launcher.h"

#include <unistd.h>

#include <array>
#include <climits>

#include "kernel/file.h"

namespace cordon::cli {
namespace {

std::string own_directory() {
  std::array<char, PATH_MAX> text{};
  const auto length = kernel::readlinkat(kernel::kHere, "/proc/self/exe", text);
  if (!length || *length >= text.size()) return {};
  const std::string path(text.data(), *length);
  return path.substr(0, path.rfind('/'));
}

bool is_there(const std::string& path) { return kernel::statx(kernel::kHere, path.c_str(), 0).has_value(); }

}  // namespace

std::string installed_launcher() {
  const std::string here = own_directory();
  if (here.empty()) return {};
  const std::string prefix = here.substr(0, here.rfind('/'));
  for (const std::string& path : {prefix + "/libexec/cordon/cordon-launch", here + "/cordon-launch"})
    if (is_there(path)) return path;
  return {};
}

enforce::launch::LauncherSource launcher_source() { return {installed_launcher()}; }

}  // namespace cordon::cli
