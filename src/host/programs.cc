#include "host/programs.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "host/file_reader.h"

namespace cordon::host {
namespace {

using plan::PathState;
using plan::ProgramFormat;

constexpr std::size_t kMostPathEntries = 1024;

std::string below(const std::string& directory, std::string_view name) {
  if (name.starts_with('/')) return std::string(name);
  return directory + "/" + std::string(name);
}

bool is_program(const Resolver::Found& found) {
  return found.node != nullptr && found.node->is_file() && found.fact.executable;
}

}  // namespace

plan::ProgramFact Programs::find(const std::string& asked, const std::string& working_directory) {
  plan::ProgramFact fact{.asked = asked, .found = false, .hops = {}, .passed_over = {}};
  Resolver::Found found = look_up(asked, working_directory, &fact.passed_over);
  fact.found = found.node != nullptr;
  for (std::size_t interpreters = 0;; ++interpreters) {
    fact.hops.push_back(describe(std::move(found)));
    plan::ProgramHop& last = fact.hops.back();
    if (last.format != ProgramFormat::kScript || interpreters == kMostInterpreters) return fact;
    found = follow(last, working_directory);
  }
}

Resolver::Found Programs::look_up(const std::string& name, const std::string& working_directory,
                                  std::vector<std::string>* passed_over) {
  if (name.find('/') != std::string::npos) return resolver_.find(below(working_directory, name), Keep::kFirst);
  std::size_t entries = 0;
  for (const std::string_view entry : base::split(search_path_, ':')) {
    if (name.empty() || name == "." || name == ".." || ++entries > kMostPathEntries) break;
    if (!entry.starts_with('/')) continue;
    Resolver::Found found = resolver_.find(below(std::string(entry), name), Keep::kIfRoom);
    if (is_program(found)) return found;
    if (passed_over != nullptr && found.node != nullptr && found.node->is_file())
      passed_over->push_back(found.fact.asked);
  }
  plan::PathFact nowhere;
  nowhere.asked = name;
  nowhere.state = PathState::kAbsent;
  nowhere.code = ENOENT;
  return {.fact = std::move(nowhere), .node = nullptr};
}

plan::ProgramHop Programs::describe(Resolver::Found found) {
  plan::ProgramHop hop{.file = std::move(found.fact)};
  if (found.node != nullptr && found.node->is_file()) read_head(*found.node, hop);
  return hop;
}

void Programs::read_head(Node& file, plan::ProgramHop& hop) {
  auto fd = tree_.open_file(file);
  if (!fd) return;  // executable but not readable: what it is cannot be checked
  const FileReader reader(std::move(*fd));
  const std::string_view head = reader.head();
  if (head.empty()) {
    hop.format = ProgramFormat::kEmpty;
  } else if (auto line = parse_shebang(head)) {
    hop.format = ProgramFormat::kScript;
    hop.shebang_interpreter = std::move(line->interpreter);
    hop.shebang_argument = line->argument.value_or("");
    if (line->argument) hop.arguments = {hop.shebang_argument};
  } else if (auto elf = read_elf([&](std::uint64_t at, std::span<std::byte> into) { return reader.fill(at, into); })) {
    hop.format = ProgramFormat::kElf;
    hop.elf_foreign = elf->foreign;
    hop.elf_interpreter = std::move(elf->interpreter);
  }
}

Resolver::Found Programs::follow(plan::ProgramHop& script, const std::string& working_directory) {
  Resolver::Found interpreter = resolver_.find(below(working_directory, script.shebang_interpreter), Keep::kFirst);
  const std::string_view written = script.shebang_interpreter;
  const bool called_env = written.substr(written.rfind('/') + 1) == "env";
  if (!called_env || script.arguments.empty() || !is_program(interpreter)) return interpreter;
  // Only the binary env is known to mean this; a script of that name may mean anything.
  plan::ProgramHop env{.file = interpreter.fact};
  read_head(*interpreter.node, env);
  auto command = parse_env_argument(script.shebang_argument);
  if (env.format != ProgramFormat::kElf || !command) return interpreter;
  script.via_env = true;
  script.arguments = std::move(command->arguments);
  return look_up(command->name, working_directory, nullptr);
}

}  // namespace cordon::host
