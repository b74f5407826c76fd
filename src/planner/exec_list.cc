#include "planner/exec_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "planner/base.h"
#include "planner/exec_closure.h"
#include "planner/named_path.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;

/// What the target will see at a path: the want that decides there.
class Shown {
 public:
  explicit Shown(const std::vector<Want>& wants) {
    for (const Want& want : wants) {
      if (want.absent || want.why == Why::kHeld || want.why == Why::kGuard) continue;
      const auto [at, fresh] = by_path_.try_emplace(want.path, &want);
      if (!fresh && want.why < at->second->why) at->second = &want;
    }
  }

  /// Nothing where it is not visible.
  [[nodiscard]] const Want* through(std::string_view path) const {
    for (std::string_view at = path;; at = parent_of(at)) {
      if (const auto found = by_path_.find(at); found != by_path_.end())
        return found->second->access == Access::kHidden ? nullptr : found->second;
      if (at == "/") return nullptr;
    }
  }

 private:
  std::unordered_map<std::string_view, const Want*> by_path_;
};

class Listing {
 public:
  Listing(Draft& draft, const Identity& identity, std::vector<Want>& wants)
      : draft_(draft), identity_(identity), wants_(wants), closure_(draft.policy, draft.facts), shown_(wants) {}

  std::vector<std::string> run() {
    for (ExecClosure::Problem& problem : closure_.problems)
      refuse(problem.code, problem.at, std::move(problem.message), std::move(problem.mend));
    for (const ExecClosure::Searched& searched : closure_.searched) check(searched);
    open_directories();
    for (const ExecFile& file : closure_.files) open(file);
    for (const ExecClosure::Missing& missing : closure_.missing) say_missing(missing);
    mark();
    std::ranges::move(more_, std::back_inserter(wants_));
    return std::move(programs_);
  }

 private:
  /// The loader's directory only where it is the system's: one that a program names is its own maker's choice.
  void open_directories() {
    for (const std::string& path : closure_.library_directories) {
      const PathFact* fact = fact_of(draft_.facts, path);
      if (fact != nullptr && in_base(draft_.facts, fact->real)) open_directory(*fact);
    }
    for (const std::string& path : closure_.module_directories) {
      if (const PathFact* fact = fact_of(draft_.facts, path)) open_directory(*fact);
    }
  }

  /// Never what the target may write, never what covers a mask.
  void open_directory(const PathFact& fact) {
    if (fact.state != PathState::kPresent || !is_directory(fact) || fact.noexec) return;
    const Want* through = shown_.through(fact.real);
    if (through == nullptr || through->access != Access::kReadOnly) return;
    if (is_planted(draft_, identity_, fact) || covers_a_mask(fact.real) || turned_at(fact)) return;
    if (!directories_.insert(fact.real).second) return;
    add(fact, Why::kPrefix, "exec: libraries", draft_.policy.exec.at.span);
  }

  [[nodiscard]] bool covers_a_mask(std::string_view directory) const {
    return std::ranges::any_of(wants_, [&](const Want& want) {
      return want.access == Access::kHidden && want.why == Why::kBase && within(want.path, directory);
    });
  }

  [[nodiscard]] bool in_open_directory(std::string_view path) const {
    for (std::string_view at = parent_of(path); at != "/"; at = parent_of(at)) {
      if (directories_.contains(at)) return true;
    }
    return false;
  }

  void open(const ExecFile& file) {
    const PathFact& fact = file.fact;
    const Want* through = shown_.through(fact.real);
    if (through == nullptr) return refuse_hidden(file);
    if (!check(file, *through)) return;
    if (file.kind == ExecKind::kProgram) programs_.push_back(fact.real);
    constexpr std::uint32_t kSetId = 06000;
    if (file.kind == ExecKind::kProgram && (fact.mode & kSetId) != 0) {
      draft_.note("exec-set-id",
                  fmt::format("{}: {} starts as the target itself: no set-id bit counts in a run", file.asked_by,
                              base::shown(fact.real)),
                  file.at);
    }
    if (in_open_directory(fact.real) && !fact.noexec) return;
    add(fact, Why::kProgram, file.asked_by, file.at);
  }

  void refuse_hidden(const ExecFile& file) {
    const std::string path = base::shown(file.fact.real);
    if (file.kind == ExecKind::kLibrary) {
      draft_.note("exec-library-not-visible",
                  fmt::format("{}: its library {} is not visible; add 'read: {}' if it is missed", file.asked_by, path,
                              base::shown(parent_of(file.fact.real))),
                  file.at);
      return;
    }
    refuse(Code::kExecNotVisible, file.at,
           file.asked_by.ends_with(path) ? fmt::format("{}: the target does not see it", file.asked_by)
           : file.named                  ? fmt::format("{}: the target does not see {}", file.asked_by, path)
                        : fmt::format("{}: the target does not see {}, which it needs", file.asked_by, path),
           fmt::format("add 'read: {}', or remove the program from the list", path));
  }

  bool check(const ExecFile& file, const Want& through) {
    const PathFact& fact = file.fact;
    if (is_planted(draft_, identity_, fact)) {
      refuse(Code::kPathPlanted, file.at,
             fmt::format("{}: somebody else can choose what {} leads to: {}", file.asked_by, base::shown(fact.asked),
                         fact.planted_by),
             fmt::format("look at {} and, if it is what you mean, name that", base::shown(fact.real)));
      return false;
    }
    const bool writable = through.access == Access::kWritable;
    if (writable && through.path == fact.real) {
      refuse(Code::kExecWritable, file.at,
             fmt::format("{}: {} is granted for writing as well", file.asked_by, base::shown(fact.real)),
             "a program that is started is not written in the same run: remove one of the two lines");
      return false;
    }
    // What a line names is held as it is. For anything else some file says that it is this one, and another run would
    // take what it finds then.
    if (writable && !file.named) {
      refuse(
          Code::kExecWritable, file.at,
          fmt::format("{}: it needs {}, which lies where the target may write", file.asked_by, base::shown(fact.real)),
          file.kind == ExecKind::kProgram ? "list that too, by its path, or grant something narrower for writing"
                                          : "grant something narrower for writing");
      return false;
    }
    const auto turned = turned_at(fact);
    if (!turned) return true;
    refuse(Code::kPathPlanted, file.at,
           fmt::format("{}: the link {} lies where the target may write, so that it could choose what the next run "
                       "starts",
                       file.asked_by, base::shown(*turned)),
           fmt::format("name {} itself", base::shown(fact.real)));
    return false;
  }

  /// Before or at a find: there the target would put what the next run starts.
  void check(const ExecClosure::Searched& searched) {
    const PathFact* fact = fact_of(draft_.facts, searched.directory);
    if (fact != nullptr && !is_written(fact->real) && !turned_at(*fact)) return;
    refuse(Code::kExecWritable, searched.at,
           fmt::format("{}: {} is looked for in {}, where the target may write: it could choose what the next run "
                       "takes",
                       searched.asked_by, searched.what, base::shown(searched.directory)),
           searched.what == "a library" ? "grant something narrower for writing, or use a build that looks elsewhere"
                                        : "name the program by its path, or grant something narrower for writing");
  }

  [[nodiscard]] bool is_written(std::string_view path) const {
    const Want* through = shown_.through(path);
    return through != nullptr && through->access == Access::kWritable;
  }

  /// A link, or a directory that is left again by "..", which the target could exchange for another.
  [[nodiscard]] std::optional<std::string> turned_at(const PathFact& fact) const {
    if (auto left = left_again(fact.asked)) return left;
    for (const plan::LinkHop& hop : fact.hops) {
      const std::string directory(parent_of(hop.at));
      if (is_written(directory)) return hop.at;
      const bool relative = !hop.target.starts_with('/');
      if (auto left = left_again(relative ? directory + "/" + hop.target : hop.target)) return hop.at;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> left_again(std::string_view spelled) const {
    if (spelled.find("..") == std::string_view::npos) return std::nullopt;
    std::string at;
    for (const std::string_view part : base::split(spelled, '/')) {
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        at.append("/").append(part);
        continue;
      }
      if (!at.empty() && is_written(parent_of(at))) return at;
      at.resize(at.empty() ? 0 : at.rfind('/'));
    }
    return std::nullopt;
  }

  void refuse(Code code, const base::Span& at, std::string message, std::string mend) {
    draft_.refuse(code, at, std::move(message), std::move(mend));
    draft_.items.back().is_grant = true;
  }

  void say_missing(const ExecClosure::Missing& missing) {
    draft_.note("exec-library-not-found",
                fmt::format("{}: its library {} was not found", missing.asked_by, base::shown(missing.library)),
                missing.at);
  }

  void add(const PathFact& fact, Why why, std::string reason, const base::Span& at) {
    more_.push_back({.path = fact.real,
                     .id = fact.id,
                     .directory = is_directory(fact),
                     .access = Access::kReadOnly,
                     .why = why,
                     .create = {},
                     .reason = std::move(reason),
                     .at = at});
    more_.back().executes = true;
  }

  /// Of several wants for one path the first decides, so that all must say the same.
  void mark() {
    std::unordered_map<std::string_view, bool> marked;
    for (const Want& want : more_) marked.emplace(want.path, false);
    for (Want& want : wants_) {
      const auto found = marked.find(want.path);
      if (found == marked.end() || want.access != Access::kReadOnly) continue;
      want.executes = true;
      const bool decides = want.why == Why::kProgram || (want.directory && want.why == Why::kBase);
      found->second = found->second || decides;
    }
    std::erase_if(more_, [&](const Want& want) { return marked.at(want.path); });
  }

  Draft& draft_;
  const Identity& identity_;
  std::vector<Want>& wants_;
  ExecClosure closure_;
  Shown shown_;
  std::set<std::string, std::less<>> directories_;
  std::vector<Want> more_;
  std::vector<std::string> programs_;
};

bool is_interpreter(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"ash",   "awk",  "bash",   "bun",    "busybox", "csh",    "dash",          "deno",   "emacs", "expect",
       "fish",  "gawk", "gdb",    "guile",  "java",    "jshell", "julia",         "ksh",    "lua",   "luajit",
       "m4",    "make", "mawk",   "mksh",   "node",    "nodejs", "nvim",          "octave", "perl",  "php",
       "pwsh",  "pypy", "python", "racket", "rbash",   "ruby",   "scala",         "sed",    "sh",    "sqlite",
       "tclsh", "tcsh", "vim",    "wish",   "yash",    "zsh",    "busybox-static"});
  const std::size_t end = name.find_last_not_of("0123456789.-");
  const std::string_view bare = end == std::string_view::npos ? name : name.substr(0, end + 1);
  return std::ranges::find(kNames, bare) != kNames.end() || bare.starts_with("ld-linux") || bare.starts_with("ld-musl");
}

}  // namespace

ExecQuestions exec_list_questions(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (policy.exec.mode != policy::ExecMode::kList) return {};
  ExecClosure closure(policy, facts);
  return {.paths = std::move(closure.ask_paths),
          .programs = std::move(closure.ask_programs),
          .libraries = std::move(closure.ask_libraries),
          .library_path = std::move(closure.library_path)};
}

std::vector<std::string> want_exec_list(Draft& draft, const Identity& identity, std::vector<Want>& wants) {
  if (draft.policy.exec.mode != policy::ExecMode::kList) return {};
  return Listing(draft, identity, wants).run();
}

std::vector<std::string> linked_code(const Draft& draft, const Identity& identity) {
  std::vector<std::string> out;
  if (!exec_listed(draft.policy) || draft.policy.write.empty()) return out;
  const ExecClosure closure(draft.policy, draft.facts);
  for (const ExecFile& file : closure.files) {
    const PathFact& fact = file.fact;
    // Without a write bit for others only the owner can write, under whatever name; a mask shows in the group's bits.
    const bool could_write = identity.uid == 0 || identity.uid == fact.uid || (fact.mode & 0022) != 0;
    if (fact.links > 1 && could_write && !in_base(draft.facts, fact.real)) out.push_back(fact.real);
  }
  for (const ListedModules& modules : listed_modules(draft.policy, draft.facts)) out.push_back(modules.directory);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::vector<ListedModules> listed_modules(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<ListedModules> out;
  if (policy.exec.mode != policy::ExecMode::kList) return out;
  for (const std::string& path : ExecClosure(policy, facts).module_directories) {
    const PathFact* fact = fact_of(facts, path);
    const auto known = [&](const ListedModules& one) { return one.directory == fact->real; };
    if (fact == nullptr || in_base(facts, fact->real) || std::ranges::any_of(out, known)) continue;
    out.push_back({.directory = fact->real, .at = policy.exec.at.span});
  }
  return out;
}

std::vector<ListedInterpreter> listed_interpreters(const policy::Policy& policy, const plan::HostFacts& facts) {
  std::vector<ListedInterpreter> out;
  if (policy.exec.mode != policy::ExecMode::kList) return out;
  for (const ExecFile& file : ExecClosure(policy, facts).files) {
    if (file.kind != ExecKind::kProgram) continue;
    const bool loader = !file.named && (name_of(file.fact.real).starts_with("ld-"));
    if (!loader && is_interpreter(name_of(file.fact.real))) out.push_back({.program = file.fact.real, .at = file.at});
  }
  return out;
}

}  // namespace cordon::planner
