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

bool is_below_homes(std::string_view path) {
  if (within(path, "/root")) return true;
  for (; path != "/"; path = parent_of(path)) {
    if (is_home_container(path)) return true;
  }
  return false;
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

std::string marker_of(const std::string& root) { return root + "/pyvenv.cfg"; }

/// Below a home, where version managers keep what they install: each directory in one of these, so many levels down.
struct Layout {
  std::string_view place;
  std::size_t levels = 1;
};
constexpr std::array kLayouts = std::to_array<Layout>({{".asdf/installs", 2},
                                                       {".goenv/versions", 1},
                                                       {".jenv/versions", 1},
                                                       {".local/share/fnm/node-versions", 2},
                                                       {".local/share/mise/installs", 2},
                                                       {".local/share/pipx/venvs", 1},
                                                       {".local/share/pypoetry/venv", 0},
                                                       {".local/share/rtx/installs", 2},
                                                       {".local/share/uv/python", 1},
                                                       {".local/share/uv/tools", 1},
                                                       {".nodenv/versions", 1},
                                                       {".nvm/versions/node", 1},
                                                       {".phpenv/versions", 1},
                                                       {".plenv/versions", 1},
                                                       {".pyenv/versions", 1},
                                                       {".rbenv/versions", 1},
                                                       {".rustup/toolchains", 1},
                                                       {".sdkman/candidates", 2},
                                                       {".volta/tools/image", 2},
                                                       {"anaconda3", 0},
                                                       {"anaconda3/envs", 1},
                                                       {"mambaforge", 0},
                                                       {"mambaforge/envs", 1},
                                                       {"miniconda3", 0},
                                                       {"miniconda3/envs", 1},
                                                       {"miniforge3", 0},
                                                       {"miniforge3/envs", 1}});

bool is_known_layout(const plan::HostFacts& facts, std::string_view prefix) {
  const std::vector<std::string> homes = own_homes(facts);
  return std::ranges::any_of(homes, [&](const std::string& home) {
    return std::ranges::any_of(kLayouts, [&](const Layout& layout) {
      const std::string place = home + "/" + std::string(layout.place);
      return within(prefix, place) && depth_of(prefix) == depth_of(place) + layout.levels;
    });
  });
}

std::string_view directory_of_manifest(const policy::Policy& policy, const plan::HostFacts& facts) {
  const PathFact* fact = fact_of(facts, policy.manifest.path);
  return parent_of(fact == nullptr || fact->real.empty() ? std::string_view(policy.manifest.path)
                                                         : std::string_view(fact->real));
}

/// A `#!` line is not covered by the approval unless it is pinned, and whoever can write the program that it names can
/// name any directory: a checkout's first line would grant the checkout. So a directory that the caller may write,
/// beside the manifest or in a home, is shown only where a version manager keeps its installations, or where the
/// manifest itself names the interpreter.
bool may_bring(const policy::Policy& policy, const plan::HostFacts& facts, const PathFact& prefix) {
  if (!policy.interpreter.empty() || !prefix.writable) return true;
  const std::vector<std::string> homes = own_homes(facts);
  const bool at_home = std::ranges::any_of(homes, [&](const std::string& home) { return within(prefix.real, home); }) ||
                       is_below_homes(prefix.real);
  const std::string_view manifest = directory_of_manifest(policy, facts);
  if (!at_home && !within(prefix.real, manifest) && !within(manifest, prefix.real)) return true;
  return is_known_layout(facts, prefix.real);
}

/// A virtual environment is marked by a file of its own, which a checkout may hold too: so it may hold only itself.
bool may_be_environment(const policy::Policy& policy, const plan::HostFacts& facts, const PathFact& root) {
  if (present(facts, marker_of(root.asked)) == nullptr) return false;
  return !policy.interpreter.empty() || !within(directory_of_manifest(policy, facts), root.real);
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
    if (const PathFact* prefix = present(draft.facts, install_prefix(draft.facts, hop.file.real));
        prefix != nullptr && may_bring(policy, draft.facts, *prefix)) {
      wanted.add(*prefix, Why::kPrefix, reason, at);
    }
    wanted.add_if_present(std::string(store_of(hop.file.real)), reason, at);
    const PathFact* root = present(draft.facts, environment_root(draft.facts, hop.file.asked));
    if (root != nullptr && may_be_environment(policy, draft.facts, *root)) {
      wanted.add(*root, Why::kPrefix, reason, at);
    }
  }
  const PathFact* loader = present(draft.facts, program.chain.hops.back().elf_interpreter);
  if (loader == nullptr) return;
  wanted.add(*loader, Why::kProgram, "loader", at);
  wanted.add_if_present(std::string(store_of(loader->real)), "loader", at);
}

}  // namespace cordon::planner
