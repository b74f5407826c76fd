#include "support/tree.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "support/require.h"

namespace cordon::test {
namespace fs = std::filesystem;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string describe(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) return "gone";
  std::ostringstream out;
  out << std::oct << st.st_mode << std::dec << " owner " << st.st_uid << ':' << st.st_gid;
  if (S_ISREG(st.st_mode)) out << " size " << st.st_size << " digest " << std::hash<std::string>{}(slurp(path));
  if (S_ISLNK(st.st_mode)) out << " -> " << fs::read_symlink(path).string();
  return out.str();
}

}  // namespace

Tree::Tree(const Identity& who, Place place) : who_(who) {
  std::string pattern = place == Place::kTmp ? "/tmp/cordon-test.XXXXXX" : "/var/tmp/cordon-test.XXXXXX";
  require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp " + pattern);
  root_ = pattern;
  require(::chmod(root_.c_str(), 0755) == 0, "chmod " + root_);
  if (running_as_root()) require(::chown(root_.c_str(), who_.uid, who_.gid) == 0, "chown " + root_);
}

Tree::~Tree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Tree::path(std::string_view relative) const {
  return relative.empty() ? root_ : root_ + "/" + std::string(relative);
}

void Tree::remove(std::string_view relative) const {
  std::error_code ignored;
  fs::remove_all(path(relative), ignored);
}

void Tree::give(std::string_view relative, const Identity& whom) const {
  if (!running_as_root()) return;
  require(::lchown(path(relative).c_str(), whom.uid, whom.gid) == 0, "lchown " + path(relative));
}

std::string Tree::make_directory(std::string_view relative, mode_t mode) const {
  std::string so_far;
  std::istringstream parts{std::string(relative)};
  for (std::string part; std::getline(parts, part, '/');) {
    so_far += (so_far.empty() ? "" : "/") + part;
    if (::mkdir(path(so_far).c_str(), 0755) == 0) give(so_far, who_);
  }
  require(::chmod(path(relative).c_str(), mode) == 0, "chmod " + path(relative));
  return path(relative);
}

std::string Tree::write(std::string_view relative, std::string_view content, mode_t mode) const {
  const std::size_t slash = relative.rfind('/');
  if (slash != std::string_view::npos && !exists(relative.substr(0, slash))) make_directory(relative.substr(0, slash));
  {
    std::ofstream out(path(relative), std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    require(out.good(), "write " + path(relative));
  }
  require(::chmod(path(relative).c_str(), mode) == 0, "chmod " + path(relative));
  give(relative, who_);
  return path(relative);
}

std::string Tree::link(std::string_view relative, const std::string& target) const {
  const std::size_t slash = relative.rfind('/');
  if (slash != std::string_view::npos && !exists(relative.substr(0, slash))) make_directory(relative.substr(0, slash));
  require(::symlink(target.c_str(), path(relative).c_str()) == 0, "symlink " + path(relative));
  give(relative, who_);
  return path(relative);
}

std::string Tree::copy(std::string_view relative, const std::string& from, mode_t mode) const {
  return write(relative, slurp(from), mode);
}

std::optional<std::string> Tree::read(std::string_view relative) const {
  if (!exists(relative)) return std::nullopt;
  return slurp(path(relative));
}

bool Tree::exists(std::string_view relative) const {
  struct stat st{};
  return ::lstat(path(relative).c_str(), &st) == 0;
}

Snapshot snapshot(const std::string& directory) {
  Snapshot all;
  std::vector<std::string> waiting{""};
  while (!waiting.empty()) {
    const std::string here = waiting.back();
    waiting.pop_back();
    all[here] = describe(directory + here);
    struct stat st{};
    if (::lstat((directory + here).c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(directory + here, failed)) {
      waiting.push_back(here + "/" + entry.path().filename().string());
    }
  }
  return all;
}

std::string difference(const Snapshot& before, const Snapshot& after) {
  std::string out;
  for (const auto& [name, what] : before) {
    const auto now = after.find(name);
    if (now == after.end()) {
      out += "gone: " + name + "\n";
    } else if (now->second != what) {
      out += "changed: " + name + ": " + what + " => " + now->second + "\n";
    }
  }
  for (const auto& [name, what] : after) {
    if (!before.contains(name)) out += "new: " + name + ": " + what + "\n";
  }
  return out;
}

}  // namespace cordon::test
