// The end of a command's run: what of its private writes goes back to the host.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "cli/command.h"
#include "cli/command_on_host.h"
#include "cli/kept_place.h"
#include "cli/output_classes.h"
#include "cli/question.h"
#include "cli/surroundings.h"
#include "enforce/promote/kept.h"
#include "enforce/promote/promote.h"
#include "enforce/promote/remove_tree.h"
#include "kernel/file.h"
#include "kernel/inode.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
namespace promote = enforce::promote;

mode_t caller_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

class End {
 public:
  End(CommandRun& run, const plan::Plan& plan, const plan::Outcome& outcome, std::string state,
      const Invocation& invocation)
      : run_(run),
        plan_(plan),
        outcome_(outcome),
        state_(std::move(state)),
        invocation_(invocation),
        caller_(approval_caller(invocation)) {}

  void workspace(RunView& view) {
    auto done = end_workspace(view);
    if (done) return;
    failed(view, done.error());
    if (auto kept = keep(view, 0, {}, view.lower); !kept) failed(view, kept.error());
  }

  void cache(RunView& view) {
    if (auto done = end_cache(view); !done) failed(view, done.error());
  }

  void fresh_cache(const FreshCache& cache) {
    if (auto done = make_cache(cache); !done)
      notes_.push_back({.code = "not-promoted",
                        .text = fmt::format("what the command fetched for {} stays with the project: {}",
                                            base::shown(cache.path), base::to_string(done.error())),
                        .at = {}});
  }

  /// What was built for a person arrives where that person's shell looks only when the person says so, each by name.
  void installs(RunView& view) {
    const std::string names = new_programs(view);
    if (names.empty()) return;
    const std::string place = base::shown(view.path);
    const Answer answer = ended_well() && succeeded()
                              ? ask(invocation_, fmt::format("cordon: may {} be added to {}? [y/N] ", names, place))
                              : Answer::kNobody;
    if (answer == Answer::kYes) return cache(view);
    notes_.push_back(
        {.code = "not-installed",
         .text = answer == Answer::kNo
                     ? fmt::format("not added to {}: {}", place, names)
                     : fmt::format("not added to {}, since nobody was asked: {}; --allow-write {} lets the "
                                   "command write there itself",
                                   place, names, base::quote(view.path)),
         .at = {}});
  }

  std::vector<plan::Note> take() { return std::move(notes_); }

 private:
  /// The entries that the host's directory does not have: "a, b".
  static std::string new_programs(const RunView& view) {
    std::vector<std::string> names;
    const auto upper = open_below(view.place.directory, "upper");
    if (!upper) return {};
    for (const std::string& name : names_in(*upper))
      if (!kernel::statx(view.lower, name.c_str(), AT_SYMLINK_NOFOLLOW)) names.push_back(base::shown(name));
    std::ranges::sort(names);
    return base::join(names, ", ");
  }

  /// A run that a limit, a lapse or a failure of ours ended promotes nothing.
  [[nodiscard]] bool ended_well() const {
    return outcome_.executed && !outcome_.setup_error && outcome_.lapses.empty() &&
           (outcome_.ended_by == plan::EndedBy::kTarget || outcome_.ended_by == plan::EndedBy::kSignal);
  }
  [[nodiscard]] bool succeeded() const { return outcome_.exit_code == 0 && outcome_.signal == 0; }

  base::Result<promote::Task> task(RunView& view) {
    promote::Task out = promotion_rules(caller_umask());
    CORDON_TRY(out.upper, open_below(view.place.directory, "upper"));
    CORDON_TRY(out.scratch, open_below(view.place.directory, "scratch"));
    CORDON_TRY(out.destination, same_directory(view));
    out.since = run_.places->began();
    out.workspace = run_.workspace;
    for (const ecosystem::Root& root : run_.effective.toolchains) out.allowed_roots.push_back(root.path.str());
    out.uid = run_.owner.uid;
    out.gid = run_.owner.gid;
    return out;
  }

  /// What was mounted, and not what its path leads to by now.
  base::Result<base::Fd> same_directory(const RunView& view) const {
    const auto facts = kernel::statx(view.lower);
    const auto mounted = std::ranges::find_if(plan_.steps, [&](const plan::Step& step) {
      const auto* overlay = std::get_if<plan::step::PrivateOverlay>(&step.act);
      return overlay != nullptr && overlay->place == view.place.path;
    });
    const bool same = facts && mounted != plan_.steps.end() && [&] {
      const plan::FileId& id = std::get<plan::step::PrivateOverlay>(mounted->act).id;
      return id.device == kernel::device_of(*facts) && id.inode == facts->stx_ino;
    }();
    if (!same)
      return base::fail(base::Error{
          .operation = "open", .subject = view.path, .detail = "it is another directory than the command had"});
    auto fd = kernel::duplicate(view.lower, 3);
    if (!fd) return base::fail(kernel::error_at(fd.error(), view.path));
    return std::move(*fd);
  }

  static base::Result<base::Fd> open_below(base::FdView directory, const char* name) {
    auto fd = kernel::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!fd && fd.error().code == EACCES) {  // the target shut it
      const auto shut = kernel::openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
      if (shut) static_cast<void>(kernel::chmod_object(*shut, 0700));
      fd = kernel::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    }
    if (!fd) return base::fail(kernel::error_at(fd.error(), name));
    return std::move(*fd);
  }

  base::Result<void> end_workspace(RunView& view) {
    CORDON_TRY(promote::Task task, this->task(view));
    const auto upper = kernel::duplicate(task.upper, 3);
    const auto workspace = kernel::duplicate(task.destination, 3);
    if (!upper || !workspace) return base::fail(kernel::error_at((upper ? workspace : upper).error(), view.path));
    const bool promotes = ended_well() && run_.policy.command->mode == policy::WorkspaceMode::kView;
    OutputClasses classes(run_, *upper, *workspace);
    if (promotes && classes.index_is_unreadable())
      notes_.push_back({.code = "index-unreadable",
                        .text =
                            "git's index is of a form that is not read here (split, or of a SHA-256 repository): all "
                            "counts as tracked, and no output arrives",
                        .at = {}});
    task.classify = [&](std::string_view path, promote::Kind kind) {
      return promotes ? classes.of(path, kind) : promote::Class::kOther;
    };
    task.locks = succeeded() ? promote::Handling::kPromote : promote::Handling::kKeep;
    task.manifests = task.locks;
    CORDON_TRY(const promote::Outcome done, promote::promote(task));
    say(done);
    if (done.is_all()) return {};
    return keep(view, done.kept.total + done.conflicts.total + done.refused.total, some_of(done), *workspace);
  }

  /// " (src/a.js, Makefile, …)": the first of what is kept.
  static std::string some_of(const promote::Outcome& done) {
    constexpr std::size_t kMost = 3;
    std::vector<std::string> names;
    for (const promote::List* list : {&done.kept, &done.conflicts, &done.refused})
      for (const promote::Entry& entry : list->entries)
        if (names.size() < kMost) names.push_back(base::shown(entry.path));
    const bool more = done.kept.total + done.conflicts.total + done.refused.total > names.size();
    return names.empty() ? std::string() : fmt::format(" ({}{})", base::join(names, ", "), more ? ", …" : "");
  }

  base::Result<void> keep(RunView& view, std::uint64_t count, const std::string& some, base::FdView workspace) {
    const auto facts = kernel::statx(workspace);
    promote::About about{.id = run_.places->id(),
                         .workspace = run_.workspace,
                         .device = facts ? kernel::device_of(*facts) : 0,
                         .inode = facts ? facts->stx_ino : 0,
                         .since = run_.places->began(),
                         .uid = run_.owner.uid,
                         .gid = run_.owner.gid,
                         .command = run_.argv};
    CORDON_TRY(auto kept, open_kept(state_, caller_, Missing::kMake));
    if (!kept) return base::fail(base::Error{.operation = "open", .subject = state_ + "/kept", .code = ENOENT});
    CORDON_TRY(const promote::Kept::Added added,
               kept->keep(view.place.directory, "upper", std::move(about), std::time(nullptr)));
    const bool review = run_.policy.command->mode == policy::WorkspaceMode::kReview;
    notes_.push_back(
        {.code = "kept-changes",
         .text =
             review || !ended_well()
                 ? fmt::format("{} kept{}, and none is made: cordon changes",
                               count == 1 ? std::string("1 change is") : fmt::format("{} changes are", count), some)
                 : fmt::format("kept {} other {}{}: cordon changes", count, count == 1 ? "change" : "changes", some),
         .at = {}});
    if (!added.dropped.empty())
      notes_.push_back({.code = "kept-dropped",
                        .text = fmt::format("the oldest kept changes went, of {} runs: there was no more room",
                                            added.dropped.size()),
                        .at = {}});
    return {};
  }

  void say(const promote::Outcome& done) {
    for (const promote::Entry& entry : done.conflicts.entries) {
      notes_.push_back({.code = "changed-meanwhile",
                        .text = fmt::format("{} changed on this host while the command ran: the command's own is kept",
                                            base::shown(entry.path)),
                        .at = {}});
      if (notes_.size() >= 8) break;
    }
    if (done.over_bound)
      notes_.push_back(
          {.code = "over-bound", .text = "the command wrote more than is promoted: all is kept", .at = {}});
  }

  base::Result<void> end_cache(RunView& view) {
    if (!ended_well()) return {};
    CORDON_TRY(promote::Task task, this->task(view));
    task.shields.clear();
    task.workspace = view.path;
    CORDON_OK(promote::promote_new_entries(task));
    return {};
  }

  base::Result<void> make_cache(const FreshCache& cache) {
    const auto place = kernel::openat(kernel::kHere, cache.place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!ended_well() || !place || names_in(*place).empty()) return {};
    promote::Task task = promotion_rules(caller_umask());
    CORDON_TRY(task.destination, CommandPlaces::make_in_home(run_.policy.command->home, cache.path, run_.owner));
    CORDON_TRY(task.upper, open_again(*place, cache.place));
    CORDON_TRY(const std::string scratch, run_.places->directory("scratch"));
    CORDON_TRY(task.scratch, open_below(run_.places->root(), (run_.places->id() + "/scratch").c_str()));
    task.since = run_.places->began();
    task.workspace = cache.path;
    task.uid = run_.owner.uid;
    task.gid = run_.owner.gid;
    task.shields.clear();
    CORDON_OK(promote::promote_new_entries(task));
    for (const std::string& name : names_in(*place)) CORDON_OK(promote::remove_tree(*place, name));
    return {};
  }

  static base::Result<base::Fd> open_again(const base::Fd& directory, const std::string& path) {
    auto fd = kernel::duplicate(directory, 3);
    if (!fd) return base::fail(kernel::error_at(fd.error(), path));
    return std::move(*fd);
  }

  void failed(const RunView& view, const base::Error& error) {
    notes_.push_back({.code = "not-promoted",
                      .text = fmt::format("what the command wrote in {} could not be taken over: {}",
                                          base::shown(view.path), base::to_string(error)),
                      .at = {}});
  }

  CommandRun& run_;
  const plan::Plan& plan_;
  const plan::Outcome& outcome_;
  std::string state_;
  const Invocation& invocation_;
  policy::approval::Caller caller_;
  std::vector<plan::Note> notes_;
};

}  // namespace

std::vector<plan::Note> end_command(CommandRun& run, const plan::Plan& plan, const plan::Outcome& outcome,
                                    const std::string& state_directory, const Invocation& invocation) {
  End end(run, plan, outcome, state_directory, invocation);
  for (RunView& view : run.views) {
    if (view.what == RunView::What::kWorkspace) end.workspace(view);
    if (view.what == RunView::What::kCache) end.cache(view);
    if (view.what == RunView::What::kInstalls) end.installs(view);
  }
  for (const FreshCache& cache : run.fresh_caches) end.fresh_cache(cache);
  remove_empty_outputs(run);
  return end.take();
}

}  // namespace cordon::cli
