// What a promotion costs beside `cp -a` of the same tree: a node_modules of FILES files (30,000; ten to a directory,
// four levels, 2 to 6 kB), moved to where nothing was, in place of an older one, and copied to another mount. Prints
// seconds of wall time; asserts nothing.
//
//   promote_bench [FILES] [DIRECTORY] [OTHER-MOUNT]
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "enforce/promote/promote.h"
#include "enforce/promote/remove_tree.h"

namespace cordon::bench {
namespace {

namespace fs = std::filesystem;
namespace promote = enforce::promote;

void require(bool held, const std::string& what) {
  if (held) return;
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

base::Fd open_directory(const std::string& path) {
  base::Fd out(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(out.valid(), path);
  return out;
}

void make_tree(const std::string& top, int files) {
  const std::string content(6'000, 'x');
  for (int i = 0; i < files; ++i) {
    const std::string directory = fmt::format("{}/{}/{}/lib", top, i / 1'000, i / 10);
    if (i % 10 == 0) fs::create_directories(directory);
    const base::Fd file(::open(fmt::format("{}/{}.js", directory, i).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    const auto size = static_cast<std::size_t>(2'000 + i % 4'000);
    require(file.valid() && ::write(file.get(), content.data(), size) == static_cast<ssize_t>(size), directory);
  }
  require(::setxattr(top.c_str(), "user.overlay.opaque", "y", 1, 0) == 0, top);
}

double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

promote::Task task(const std::string& root, const std::string& workspace) {
  promote::Task out;
  out.upper = open_directory(root + "/up");
  out.destination = open_directory(workspace);
  out.scratch = open_directory(root + "/scratch");
  out.since = {.tv_sec = std::int64_t{1} << 40, .tv_nsec = 0};
  out.classify = [](std::string_view path, promote::Kind) {
    return path == "node_modules" ? promote::Class::kOutput : promote::Class::kOther;
  };
  out.shields = {".envrc", ".vscode/tasks.json"};
  out.uid = ::geteuid();
  out.gid = ::getegid();
  return out;
}

double promoted(const std::string& root, const std::string& workspace, int files) {
  make_tree(root + "/up/node_modules", files);
  ::sync();
  return seconds([&] {
    auto work = task(root, workspace);
    const auto outcome = promote::promote(work);
    require(outcome && outcome->is_all() && outcome->files == static_cast<std::uint64_t>(files), "promotion");
  });
}

double copied(const std::string& root, const std::string& to, int files) {
  make_tree(root + "/copy", files);
  ::sync();
  const double took = seconds([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execlp("cp", "cp", "-a", (root + "/copy").c_str(), to.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    require(::waitpid(child, &status, 0) == child && status == 0, "cp -a");
  });
  return took;
}

void remove(const std::string& above, const std::string& name) {
  require(promote::remove_tree(open_directory(above), name).has_value(), name);
}

void measure(const std::string& root, const std::string& other, int files) {
  for (const char* part : {"up", "scratch", "ws"}) fs::create_directory(root + "/" + part);
  const double moved = promoted(root, root + "/ws", files);
  const double replaced = promoted(root, root + "/ws", files);
  const double copy = copied(root, root + "/cp", files);
  fmt::print("{} files\n  cp -a                          {:8.3f} s\n", files, copy);
  fmt::print("  promoted where nothing was     {:8.3f} s  {:.3f}\n", moved, moved / copy);
  fmt::print("  promoted in place of as many   {:8.3f} s  {:.3f}\n", replaced, replaced / copy);
  if (!other.empty()) {
    const std::string there = other + "/cordon-promote-bench";
    fs::create_directory(there);
    const double crossed = promoted(root, there, files);
    fmt::print("  copied to another mount        {:8.3f} s  {:.3f}\n", crossed, crossed / copy);
    remove(other, "cordon-promote-bench");
  }
  const double gone = seconds([&] { remove(root, "cp"); });
  fmt::print("  remove_tree of the copy        {:8.3f} s  {:.3f}\n", gone, gone / copy);
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  const int files = argc > 1 ? std::atoi(argv[1]) : 30'000;
  const std::string above = argc > 2 ? argv[2] : "/var/tmp";
  std::string root = above + "/cordon-promote-XXXXXX";
  cordon::bench::require(files > 0 && ::mkdtemp(root.data()) != nullptr,
                         "usage: promote_bench [FILES] [DIRECTORY] [OTHER-MOUNT]");
  cordon::bench::measure(root, argc > 3 ? argv[3] : "", files);
  cordon::bench::remove(above, root.substr(above.size() + 1));
}
