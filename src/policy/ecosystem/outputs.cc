#include "policy/ecosystem/outputs.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::policy::ecosystem {
namespace {

/// '*' stands for any bytes of one component; a name without a '*' is itself, whatever else is in it.
bool name_matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= name.size(); ++at)
    if (name_matches(rest, name.substr(at))) return true;
  return false;
}

/// Whether the last components of `path` are those of `pattern`.
bool ends_in(std::span<const std::string_view> path, std::string_view pattern) {
  const auto parts = base::split(pattern, '/');
  if (parts.size() > path.size()) return false;
  const auto tail = path.last(parts.size());
  return std::ranges::equal(parts, tail, name_matches);
}

/// The first `count` components of `path`.
std::string_view prefix(std::string_view path, std::span<const std::string_view> components, std::size_t count) {
  const std::string_view last = components[count - 1];
  return path.substr(0, static_cast<std::size_t>(last.data() + last.size() - path.data()));
}

}  // namespace

std::optional<OutputMatch> declared_output(std::span<const DeclaredOutput> declared, std::string_view path,
                                           EntryKind kind) {
  const auto components = base::split(path, '/');
  const std::span<const std::string_view> all(components);
  if (std::ranges::find(all, ".git") != all.end()) return std::nullopt;
  for (std::size_t count = 1; count <= all.size(); ++count) {
    const bool is_directory = count < all.size() || kind == EntryKind::kDirectory;
    for (const DeclaredOutput& one : declared) {
      const bool wants_directory = one.output->kind == OutputKind::kDirectory;
      const OutputClass what = one.output->what;
      const bool by_name = what == OutputClass::kOutput || what == OutputClass::kLock || what == OutputClass::kManifest;
      if (!by_name || wants_directory != is_directory) continue;
      if (ends_in(all.first(count), one.output->name))
        return OutputMatch{one.output, one.origin, prefix(path, all, count)};
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> rests_below(std::span<const DeclaredOutput> declared, std::string_view path) {
  const auto components = base::split(path, '/');
  std::vector<std::string_view> out;
  if (std::ranges::find(components, ".git") != components.end()) return out;
  for (const DeclaredOutput& one : declared) {
    const std::string_view name = one.output->name;
    if (one.output->what != OutputClass::kOutput) continue;
    for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1))
      if (ends_in(components, name.substr(0, slash))) out.push_back(name.substr(slash + 1));
  }
  return out;
}

bool is_temporary(std::span<const NamedText> temporary, std::string_view path) {
  const auto components = base::split(path, '/');
  if (std::ranges::find(components, ".git") != components.end()) return false;
  return std::ranges::any_of(temporary, [&](const NamedText& one) {
    return (!one.value.contains('*') || one.value == "*.pyc") && ends_in(components, one.value);
  });
}

bool delivers_programs(std::span<const DeclaredOutput> declared) {
  return std::ranges::any_of(declared, [](const auto& one) { return one.output->what == OutputClass::kProgram; });
}

bool is_machine_code(std::string_view head) {
  constexpr std::size_t kHeader32 = 52, kHeader64 = 64;
  if (head.size() < kHeader32 || !head.starts_with("\x7f"
                                                   "ELF"))
    return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
  const bool is_wide = byte(4) == 2, is_little = byte(5) == 1;
  if ((!is_wide && byte(4) != 1) || (!is_little && byte(5) != 2) || byte(6) != 1) return false;
  const auto half = [&](std::size_t at) {
    return is_little ? byte(at) | byte(at + 1) << 8U : byte(at) << 8U | byte(at + 1);
  };
  const std::size_t header = is_wide ? kHeader64 : kHeader32;
  constexpr int kExecutable = 2, kShared = 3;
  // Padding is zero, and who made it is somebody known: a header that is text as well has neither.
  constexpr std::array<unsigned char, 5> kSystems{0, 3, 9, 12, 255};
  for (std::size_t at = 8; at < 16; ++at)
    if (byte(at) != 0) return false;
  if (std::ranges::find(kSystems, byte(7)) == kSystems.end()) return false;
  const int type = half(16);
  return head.size() >= header && (type == kExecutable || type == kShared) && half(18) != 0 &&
         half(is_wide ? 52 : 40) == static_cast<int>(header);
}

bool may_name_a_program(std::string_view name) {
  constexpr std::array kEndings{".bin", ".dll", ".elf", ".exe", ".out", ".test"};
  // Read by tools under these names, whatever is in them; and what ends in "file".
  constexpr std::array kRead = std::to_array<std::string_view>(
      {"buck", "build", "config", "configure", "containerfile", "env", "kbuild", "kconfig", "module", "pkgbuild",
       "project", "sconscript", "sconstruct", "setup", "targets", "workspace", "wscript"});
  std::string low(name);
  std::ranges::transform(low, low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (low.size() > 128 || std::ranges::find(kRead, low) != kRead.end() || low.ends_with("file")) return false;
  if (low.substr(0, low.find('.')).ends_with("file")) return false;
  return !low.contains('.') || std::ranges::any_of(kEndings, [&](const char* end) { return low.ends_with(end); });
}

bool may_name_a_build_directory(std::string_view name) {
  constexpr std::array kWords =
      std::to_array<std::string_view>({"bld", "build", "builddir", "debug", "obj", "out", "release"});
  std::string word;
  for (const char c : std::string(name) + "-") {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      continue;
    }
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
    word.clear();
  }
  return false;
}

std::vector<std::string_view> markers(std::span<const DeclaredOutput> declared) {
  std::vector<std::string_view> out;
  for (const DeclaredOutput& one : declared)
    if (one.output->what == OutputClass::kMarked) out.push_back(one.output->name);
  return out;
}

std::vector<std::string> templates_of(std::span<const DeclaredOutput> declared, std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string directory(slash == std::string_view::npos ? "" : path.substr(0, slash + 1));
  const std::string_view name = path.substr(directory.size());
  std::vector<std::string> out;
  for (const DeclaredOutput& one : declared) {
    const Output& output = *one.output;
    if (output.what != OutputClass::kGenerated || output.keys.empty() || !name_matches(output.name, name)) continue;
    const auto star = output.name.find('*');
    const std::string_view stood_for =
        star == std::string_view::npos ? "" : name.substr(star, name.size() + 1 - output.name.size());
    std::string source(output.keys.front());
    if (const auto at = source.find('*'); at != std::string::npos) source.replace(at, 1, stood_for);
    out.push_back(directory + source);
  }
  return out;
}

bool is_named_by_a_profile(std::string_view path) {
  const auto components = base::split(path, '/');
  return std::ranges::any_of(profiles(), [&](const Profile& profile) {
    return std::ranges::any_of(profile.outputs, [&](const Output& output) {
      return output.kind == OutputKind::kDirectory && ends_in(components, output.name);
    });
  });
}

bool is_ignored_output(std::string_view root, Stood stood, ShieldNames holds) {
  if (holds == ShieldNames::kSome) return false;
  const auto components = base::split(root, '/');
  // ".husky/_" is ignored as a whole and holds hooks that git runs.
  if (std::ranges::any_of(components, [](std::string_view name) { return name.starts_with('.') || name.empty(); }))
    return false;
  // What a tool leaves beside sources and reads again ("__pycache__") is code that no diff shows.
  for (const Profile& profile : profiles())
    for (const std::string_view name : profile.temporary)
      if (name_matches(name, components.back())) return false;
  return stood == Stood::kBefore || is_named_by_a_profile(root);
}

}  // namespace cordon::policy::ecosystem
