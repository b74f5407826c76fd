#include "planner/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/path_order.h"
#include "base/text.h"
#include "planner/checkout.h"
#include "planner/exec_list.h"
#include "planner/held_links.h"
#include "planner/identity.h"
#include "planner/path_text.h"
#include "planner/shield_rules.h"

namespace cordon::planner {
namespace {

namespace shield = policy::shield;
using plan::Alias;
using plan::AliasKind;
using plan::AliasScanEnd;
using plan::PathFact;
using plan::PathState;

constexpr std::size_t kMostNamed = 8;  // one screen; the rest is counted

/// What a package manager put there as root; nobody else can make names in it.
constexpr std::array<std::string_view, 10> kSystemTrees = {"/usr",   "/bin",    "/sbin", "/lib",       "/lib32",
                                                           "/lib64", "/libx32", "/boot", "/nix/store", "/gnu/store"};

bool is_system(std::string_view path) {
  return std::ranges::any_of(kSystemTrees, [&](std::string_view tree) { return within(path, tree); });
}

void tidy(std::vector<std::string>& paths) {
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
}

/// A path as it is spelled, and where it really is.
void add_both(const plan::HostFacts& facts, const std::string& path, std::vector<std::string>& out) {
  out.push_back(path);
  const PathFact* fact = fact_of(facts, path);
  if (fact != nullptr && fact->state == PathState::kPresent) out.push_back(fact->real);
}

bool holds(const std::vector<std::string>& sorted, std::string_view path) {
  return std::ranges::binary_search(sorted, path, {}, [](const std::string& one) { return std::string_view(one); });
}

/// What other names are looked for: of what stands here and is hidden, of what `deny` names, and of what may be read
/// and not changed; not of what a line names exactly.
class Secrets {
 public:
  Secrets(const Draft& draft, const shield::Rules& rules)
      : rules_(rules), is_root_(draft.facts.uid == 0), writes_(!draft.policy.write.empty()) {
    add_named(draft.facts, draft.policy.read, opted_in_);
    add_named(draft.facts, draft.policy.write, lifted_);
    for (const auto& [directory, names] : draft.facts.names) {
      for (const PathFact& fact : names) add_standing(fact.asked);
    }
    add_held(draft);
    const std::vector<std::string> homes = own_homes(draft.facts);
    for (const policy::PathGrant& grant : draft.policy.deny) {
      // Refused elsewhere, and no reason to read a whole home.
      if (std::ranges::any_of(homes, [&](const std::string& home) { return within(home, grant.path); })) continue;
      add_both(draft.facts, grant.path, denied_);
    }
    for (auto* list : {&hidden_, &credentials_}) list->insert(list->end(), denied_.begin(), denied_.end());
    for (auto* paths : {&hidden_, &credentials_, &read_only_, &only_mounts_}) tidy(*paths);
  }

  [[nodiscard]] const std::vector<std::string>& credentials() const { return credentials_; }
  /// Single files that may be read: one with another name in a write grant would be written by that.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> out = credentials_;
    std::ranges::copy_if(read_only_, std::back_inserter(out),
                         [&](const std::string& path) { return !holds(only_mounts_, path); });
    tidy(out);
    return out;
  }
  [[nodiscard]] const std::vector<std::string>& only_mounts() const { return only_mounts_; }
  /// The nearest rule decides: a read-only directory may hold hidden files.
  [[nodiscard]] bool may_be_read(std::string_view path) const {
    for (std::string_view at = path; at != "/"; at = parent_of(at)) {
      if (holds(hidden_, at) || holds(credentials_, at)) return false;
      if (holds(read_only_, at)) return true;
    }
    return false;
  }
  [[nodiscard]] const std::vector<std::string>& hidden() const { return hidden_; }
  /// `tree` is, holds or lies in a credential, whether or not that stands.
  [[nodiscard]] bool bears_on(std::string_view tree) const {
    const auto touches = [&](std::string_view secret) {
      return (within(secret, tree) || within(tree, secret)) && !opted_in_.contains(secret);
    };
    return std::ranges::any_of(denied_, touches) || std::ranges::any_of(rules_.alias_paths, touches) ||
           std::ranges::any_of(rules_.list, [&](const shield::Rule& rule) {
             return rule.deny == shield::Deny::kAll && has_names(rule) && touches(rule.path);
           });
  }

 private:
  /// Its files are looked for one by one; other stores only by what is mounted.
  static bool has_names(const shield::Rule& rule) {
    return rule.kind == shield::Kind::kFile || rule.alias_anchor == shield::AliasAnchor::kYes;
  }
  static void add_named(const plan::HostFacts& facts, const std::vector<policy::PathGrant>& grants,
                        std::unordered_set<std::string_view>& out) {
    for (const policy::PathGrant& grant : grants) {
      out.insert(grant.path);
      const PathFact* fact = fact_of(facts, grant.path);
      if (fact != nullptr && fact->state == PathState::kPresent) out.insert(fact->real);
    }
  }
  void add_standing(const std::string& path) {
    if (const shield::Rule* rule = rules_.exactly(path)) add(*rule);
    const bool wallet = std::ranges::binary_search(rules_.alias_paths, path, base::path_before);
    if (wallet && !opted_in_.contains(path)) credentials_.push_back(path);
  }
  /// What no rule of a home names: the shields of checkouts, and what links inside shields lead to. Directories among
  /// them are small, and a hook with another name in the checkout is written by that.
  void add_held(const Draft& draft) {
    if (draft.policy.write.empty()) return;
    std::vector<Shield> shields = standing_shields(rules_, draft.facts);
    const std::size_t known = shields.size();
    add_checkouts(draft.policy, draft.facts, shields);
    add_held_links(draft.policy, draft.facts, shields);
    for (std::size_t i = known; i < shields.size(); ++i) {
      const Shield& shield = shields[i];
      const bool counts = shield.stands() && !shield.hides() && !shield.only_links && shield.unknown_reach.empty();
      if (counts && !lifted_.contains(shield.path)) read_only_.push_back(shield.real);
    }
  }
  void add(const shield::Rule& rule) {
    const bool hides = rule.deny == shield::Deny::kAll;
    if ((hides ? opted_in_ : lifted_).contains(rule.path)) return;
    if (rule.anchor_length == 0 && rule.holds == shield::Holds::kServices) return;
    // Nobody else can read most of them to look, nor make another name of them.
    if (rule.is_of_system() && !is_root_) return;
    (hides ? hidden_ : read_only_).emplace_back(rule.path);
    // Of what may be read another name does harm where it can be written: no reason to list directories for the rest.
    const bool is_listed = hides || writes_ || rule.kind == shield::Kind::kFile;
    if (!has_names(rule) || !is_listed) {
      only_mounts_.emplace_back(rule.path);
    } else if (hides) {
      credentials_.emplace_back(rule.path);
    }
  }

  const shield::Rules& rules_;
  bool is_root_, writes_;
  std::unordered_set<std::string_view> opted_in_, lifted_;  ///< texts of the policy and the facts
  std::vector<std::string> denied_, credentials_, read_only_, only_mounts_, hidden_;
};

bool shows(const Want& want, policy::AliasSearch search) {
  if (want.access == Access::kHidden || !want.create.empty() || is_system(want.path)) return false;
  switch (want.why) {
    case Why::kRead:
    case Why::kWrite:
      return true;
    case Why::kProgram:
    case Why::kPrefix:
      return search == policy::AliasSearch::kWhole;
    case Why::kKernel:
    case Why::kDeny:
    case Why::kShield:
    case Why::kHeld:
    case Why::kPlace:
    case Why::kSocket:
    case Why::kGuard:
    case Why::kBase:
      return false;
  }
  return false;
}

/// None in another.
std::vector<plan::ExposedTree> exposed_trees(const Draft& draft, const std::vector<Want>& wants) {
  std::vector<const Want*> shown;
  for (const Want& want : wants) {
    if (shows(want, draft.policy.posture.alias_search)) shown.push_back(&want);
  }
  std::ranges::sort(shown, [](const Want* a, const Want* b) { return path_before(a->path, b->path); });
  std::vector<plan::ExposedTree> out;
  for (const Want* want : shown) {
    if (!out.empty() && within(want->path, out.back().path)) continue;
    out.push_back({.path = want->path, .device = want->id.device});
  }
  return out;
}

/// Of the hidden paths those that bear on what is shown: at, in, or above it.
std::vector<std::string> hidden_near(const std::vector<std::string>& hidden,
                                     const std::vector<plan::ExposedTree>& exposed) {
  std::unordered_set<std::string_view> trees, above;
  for (const plan::ExposedTree& tree : exposed) {
    trees.insert(tree.path);
    for (std::string_view at = tree.path; at != "/" && above.insert(at).second; at = parent_of(at)) {
    }
  }
  const auto is_near = [&](std::string_view path) {
    if (above.contains(path) || trees.contains("/")) return true;
    for (std::string_view at = path; at != "/"; at = parent_of(at)) {
      if (trees.contains(at)) return true;
    }
    return false;
  };
  std::vector<std::string> out;
  std::ranges::copy_if(hidden, std::back_inserter(out), is_near);
  return out;
}

/// Ready to be pasted behind a flag.
std::string shell_word(const std::string& path) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-+,:@%").contains(c);
  };
  if (!path.empty() && std::ranges::all_of(path, plain)) return path;
  if (base::find_unsafe_rune(path)) return base::quote(path);
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Judge {
 public:
  Judge(Draft& draft, const Secrets& secrets, const std::vector<Want>& wants)
      : draft_(draft), secrets_(secrets), wants_(wants) {}

  void trees();
  void unfinished(const plan::AliasAnswer& answer);
  void found(const std::vector<Alias>& aliases, const std::vector<std::string>& code);
  void unread(const std::vector<std::string>& stores);

 private:
  [[nodiscard]] bool may_be_accepted(std::string_view tree) const;
  [[nodiscard]] bool is_accepted(const Alias& alias) const;
  [[nodiscard]] const Want* shown_by(std::string_view path) const;
  [[nodiscard]] bool is_written(std::string_view path) const;
  [[nodiscard]] std::string suggestion(const Alias& alias, const std::vector<const Alias*>& all) const;
  void refuse(const Alias& alias, const std::vector<const Alias*>& all);
  void refuse_code(const Alias& alias);

  Draft& draft_;
  const Secrets& secrets_;
  const std::vector<Want>& wants_;
};

/// A tree that holds a store, or lies in one, would accept names of what the shield itself is for.
bool Judge::may_be_accepted(std::string_view tree) const {
  if (tree == "/") return false;
  return !secrets_.bears_on(tree);
}

/// Judged whether or not anything was found: a flag that would lift too much is refused before it does.
void Judge::trees() {
  for (const policy::PathGrant& tree : draft_.policy.posture.accept_alias) {
    std::vector<std::string> names;
    add_both(draft_.facts, tree.path, names);
    const bool fine = std::ranges::all_of(names, [&](const std::string& name) { return may_be_accepted(name); });
    if (fine) continue;
    draft_.refuse(
        Code::kAcceptAliasTooBroad, tree.at.span,
        fmt::format("--accept-alias {}: it is, holds or lies in a store of credentials", base::shown(tree.written)),
        "name the directory that holds the other name, and nothing broader");
  }
}

bool Judge::is_accepted(const Alias& alias) const {
  return std::ranges::any_of(draft_.policy.posture.accept_alias, [&](const policy::PathGrant& tree) {
    const PathFact* fact = fact_of(draft_.facts, tree.path);
    return within(alias.path, tree.path) ||
           (fact != nullptr && fact->state == PathState::kPresent && within(alias.path, fact->real));
  });
}

const Want* Judge::shown_by(std::string_view path) const {
  const Want* nearest = nullptr;
  for (const Want& want : wants_) {
    if (want.access == Access::kHidden || want.why == Why::kBase) continue;
    if (!within(path, want.path) && !within(want.path, path)) continue;
    if (nearest == nullptr || nearest->path.size() < want.path.size()) nearest = &want;
  }
  return nearest;
}

bool Judge::is_written(std::string_view path) const {
  const Want* want = shown_by(path);
  return want != nullptr && want->access == Access::kWritable;
}

std::string_view shared(std::string_view a, std::string_view b) {
  while (!within(b, a)) a = parent_of(a);
  return a;
}

/// The narrowest tree that holds this name and those beside it, and that would be accepted. Broader than what the
/// target is shown it never is.
std::string Judge::suggestion(const Alias& alias, const std::vector<const Alias*>& all) const {
  const Want* want = shown_by(alias.path);
  std::string_view top = alias.path;
  while (want != nullptr && top != want->path && within(top, want->path) && may_be_accepted(parent_of(top))) {
    top = parent_of(top);
  }
  std::string_view tree = top == alias.path ? top : parent_of(alias.path);
  for (const Alias* other : all) {
    if (within(other->path, top)) tree = shared(tree, other->path);
  }
  return std::string(tree);
}

void Judge::refuse(const Alias& alias, const std::vector<const Alias*>& all) {
  const Want* want = shown_by(alias.path);
  const std::string label = want != nullptr ? want->reason + ": " : std::string();
  const std::string path = base::shown(alias.path), credential = base::shown(alias.credential);
  const std::string_view why = secrets_.may_be_read(alias.credential) ? "no run may change" : "every run hides";
  std::string message;
  switch (alias.kind) {
    case AliasKind::kHardLink:
      message = fmt::format("{} is the same file as {} (a hard link), which {}", path, credential, why);
      break;
    case AliasKind::kBindMount:
      message = fmt::format("{} shows {} once more (a mount), which {}", path, credential, why);
      break;
    case AliasKind::kNetworkMount:
      message =
          fmt::format("{} mounts the network file system of {} once more, so it may show that too", path, credential);
      break;
  }
  const std::string tree = suggestion(alias, all);
  std::string mend =
      may_be_accepted(tree)
          ? fmt::format("remove that name, or let the target have it: --accept-alias {}", shell_word(tree))
          : std::string("remove that name, or grant something narrower");
  draft_.refuse(Code::kCredentialAlias, want != nullptr ? want->at : base::Span{}, label + message, std::move(mend));
  draft_.items.back().is_grant = want != nullptr && (want->why == Why::kRead || want->why == Why::kWrite);
}

/// The target would change what is started, by its other name.
void Judge::refuse_code(const Alias& alias) {
  const Want* want = shown_by(alias.path);
  const std::string path = base::shown(alias.path), code = base::shown(alias.credential);
  const std::string_view how = alias.kind == AliasKind::kHardLink ? "a hard link" : "a mount";
  draft_.refuse(
      Code::kExecWritable, want != nullptr ? want->at : base::Span{},
      fmt::format("exec: {} is started or loaded, and the target may write {}, which is the same ({})", code, path,
                  how),
      alias.kind == AliasKind::kHardLink
          ? fmt::format("give it a copy of its own: cp {0} {0}.new && mv {0}.new {0}", shell_word(alias.credential))
          : std::string("grant something narrower for writing"));
  draft_.items.back().is_grant = true;
}

void Judge::found(const std::vector<Alias>& aliases, const std::vector<std::string>& code) {
  std::vector<const Alias*> open;
  std::size_t refused = 0;
  for (const Alias& alias : aliases) {
    const auto holds_it = [&](const std::string& path) { return within(alias.credential, path); };
    if (std::ranges::any_of(code, holds_it)) {
      // Each of two listed names is bound over itself, read-only.
      if (is_written(alias.path) && !holds(code, alias.path) && refused++ < kMostNamed) refuse_code(alias);
      continue;
    }
    const bool readable = secrets_.may_be_read(alias.credential);
    if (readable && !is_written(alias.path)) continue;
    if (is_accepted(alias)) {
      draft_.plan.accepted_aliases.push_back(alias);
    } else {
      open.push_back(&alias);
    }
  }
  for (std::size_t i = 0; i < std::min(open.size(), kMostNamed); ++i) refuse(*open[i], open);
  if (open.size() <= kMostNamed) return;
  draft_.refuse(Code::kCredentialAlias, {},
                fmt::format("and {} more names of shielded files are shown", open.size() - kMostNamed),
                "grant something narrower");
}

void Judge::unfinished(const plan::AliasAnswer& answer) {
  const std::string where = base::shown(answer.where);
  std::string why;
  switch (answer.end) {
    case AliasScanEnd::kComplete:
      return;
    case AliasScanEnd::kPartial:
      draft_.note("credential-aliases-partial",
                  "only a part of what is granted was searched for other names of your credentials; a run searches "
                  "all of it",
                  {});
      return;
    case AliasScanEnd::kTooMany:
      why = fmt::format("there are too many entries (it stopped in {})", where);
      break;
    case AliasScanEnd::kTooDeep:
      why = fmt::format("directories are nested too deeply at {}", where);
      break;
    case AliasScanEnd::kTooLong:
      why = fmt::format("it took too long (it stopped in {})", where);
      break;
    case AliasScanEnd::kMountTable:
      why = "/proc/self/mountinfo cannot be read whole";
      break;
    case AliasScanEnd::kCannotBeRead:
      why = fmt::format("{} cannot be read ({})", where, base::errno_name(answer.code));
      break;
  }
  const Want* want = answer.where.empty() ? nullptr : shown_by(answer.where);
  draft_.refuse(Code::kAliasesUnchecked, want != nullptr ? want->at : base::Span{},
                fmt::format("{}some of your credentials may have other names in what is granted, and the search for "
                            "them did not end: {}",
                            want != nullptr ? want->reason + ": " : std::string(), why),
                answer.end == AliasScanEnd::kMountTable ? "" : "grant something narrower");
}

void Judge::unread(const std::vector<std::string>& stores) {
  for (const std::string& store : stores) {
    draft_.note("credential-store-unread",
                fmt::format("you may not read {} yourself, so other names of its files were not looked for",
                            base::shown(store)),
                {});
  }
}

std::optional<plan::AliasQuestion> question_of(const Draft& draft, const Secrets& secrets,
                                               const std::vector<Want>& wants) {
  plan::AliasQuestion question;
  question.exposed = exposed_trees(draft, wants);
  question.credentials = secrets.files();
  question.only_mounts = secrets.only_mounts();
  question.code = linked_code(draft, decide_identity(draft.policy, draft.facts));
  const bool asks = !question.credentials.empty() || !question.only_mounts.empty() || !question.code.empty();
  if (question.exposed.empty() || !asks) return std::nullopt;
  question.hidden = hidden_near(secrets.hidden(), question.exposed);
  question.homes = own_homes(draft.facts);
  question.effort = draft.policy.posture.alias_search == policy::AliasSearch::kQuick ? plan::AliasEffort::kQuick
                                                                                     : plan::AliasEffort::kWhole;
  return question;
}

}  // namespace

std::optional<plan::AliasQuestion> alias_question(const Draft& draft, const shield::Rules& rules,
                                                  const std::vector<Want>& wants) {
  return question_of(draft, Secrets(draft, rules), wants);
}

void check_aliases(Draft& draft, const shield::Rules& rules, const std::vector<Want>& wants) {
  const Secrets secrets(draft, rules);
  Judge judge(draft, secrets, wants);
  judge.trees();
  const auto question = question_of(draft, secrets, wants);
  if (!question) return;
  const auto& answer = draft.facts.aliases;
  if (!answer || answer->asked != *question) {
    draft.refuse(Code::kAliasesUnchecked, {}, "nobody looked whether your credentials have other names", "");
    return;
  }
  judge.unfinished(*answer);
  judge.found(answer->found, question->code);
  judge.unread(answer->unread);
}

}  // namespace cordon::planner
