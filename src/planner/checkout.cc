#include "planner/checkout.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/abs_path.h"
#include "base/git_config.h"
#include "base/text.h"
#include "planner/draft.h"
#include "planner/git_places.h"
#include "planner/identity.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/write_places.h"
#include "policy/shield/corpus.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::shield::Deny;
using policy::shield::Kind;
using Setting = base::GitConfig::Setting;

constexpr std::size_t kMostModules = 512;  // repositories inside one repository
constexpr std::size_t kDeepestModule = 12;
constexpr std::size_t kMostIncludes = 64;

/// What git runs or obeys in a directory of its own. `commondir` redirects all of it.
constexpr std::array kGitNames = std::to_array<std::pair<std::string_view, Kind>>(
    {{"hooks", Kind::kDirectory}, {"config", Kind::kFile}, {"config.worktree", Kind::kFile}});

const PathFact* answered(const plan::HostFacts& facts, const std::string& path) { return fact_of(facts, path); }

bool is_present_directory(const PathFact* fact) {
  return fact != nullptr && fact->state == PathState::kPresent && is_directory(*fact);
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
    if (places_.empty()) return;
    for (const std::string& place : places_) visit(place);
    users_hooks_ = hooks_said_by(users_git_files(facts_));
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
    policy::shield::Texts texts;
    for (const policy::shield::Rule& rule : policy::shield::workspace_rules_at(root, texts)) {
      rules.push_back({.path = std::string(rule.path),
                       .real = std::string(rule.path),
                       .deny = rule.deny,
                       .directory = rule.kind == Kind::kDirectory,
                       .holds = rule.holds,
                       .write_opt_in = rule.write_opt_in,
                       .what = rule.what});
    }
    add_named(root, std::move(rules));
    if (!with_git) return;
    submodules_in_place(root, 1);
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
      for (const Shield& shield : rules) names.add(std::string_view(shield.path).substr(directory.size() + 1));
      return;
    }
    for (Shield& shield : rules) {
      const auto found = std::ranges::find(known->second, shield.path, &PathFact::asked);
      if (found != known->second.end()) {
        shield.fact = &*found;
        if (!found->real.empty()) shield.real = found->real;
        if (shield.stands()) shield.directory = is_directory(*found);
      }
      // What holds an absent name is seen inside: of a directory nobody makes a commit or a package.
      if (!shield.stands()) shield.directory = true;
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
    hold_hooks(hooks_said_by({directory + "/config", directory + "/config.worktree"}), root);
    hold_hooks(users_hooks_, root);
  }

  /// A core.hooksPath, and the file that says it. Every one counts: which is the last, conditions decide.
  struct SaidHooks {
    std::string value;
    const PathFact* by;
  };

  std::vector<SaidHooks> hooks_said_by(std::vector<std::string> files) {
    std::vector<SaidHooks> out;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string file = files[i];
      const PathFact* known = fact(file);
      if (known == nullptr || known->state != PathState::kPresent) continue;
      if (i >= kMostIncludes) {
        unknown(*known, "it is one of more files than are followed");
        break;
      }
      const std::string* text = content(*known);
      if (text == nullptr) continue;
      for (base::GitConfig::Line& line : base::parse_git_config(*text).lines) {
        if (line.setting == Setting::kHooksPath) out.push_back({std::move(line.value), known});
        if (line.setting != Setting::kInclude && line.setting != Setting::kConditionalInclude) continue;
        const auto path = expand(line.value, std::string(parent_of(file)), *known);
        if (!path || std::ranges::find(files, *path) != files.end()) continue;
        files.push_back(*path);
        protect(*path, false, "git's configuration, which starts programs");
      }
    }
    return out;
  }

  void hold_hooks(const std::vector<SaidHooks>& said, const std::string& root) {
    for (const SaidHooks& each : said) {
      const auto hooks = expand(each.value, root, *each.by);
      if (hooks && !is_too_broad(facts_, *hooks)) protect(*hooks, true, "git hooks");
    }
  }

  /// Where a value of a configuration leads. ".." behind a name is no matter of the text alone: git goes through what
  /// stands there, and the target could put a link there.
  std::optional<std::string> expand(std::string_view value, const std::string& from, const PathFact& by) {
    std::string at = value.starts_with('/') ? "/" : from;
    if (value.starts_with('~')) {
      const std::size_t end = std::min(value.find('/'), value.size());
      const auto home = home_named(facts_, value.substr(1, end - 1));
      if (!home) return unknown(by, "whose home it names is not known"), std::nullopt;
      at = *home;
      value.remove_prefix(end);
    } else if (value.starts_with("%(prefix)/")) {
      at = "/usr";
      value.remove_prefix(std::string_view("%(prefix)").size());
    }
    bool entered = false;
    for (const std::string_view name : base::split(value, '/')) {
      if (name.empty() || name == ".") continue;
      if (name != "..") {
        at = at == "/" ? "/" + std::string(name) : at + "/" + std::string(name);
        entered = true;
        continue;
      }
      if (entered) {
        const PathFact* known = fact(at);
        if (known == nullptr) return std::nullopt;
        const bool stays = known->state == PathState::kPresent && !may_be_moved(*known);
        if (!stays)
          return unknown(by, "it names a path through a directory that the target could replace"), std::nullopt;
        at = known->real;
      }
      at = std::string(parent_of(at));
    }
    return below("/", at);
  }

  [[nodiscard]] bool may_be_moved(const PathFact& known) const {
    return is_written(known.asked) || is_written(known.real) ||
           std::ranges::any_of(known.hops, [&](const plan::LinkHop& hop) { return is_written(hop.at); });
  }

  void protect(const std::string& path, bool directory, std::string_view what) {
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
    const auto root = text != nullptr ? worktree_in(*text, directory) : std::nullopt;
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
        if (std::string_view(name) == "/gitdir") worktree(known, entry.real, std::string(parent_of(directory)));
        const bool stands = known != nullptr && known->state == PathState::kPresent;
        if (known != nullptr && (stands || std::string_view(name) == "/config.worktree")) {
          add(entry.real + name, known, false, "git's configuration, which starts programs");
        }
      }
    }
  }

  /// Of a worktree below a grant: the file that leads here must go on doing so, and relative hooks are its own.
  void worktree(const PathFact* file, const std::string& from, const std::string& repository) {
    if (file == nullptr || file->state != PathState::kPresent) return;
    const auto git = pointed_to(*file, "", from);
    if (!git || !git->ends_with("/.git") || !is_written(*git)) return;
    const PathFact* known = fact(*git);
    if (known != nullptr && known->state == PathState::kPresent) add(*git, known, false, "where git's directory is");
    hooks_elsewhere(repository, std::string(parent_of(*git)));
  }

  /// Submodules whose repository stands in place. One that is in another's directory was found there.
  void submodules_in_place(const std::string& root, std::size_t depth) {
    const PathFact* list = fact(root + "/.gitmodules");
    if (list == nullptr || list->state != PathState::kPresent || depth > kDeepestModule) return;
    const std::string* text = content(*list);
    if (text == nullptr) return;
    for (const base::GitConfig::Line& line : base::parse_git_config(*text).lines) {
      const auto path = line.setting == Setting::kSubmodule ? below(root, line.value) : std::nullopt;
      if (!path || !within(*path, root) || *path == root || ++modules_ > kMostModules) continue;
      const PathFact* git = fact(*path + "/.git");
      if (git == nullptr || git->state != PathState::kPresent) continue;
      if (is_directory(*git)) {
        repository(git->real, *path);
      } else {
        add(*path + "/.git", git, false, "where git's directory is");
      }
      submodules_in_place(*path, depth + 1);
    }
  }

  const plan::HostFacts& facts_;
  Identity identity_;
  std::vector<std::string> places_, anchors_;
  std::map<std::string, bool> roots_;  ///< with git's own names
  std::set<std::string> seen_;
  std::vector<SaidHooks> users_hooks_;
  std::size_t modules_ = 0;
  ShieldQuestions ask_;
  std::vector<Shield> shields_;
};

}  // namespace

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
