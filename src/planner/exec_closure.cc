#include "planner/exec_closure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "planner/environment.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/shims.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using plan::ProgramFact;
using plan::ProgramFormat;
using plan::ProgramHop;

constexpr std::size_t kMostPathEntries = 64;
constexpr std::size_t kMostListed = 1'024;
constexpr std::size_t kMostLookUps = 16'384;  // names of the list, times the directories on PATH

std::string value_of(const Environment& environment, std::string_view name) {
  for (const std::string& entry : environment.entries) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return {};
}

bool is_listed(const policy::Policy& policy, std::string_view variable) {
  return std::ranges::any_of(policy.env, [&](const policy::EnvGrant& grant) { return grant.name == variable; });
}

bool holds_programs(std::string_view directory) {
  const std::string_view name = name_of(directory);
  return name == "bin" || name == "sbin";
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool starts_with_one_of(std::string_view name, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

/// lib, lib64, lib/x86_64-linux-gnu.
bool holds_libraries(std::string_view directory) {
  constexpr std::array kNames = std::to_array<std::string_view>({"lib", "lib64", "lib32", "libx32"});
  if (is_one_of(name_of(directory), kNames)) return true;
  const bool triplet = name_of(directory).find("-linux-") != std::string_view::npos;
  return triplet && is_one_of(name_of(parent_of(directory)), kNames);
}

/// Of glibc and musl, under their own names and those that their links lead to.
bool is_loader(const PathFact& file) {
  constexpr std::array kStarts =
      std::to_array<std::string_view>({"ld-linux", "ld-musl", "ld64.so", "ld.so", "ld-2.", "libc.so", "libc.musl"});
  return starts_with_one_of(name_of(file.asked), kStarts) && starts_with_one_of(name_of(file.real), kStarts) &&
         holds_libraries(parent_of(file.real));
}

bool is_library(const PathFact& file) {
  return name_of(file.real).find(".so") != std::string_view::npos && !holds_programs(parent_of(file.real));
}

/// No x bit, and none needed: an object that a program loads by itself.
bool is_loadable(const ProgramHop& hop) {
  if (hop.format != ProgramFormat::kElf) return false;
  return hop.elf_interpreter.empty() || name_of(hop.file.real).find(".so") != std::string_view::npos;
}

/// Those that load modules of their own by name from PREFIX/lib/NAME.
bool keeps_modules(std::string_view program) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"guile", "lua", "luajit", "node", "nodejs", "perl", "php", "pypy", "python", "ruby"});
  const std::size_t end = program.find_last_not_of("0123456789.");
  return end != std::string_view::npos && is_one_of(program.substr(0, end + 1), kNames);
}

/// Each loads the Java machine of its installation, and that its libraries, by their paths below it.
bool is_of_java(std::string_view program) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"jar", "java", "javac", "javadoc", "jdeps", "jlink", "jpackage", "jshell", "keytool"});
  return is_one_of(program, kNames);
}

/// python3.11, python3, python: under which of these an installation keeps its modules is its maker's choice.
std::vector<std::string> module_names(std::string_view program) {
  std::vector<std::string> out = {std::string(program)};
  std::string name(program);
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) {
    name.resize(dot);
    out.push_back(name);
  }
  const std::size_t end = name.find_last_not_of("0123456789.");
  if (end != std::string::npos && end + 1 < name.size()) out.push_back(name.substr(0, end + 1));
  return out;
}

}  // namespace

ExecClosure::ExecClosure(const policy::Policy& policy, const plan::HostFacts& facts) : policy_(policy), facts_(facts) {
  const Environment environment = environment_of(policy, facts);
  search_path_ = value_of(environment, "PATH");
  library_path = value_of(environment, "LD_LIBRARY_PATH");
  entrypoint();
  if (policy.exec.programs.size() > kMostListed) {
    problems.push_back({.code = Code::kTooManySteps,
                        .at = policy.exec.at.span,
                        .message = fmt::format("exec: the list has {} entries; {} are the most",
                                               policy.exec.programs.size(), kMostListed),
                        .mend = "name fewer programs"});
    return;
  }
  for (const policy::PathGrant& grant : policy.exec.programs) entry(grant);
}

void ExecClosure::entrypoint() {
  const Asker asker{.words = "entrypoint", .at = policy_.entrypoint.at.span, .may_fail = true};
  const PathFact* script = fact_of(facts_, policy_.entrypoint.path);
  if (script != nullptr && script->state == PathState::kPresent && script->executable && is_regular(*script))
    add(*script, ExecKind::kProgram, asker, true);
  if (const auto chain = program_chain(policy_, facts_)) follow(*chain, asker, Chain::kAsStarted, true);
}

void ExecClosure::entry(const policy::PathGrant& grant) {
  const Asker asker{.words = label_of("exec", grant.written), .at = grant.at.span};
  if (grant.path.empty()) return look_up(grant.written, asker);
  program(grant.path, asker, true);
}

void ExecClosure::look_up(const std::string& name, const Asker& asker) {
  if (name.empty() || name == "." || name == ".." || !names_.insert(name).second) return;
  std::size_t entries = 0;
  bool all_known = true;
  for (const std::string_view directory : base::split(search_path_, ':')) {
    if (++entries > kMostPathEntries) break;
    if (!directory.starts_with('/')) continue;
    if (++look_ups_ > kMostLookUps) {
      return fail_for_all(Code::kTooManySteps, asker,
                          fmt::format("{}: the names in the list are looked up in too many places", asker.words),
                          "name programs by their paths");
    }
    search(std::string(directory), base::shown(name), asker);
    const std::string path = std::string(directory) + "/" + name;
    const PathFact* fact = known(path);
    all_known = all_known && fact != nullptr;
    if (!all_known || fact->state != PathState::kPresent || !is_regular(*fact) || !fact->executable) continue;
    return program(path, asker, true);
  }
  if (!all_known) return;
  fail(
      Code::kExecNotFound, asker,
      fmt::format("{}: {} is not on the target's PATH ({})", asker.words, base::shown(name), base::shown(search_path_)),
      is_listed(policy_, "PATH") ? "install it, or name it by its path"
                                 : "install it, name it by its path, or let PATH in with 'env: [PATH]'");
}

void ExecClosure::program(const std::string& path, const Asker& asker, bool named) {
  if (!path.starts_with('/') || !programs_.insert(path).second) return;
  const ProgramFact* fact = program_of(facts_, path);
  if (fact == nullptr) {
    ask_programs.push_back(path);
    return;
  }
  follow(*fact, asker, Chain::kFromHere, named);
}

void ExecClosure::follow(const ProgramFact& program, const Asker& asker, Chain chain, bool named) {
  for (std::size_t i = 0; i < program.hops.size(); ++i) {
    const ProgramHop& hop = program.hops[i];
    if (!check(program, i, asker)) return;
    // A library that a program loads by itself has no x bit and needs none.
    const bool library = hop.format == ProgramFormat::kElf && !hop.file.executable;
    add(hop.file, library ? ExecKind::kLibrary : ExecKind::kProgram, asker, named && i == 0);
    if (hop.format == ProgramFormat::kElf) return elf(hop, asker);
    if (!hop.via_env) continue;
    this->program(hop.shebang_interpreter, asker, false);
    if (i + 1 < program.hops.size()) look_up(std::string(name_of(program.hops[i + 1].file.asked)), asker);
    if (chain == Chain::kFromHere) return;
  }
}

bool ExecClosure::check(const ProgramFact& program, std::size_t place, const Asker& asker) {
  const ProgramHop& hop = program.hops[place];
  const PathFact& file = hop.file;
  const std::string who = base::shown(file.asked);
  const std::string behind =
      place == 0 ? asker.words : fmt::format("{}: {}", asker.words, base::shown(program.hops[place - 1].file.asked));
  if (file.state != PathState::kPresent) {
    const std::string_view what = file.state == PathState::kAbsent ? "does not exist" : "cannot be checked";
    if (place == 0) {
      fail(Code::kExecNotFound, asker, fmt::format("{}: {} {}", asker.words, who, what), "correct the path");
    } else {
      fail(Code::kShebangInterpreterMissing, asker, fmt::format("{} starts with '#!', and {} {}", behind, who, what),
           "correct that line, or remove the program from the list");
    }
  } else if (!is_regular(file)) {
    fail(Code::kExecNotProgram, asker,
         fmt::format("{}: {} is {}, not a program", asker.words, who, is_directory(file) ? "a directory" : "no file"),
         "name each program by its own path");
  } else if (!file.executable && !is_loadable(hop)) {
    fail(Code::kExecNotProgram, asker, fmt::format("{}: {} is not executable", asker.words, who),
         fmt::format("chmod +x {}", who));
  } else if (hop.format == ProgramFormat::kScript && place + 1 == program.hops.size()) {
    fail(Code::kShebangInterpreterMissing, asker, fmt::format("{}: its '#!' lines do not come to an end", behind),
         "name the interpreter itself");
  } else if (hop.format != ProgramFormat::kElf && hop.format != ProgramFormat::kScript) {
    fail(Code::kExecNotProgram, asker, fmt::format("{}: {} is neither a program nor a script", asker.words, who),
         "name the program that reads it instead");
  } else if (hop.elf_foreign) {
    fail(Code::kProgramForeign, asker,
         fmt::format("{}: {} is built for another architecture than {}", asker.words, who, base::shown(facts_.machine)),
         "use a build for this machine");
  } else if (file.noexec) {
    fail(Code::kProgramOnNoexec, asker,
         fmt::format("{}: {} lies on a file system that is mounted noexec", asker.words, who),
         "move it to a file system that may execute");
  } else {
    return true;
  }
  return false;
}

void ExecClosure::elf(const ProgramHop& hop, const Asker& asker) {
  modules(hop.file);
  if (hop.elf_interpreter.starts_with('/')) loader(hop, asker);
  libraries(hop, asker);
  if (name_of(hop.file.real) != "collect2") return;
  // gcc's ld maps it by its path, whatever is compiled.
  const PathFact* plugin = known(std::string(parent_of(hop.file.real)) + "/liblto_plugin.so");
  const bool usable = plugin != nullptr && plugin->state == PathState::kPresent && is_regular(*plugin);
  if (usable && is_library(*plugin)) add(*plugin, ExecKind::kLibrary, asker);
}

void ExecClosure::loader(const ProgramHop& hop, const Asker& asker) {
  const PathFact* loader = known(hop.elf_interpreter);
  if (loader == nullptr) return;
  const std::string who = base::shown(hop.file.asked), what = base::shown(hop.elf_interpreter);
  if (loader->state != PathState::kPresent || !is_regular(*loader)) {
    return fail(Code::kLoaderMissing, asker,
                fmt::format("{}: {} needs the loader {}, which this host does not have", asker.words, who, what),
                "use a build for this distribution, or a static one");
  }
  if (!is_loader(*loader)) {
    return fail_for_all(
        Code::kExecNotProgram, asker,
        fmt::format("{}: {} names {} as its loader, which is none by its name and place", asker.words, who, what),
        "use a build for this distribution, or a static one");
  }
  add(*loader, ExecKind::kProgram, asker);
  library_directories.emplace_back(parent_of(loader->real));
  known(library_directories.back());
}

void ExecClosure::libraries(const ProgramHop& hop, const Asker& asker) {
  const auto found = facts_.libraries.find(hop.file.real);
  if (found == facts_.libraries.end()) {
    ask_libraries.push_back(hop.file.real);
    return;
  }
  const plan::LibraryFact& libraries = found->second;
  for (const std::string& directory : libraries.searched) search(directory, "a library", asker);
  if (!libraries.whole) {
    fail_for_all(Code::kExecNotProgram, asker,
                 fmt::format("{}: the libraries of {} cannot be told: they are too many, or one cannot be read",
                             asker.words, base::shown(hop.file.asked)),
                 "use a build that needs fewer, or a static one");
  }
  for (const PathFact& file : libraries.files) {
    if (is_library(file)) {
      add(file, ExecKind::kLibrary, asker);
      continue;
    }
    fail_for_all(Code::kExecNotProgram, asker,
                 fmt::format("{}: {} names {} as a library, which is none by its name and place", asker.words,
                             base::shown(hop.file.asked), base::shown(file.real)),
                 "use a build that names libraries alone");
  }
  for (const std::string& name : libraries.missing) {
    missing.push_back({.asked_by = asker.words, .library = name, .at = asker.at});
  }
}

/// Of a known interpreter alone, below the prefix that its file really lies in, and of an environment of Python's.
void ExecClosure::modules(const PathFact& file) {
  const std::string_view bin = parent_of(file.real), program = name_of(file.real);
  if (is_of_java(program) && holds_programs(bin)) libraries_of_java(std::string(parent_of(bin)));
  if (!keeps_modules(program)) return;
  std::set<std::string> names;
  for (const std::string_view name : {name_of(file.asked), program}) {
    if (!keeps_modules(name)) continue;
    for (std::string& each : module_names(name)) names.insert(std::move(each));
  }
  std::string prefix(parent_of(bin));
  if (prefix == "/") prefix = "/usr";
  if (holds_programs(bin)) modules_below(prefix, names);
  if (prefix == "/usr") modules_below("/usr/local", names);
  const std::string environment(parent_of(parent_of(file.asked)));
  if (!holds_programs(parent_of(file.asked)) || environment == "/" || environment == prefix) return;
  if (!program.starts_with("python") && !program.starts_with("pypy")) return;
  const PathFact* marker = known(environment + "/pyvenv.cfg");
  if (marker != nullptr && marker->state == PathState::kPresent && is_regular(*marker))
    modules_below(environment, names);
}

/// Only of an installation with a directory of its own: below /usr it would be everybody's libraries.
void ExecClosure::libraries_of_java(const std::string& prefix) {
  if (prefix == "/" || prefix == "/usr" || prefix == "/usr/local") return;
  std::string directory = prefix + "/lib";
  const PathFact* machine = known(directory + "/server/libjvm.so");
  const PathFact* fact = known(directory);
  if (machine == nullptr || fact == nullptr || machine->state != PathState::kPresent || !is_regular(*machine)) return;
  if (fact->real == directory && within(machine->real, directory)) module_directories.push_back(std::move(directory));
}

void ExecClosure::modules_below(const std::string& prefix, const std::set<std::string>& names) {
  const PathFact* top = known(prefix);
  for (const std::string_view libraries : {"/lib", "/lib64"}) {
    for (const std::string& name : names) {
      std::string directory = prefix + std::string(libraries) + "/" + name;
      const PathFact* fact = known(directory);
      if (top == nullptr || fact == nullptr || fact->state != PathState::kPresent || !is_directory(*fact)) continue;
      // A link may lead to another version beside it, and nowhere else.
      const std::string_view parent = parent_of(fact->real);
      if (parent != top->real + "/lib" && parent != top->real + "/lib64") continue;
      if (keeps_modules(name_of(fact->real))) module_directories.push_back(std::move(directory));
    }
  }
}

void ExecClosure::search(std::string directory, std::string what, const Asker& asker) {
  known(directory);
  if (!searched_.insert(directory).second) return;
  searched.push_back(
      {.directory = std::move(directory), .asked_by = asker.words, .what = std::move(what), .at = asker.at});
}

void ExecClosure::add(const PathFact& fact, ExecKind kind, const Asker& asker, bool named) {
  const auto [at, fresh] = at_.try_emplace(fact.real, files.size());
  if (fresh) {
    files.push_back({.fact = fact, .kind = kind, .asked_by = asker.words, .at = asker.at, .named = named});
    return;
  }
  ExecFile& file = files[at->second];
  if (kind == ExecKind::kProgram) file.kind = kind;
  file.named = file.named || named;
}

void ExecClosure::fail(Code code, const Asker& asker, std::string message, std::string mend) {
  if (!asker.may_fail) fail_for_all(code, asker, std::move(message), std::move(mend));
}

void ExecClosure::fail_for_all(Code code, const Asker& asker, std::string message, std::string mend) {
  problems.push_back({.code = code, .at = asker.at, .message = std::move(message), .mend = std::move(mend)});
}

const PathFact* ExecClosure::known(const std::string& path) {
  const PathFact* fact = fact_of(facts_, path);
  if (fact == nullptr) ask_paths.push_back(path);
  return fact;
}

}  // namespace cordon::planner
