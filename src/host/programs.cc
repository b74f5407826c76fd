#include "host/programs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/text.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using plan::PathState;
using plan::ProgramFormat;

/// One read covers a `#!` line and, in all but odd files, an ELF file's tables.
constexpr std::size_t kFirstRead = 4096;
constexpr std::size_t kMostPathEntries = 1024;

std::string below(const std::string& directory, std::string_view name) {
  if (name.starts_with('/')) return std::string(name);
  return directory + "/" + std::string(name);
}

bool is_program(const Resolver::Found& found) {
  return found.node != nullptr && found.node->is_file() && found.fact.executable;
}

/// Reads of one file, the first of them remembered.
class Reader {
 public:
  explicit Reader(base::Fd fd) : fd_(std::move(fd)) { head_size_ = read(0, head_).value_or(0); }

  [[nodiscard]] std::string_view head() const { return {reinterpret_cast<const char*>(head_.data()), head_size_}; }
  [[nodiscard]] bool fill(std::uint64_t offset, std::span<std::byte> into) const {
    if (into.size() <= head_size_ && offset <= head_size_ - into.size()) {
      std::memcpy(into.data(), head_.data() + offset, into.size());
      return true;
    }
    // No file is that long, and the sum below must not wrap.
    if (offset > (std::uint64_t{1} << 62U)) return false;
    return read(offset, into).value_or(0) == into.size();
  }

 private:
  [[nodiscard]] kernel::Sys<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) const {
    return kernel::pread(fd_, into, offset);
  }
  base::Fd fd_;
  std::array<std::byte, kFirstRead> head_{};
  std::size_t head_size_ = 0;
};

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
  const Reader reader(std::move(*fd));
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
