// What an interpreter needs beside its own file: its install prefix, its virtual environment, its loader, its store.
#include <algorithm>
#include <array>
#include <utility>

#include "planner/base.h"
#include "planner/path_text.h"
#include "planner/program.h"
#include "planner/shims.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using plan::ProgramFact;

constexpr std::array kStores = std::to_array<std::string_view>({"/nix/store", "/gnu/store"});

const PathFact* present(const plan::HostFacts& facts, const std::string& path) {
  const PathFact* fact = fact_of(facts, path);
  return fact != nullptr && fact->state == PathState::kPresent ? fact : nullptr;
}

/// Showing this whole directory for the sake of one interpreter would show far more than an installation.
bool too_broad(const plan::HostFacts& facts, std::string_view prefix) {
  if (depth_of(prefix) < 2 || is_home_container(parent_of(prefix))) return true;
  return std::ranges::any_of(own_homes(facts), [&](const std::string& home) {
    if (within(home, prefix)) return true;
    // ~/.local, ~/.cargo: an installation among keys and histories.
    return parent_of(prefix) == home && name_of(prefix).starts_with('.');
  });
}

bool holds_programs(std::string_view directory) {
  const std::string_view name = name_of(directory);
  return name == "bin" || name == "sbin" || name == "libexec";
}

/// /x/versions/3.12 for /x/versions/3.12/bin/python3.12; "" where the file stands alone.
std::string install_prefix(const plan::HostFacts& facts, std::string_view real) {
  if (in_base(facts, real)) return {};
  const std::string_view directory = parent_of(real);
  const std::string_view prefix = holds_programs(directory)   ? parent_of(directory)
                                  : within(directory, "/opt") ? directory
                                                              : std::string_view();
  return prefix.empty() || too_broad(facts, prefix) ? std::string() : std::string(prefix);
}

/// The root of the virtual environment that a spelling like venv/bin/python would have.
std::string environment_root(const plan::HostFacts& facts, std::string_view asked) {
  const std::string_view directory = parent_of(asked);
  if (!holds_programs(directory) || in_base(facts, asked)) return {};
  const std::string_view root = parent_of(directory);
  const bool is_home =
      std::ranges::any_of(own_homes(facts), [&](const std::string& home) { return within(home, root); });
  return depth_of(root) < 2 || is_home ? std::string() : std::string(root);
}

std::string marker_of(const std::string& root) { return root + "/pyvenv.cfg"; }

/// The chain's files that interpret: all of them where an interpreter is named, else all but the entrypoint.
std::span<const plan::ProgramHop> interpreters(const policy::Policy& policy, const ProgramFact& chain) {
  return std::span(chain.hops).subspan(policy.interpreter.empty() ? std::min<std::size_t>(1, chain.hops.size()) : 0);
}

std::string_view store_of(std::string_view real) {
  const auto found = std::ranges::find_if(kStores, [&](std::string_view store) { return within(real, store); });
  return found == kStores.end() ? std::string_view() : *found;
}

class Wanted {
 public:
  Wanted(const Draft& draft, std::vector<Want>& wants, std::vector<Link>& links)
      : draft_(draft), wants_(wants), links_(links) {}

  void add(const PathFact& fact, Why why, const std::string& reason, const base::Span& at) {
    wants_.push_back({.path = fact.real,
                      .id = fact.id,
                      .directory = is_directory(fact),
                      .access = Access::kReadOnly,
                      .why = why,
                      .create = {},
                      .reason = reason,
                      .at = at});
    for (const plan::LinkHop& hop : fact.hops) {
      links_.push_back({.at = hop.at, .text = hop.target, .reason = reason, .span = at});
    }
  }

  void add_if_present(const std::string& path, const std::string& reason, const base::Span& at) {
    if (path.empty()) return;
    if (const PathFact* fact = present(draft_.facts, path)) add(*fact, Why::kPrefix, reason, at);
  }

 private:
  const Draft& draft_;
  std::vector<Want>& wants_;
  std::vector<Link>& links_;
};

}  // namespace

std::vector<std::string> program_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string> out;
  const auto ask = [&](std::string path) {
    if (!path.empty() && fact_of(facts, path) == nullptr) out.push_back(std::move(path));
  };
  const auto chain = program_chain(policy, facts);
  if (!chain) return out;
  for (const plan::ProgramHop& hop : interpreters(policy, *chain)) {
    if (hop.file.state != PathState::kPresent) continue;
    ask(install_prefix(facts, hop.file.real));
    ask(std::string(store_of(hop.file.real)));
    const std::string root = environment_root(facts, hop.file.asked);
    if (root.empty()) continue;
    ask(root);
    ask(marker_of(root));
  }
  const std::string& loader = chain->hops.back().elf_interpreter;
  if (loader.starts_with('/')) {
    ask(loader);
    ask(std::string(store_of(loader)));
  }
  return out;
}

std::string loader_of(const plan::HostFacts& facts, const Program& program) {
  if (program.chain.hops.empty()) return {};
  const PathFact* loader = present(facts, program.chain.hops.back().elf_interpreter);
  return loader == nullptr ? std::string() : loader->real;
}

void want_program(const Draft& draft, const Program& program, std::vector<Want>& wants, std::vector<Link>& links) {
  if (!program.found) return;
  const policy::Policy& policy = draft.policy;
  Wanted wanted(draft, wants, links);
  const std::string entry_reason = "entrypoint";
  wanted.add(*program.entrypoint, Why::kProgram, entry_reason, policy.entrypoint.at.span);
  const std::string reason = "interpreter";
  const base::Span& at = policy.interpreter.empty() ? policy.entrypoint.at.span : policy.interpreter.at.span;
  for (const plan::ProgramHop& hop : interpreters(policy, program.chain)) {
    wanted.add(hop.file, Why::kProgram, reason, at);
    wanted.add_if_present(install_prefix(draft.facts, hop.file.real), reason, at);
    wanted.add_if_present(std::string(store_of(hop.file.real)), reason, at);
    const std::string root = environment_root(draft.facts, hop.file.asked);
    if (!root.empty() && present(draft.facts, marker_of(root)) != nullptr) wanted.add_if_present(root, reason, at);
  }
  const PathFact* loader = present(draft.facts, program.chain.hops.back().elf_interpreter);
  if (loader == nullptr) return;
  wanted.add(*loader, Why::kProgram, "loader", at);
  wanted.add_if_present(std::string(store_of(loader->real)), "loader", at);
}

}  // namespace cordon::planner
