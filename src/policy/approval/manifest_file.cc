#include "policy/approval/manifest_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/directory.h"
#include "policy/approval/steady_read.h"
#include "policy/approval/walk.h"
#include "policy/approval/words.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

using base::Diagnostic;
using base::Diagnostics;
using base::shown;
using kernel::Errno;

constexpr std::string_view kSuffix = ".manifest.yaml";

Diagnostics problem(std::string_view path, std::string code, std::string message, std::string hint = {}) {
  return {Diagnostic{.code = std::move(code),
                     .at = {.file = std::string(path)},
                     .message = std::move(message),
                     .hint = std::move(hint)}};
}

bool is_yaml_name(std::string_view path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

/// The directory and the last component of a path as the user wrote it.
std::pair<std::string, std::string> split_written(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash + 1)), std::string(path.substr(slash + 1))};
}

kernel::Sys<std::string> current_directory() {
  std::array<char, 4096> text{};
  auto length = kernel::getcwd(text);
  if (!length) return base::fail(length.error());
  std::string path(text.data(), *length);
  if (!path.starts_with('/')) return base::fail(Errno{ENOENT, "getcwd"});
  return path;
}

kernel::Sys<std::string> absolute(std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  auto here = current_directory();
  if (!here) return base::fail(here.error());
  return (*here == "/" ? *here : *here + "/") + std::string(path);
}

bool is_regular(std::string_view path) {
  const auto full = absolute(path);
  if (!full) return false;
  const auto reached = walk(*full);
  return reached && reached->facts.id.type == S_IFREG;
}

/// The manifests of a directory, as the user would write them; bounded, sorted.
std::vector<std::string> manifests_in(const std::string& written_directory) {
  std::vector<std::string> found;
  const auto full = absolute(written_directory.empty() ? "." : written_directory);
  if (!full) return found;
  const auto reached = walk(*full);
  if (!reached || reached->facts.id.type != S_IFDIR) return found;
  for (const std::string& name : names_in(reached->object)) {
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) found.push_back(written_directory + name);
  }
  std::ranges::sort(found);
  return found;
}

std::string list_of(std::span<const std::string> paths) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> words;
  for (const std::string& path : paths.first(std::min(paths.size(), kMost))) words.push_back(shown(path));
  return base::join(words, ", ") + (paths.size() > kMost ? ", …" : "");
}

std::string hint_for_missing(std::string_view path) {
  if (const std::string beside = manifest_beside(path); !beside.empty()) return "did you mean " + shown(beside) + "?";
  const auto [directory, name] = split_written(path);
  const auto near = manifests_in(directory);
  const std::vector<std::string_view> candidates(near.begin(), near.end());
  if (const auto meant = base::did_you_mean(path, candidates)) return "did you mean " + shown(*meant) + "?";
  if (near.size() == 1) return "did you mean " + shown(near.front()) + "?";
  if (!near.empty()) return "the manifests there are " + list_of(near);
  return "a manifest is a short file beside its program; the shortest is the line entrypoint: ./PROGRAM";
}

Diagnostics unreachable(std::string_view path, const WalkFailure& failure) {
  if (failure.nameless) {
    return problem(path, "manifest-not-regular",
                   "a manifest must be a regular file, and " + shown(path) + " is a pipe or the like",
                   "write it to a file first: what is approved must be what is run");
  }
  switch (failure.errno_value.code) {
    case ENOENT:
      return problem(path, "manifest-missing", "there is no " + shown(failure.at), hint_for_missing(path));
    case ELOOP:
      return problem(path, "manifest-loop",
                     "the links on the way to the manifest do not end: stopped at " + shown(failure.at),
                     "name the file itself");
    case ENOTDIR:
      return problem(path, "manifest-path", shown(failure.at) + " is not a directory");
    case ENAMETOOLONG:
      return problem(path, "manifest-path", "the path, or a name in it, is too long");
    case EINVAL:
      return problem(path, "manifest-path", "this is not a path: it holds a NUL byte");
    case EACCES:
      return problem(path, "manifest-unreadable", shown(failure.at) + " cannot be reached: permission denied",
                     "ask for search permission on its directory, or move the manifest");
    default:
      return problem(path, "manifest-unreadable",
                     shown(failure.at) + " cannot be reached: " + in_words(failure.errno_value.code));
  }
}

std::string_view kind_name(std::uint32_t type) {
  switch (type) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "not a file";
  }
}

Diagnostics not_regular(std::string_view path, std::uint32_t type) {
  std::string hint;
  if (type == S_IFDIR) {
    const auto inside = manifests_in(std::string(path) + (path.ends_with('/') ? "" : "/"));
    if (!inside.empty())
      hint =
          (inside.size() == 1 ? "did you mean " : "name one of ") + list_of(inside) + (inside.size() == 1 ? "?" : "");
  }
  return problem(path, "manifest-not-regular",
                 "a manifest must be a regular file, and " + shown(path) + " is " + std::string(kind_name(type)), hint);
}

/// Content and name of a program rather than of a manifest. "#!" is a comment to YAML, so a YAML name wins.
bool looks_like_script(std::string_view path, std::string_view text, std::uint32_t mode) {
  if (is_yaml_name(path)) return false;
  constexpr std::array<std::string_view, 10> kScripts = {".py", ".js", ".mjs", ".cjs", ".ts",
                                                         ".sh", ".rb", ".pl",  ".php", ".lua"};
  return text.starts_with("#!") ||
         text.starts_with(
             "\x7f"
             "ELF") ||
         (mode & 0111) != 0 ||
         std::ranges::any_of(kScripts, [&](std::string_view suffix) { return path.ends_with(suffix); });
}

base::Result<void, Diagnostics> read_text(std::string_view path, base::FdView object, ManifestFile& out) {
  auto file = reopen(object, O_RDONLY);
  if (!file) {
    return base::fail(problem(path, "manifest-unreadable", "it cannot be opened: " + in_words(file.error().code),
                              file.error().code == EACCES ? "chmod u+r " + shown(path) : ""));
  }
  const auto end = read_steadily(*file, kMostManifestBytes, [&](std::string_view bytes) { out.text.append(bytes); });
  if (!end) return base::fail(problem(path, "manifest-unreadable", "it cannot be read: " + in_words(end.error().code)));
  if (*end == ReadEnd::kTooLong) {
    return base::fail(problem(path, "manifest-too-large", "it is larger than a manifest may be: 1 MiB"));
  }
  if (*end == ReadEnd::kUnsteady) {
    return base::fail(
        problem(path, "manifest-changing", "it was written to while it was read", "try again once it is complete"));
  }
  out.file = std::move(*file);
  return {};
}

/// A relative path starts in the directory that the process stands in, whatever its name leads to by now.
bool starts_here(const Walk& reached) {
  const auto here = current_directory();
  const auto there = kernel::openat(kernel::kHere, ".", O_PATH | O_DIRECTORY);
  if (!here || !there) return false;
  const auto facts = facts_of(*there);
  return facts && std::ranges::any_of(reached.steps, [&](const WalkStep& step) {
           return step.path == *here && step.facts.id == facts->id;
         });
}

}  // namespace

std::string manifest_beside(std::string_view path) {
  if (path.empty() || path.ends_with('/')) return {};
  std::string beside = std::string(path) + std::string(kSuffix);
  return is_regular(beside) ? beside : std::string();
}

base::Result<ManifestFile, Diagnostics> open_manifest(std::string_view path) {
  if (path.empty()) return base::fail(problem(path, "manifest-path", "no manifest is named"));
  const auto full = absolute(path);
  if (!full) {
    return base::fail(problem(path, "manifest-path",
                              "the current directory cannot be told: " + in_words(full.error().code),
                              "change to a directory that exists, or name the manifest from /"));
  }
  auto reached = walk(*full);
  if (!reached) return base::fail(unreachable(path, reached.error()));
  if (!path.starts_with('/') && !starts_here(*reached)) {
    return base::fail(problem(path, "manifest-path", "the current directory was moved or replaced",
                              "change to it again, or name the manifest from /"));
  }
  if (reached->facts.id.type != S_IFREG) return base::fail(not_regular(path, reached->facts.id.type));

  ManifestFile out;
  CORDON_OK(read_text(path, reached->object, out));
  if (looks_like_script(path, out.text, reached->facts.mode)) {
    if (const std::string beside = manifest_beside(path); !beside.empty()) {
      return base::fail(problem(path, "manifest-is-script", shown(path) + " is a program, not a manifest",
                                "did you mean " + shown(beside) + "?"));
    }
  }
  out.written_path = std::string(path);
  out.name_path = reached->name_path;
  out.directory = split_written(reached->name_path).first;
  if (out.directory.size() > 1) out.directory.pop_back();
  out.real_path = reached->real_path;
  out.located = location_of(reached->object);
  // Owner and mode as they are now that the file is open: what is judged is what was read.
  const auto facts = facts_of(out.file);
  out.facts = facts ? *facts : reached->facts;
  out.acl = acl_of(out.file, out.facts);
  out.digest = manifest::sha256_hex(out.text);
  out.walk = std::move(reached->steps);
  out.real_directory = std::move(reached->parent);
  return out;
}

}  // namespace cordon::policy::approval
