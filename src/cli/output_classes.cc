#include "cli/output_classes.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "cli/whole_file.h"
#include "kernel/file.h"
#include "policy/ecosystem/manifest_keys.h"
#include "policy/ecosystem/outputs.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
namespace promote = enforce::promote;

constexpr kernel::OpenHow kReading{.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY,
                                   .resolve = kernel::kResolveBeneath | kernel::kResolveNoSymlinks};

/// A small regular file below `directory`, through no link; "" where there is none.
std::string small_file(base::FdView directory, const std::string& path) {
  return content_of(kernel::openat2(directory, path.c_str(), kReading), ecosystem::IgnoreRules::kLargestFile);
}

/// The first 64 bytes of a regular file; "" of anything else.
std::string head_of(base::FdView directory, const std::string& path) {
  const auto file = kernel::openat2(directory, path.c_str(), kReading);
  const auto facts = file ? kernel::statx(*file) : kernel::Sys<struct ::statx>(base::fail(file.error()));
  if (!facts || !S_ISREG(facts->stx_mode)) return {};
  std::array<char, 64> head{};
  const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(head)), 0);
  return got ? std::string(head.data(), *got) : std::string();
}

/// Only where that can be seen: a look that fails shows nothing.
bool stands(base::FdView directory, const std::string& path) {
  return kernel::openat2(directory, path.c_str(), {.flags = O_PATH | O_NOFOLLOW, .resolve = kReading.resolve})
      .has_value();
}

bool is_file(base::FdView directory, const std::string& path) {
  const auto object =
      kernel::openat2(directory, path.c_str(), {.flags = O_PATH | O_NOFOLLOW, .resolve = kReading.resolve});
  const auto facts = object ? kernel::statx(*object) : kernel::Sys<struct ::statx>(base::fail(object.error()));
  return facts && S_ISREG(facts->stx_mode);
}

/// For certain: nothing is there and nothing of it could be looked at is not the same.
bool is_absent(base::FdView directory, const std::string& path) {
  const auto object =
      kernel::openat2(directory, path.c_str(), {.flags = O_PATH | O_NOFOLLOW, .resolve = kReading.resolve});
  return !object && object.error().code == ENOENT;
}

/// The run took it away: a whiteout, or nothing at all.
bool is_gone(base::FdView upper, const std::string& path) {
  const auto object = kernel::openat2(upper, path.c_str(), {.flags = O_PATH | O_NOFOLLOW, .resolve = kReading.resolve});
  if (!object) return object.error().code == ENOENT;
  const auto facts = kernel::statx(*object);
  return facts && S_ISCHR(facts->stx_mode) && facts->stx_rdev_major == 0 && facts->stx_rdev_minor == 0;
}

/// A file under a name of its own kind: "lib.py" of "lib.so", "router.ts" of "router/".
bool has_source(base::FdView workspace, const std::string& stem) {
  constexpr std::array kEndings{".py",  ".pyi", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".rb",
                                ".php", ".go",  ".rs", ".c",   ".cc",  ".h",  ".sh",  ".pl",  ".lua"};
  return std::ranges::any_of(kEndings, [&](const char* end) { return stands(workspace, stem + end); });
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string above(std::string_view path) {
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : path.substr(0, slash));
}

bool is_hidden(std::string_view path) { return path.starts_with('.') || path.contains("/."); }

}  // namespace

OutputClasses::OutputClasses(const CommandRun& run, base::FdView upper, base::FdView workspace)
    : run_(run), upper_(upper), workspace_(workspace), tracked_(read_git_index(workspace)) {
  for (const RunView& view : run.views)
    if (view.what == RunView::What::kWorkspace && run.policy.command->working_directory.size() > view.path.size())
      below_ = run.policy.command->working_directory.substr(view.path.size() + 1);
  read_rules("", ".git/info/exclude");
  read_rules("", ".gitignore");
}

promote::Class OutputClasses::of(std::string_view path, promote::Kind kind) {
  const bool is_directory = kind == promote::Kind::kDirectory;
  const std::string text(path);
  if (is_of_another(text) || replaces_another_kind(text, kind)) return promote::Class::kOther;
  const auto match = ecosystem::declared_output(
      run_.effective.outputs, path, is_directory ? ecosystem::EntryKind::kDirectory : ecosystem::EntryKind::kOther);
  // Sources, whatever a name or an ignore rule says.
  if (is_directory && tracked_.holds(path)) return promote::Class::kOther;
  const bool is_output = match && match->output->what == ecosystem::OutputClass::kOutput;
  if (is_output && (tracked_.holds(match->root) || tracked_.holds(path))) return promote::Class::kOther;
  if (match && is_directory && shadows_a_module(text)) return promote::Class::kOther;
  if (match) return of_declared(*match->output, text);
  if (tracked_.holds(path)) return promote::Class::kOther;
  if ((is_directory || path.ends_with(".pyc")) && ecosystem::is_temporary(run_.effective.temporary, path))
    return promote::Class::kDropped;
  if (kind != promote::Kind::kLink && is_built(text, is_directory)) return promote::Class::kOutput;
  const promote::Class ignored = is_directory && run_.because == ".git" ? where_ignored(text) : promote::Class::kOther;
  const bool leads = is_directory && ignored == promote::Class::kOther && leads_to_output(text);
  return leads ? promote::Class::kLeads : ignored;
}

/// A new directory in which the run made an output of several names: ".yarn" with ".yarn/cache".
bool OutputClasses::leads_to_output(const std::string& path) const {
  if (!is_absent(workspace_, path) || shadows_a_module(path)) return false;
  return std::ranges::any_of(ecosystem::rests_below(run_.effective.outputs, path),
                             [&](std::string_view rest) { return stands(upper_, path + "/" + std::string(rest)); });
}

/// Tracked by a repository below: a submodule, a checkout in a checkout.
bool OutputClasses::is_of_another(const std::string& path) {
  for (std::string directory = above(path); !directory.empty(); directory = above(directory)) {
    auto known = others_.find(directory);
    if (known == others_.end()) {
      std::optional<Tracked> tracked;
      if (stands(workspace_, directory + "/.git")) {
        const auto opened = kernel::openat2(workspace_, directory.c_str(),
                                            {.flags = O_RDONLY | O_DIRECTORY, .resolve = kReading.resolve});
        tracked = opened ? read_git_index(*opened) : Tracked(Tracked::Known::kNothing, {});
      }
      known = others_.emplace(directory, std::move(tracked)).first;
    }
    if (known->second && known->second->holds(std::string_view(path).substr(directory.size() + 1))) return true;
  }
  return false;
}

/// What no name tells: a build directory, machine code, a file made of a template that the host has.
bool OutputClasses::is_built(const std::string& path, bool is_directory) const {
  if (is_hidden(path)) return false;
  if (!is_directory) {
    if (ecosystem::delivers_programs(run_.effective.outputs) && is_machine_code(path)) return true;
    return is_generated(path);
  }
  if (!ecosystem::may_name_a_build_directory(name_of(path)) || shadows_a_module(path)) return false;
  // One that stood has its mark on the host already: a run cannot make a folder of sources its own.
  const bool is_new = is_absent(workspace_, path);
  return std::ranges::any_of(ecosystem::markers(run_.effective.outputs), [&](std::string_view mark) {
    return stands(is_new ? upper_ : workspace_, path + "/" + std::string(mark));
  });
}

/// What it takes the place of, or takes away, is such a file too.
bool OutputClasses::is_machine_code(const std::string& path) const {
  if (!ecosystem::may_name_a_program(name_of(path))) return false;
  const std::string made = head_of(upper_, path), before = head_of(workspace_, path);
  if (!is_absent(workspace_, path) && !ecosystem::is_machine_code(before)) return false;
  return ecosystem::is_machine_code(made) || (is_gone(upper_, path) && ecosystem::is_machine_code(before));
}

/// As autotools do it: below a directory with a "configure", of a template that a person wrote, or that is made of one.
bool OutputClasses::is_generated(const std::string& path) const {
  const auto is_configured = [&](const std::string& directory) {
    const std::string base = directory.empty() ? "" : directory + "/";
    return is_file(workspace_, base + "configure") || is_file(workspace_, base + "configure.ac");
  };
  std::string directory = above(path);
  while (!is_configured(directory)) {
    if (directory.empty()) return false;
    directory = above(directory);
  }
  const auto counts = [&](const std::string& source) {
    if (!is_file(workspace_, source)) return false;
    if (!tracked_.knows() || tracked_.surely_holds(source)) return true;
    const auto of = ecosystem::templates_of(run_.effective.outputs, source);
    return std::ranges::any_of(of, [&](const std::string& one) { return tracked_.surely_holds(one); });
  };
  return std::ranges::any_of(ecosystem::templates_of(run_.effective.outputs, path), counts);
}

promote::Class OutputClasses::where_ignored(const std::string& path) {
  if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) read_rules(path.substr(0, slash));
  if (rules_.ignored_root(path) != path) return promote::Class::kOther;
  const bool stood = kernel::statx(workspace_, path.c_str(), AT_SYMLINK_NOFOLLOW).has_value();
  const bool goes_back = ecosystem::is_ignored_output(path, stood ? ecosystem::Stood::kBefore : ecosystem::Stood::kNew,
                                                      ecosystem::ShieldNames::kNone);
  return goes_back ? promote::Class::kOutput : promote::Class::kOther;
}

/// A shared library by its content, that no program imports in the place of a source beside it. Under another name than
/// "lib…" one that a package of Python's holds, and not a folder of scripts.
bool OutputClasses::is_library_of(const std::string& path) const {
  if (!is_gone(upper_, path) && !ecosystem::is_machine_code(head_of(upper_, path))) return false;
  const std::string base = above(path).empty() ? "" : above(path) + "/";
  const std::string stem(name_of(path).substr(0, name_of(path).find('.')));
  if (has_source(workspace_, base + stem) || stands(workspace_, base + stem)) return false;
  if (stem.starts_with("lib") && stem.size() > 3) return true;
  const std::string package = base + "__init__.py";
  return !base.empty() && is_file(workspace_, package) && (!tracked_.knows() || tracked_.surely_holds(package));
}

/// What stands as something else is not made anew as an output.
bool OutputClasses::replaces_another_kind(const std::string& path, promote::Kind kind) const {
  const auto facts = kernel::statx(workspace_, path.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!facts) return facts.error().code != ENOENT && facts.error().code != ENOTDIR;
  if (kind == promote::Kind::kDirectory) return !S_ISDIR(facts->stx_mode);
  return kind == promote::Kind::kFile ? !S_ISREG(facts->stx_mode) : S_ISDIR(facts->stx_mode);
}

/// A new directory that a program would import: beside a source of its name, or a package itself.
bool OutputClasses::shadows_a_module(const std::string& path) const {
  if (is_hidden(path) || !is_absent(workspace_, path)) return false;
  return has_source(workspace_, path) || stands(upper_, path + "/__init__.py") || stands(upper_, path + "/__main__.py");
}

promote::Class OutputClasses::of_declared(const ecosystem::Output& output, const std::string& path) const {
  if (output.what == ecosystem::OutputClass::kOutput) {
    const bool is_library = output.kind == ecosystem::OutputKind::kFile && output.name.contains(".so");
    return is_library && !is_library_of(path) ? promote::Class::kOther : promote::Class::kOutput;
  }
  if (output.what == ecosystem::OutputClass::kLock) return promote::Class::kLock;
  const auto& of_word = run_.detection.manifest_keys;
  const ecosystem::Names keys = of_word.empty() ? output.keys : ecosystem::Names(of_word);
  const bool is_new = is_absent(workspace_, path);
  // A new one decides what the files around it are: only where the command stands.
  if (is_new && above(path) != below_) return promote::Class::kOther;
  const bool is_readable = is_new || !small_file(workspace_, path).empty();
  const bool allowed =
      is_readable && run_.detection.manifests == ecosystem::ManifestChange::kKeys &&
      ecosystem::only_these_keys_changed(path, small_file(workspace_, path), small_file(upper_, path), keys);
  return allowed ? promote::Class::kManifest : promote::Class::kOther;
}

void OutputClasses::read_rules(const std::string& base, const std::string& file) {
  if (!read_.insert(file).second) return;
  if (const std::size_t slash = base.rfind('/'); slash != std::string::npos) read_rules(base.substr(0, slash));
  if (const std::string text = small_file(workspace_, file); !text.empty()) static_cast<void>(rules_.add(text, base));
}

}  // namespace cordon::cli
