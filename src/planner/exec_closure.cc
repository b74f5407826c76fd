#include "planner/exec_closure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  } else if (!file.executable && hop.format != ProgramFormat::kElf) {
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
  if (hop.elf_interpreter.starts_with('/')) {
    const PathFact* loader = known(hop.elf_interpreter);
    if (loader != nullptr && loader->state == PathState::kPresent && is_regular(*loader)) {
      add(*loader, ExecKind::kProgram, asker);
      library_directories.emplace_back(parent_of(loader->real));
      known(library_directories.back());
    } else if (loader != nullptr) {
      fail(Code::kLoaderMissing, asker,
           fmt::format("{}: {} needs the loader {}, which this host does not have", asker.words,
                       base::shown(hop.file.asked), base::shown(hop.elf_interpreter)),
           "use a build for this distribution, or a static one");
    }
  }
  const auto libraries = facts_.libraries.find(hop.file.real);
  if (libraries == facts_.libraries.end()) {
    ask_libraries.push_back(hop.file.real);
    return;
  }
  for (const PathFact& file : libraries->second.files) add(file, ExecKind::kLibrary, asker);
  for (const std::string& name : libraries->second.missing) {
    missing.push_back({.asked_by = asker.words, .library = name, .at = asker.at});
  }
}

void ExecClosure::modules(const PathFact& file) {
  std::set<std::string> places, names;
  for (const std::string_view path : {std::string_view(file.asked), std::string_view(file.real)}) {
    for (std::string& name : module_names(name_of(path))) names.insert(std::move(name));
    if (!holds_programs(parent_of(path))) continue;
    const std::string prefix(parent_of(parent_of(path)));
    places.insert(prefix == "/" ? "/usr" : prefix);
    if (prefix == "/" || prefix == "/usr") places.insert("/usr/local");
  }
  for (const std::string& place : places) {
    for (const std::string_view libraries : {"/lib/", "/lib64/"}) {
      for (const std::string& name : names) {
        std::string directory = place + std::string(libraries) + name;
        const PathFact* fact = known(directory);
        if (fact == nullptr || fact->state != PathState::kPresent || !is_directory(*fact)) continue;
        module_directories.push_back(std::move(directory));
      }
    }
  }
}

void ExecClosure::add(const PathFact& fact, ExecKind kind, const Asker& asker, bool named) {
  const auto [at, fresh] = at_.try_emplace(fact.real, files.size());
  if (fresh) {
    files.push_back({.fact = fact, .kind = kind, .asked_by = asker.words, .at = asker.at, .named = named});
  } else if (kind == ExecKind::kProgram) {
    files[at->second].kind = kind;
  }
}

void ExecClosure::fail(Code code, const Asker& asker, std::string message, std::string mend) {
  if (asker.may_fail) return;
  problems.push_back({.code = code, .at = asker.at, .message = std::move(message), .mend = std::move(mend)});
}

const PathFact* ExecClosure::known(const std::string& path) {
  const PathFact* fact = fact_of(facts_, path);
  if (fact == nullptr) ask_paths.push_back(path);
  return fact;
}

}  // namespace cordon::planner
