#include "planner/grants.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "planner/base.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/wx.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::PathGrant;

class Grants {
 public:
  Grants(Draft& draft, const Identity& identity, std::vector<Want>& wants, std::vector<Link>& links)
      : draft_(draft),
        identity_(identity),
        wants_(wants),
        links_(links),
        homes_(own_homes(draft.facts)),
        places_(draft) {}

  void read(const PathGrant& grant);
  void write(const PathGrant& grant);
  void deny(const PathGrant& grant);

 private:
  const PathFact* check(std::string_view key, const PathGrant& grant, std::string& label);
  void refuse(const PathGrant& grant, Code code, const std::string& label, std::string_view message, std::string mend);
  void want(const PathFact& fact, Access access, Why why, const std::string& label, const PathGrant& grant);
  void read_root(const PathGrant& grant, const std::string& label);
  bool check_no_pattern(const PathGrant& grant, const std::string& label, const PathFact& fact);
  bool check_write_place(const PathGrant& grant, const std::string& label, const PathFact& fact);
  bool check_write_access(const PathGrant& grant, const std::string& label, const PathFact& fact);
  [[nodiscard]] bool covers_home(std::string_view real) const {
    return std::ranges::any_of(homes_, [&](const std::string& home) { return within(home, real); });
  }
  [[nodiscard]] bool is_other_home(std::string_view real) const {
    return (is_home_container(parent_of(real)) && std::ranges::find(homes_, real) == homes_.end()) ||
           (real == "/root" && std::ranges::find(homes_, real) == homes_.end());
  }

  Draft& draft_;
  const Identity& identity_;
  std::vector<Want>& wants_;
  std::vector<Link>& links_;
  std::vector<std::string> homes_;
  Places places_;
};

void Grants::refuse(const PathGrant& grant, Code code, const std::string& label, std::string_view message,
                    std::string mend) {
  draft_.refuse(code, grant.at.span, fmt::format("{}: {}", label, message), std::move(mend));
  draft_.items.back().is_grant = true;
}

const PathFact* Grants::check(std::string_view key, const PathGrant& grant, std::string& label) {
  label = label_of(key, grant.written);
  if (is_own_device_node(grant.path)) {
    draft_.note("already-there", fmt::format("{}: every run has it already", label), grant.at.span);
    return nullptr;
  }
  return check_named(draft_, identity_, places_, {label, grant.path, grant.at.span, true, key == "deny"});
}

void Grants::want(const PathFact& fact, Access access, Why why, const std::string& label, const PathGrant& grant) {
  Want want{.path = fact.real,
            .id = fact.id,
            .directory = fact.state == PathState::kAbsent || is_directory(fact),
            .access = access,
            .why = why,
            .create = {},
            .reason = label,
            .at = grant.at.span,
            .fact = &fact};
  if (fact.state == PathState::kAbsent) {
    for (const std::string& directory : between(parent_of(fact.first_absent), fact.real)) {
      want.create.emplace_back(name_of(directory));
    }
    want.create.emplace_back(name_of(fact.real));
  }
  wants_.push_back(std::move(want));
  for (const plan::LinkHop& hop : fact.hops) {
    links_.push_back({.at = hop.at, .text = hop.target, .reason = label, .span = grant.at.span});
  }
}

void Grants::read(const PathGrant& grant) {
  std::string label;
  const PathFact* fact = check("read", grant, label);
  if (fact == nullptr) return;
  if (fact->state == PathState::kAbsent) {
    draft_.note("missing-read",
                fmt::format("{}: {} does not exist, so nothing is granted", label, base::shown(grant.path)),
                grant.at.span);
    return;
  }
  if (fact->real == "/") return read_root(grant, label);
  want(*fact, Access::kReadOnly, Why::kRead, label, grant);
}

/// Everything at the top but what the sandbox has of its own.
void Grants::read_root(const PathGrant& grant, const std::string& label) {
  const auto listed = draft_.facts.children.find("/");
  if (listed == draft_.facts.children.end()) {
    return refuse(grant, Code::kPathCannotBeChecked, label, "the root directory could not be listed", "");
  }
  for (const PathFact& child : listed->second) {
    if (!managed_by_us(child.asked).empty()) continue;
    const bool plain = child.state == PathState::kPresent && !is_planted(draft_, identity_, child) &&
                       !places_.kernel_files(child) && managed_by_us(child.real).empty() && child.real != "/";
    if (plain) {
      want(child, Access::kReadOnly, Why::kRead, label, grant);
    } else if (child.state != PathState::kAbsent && managed_by_us(child.real).empty()) {
      draft_.note("left-out", fmt::format("{}: {} cannot be checked and is left out", label, base::shown(child.asked)),
                  grant.at.span);
    }
  }
}

bool Grants::check_write_place(const PathGrant& grant, const std::string& label, const PathFact& fact) {
  const std::string real = base::shown(fact.real);
  if (fact.real == "/") {
    refuse(grant, Code::kWriteRoot, label, "the whole file system cannot be granted for writing",
           "grant the directory that the program writes to");
  } else if (is_home_container(fact.real)) {
    refuse(grant, Code::kWriteHomeContainer, label, fmt::format("{} holds the homes of all users", real),
           "grant a directory below your own home");
  } else if (covers_home(fact.real)) {
    refuse(grant, Code::kWriteCoversHome, label, fmt::format("{} is your home directory or holds it", real),
           "grant a directory below your home");
  } else if (is_other_home(fact.real)) {
    refuse(grant, Code::kWriteOtherHome, label, fmt::format("{} is another user's home directory", real),
           "grant a directory of your own");
  } else if (within(fact.real, "/sys")) {
    refuse(grant, Code::kGrantManaged, label, "/sys is the host's own and is never writable", "remove it");
  } else if (const PathFact* manifest = fact_of(draft_.facts, draft_.policy.manifest.path);
             manifest != nullptr && manifest->state == PathState::kPresent && manifest->real == fact.real) {
    refuse(grant, Code::kGrantManaged, label, "it is the manifest of this very run, which the target may not change",
           "remove it");
  } else if (const std::string_view base = base_below(draft_.facts, fact.real); !base.empty()) {
    refuse(grant, Code::kWriteCoversBase, label,
           fmt::format("it covers {}, which programs of the system are started from", base),
           "grant a directory below it");
  } else {
    return true;
  }
  return false;
}

bool Grants::check_write_access(const PathGrant& grant, const std::string& label, const PathFact& fact) {
  const std::string place = base::shown(fact.state == PathState::kAbsent ? parent_of(fact.first_absent) : fact.real);
  if (fact.read_only) {
    refuse(grant, Code::kWriteReadOnlyMount, label, fmt::format("{} is mounted read-only on this host", place),
           "grant a directory on a file system that can be written");
    return false;
  }
  if (!fact.writable) {
    refuse(grant, Code::kWriteNotPermitted, label,
           fmt::format("you may not write in {} yourself (owner {}, mode {:04o})", place, fact.uid, fact.mode & 07777U),
           "grant a directory that you may write, or remove the line");
    return false;
  }
  if (identity_.run_as && fact.state == PathState::kAbsent && !mode_allows(identity_, fact, 3)) {
    refuse(grant, Code::kWriteNotPermitted, label,
           fmt::format("the target runs as uid {}, who may not make {} (owner {}, mode {:04o})", identity_.uid,
                       base::shown(fact.first_absent), fact.uid, fact.mode & 07777U),
           fmt::format("make it first, for that user: install -d -o {} {}", identity_.uid, base::shown(fact.real)));
    return false;
  }
  // Root's own access says nothing about a target that is not root, or is root without a single capability.
  if (draft_.facts.uid == 0 && fact.state == PathState::kPresent && !mode_allows(identity_, fact, 2)) {
    draft_.note("write-may-fail",
                fmt::format("{}: the target runs as uid {} without privileges, and {} belongs to uid {} (mode {:04o})",
                            label, identity_.uid, place, fact.uid, fact.mode & 07777U),
                grant.at.span);
  }
  return true;
}

/// What is missing is what the last link itself names: a directory is made where a line names it, not where a link
/// does.
bool dangles(const PathFact& fact) {
  if (fact.state != PathState::kAbsent || fact.hops.empty()) return false;
  const plan::LinkHop& last = fact.hops.back();
  const auto place = base::AbsPath::parse(parent_of(last.at));
  const auto named = place ? place->join(last.target) : std::nullopt;
  return !named || within(named->str(), fact.first_absent);
}

/// Taken as it stands it makes a directory of that very name, or hides nothing, and somebody believes otherwise.
bool Grants::check_no_pattern(const PathGrant& grant, const std::string& label, const PathFact& fact) {
  if (fact.state != PathState::kAbsent) return true;
  const std::string_view missing = std::string_view(fact.real).substr(parent_of(fact.first_absent).size());
  const bool pattern = missing.find_first_of("*?[") != std::string_view::npos;
  if (!pattern && missing.find('$') == std::string_view::npos) return true;
  refuse(grant, Code::kPathCannotBeChecked, label,
         fmt::format("{} are not expanded, and nothing has this name", pattern ? "patterns" : "variables"),
         pattern ? "name the directory that holds the files" : "write the path out; ~ stands for the home");
  return false;
}

void Grants::write(const PathGrant& grant) {
  std::string label;
  const bool executes = is_wx(draft_.policy, grant);
  const PathFact* fact = check(executes ? "wx" : "write", grant, label);
  if (fact == nullptr || !check_write_place(grant, label, *fact) || !check_no_pattern(grant, label, *fact)) return;
  if (dangles(*fact)) {
    return refuse(grant, Code::kWriteNotFileOrDirectory, label,
                  fmt::format("it is a link to {}, which does not exist", base::shown(fact->real)),
                  fmt::format("make that directory, or name it: {}", base::shown(fact->real)));
  }
  if (fact->state == PathState::kPresent && !is_directory(*fact) && !is_regular(*fact)) {
    return refuse(grant, Code::kWriteNotFileOrDirectory, label,
                  fmt::format("{} is neither a directory nor a regular file", base::shown(fact->real)),
                  "grant a directory, or one regular file");
  }
  if (!check_write_access(grant, label, *fact)) return;
  if (fact->state == PathState::kAbsent) {
    draft_.note("makes-directory", fmt::format("{}: {} will be made", label, base::shown(fact->real)), grant.at.span);
    if (looks_like_file(fact->real)) {
      draft_.note(
          "write-looks-like-file",
          fmt::format("{}: a directory is made, though it looks like the name of a file; if a file is meant, make "
                      "it first, or grant its directory",
                      label),
          grant.at.span);
    }
  }
  want(*fact, Access::kWritable, Why::kWrite, label, grant);
  wants_.back().executes = executes;
}

void Grants::deny(const PathGrant& grant) {
  std::string label;
  const PathFact* fact = check("deny", grant, label);
  if (fact == nullptr) return;
  if (!check_no_pattern(grant, label, *fact)) return;
  if (fact->real == "/" || covers_home(fact->real)) {
    return refuse(grant, Code::kDenyTooBroad, label,
                  fmt::format("{} is the root directory, your home, or holds it", base::shown(fact->real)),
                  "name what must be hidden; what is not granted is hidden anyway");
  }
  want(*fact, Access::kHidden, Why::kDeny, label, grant);
}

/// The nearest want of this map that `path` is or lies below.
const Want* nearest(const std::unordered_map<std::string_view, const Want*>& by_path, std::string_view path) {
  for (std::string_view at = path;; at = parent_of(at)) {
    if (const auto found = by_path.find(at); found != by_path.end()) return found->second;
    if (at == "/") return nullptr;
  }
}

class Denials {
 public:
  Denials(Draft& draft, const std::vector<Want>& wants) : draft_(draft) {
    for (const Want& want : wants) {
      if (want.why == Why::kDeny) denied_.emplace(want.path, &want);
      if (want.why == Why::kRead || want.why == Why::kWrite) granted_.emplace(want.path, &want);
      if (want.why == Why::kWrite) granted_[want.path] = &want;
    }
  }

  void check_grant(const Want& want) {
    const Want* deny = nearest(denied_, want.path);
    if (deny == nullptr) return;
    draft_.refuse(Code::kGrantInsideDeny, want.at,
                  fmt::format("{}: it is or lies in what '{}' hides", want.reason, deny->reason),
                  "remove one of the two lines");
    draft_.items.back().is_grant = true;
  }

  void check_program(std::string_view real, std::string_view what, const base::Span& at) {
    const Want* deny = real.empty() ? nullptr : nearest(denied_, real);
    if (deny == nullptr) return;
    draft_.refuse(Code::kProgramInsideDeny, at,
                  fmt::format("the {} {} is or lies in what '{}' hides", what, base::shown(real), deny->reason),
                  "remove the deny line, or name something narrower");
  }

  /// Nothing to cover yet, and a writable place to make it in: the target would make it, and the host would find it.
  void check_missing(const Want& deny) {
    const Want* grant = nearest(granted_, deny.path);
    if (grant != nullptr && grant->access == Access::kWritable) {
      draft_.refuse(Code::kDenyMissingInWrite, deny.at,
                    fmt::format("{}: {} does not exist, so '{}' lets the target make it", deny.reason,
                                base::shown(deny.path), grant->reason),
                    fmt::format("make it first (mkdir {}), or narrow the write grant", base::shown(deny.path)));
      draft_.items.back().is_grant = true;
      return;
    }
    draft_.note("deny-missing",
                fmt::format("{}: it does not exist; what the host makes there while the target runs is not hidden",
                            deny.reason),
                deny.at);
  }

 private:
  Draft& draft_;
  std::unordered_map<std::string_view, const Want*> denied_, granted_;
};

}  // namespace

std::vector<std::string> grant_listings(const policy::Policy& policy, const plan::HostFacts& facts) {
  const bool root = std::ranges::any_of(policy.read, [&](const PathGrant& grant) {
    const PathFact* fact = fact_of(facts, grant.path);
    return fact != nullptr && fact->state == PathState::kPresent && fact->real == "/";
  });
  return root ? std::vector<std::string>{"/"} : std::vector<std::string>();
}

void want_grants(Draft& draft, const Identity& identity, std::vector<Want>& wants, std::vector<Link>& links) {
  Grants grants(draft, identity, wants, links);
  for (const PathGrant& grant : draft.policy.read) grants.read(grant);
  for (const PathGrant& grant : draft.policy.write) grants.write(grant);
  for (const PathGrant& grant : draft.policy.deny) grants.deny(grant);
  const PathFact* manifest = fact_of(draft.facts, draft.policy.manifest.path);
  if (manifest == nullptr || manifest->state != PathState::kPresent || !is_regular(*manifest)) return;
  wants.push_back({.path = manifest->real,
                   .id = manifest->id,
                   .directory = false,
                   .access = Access::kReadOnly,
                   .why = Why::kGuard,
                   .create = {},
                   .reason = "the manifest of this run",
                   .at = {}});
}

void check_denials(Draft& draft, const Program& program, const std::vector<Want>& wants) {
  Denials denials(draft, wants);
  for (const Want& want : wants) {
    if (want.why == Why::kRead || want.why == Why::kWrite) denials.check_grant(want);
    if (want.why == Why::kDeny && !want.create.empty()) denials.check_missing(want);
  }
  const base::Span& at = draft.policy.entrypoint.at.span;
  if (program.entrypoint != nullptr) denials.check_program(program.entrypoint->real, "entrypoint", at);
  if (!program.found) return;
  if (program.path != program.entrypoint->real) {
    denials.check_program(program.path, "interpreter",
                          draft.policy.interpreter.empty() ? at : draft.policy.interpreter.at.span);
  }
  denials.check_program(loader_of(draft.facts, program), "loader", at);
}

void forget_missing_denials(std::vector<Want>& wants) {
  std::erase_if(wants, [](const Want& want) { return want.why == Why::kDeny && !want.create.empty(); });
}

}  // namespace cordon::planner
