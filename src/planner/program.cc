#include "planner/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/planner.h"
#include "planner/shims.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using plan::ProgramFact;
using plan::ProgramFormat;
using plan::ProgramHop;

bool has_interpreter(const Draft& draft) { return !draft.policy.interpreter.empty(); }

const base::Span& program_span(const Draft& draft) {
  return has_interpreter(draft) ? draft.policy.interpreter.at.span : draft.policy.entrypoint.at.span;
}

const PathFact* check_entrypoint(Draft& draft, const Identity& identity) {
  const policy::PathGrant& grant = draft.policy.entrypoint;
  const std::string label = label_of("entrypoint", grant.written);
  const PathFact* fact = check_named(draft, identity, Places(draft), {label, grant.path, grant.at.span, false});
  if (fact == nullptr) return nullptr;
  if (fact->state == PathState::kAbsent) {
    draft.refuse(Code::kEntrypointMissing, grant.at.span,
                 fmt::format("{}: {} does not exist", label, base::shown(grant.path)), "correct the path");
    return nullptr;
  }
  if (!is_regular(*fact)) {
    draft.refuse(Code::kEntrypointNotFile, grant.at.span,
                 fmt::format("{}: {} is {}, not a program", label, base::shown(grant.path),
                             is_directory(*fact) ? "a directory" : "no regular file"),
                 "name the script or program to run");
    return nullptr;
  }
  if (!has_interpreter(draft) && !fact->executable) {
    const ProgramFact* program = program_of(draft.facts, grant.path);
    const bool script = program != nullptr && program->hops.front().format == ProgramFormat::kScript;
    draft.refuse(Code::kEntrypointNotExecutable, grant.at.span,
                 fmt::format("{}: {} is not executable, and no interpreter is named", label, base::shown(grant.path)),
                 script
                     ? fmt::format("chmod +x {}", base::shown(grant.path))
                     : fmt::format("chmod +x {} if it is a program, or add 'interpreter:'", base::shown(grant.path)));
    return nullptr;
  }
  return fact;
}

void refuse_passed_over(Draft& draft, const ProgramFact& program) {
  draft.refuse(Code::kInterpreterNotExecutable, program_span(draft),
               fmt::format("interpreter: {} is on PATH as {}, which is not executable",
                           base::shown(draft.policy.interpreter.value), base::shown(program.passed_over.front())),
               fmt::format("chmod +x {}, or name another interpreter", base::shown(program.passed_over.front())));
}

/// The file that `interpreter:` names.
bool check_interpreter(Draft& draft, const Identity& identity, const ProgramFact& program) {
  const policy::Text& written = draft.policy.interpreter;
  const std::string label = label_of("interpreter", written.value);
  if (!draft.policy.interpreter_path.empty()) {
    if (check_named(draft, identity, Places(draft), {label, draft.policy.interpreter_path, written.at.span, false}) ==
        nullptr) {
      return false;
    }
  } else if (!program.found) {
    if (!program.passed_over.empty()) return refuse_passed_over(draft, program), false;
    draft.refuse(Code::kInterpreterNotFound, written.at.span,
                 fmt::format("{}: no such program on PATH ({})", label, base::shown(draft.facts.search_path)),
                 "install it, or name it by its path");
    return false;
  }
  const PathFact& file = program.hops.front().file;
  if (file.state != PathState::kPresent) {
    draft.refuse(Code::kInterpreterNotFound, written.at.span,
                 fmt::format("{}: {} does not exist", label, base::shown(program_key(draft.policy))),
                 "correct the path");
  } else if (!is_regular(file)) {
    draft.refuse(Code::kInterpreterNotFile, written.at.span,
                 fmt::format("{}: {} is no regular file", label, base::shown(file.asked)), "name the program itself");
  } else if (!file.executable) {
    draft.refuse(Code::kInterpreterNotExecutable, written.at.span,
                 fmt::format("{}: {} is not executable", label, base::shown(file.asked)),
                 fmt::format("chmod +x {}, or name another interpreter", base::shown(file.asked)));
  } else {
    return true;
  }
  return false;
}

/// A file that nobody wrote down but that a name or a `#!` line led to.
bool check_followed(Draft& draft, const Identity& identity, const PathFact& file) {
  if (is_planted(draft, identity, file)) {
    draft.refuse(
        Code::kPathPlanted, program_span(draft),
        fmt::format("somebody else can choose what {} leads to: {}", base::shown(file.asked), file.planted_by),
        fmt::format("look at {} and, if it is what you mean, name that with 'interpreter:'", base::shown(file.real)));
    return false;
  }
  if (const plan::LinkHop* hop = Places(draft).left_by_a_run(file)) {
    draft.refuse(Code::kPathPlanted, program_span(draft),
                 fmt::format("an earlier run could have made the link {}, which leads to the interpreter {}",
                             base::shown(hop->at), base::shown(file.real)),
                 fmt::format("if that is what you mean, add 'read: {}'", base::shown(file.real)));
    return false;
  }
  if (!Places(draft).kernel_files(file) && managed_by_us(file.real).empty()) return true;
  draft.refuse(Code::kGrantManaged, program_span(draft),
               fmt::format("the interpreter {} lies where the sandbox has files of its own", base::shown(file.asked)),
               "name another interpreter");
  return false;
}

std::string line_of(const ProgramHop& hop) {
  const std::string argument = hop.shebang_argument.empty() ? "" : " " + hop.shebang_argument;
  return base::quote("#!" + hop.shebang_interpreter + argument);
}

/// An interpreter that a `#!` line names.
bool check_next(Draft& draft, const ProgramHop& script, const ProgramHop& next) {
  const PathFact& file = next.file;
  const std::string who = base::shown(script.file.asked);
  if (file.state == PathState::kPresent && is_regular(file) && file.executable) return true;
  if (file.state == PathState::kPresent) {
    draft.refuse(
        Code::kInterpreterNotExecutable, program_span(draft),
        fmt::format("{} starts with {}, and {} is not executable", who, line_of(script), base::shown(file.asked)),
        "correct the line, or name an interpreter with 'interpreter:'");
    return false;
  }
  std::string mend =
      script.via_env ? fmt::format("install {}, or name an interpreter with 'interpreter:'", base::shown(file.asked))
                     : "correct the line, or name an interpreter with 'interpreter:'";
  if (script.shebang_interpreter.ends_with('\r') || script.shebang_argument.ends_with('\r')) {
    mend = fmt::format("the line ends with a carriage return; convert {} to Unix line ends", who);
  } else if (script.via_env && file.asked.find_first_of(" \t") != std::string::npos) {
    mend = "env takes one name here; write '#!/usr/bin/env -S' for a name with options";
  }
  const std::string_view what = file.state != PathState::kAbsent ? "cannot be checked"
                                : script.via_env                 ? "is not on PATH"
                                                                 : "does not exist";
  draft.refuse(Code::kShebangInterpreterMissing, program_span(draft),
               fmt::format("{} starts with {}, and {} {}", who, line_of(script), base::shown(file.asked), what),
               std::move(mend));
  return false;
}

/// The file that the chain ends at, which is what will be started.
bool check_last(Draft& draft, const ProgramFact& program) {
  const ProgramHop& last = program.hops.back();
  const std::string who = base::shown(last.file.asked);
  const bool first = program.hops.size() == 1;
  if (last.format == ProgramFormat::kScript) {
    draft.refuse(
        Code::kInterpreterUnknownFormat, program_span(draft),
        fmt::format("the '#!' lines from {} on do not come to an end", base::shown(program.hops.front().file.asked)),
        "name the interpreter itself with 'interpreter:'");
  } else if (last.format != ProgramFormat::kElf && first && !has_interpreter(draft)) {
    draft.refuse(
        Code::kEntrypointUnknownFormat, draft.policy.entrypoint.at.span,
        fmt::format("{} is {}", who,
                    last.format == ProgramFormat::kEmpty ? "empty" : "neither a program nor a script with '#!'"),
        "give it a '#!' line, or add 'interpreter:'");
  } else if (last.format != ProgramFormat::kElf) {
    draft.refuse(Code::kInterpreterUnknownFormat, program_span(draft),
                 fmt::format("the interpreter {} is no program", who), "name another interpreter");
  } else if (last.elf_foreign) {
    draft.refuse(Code::kProgramForeign, program_span(draft),
                 fmt::format("{} is built for another architecture than {}", who, base::shown(draft.facts.machine)),
                 "use a build for this machine");
  } else if (last.file.noexec) {
    draft.refuse(Code::kProgramOnNoexec, program_span(draft),
                 fmt::format("{} lies on a file system that is mounted noexec", who),
                 first && !has_interpreter(draft) ? "move it to a file system that may execute"
                                                  : "use an interpreter on a file system that may execute");
  } else {
    return true;
  }
  return false;
}

/// A program names its loader itself, and the target is shown that file: whoever writes the program could name a key.
bool check_is_loader(Draft& draft, const ProgramHop& elf, const PathFact& loader) {
  const std::string_view name = name_of(loader.real);
  const bool looks_like_one = is_regular(loader) && name.starts_with("ld") && name.find(".so") != name.npos;
  const bool musl = is_regular(loader) && name.starts_with("libc") && name.find(".so") != name.npos;
  if ((looks_like_one || musl) && !Places(draft).kernel_files(loader) && managed_by_us(loader.real).empty())
    return true;
  draft.refuse(Code::kLoaderMissing, program_span(draft),
               fmt::format("{} names {} as its loader, which is none", base::shown(elf.file.asked),
                           base::shown(elf.elf_interpreter)),
               "use a build for this distribution, or a static one");
  return false;
}

bool check_loader(Draft& draft, const ProgramHop& elf) {
  if (elf.elf_interpreter.empty()) return true;
  const PathFact* loader = fact_of(draft.facts, elf.elf_interpreter);
  if (loader == nullptr) return true;
  if (loader->state == PathState::kPresent) return check_is_loader(draft, elf, *loader);
  draft.refuse(Code::kLoaderMissing, program_span(draft),
               fmt::format("{} needs the loader {}, which this host does not have", base::shown(elf.file.asked),
                           base::shown(elf.elf_interpreter)),
               "use a build for this distribution, or a static one");
  return false;
}

/// exec: none lets one start through, so the program must be the one that does the work.
bool check_single_start(Draft& draft, const ProgramFact& program) {
  const auto place = shim_in(draft.policy, program);
  if (!exec_closed(draft.policy) || !place) return true;
  const ProgramHop& hop = program.hops[*place];
  std::string what;
  if (hop.format == ProgramFormat::kScript) {
    what = fmt::format("the interpreter {} is a script for {}, which starts another program",
                       base::shown(hop.file.asked), base::shown(name_of(program.hops[*place + 1].file.real)));
  } else if (*place > 0 && name_of(hop.file.real) == "env") {
    const ProgramHop& script = program.hops[*place - 1];
    what = fmt::format("{} starts with {}, which cannot be followed, so env would start another program",
                       base::shown(script.file.asked), line_of(script));
  } else {
    what = fmt::format("the interpreter {} is {}, which starts another program", base::shown(hop.file.asked),
                       base::shown(name_of(hop.file.real)));
  }
  draft.refuse(Code::kProgramNeedsExec, program_span(draft), what + "; exec: none allows one start",
               "name the real interpreter with 'interpreter:', or set 'exec: all'");
  return false;
}

bool check_chain(Draft& draft, const Identity& identity, const ProgramFact& program) {
  for (std::size_t i = 0; i < program.hops.size(); ++i) {
    // What a line of the policy names was checked by that line.
    const bool named = i == 0 && program.hops[0].file.asked == program_key(draft.policy);
    if (i > 0 && !check_next(draft, program.hops[i - 1], program.hops[i])) return false;
    if (!named && !check_followed(draft, identity, program.hops[i].file)) return false;
  }
  return check_last(draft, program) && check_loader(draft, program.hops.back()) && check_single_start(draft, program);
}

/// As the kernel does for each `#!`, and env for its own: the interpreter and its arguments go before, the script's own
/// argv[0] becomes its path.
std::vector<std::string> final_argv(const policy::Policy& policy, const ProgramFact& program) {
  std::vector<std::string> argv = {program.hops.front().file.asked};
  const auto append = [&](const auto& texts) {
    std::ranges::transform(texts, std::back_inserter(argv), [](const policy::Text& text) { return text.value; });
  };
  if (!policy.interpreter.empty()) {
    append(policy.interpreter_args);
    argv.push_back(policy.entrypoint.path);
  }
  append(policy.args);
  for (std::size_t i = 0; i + 1 < program.hops.size(); ++i) {
    std::vector<std::string> before = {program.hops[i + 1].file.asked};
    std::ranges::copy(program.hops[i].arguments, std::back_inserter(before));
    argv.insert(argv.begin(), before.begin(), before.end());
  }
  return argv;
}

}  // namespace

Program find_program(Draft& draft, const Identity& identity) {
  Program out;
  out.entrypoint = check_entrypoint(draft, identity);
  if (out.entrypoint != nullptr) out.working_directory = working_directory(draft.policy, draft.facts);
  if (!has_interpreter(draft) && out.entrypoint == nullptr) return out;
  auto program = program_chain(draft.policy, draft.facts);
  if (!program) {
    draft.refuse(Code::kPathCannotBeChecked, program_span(draft),
                 fmt::format("{} was not looked up on this host", base::shown(program_key(draft.policy))), "");
    return out;
  }
  if (has_interpreter(draft) && !check_interpreter(draft, identity, *program)) return out;
  if (!check_chain(draft, identity, *program) || out.entrypoint == nullptr) return out;
  out.found = true;
  out.path = program->hops.back().file.real;
  out.argv = final_argv(draft.policy, *program);
  out.chain = std::move(*program);
  return out;
}

}  // namespace cordon::planner
