#include "cli/output_classes.h"

#include <array>

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

/// The first bytes of a regular file; "" of anything else.
std::string head_of(base::FdView directory, const std::string& path) {
  const auto file = kernel::openat2(directory, path.c_str(), kReading);
  const auto facts = file ? kernel::statx(*file) : kernel::Sys<struct ::statx>(base::fail(file.error()));
  if (!facts || !S_ISREG(facts->stx_mode)) return {};
  std::array<char, 8> head{};
  const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(head)), 0);
  return got ? std::string(head.data(), *got) : std::string();
}

bool stands(base::FdView directory, const std::string& path) {
  const auto object =
      kernel::openat2(directory, path.c_str(), {.flags = O_PATH | O_NOFOLLOW, .resolve = kReading.resolve});
  return object || object.error().code != ENOENT;
}

bool is_hidden(std::string_view path) { return path.starts_with('.') || path.contains("/."); }

}  // namespace

OutputClasses::OutputClasses(const CommandRun& run, base::FdView upper, base::FdView workspace)
    : run_(run), upper_(upper), workspace_(workspace), tracked_(read_git_index(workspace)) {
  read_rules("", ".git/info/exclude");
  read_rules("", ".gitignore");
}

promote::Class OutputClasses::of(std::string_view path, promote::Kind kind) {
  const bool is_directory = kind == promote::Kind::kDirectory;
  const std::string text(path);
  const auto match = ecosystem::declared_output(
      run_.effective.outputs, path, is_directory ? ecosystem::EntryKind::kDirectory : ecosystem::EntryKind::kOther);
  // Sources, whatever a name or an ignore rule says.
  if (is_directory && tracked_.holds(path)) return promote::Class::kOther;
  const bool is_output = match && match->output->what == ecosystem::OutputClass::kOutput;
  if (is_output && (tracked_.holds(match->root) || tracked_.holds(path))) return promote::Class::kOther;
  if (match) return of_declared(*match->output, text);
  if (tracked_.holds(path)) return promote::Class::kOther;
  if (ecosystem::is_temporary(run_.effective.temporary, path)) return promote::Class::kDropped;
  if (kind != promote::Kind::kLink && is_built(text, is_directory)) return promote::Class::kOutput;
  return is_directory && run_.because == ".git" ? where_ignored(text) : promote::Class::kOther;
}

/// What no name tells: a build directory, machine code, a file made of a template that the host has.
bool OutputClasses::is_built(const std::string& path, bool is_directory) const {
  if (is_hidden(path)) return false;
  if (!is_directory) {
    if (ecosystem::delivers_programs(run_.effective.outputs) && is_machine_code(path)) return true;
    return std::ranges::any_of(ecosystem::templates_of(run_.effective.outputs, path),
                               [&](const std::string& source) { return stands(workspace_, source); });
  }
  // One that stood has its mark on the host already: a run cannot make a folder of sources its own.
  const base::FdView marked = stands(workspace_, path) ? workspace_ : upper_;
  return std::ranges::any_of(ecosystem::markers(run_.effective.outputs),
                             [&](std::string_view mark) { return stands(marked, path + "/" + std::string(mark)); });
}

/// What it takes the place of, or takes away, is such a file too.
bool OutputClasses::is_machine_code(const std::string& path) const {
  const std::string made = head_of(upper_, path), before = head_of(workspace_, path);
  if (stands(workspace_, path) && !ecosystem::is_machine_code(before)) return false;
  return ecosystem::is_machine_code(made) || (made.empty() && ecosystem::is_machine_code(before));
}

promote::Class OutputClasses::where_ignored(const std::string& path) {
  if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) read_rules(path.substr(0, slash));
  if (rules_.ignored_root(path) != path) return promote::Class::kOther;
  const bool stood = kernel::statx(workspace_, path.c_str(), AT_SYMLINK_NOFOLLOW).has_value();
  const bool goes_back = ecosystem::is_ignored_output(path, stood ? ecosystem::Stood::kBefore : ecosystem::Stood::kNew,
                                                      ecosystem::ShieldNames::kNone);
  return goes_back ? promote::Class::kOutput : promote::Class::kOther;
}

promote::Class OutputClasses::of_declared(const ecosystem::Output& output, const std::string& path) const {
  if (output.what == ecosystem::OutputClass::kOutput) return promote::Class::kOutput;
  if (output.what == ecosystem::OutputClass::kLock) return promote::Class::kLock;
  const auto& of_word = run_.detection.manifest_keys;
  const ecosystem::Names keys = of_word.empty() ? output.keys : ecosystem::Names(of_word);
  const bool allowed =
      run_.detection.manifests == ecosystem::ManifestChange::kKeys &&
      ecosystem::only_these_keys_changed(path, small_file(workspace_, path), small_file(upper_, path), keys);
  return allowed ? promote::Class::kManifest : promote::Class::kOther;
}

void OutputClasses::read_rules(const std::string& base, const std::string& file) {
  if (!read_.insert(file).second) return;
  if (const std::size_t slash = base.rfind('/'); slash != std::string::npos) read_rules(base.substr(0, slash));
  if (const std::string text = small_file(workspace_, file); !text.empty()) static_cast<void>(rules_.add(text, base));
}

}  // namespace cordon::cli
