#include "planner/shims.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using plan::ProgramFact;
using plan::ProgramHop;

constexpr std::size_t kMostLevels = 32;  // directories above the entrypoint in which a version may be written down

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_shell(std::string_view name) {
  constexpr std::array kShells = std::to_array<std::string_view>(
      {"ash", "bash", "busybox", "dash", "fish", "ksh", "ksh93", "mksh", "rbash", "sh", "yash", "zsh"});
  return is_one_of(name, kShells);
}

/// Programs whose work is to start another: launchers of commands, and the one binary behind a version manager's shims.
bool starts_another(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"asdf",   "chrt",  "doas",       "env",  "flatpak", "ionice",  "mise",       "nice",
       "nohup",  "proto", "proto-shim", "rtx",  "rustup",  "setarch", "setsid",     "snap",
       "stdbuf", "sudo",  "taskset",    "time", "timeout", "volta",   "volta-shim", "xargs"});
  return is_one_of(name, kNames);
}

/// How a file says which version is meant.
enum class Writing { kLines, kToolVersions, kToml, kVolta };
struct Source {
  std::string path;
  Writing writing = Writing::kLines;
};

/// Where a manager keeps its versions, and what decides between them.
struct Shim {
  std::string versions;  ///< directory of directories, one for each version
  std::string name;      ///< of the program, below VERSION/bin
  std::string tool;      ///< how the sources call what is versioned
  std::vector<Source> sources;
};

std::string text_of(const plan::HostFacts& facts, const std::string& path) {
  const auto found = facts.texts.find(path);
  return found == facts.texts.end() ? std::string() : found->second;
}

/// `name` in the entrypoint's directory and every one above it, nearest first.
void add_upward(const policy::Policy& policy, std::string_view name, Writing writing, std::vector<Source>& sources) {
  std::string_view at = parent_of(policy.entrypoint.path);
  for (std::size_t level = 0; level < kMostLevels; ++level, at = parent_of(at)) {
    sources.push_back({std::string(at == "/" ? "" : at) + "/" + std::string(name), writing});
    if (at == "/") return;
  }
}

std::string_view language_of(std::string_view manager) {
  struct Entry {
    std::string_view manager, language;
  };
  constexpr std::array kTable = std::to_array<Entry>({{"goenv", "go"},
                                                      {"jenv", "java"},
                                                      {"nodenv", "node"},
                                                      {"phpenv", "php"},
                                                      {"plenv", "perl"},
                                                      {"pyenv", "python"},
                                                      {"rbenv", "ruby"}});
  const auto found = std::ranges::find(kTable, manager, &Entry::manager);
  return found == kTable.end() ? std::string_view() : found->language;
}

/// `exec "/home/me/.pyenv/libexec/pyenv" exec …` names the manager.
std::string_view manager_in(std::string_view script, std::string_view root) {
  const std::string libexec = std::string(root) + "/libexec/";
  const std::size_t at = script.find(libexec);
  if (at == std::string_view::npos) return {};
  script.remove_prefix(at + libexec.size());
  return script.substr(0, script.find_first_of("\"' \n"));
}

/// `# asdf-plugin: python 3.11.4` names the plugin.
std::string_view plugin_in(std::string_view script) {
  constexpr std::string_view kMark = "# asdf-plugin: ";
  const std::size_t at = script.find(kMark);
  if (at == std::string_view::npos) return {};
  script.remove_prefix(at + kMark.size());
  return script.substr(0, script.find_first_of(" \n"));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '+' || c == '-';
  });
}

std::string tool_of(std::string_view name) {
  constexpr std::array kPrefixes = std::to_array<std::string_view>({"python", "ruby", "perl", "node", "php", "java"});
  const auto found = std::ranges::find_if(kPrefixes, [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.find_first_not_of("0123456789.", prefix.size()) == std::string_view::npos;
  });
  return std::string(found == kPrefixes.end() ? name : *found);
}

std::optional<Shim> script_shim(const policy::Policy& policy, const plan::HostFacts& facts, const ProgramHop& hop) {
  const std::string_view directory = parent_of(hop.file.asked);
  if (name_of(directory) != "shims") return std::nullopt;
  const std::string root(parent_of(directory));
  const std::string script = text_of(facts, hop.file.asked);
  Shim shim{.versions = {}, .name = std::string(name_of(hop.file.asked)), .tool = {}, .sources = {}};
  if (const std::string_view plugin = plugin_in(script); is_plain_name(plugin)) {
    shim.versions = root + "/installs/" + std::string(plugin);
    shim.tool = plugin;
    add_upward(policy, ".tool-versions", Writing::kToolVersions, shim.sources);
    shim.sources.push_back({facts.home + "/.tool-versions", Writing::kToolVersions});
    return shim;
  }
  const std::string_view language = language_of(manager_in(script, root));
  if (language.empty()) return std::nullopt;
  shim.versions = root + "/versions";
  add_upward(policy, "." + std::string(language) + "-version", Writing::kLines, shim.sources);
  shim.sources.push_back({root + "/version", Writing::kLines});
  return shim;
}

std::optional<Shim> linked_shim(const policy::Policy& policy, const plan::HostFacts& facts, const ProgramHop& hop) {
  const std::string_view manager = name_of(hop.file.real);
  const std::string root(parent_of(parent_of(hop.file.asked)));
  Shim shim{.versions = {}, .name = std::string(name_of(hop.file.asked)), .tool = {}, .sources = {}};
  shim.tool = tool_of(shim.name);
  if (manager == "mise" || manager == "rtx") {
    shim.versions = root + "/installs/" + shim.tool;
    add_upward(policy, "mise.toml", Writing::kToml, shim.sources);
    add_upward(policy, ".tool-versions", Writing::kToolVersions, shim.sources);
    shim.sources.push_back({facts.home + "/.config/mise/config.toml", Writing::kToml});
    return shim;
  }
  if (manager != "volta-shim" || shim.tool != "node") return std::nullopt;
  shim.versions = root + "/tools/image/node";
  shim.sources.push_back({root + "/tools/user/platform.json", Writing::kVolta});
  return shim;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word : base::split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// `key = "value"` or `"key": "value"`; "" where there is none.
std::string_view quoted_after(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  at = text.find_first_not_of("\" :=", at + key.size());
  if (at == std::string_view::npos || text[at - 1] != '"') return {};
  return text.substr(at, text.find('"', at) - at);
}

std::vector<std::string> versions_in(const std::string& text, Writing writing, const std::string& tool) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view version) {
    if (is_plain_name(version)) out.emplace_back(version);
  };
  if (writing == Writing::kVolta) add(quoted_after(text, "\"runtime\""));
  if (writing == Writing::kVolta) return out;
  for (std::string_view line : base::split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (writing == Writing::kLines) std::ranges::for_each(words, add);
    if (writing == Writing::kToolVersions && words[0] == tool)
      std::ranges::for_each(words.begin() + 1, words.end(), add);
    if (writing == Writing::kToml && words[0] == tool) add(quoted_after(line, tool));
  }
  return out;
}

/// 3.9 before 3.10: numbers by their value, the rest as text.
bool version_before(std::string_view a, std::string_view b) {
  const auto left = base::split(a, '.');
  const auto right = base::split(b, '.');
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    const auto x = base::parse_decimal(left[i]);
    const auto y = base::parse_decimal(right[i]);
    if (x && y) return *x < *y;
    return left[i] < right[i];
  }
  return left.size() < right.size();
}

std::vector<std::string> installed(const plan::HostFacts& facts, const Shim& shim) {
  std::vector<std::string> out;
  const auto listed = facts.children.find(shim.versions);
  if (listed == facts.children.end()) return out;
  for (const PathFact& child : listed->second) {
    // A link (mise's "latest", a renamed virtual environment) is a second name of something else.
    if (child.state == PathState::kPresent && is_directory(child) && child.hops.empty())
      out.emplace_back(name_of(child.asked));
  }
  std::ranges::sort(out, version_before);
  return out;
}

/// "3.11" means the newest 3.11.x that is installed.
std::optional<std::string> matching(const std::vector<std::string>& versions, const std::string& wanted) {
  if (std::ranges::find(versions, wanted) != versions.end()) return wanted;
  std::optional<std::string> best;
  for (const std::string& version : versions) {
    if (version.starts_with(wanted + ".")) best = version;
  }
  return best;
}

/// The first source that says anything decides; where none does, the only version that is installed.
std::optional<std::string> chosen(const plan::HostFacts& facts, const Shim& shim) {
  const std::vector<std::string> versions = installed(facts, shim);
  for (const Source& source : shim.sources) {
    const auto wanted = versions_in(text_of(facts, source.path), source.writing, shim.tool);
    if (wanted.empty()) continue;
    for (const std::string& version : wanted) {
      if (auto found = matching(versions, version)) return found;
    }
    return std::nullopt;
  }
  if (versions.size() != 1) return std::nullopt;
  return versions.front();
}

const PathFact* shims_own_versions(const plan::HostFacts& facts, const Shim& shim) {
  const PathFact* fact = fact_of(facts, shim.versions);
  return fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact) ? fact : nullptr;
}

struct Found {
  std::size_t place;
  std::optional<Shim> shim;
};
std::optional<Found> find_shim(const policy::Policy& policy, const plan::HostFacts& facts, const ProgramFact& chain) {
  const auto place = shim_in(policy, chain);
  if (!place) return std::nullopt;
  const ProgramHop& hop = chain.hops[*place];
  return Found{.place = *place,
               .shim = hop.format == plan::ProgramFormat::kScript ? script_shim(policy, facts, hop)
                                                                  : linked_shim(policy, facts, hop)};
}

std::string real_program(const plan::HostFacts& facts, const Shim& shim) {
  const auto version = chosen(facts, shim);
  return version ? shim.versions + "/" + *version + "/bin/" + shim.name : std::string();
}

}  // namespace

std::optional<std::size_t> shim_in(const policy::Policy& policy, const ProgramFact& chain) {
  // The entrypoint itself may be any script; an interpreter that is a shell script is a wrapper around the real one.
  const std::size_t begin = policy.interpreter.empty() ? 1 : 0;
  for (std::size_t i = begin; i + 1 < chain.hops.size(); ++i) {
    const PathFact& next = chain.hops[i + 1].file;
    if (is_shell(name_of(next.real)) || is_shell(name_of(next.asked))) return i;
  }
  if (chain.hops.size() <= begin) return std::nullopt;
  const ProgramHop& last = chain.hops.back();
  const bool other = last.format == plan::ProgramFormat::kElf && starts_another(name_of(last.file.real));
  return other ? std::optional(chain.hops.size() - 1) : std::nullopt;
}

std::optional<ProgramFact> program_chain(const policy::Policy& policy, const plan::HostFacts& facts) {
  const ProgramFact* asked = program_of(facts, program_key(policy));
  if (asked == nullptr || asked->hops.empty()) return std::nullopt;
  const auto found = find_shim(policy, facts, *asked);
  if (!found || !found->shim) return *asked;
  const std::string path = real_program(facts, *found->shim);
  const ProgramFact* real = path.empty() ? nullptr : program_of(facts, path);
  if (real == nullptr || !real->found || real->hops.empty()) return *asked;
  ProgramFact chain = *asked;
  chain.hops.resize(found->place);
  chain.hops.insert(chain.hops.end(), real->hops.begin(), real->hops.end());
  return chain;
}

ShimQuestions shim_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  ShimQuestions out;
  const ProgramFact* asked = program_of(facts, program_key(policy));
  const auto found = asked == nullptr ? std::nullopt : find_shim(policy, facts, *asked);
  if (!found) return out;
  const ProgramHop& hop = asked->hops[found->place];
  if (hop.format == plan::ProgramFormat::kScript) out.texts.push_back(hop.file.asked);
  if (!found->shim) return out;
  const Shim& shim = *found->shim;
  for (const Source& source : shim.sources) out.texts.push_back(source.path);
  out.paths.push_back(shim.versions);
  if (shims_own_versions(facts, shim) != nullptr) out.directories.push_back(shim.versions);
  const std::string path = real_program(facts, shim);
  if (!path.empty()) out.programs.push_back(path);
  return out;
}

}  // namespace cordon::planner
