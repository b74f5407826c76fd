#include "planner/checkout.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "policy/shield/corpus.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::PathGrant;
using policy::shield::Deny;
using policy::shield::Kind;

constexpr std::size_t kMostModules = 512;  // repositories inside one repository
constexpr std::size_t kDeepestModule = 12;
constexpr std::size_t kMostIncludes = 16;

/// What git runs or obeys in a directory of its own. `commondir` redirects all of it.
constexpr std::array kGitNames = std::to_array<std::pair<std::string_view, Kind>>(
    {{"hooks", Kind::kDirectory}, {"config", Kind::kFile}, {"config.worktree", Kind::kFile}});

const PathFact* answered(const plan::HostFacts& facts, const std::string& path) { return fact_of(facts, path); }

bool is_present_directory(const PathFact* fact) {
  return fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact);
}

/// Where the writes of this policy land.
std::vector<std::string> write_places(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<std::string> out;
  for (const PathGrant& grant : policy.write) {
    const PathFact* fact = fact_of(facts, grant.path);
    if (fact == nullptr || (fact->state != PathState::kPresent && fact->state != PathState::kAbsent)) continue;
    if (is_too_broad(facts, fact->real)) continue;  // refused
    if (fact->state == PathState::kPresent && !is_directory(*fact)) {
      out.emplace_back(parent_of(fact->real));
    } else {
      out.push_back(fact->real);
    }
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// Finds the checkouts, one question after the other; what is not known yet ends up in `ask`.
class Checkouts {
 public:
  Checkouts(const policy::Policy& policy, const plan::HostFacts& facts)
      : facts_(facts),
        identity_(decide_identity(policy, facts)),
        places_(write_places(policy, facts)),
        anchors_(anchors_of(facts)) {}

  void find() {
    for (const std::string& place : places_) visit(place);
    for (const auto& [root, git] : roots_) workspace(root, git);
    for (const std::string& place : places_) bare(place);
  }

  ShieldQuestions take_questions() { return std::move(ask_); }
  std::vector<Shield> take_shields() { return std::move(shields_); }

 private:
  [[nodiscard]] bool is_anchor(std::string_view path) const { return std::ranges::binary_search(anchors_, path); }

  [[nodiscard]] bool is_written(std::string_view path) const {
    for (std::string_view at = path;; at = parent_of(at)) {
      if (std::ranges::binary_search(places_, at)) return true;
      if (at == "/") return false;
    }
  }

  const PathFact* fact(const std::string& path) {
    const PathFact* known = answered(facts_, path);
    if (known == nullptr) ask_.paths.push_back(path);
    return known;
  }

  void visit(const std::string& place) {
    // In one round, however deep it is.
    for (std::string at = place; at != "/" && !root_around(at); at = std::string(parent_of(at))) {
      fact(at + "/.git");
      if (is_anchor(at)) break;
    }
    std::optional<std::string> root;
    bool in_a_home_repository = false;
    for (std::string at = place; at != "/"; at = std::string(parent_of(at))) {
      if (const auto repository = root_around(at)) {
        roots_.try_emplace(*repository, true);
        return;
      }
      const PathFact* git = fact(at + "/.git");
      if (git == nullptr) return;
      const bool stands = git->state != PathState::kAbsent || !git->hops.empty();
      if (is_anchor(at)) {
        in_a_home_repository = stands;
        break;
      }
      if (stands) {
        root = at;
        break;
      }
    }
    const bool own = root.has_value();
    roots_.try_emplace(root.value_or(place), own || !in_a_home_repository);
  }

  /// The checkout whose git directory `at` is or lies in.
  static std::optional<std::string> root_around(std::string_view at) {
    if (const std::size_t inner = at.find("/.git/"); inner != std::string_view::npos && inner != 0) {
      return std::string(at.substr(0, inner));
    }
    return at.ends_with("/.git") && at.size() > 5 ? std::optional(std::string(at.substr(0, at.size() - 5)))
                                                  : std::nullopt;
  }

  /// A repository without a checkout that this is or lies in. By its name, which is the convention: to ask for git's
  /// files in every directory would cost more than all else.
  void bare(const std::string& place) {
    constexpr std::string_view kEnd = ".git";
    for (std::string_view at = place; at != "/"; at = parent_of(at)) {
      if (!at.ends_with(kEnd) || name_of(at) == kEnd) continue;
      const std::string directory(at);
      const PathFact* head = fact(directory + "/HEAD");
      if (head != nullptr && head->state == PathState::kPresent && is_regular(*head)) repository(directory, directory);
    }
  }

  /// The rules of the corpus, and git's.
  void workspace(const std::string& root, bool with_git) {
    std::vector<Shield> rules;
    for (const policy::shield::Rule& rule : policy::shield::workspace_rules_at(root)) {
      rules.push_back({.path = rule.path,
                       .real = rule.path,
                       .deny = rule.deny,
                       .directory = rule.kind == Kind::kDirectory,
                       .holds = rule.holds,
                       .write_opt_in = rule.write_opt_in,
                       .what = rule.what});
    }
    add_named(root, std::move(rules));
    if (!with_git) return;
    const PathFact* git = fact(root + "/.git");
    if (git == nullptr) return;
    if (git->state == PathState::kAbsent && git->hops.empty()) {
      add(root + "/.git", git, true, "git's directory");
      return;
    }
    if (is_present_directory(git)) {
      if (!git->hops.empty()) add_link(root + "/.git", *git, "git's directory");
      return repository(git->real, root);
    }
    if (!git->hops.empty()) add(root + "/.git", git, is_directory(*git), "git's directory");
    if (git->state != PathState::kPresent) return;
    add(root + "/.git", git, false, "where git's directory is");
    linked_repository(*git, root);
  }

  /// Of names below `directory` those that the target could reach; asked for together.
  void add_named(const std::string& directory, std::vector<Shield> rules) {
    // A home has its own rules, and is no place that a grant writes to.
    if (is_anchor(directory)) return;
    std::erase_if(rules, [&](const Shield& shield) {
      return !is_written(shield.path) &&
             std::ranges::none_of(places_, [&](const std::string& place) { return within(place, shield.path); });
    });
    if (rules.empty()) return;
    const auto known = facts_.names.find(directory);
    if (known == facts_.names.end()) {
      auto& names = ask_.names[directory];
      for (const Shield& shield : rules) names.push_back(shield.path.substr(directory.size() + 1));
      return;
    }
    for (Shield& shield : rules) {
      const auto found = std::ranges::find(known->second, shield.path, &PathFact::asked);
      if (found != known->second.end()) {
        shield.fact = &*found;
        if (!found->real.empty()) shield.real = found->real;
        if (shield.stands()) shield.directory = is_directory(*found);
      }
      shields_.push_back(std::move(shield));
    }
  }

  void add(const std::string& path, const PathFact* known, bool directory, std::string_view what) {
    Shield shield{.path = path,
                  .real = known != nullptr && !known->real.empty() ? known->real : path,
                  .fact = known,
                  .deny = Deny::kWrite,
                  .directory = directory,
                  .what = what};
    if (shield.stands()) shield.directory = is_directory(*known);
    shields_.push_back(std::move(shield));
  }

  /// A link to what has shields of its own.
  void add_link(const std::string& path, const PathFact& known, std::string_view what) {
    shields_.push_back({.path = path,
                        .real = path,
                        .fact = &known,
                        .deny = Deny::kWrite,
                        .directory = false,
                        .what = what,
                        .source = {},
                        .only_links = true});
  }

  /// One of git's directories: `directory` is real.
  void git_directory(const std::string& directory) {
    if (!seen_.insert(directory).second) return;
    for (const auto& [name, kind] : kGitNames) {
      const std::string path = directory + "/" + std::string(name);
      const PathFact* known = fact(path);
      if (known != nullptr) add(path, known, kind == Kind::kDirectory, git_words(name));
    }
    // It says where configuration and hooks are read from. While it is held it says that they are here.
    const PathFact* common = fact(directory + "/commondir");
    if (common == nullptr) return;
    add(directory + "/commondir", common, false, "where git's configuration is");
    shields_.back().text = plan::step::StubText::kDot;
  }

  static std::string_view git_words(std::string_view name) {
    return name == "hooks" ? "git hooks" : "git's configuration, which starts programs";
  }

  void repository(const std::string& directory, const std::string& root) {
    git_directory(directory);
    hooks_elsewhere(directory, root);
    modules(directory + "/modules", 1);
    worktrees(directory + "/worktrees");
  }

  /// The repository of a worktree or submodule, as far as the target can write there.
  void linked_repository(const PathFact& file, const std::string& root) {
    const auto directory = pointed_to(file, "gitdir:", root);
    if (!directory) return;
    const PathFact* known = fact(*directory);
    if (!is_present_directory(known)) return;
    git_directory(known->real);
    hooks_elsewhere(known->real, root);
    const PathFact* common = fact(known->real + "/commondir");
    if (common == nullptr || common->state != PathState::kPresent) return;
    const auto main = pointed_to(*common, "", known->real);
    const PathFact* main_known = main ? fact(*main) : nullptr;
    if (is_present_directory(main_known)) repository(main_known->real, root);
  }

  /// The path in the first line of a small file, after `prefix`.
  std::optional<std::string> pointed_to(const PathFact& file, std::string_view prefix, const std::string& from) {
    const std::string* text = content(file);
    if (text == nullptr) return std::nullopt;
    std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
    if (!line.starts_with(prefix)) return std::nullopt;
    line.remove_prefix(prefix.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    return below(from, line);
  }

  static std::optional<std::string> below(const std::string& directory, std::string_view path) {
    const auto base = base::AbsPath::parse(directory);
    const auto out = base && !path.empty() ? base->join(path) : std::nullopt;
    return out ? std::optional(out->str()) : std::nullopt;
  }

  /// What a file of git's says. Where that cannot be known, what it leads to cannot be protected. Root reads it only
  /// where whom it works for could: another user's link opens nothing for them.
  const std::string* content(const PathFact& file) {
    if (!may_reach(identity_, file)) return unknown(file, "you work for somebody who could not read it");
    const auto found = facts_.texts.find(file.real);
    if (found == facts_.texts.end()) {
      ask_.texts.push_back(file.real);
      return nullptr;
    }
    if (facts_.unread_texts.contains(file.real)) return unknown(file, "it is too long or cannot be read");
    return &found->second;
  }

  const std::string* unknown(const PathFact& file, std::string_view why) {
    shields_.push_back({.path = file.real,
                        .real = file.real,
                        .deny = Deny::kWrite,
                        .directory = false,
                        .what = "git's configuration, which starts programs",
                        .source = {},
                        .unknown_reach = why});
    return nullptr;
  }

  /// core.hooksPath, and the configuration files that this one takes in: where the target could write them they decide
  /// as much.
  void hooks_elsewhere(const std::string& directory, const std::string& root) {
    std::vector<std::string> files = {directory + "/config", directory + "/config.worktree"};
    for (std::size_t i = 0; i < files.size() && i < kMostIncludes; ++i) {
      const std::string file = files[i];
      const PathFact* known = fact(file);
      if (known == nullptr || known->state != PathState::kPresent) continue;
      const std::string* text = content(*known);
      if (text == nullptr) continue;
      const GitConfig config = read_git_config(*text);
      for (const std::string& include : config.includes) {
        const auto path = expand(include, std::string(parent_of(file)));
        if (!path || std::ranges::find(files, *path) != files.end()) continue;
        files.push_back(*path);
        protect(*path, false, "git's configuration, which starts programs");
      }
      const auto hooks = config.hooks_path.empty() ? std::nullopt : expand(config.hooks_path, root);
      if (hooks && !is_too_broad(facts_, *hooks) && *hooks != root) protect(*hooks, true, "git hooks");
    }
  }

  std::optional<std::string> expand(const std::string& path, const std::string& from) const {
    if (path.starts_with("~/")) return below(facts_.home, std::string_view(path).substr(2));
    return below(from, path);
  }

  void protect(const std::string& path, bool directory, std::string_view what) {
    if (!is_written(path)) return;
    if (const PathFact* known = fact(path)) add(path, known, directory, what);
  }

  const std::vector<PathFact>* listing(const std::string& directory) {
    const PathFact* known = fact(directory);
    if (known == nullptr || !is_present_directory(known) || !known->hops.empty()) return nullptr;
    const auto found = facts_.children.find(directory);
    if (found != facts_.children.end()) return &found->second;
    ask_.directories.push_back(directory);
    return nullptr;
  }

  /// Submodules have their repositories here, at any depth: a directory with a regular `config` is one.
  void modules(const std::string& directory, std::size_t depth) {
    if (!is_written(directory)) return;
    const PathFact* known = fact(directory);
    if (known == nullptr || (known->state == PathState::kAbsent && known->hops.empty())) return;
    if (!is_present_directory(known) || !known->hops.empty() || depth > kDeepestModule || ++modules_ > kMostModules) {
      return add(directory, known, true, "repositories of submodules");
    }
    const std::vector<PathFact>* entries = listing(directory);
    if (entries == nullptr) return;
    const auto config = std::ranges::find(*entries, directory + "/config", &PathFact::asked);
    const bool is_repository = config != entries->end() && config->state == PathState::kPresent && is_regular(*config);
    if (is_repository) {
      submodule(directory, *config);
      return modules(directory + "/modules", depth + 1);
    }
    for (const PathFact& entry : *entries) {
      if (entry.state == PathState::kPresent && !is_directory(entry) && entry.hops.empty()) continue;
      modules(entry.asked, depth + 1);
    }
  }

  /// Its checkout's `.git` is a file that leads here, and must go on doing so.
  void submodule(const std::string& directory, const PathFact& config) {
    git_directory(directory);
    const std::string* text = content(config);
    const std::string worktree = text != nullptr ? read_git_config(*text).worktree : std::string();
    const auto root = worktree.empty() ? std::nullopt : below(directory, worktree);
    hooks_elsewhere(directory, root.value_or(directory));
    if (!root || !is_written(*root) || is_anchor(*root)) return;
    const PathFact* git = fact(*root + "/.git");
    if (git != nullptr && git->state == PathState::kPresent && !is_directory(*git)) {
      add(*root + "/.git", git, false, "where git's directory is");
    }
  }

  void worktrees(const std::string& directory) {
    if (!is_written(directory)) return;
    const std::vector<PathFact>* entries = listing(directory);
    if (entries == nullptr) return;
    for (const PathFact& entry : *entries) {
      if (!is_present_directory(&entry) || !entry.hops.empty()) continue;
      for (const char* name : {"/config.worktree", "/commondir", "/gitdir"}) {
        const PathFact* known = fact(entry.real + name);
        const bool stands = known != nullptr && known->state == PathState::kPresent;
        if (known != nullptr && (stands || std::string_view(name) == "/config.worktree")) {
          add(entry.real + name, known, false, "git's configuration, which starts programs");
        }
      }
    }
  }

  const plan::HostFacts& facts_;
  Identity identity_;
  std::vector<std::string> places_, anchors_;
  std::map<std::string, bool> roots_;  ///< with git's own names
  std::set<std::string> seen_;
  std::size_t modules_ = 0;
  ShieldQuestions ask_;
  std::vector<Shield> shields_;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// A value as git reads it: quotes go, backslashes escape, a comment ends it.
std::string value_of(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '\\' && i + 1 < text.size()) {
      out += text[++i];
    } else if ((c == '#' || c == ';') && !quoted) {
      break;
    } else {
      out += c;
    }
  }
  return std::string(quoted ? std::string_view(out) : trimmed(out));
}

}  // namespace

GitConfig read_git_config(std::string_view text) {
  GitConfig out;
  std::string section;
  for (std::string_view line : base::split(text, '\n')) {
    line = trimmed(line);
    if (line.starts_with('[')) {
      const std::size_t end = line.find(']');
      const std::string_view head = line.substr(1, end == std::string_view::npos ? end : end - 1);
      section = lower(head.substr(0, head.find_first_of(" \t\"")));
      line = end == std::string_view::npos ? std::string_view() : trimmed(line.substr(end + 1));
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#') || line.starts_with(';')) continue;
    const std::string key = lower(trimmed(line.substr(0, equals)));
    const std::string value = value_of(trimmed(line.substr(equals + 1)));
    if (section == "core" && key == "hookspath") out.hooks_path = value;
    if (section == "core" && key == "worktree") out.worktree = value;
    if ((section == "include" || section == "includeif") && key == "path") out.includes.push_back(value);
  }
  return out;
}

void ask_for_checkouts(const policy::Policy& policy, const plan::HostFacts& facts, ShieldQuestions& questions) {
  Checkouts checkouts(policy, facts);
  checkouts.find();
  ShieldQuestions open = checkouts.take_questions();
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(questions.paths, open.paths);
  append(questions.directories, open.directories);
  append(questions.texts, open.texts);
  for (auto& [directory, names] : open.names) questions.names.insert_or_assign(directory, std::move(names));
}

void add_checkouts(const policy::Policy& policy, const plan::HostFacts& facts, std::vector<Shield>& shields) {
  Checkouts checkouts(policy, facts);
  checkouts.find();
  for (Shield& shield : checkouts.take_shields()) shields.push_back(std::move(shield));
}

}  // namespace cordon::planner
