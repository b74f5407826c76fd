#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command_places.h"
#include "cli/commands.h"
#include "cli/kept_place.h"
#include "cli/leavings.h"
#include "cli/line_diff.h"
#include "cli/own_places.h"
#include "cli/promotion_words.h"
#include "cli/verdict.h"
#include "enforce/promote/fields.h"

namespace cordon::cli {
namespace {

namespace promote = enforce::promote;
using promote::About;
using promote::Change;
using promote::Changes;
using promote::Kept;

constexpr std::size_t kMostShown = 200;
constexpr std::uint64_t kLargestFile = 1'000'000;  ///< that is compared
constexpr std::size_t kLargestDiff = 4'000'000;

enum class Verb { kShow, kApply, kDiscard };
struct Wanted {
  Verb verb = Verb::kShow;
  std::string id;
};

/// "apply", "discard" and an ID, in either order.
std::optional<Wanted> wanted_by(const Arguments& arguments) {
  Wanted out;
  for (const std::string& word : arguments.operands) {
    const bool is_verb = word == "apply" || word == "discard";
    if (is_verb ? out.verb != Verb::kShow : !out.id.empty()) return std::nullopt;
    if (is_verb)
      out.verb = word == "apply" ? Verb::kApply : Verb::kDiscard;
    else
      out.id = word;
  }
  return out;
}

std::string printed(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string command_of(const About& about) {
  std::string out;
  for (const std::string& word : about.command) out += (out.empty() ? "" : " ") + base::shown(word);
  return out;
}

nlohmann::json json_of(const About& about) {
  return {{"id", about.id},           {"kept_at", about.kept_at}, {"workspace", about.workspace},
          {"command", about.command}, {"entries", about.entries}, {"bytes", about.bytes}};
}

std::string ago(std::int64_t seconds) {
  constexpr std::int64_t kHour = 3'600;
  if (seconds >= 48 * kHour) return fmt::format("{} days ago", seconds / (24 * kHour));
  if (seconds >= 2 * kHour) return fmt::format("{} hours ago", seconds / kHour);
  return report::duration(static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)) * 1'000) + " ago";
}

std::string_view word_of(Change::What what) {
  switch (what) {
    case Change::What::kNew:
      return "new";
    case Change::What::kChanged:
      return "changed";
    case Change::What::kDeleted:
      return "deleted";
    case Change::What::kReplaced:
      return "replaced";
    case Change::What::kUnusual:
      return "special";
  }
  return "";
}

std::string_view word_of(promote::Kind kind) {
  if (kind == promote::Kind::kDirectory) return "directory";
  return kind == promote::Kind::kLink ? "link" : "file";
}

/// One command: the registry, and how it is talked about.
class Command {
 public:
  Command(Context& context, const Arguments& arguments, Kept kept, std::int64_t now)
      : context_(context),
        json_(arguments.has("--json")),
        diff_(arguments.has("--diff")),
        kept_(std::move(kept)),
        now_(now) {}

  base::Result<void> list() {
    CORDON_TRY(const std::vector<About> all, kept_.list());
    if (json_) {
      nlohmann::json document = {{"kept", nlohmann::json::array()}};
      for (const About& about : all) document["kept"].push_back(cli::json_of(about));
      return say(printed(document));
    }
    std::vector<std::vector<std::string>> rows;
    for (const About& about : all)
      rows.push_back({about.id, ago(now_ - about.kept_at), fmt::format("{} kB", about.bytes / 1'000),
                      base::shown(about.workspace), command_of(about)});
    if (rows.empty()) return say("no changes of yours are kept\n");
    return say(report::table(rows, context_.invocation.out.style) +
               "cordon changes ID shows one; ID apply puts it in place, ID discard removes it\n");
  }

  base::Result<void> show(const About& about) {
    const base::Fd workspace = open_workspace(about);
    CORDON_TRY(const Changes changes, kept_.show(about, workspace));
    if (json_) return say(printed(json_of(about, changes)));
    std::string out = fmt::format("{}, {}, in {}: {}\n", about.id, ago(now_ - about.kept_at),
                                  base::shown(about.workspace), command_of(about));
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < changes.changes.size() && i < kMostShown; ++i) {
      const Change& change = changes.changes[i];
      rows.push_back({std::string(word_of(change.what)), std::string(word_of(change.kind)),
                      change.size == 0 ? "" : std::to_string(change.size), base::shown(change.path)});
    }
    out += report::table(rows, context_.invocation.out.style, 2);
    if (changes.total > rows.size()) out += fmt::format("  and {} more\n", changes.total - rows.size());
    if (!changes.whole) out += "  and what is too deep to be listed\n";
    if (diff_) {
      CORDON_TRY(const std::string diffs, differences(about, workspace, changes));
      out += diffs;
    }
    return say(out);
  }

  base::Result<void> apply(const About& about) {
    base::Fd workspace = open_workspace(about);
    if (!workspace.valid())
      return base::fail(base::Error{.operation = "open", .subject = about.workspace, .code = ENOENT});
    const mode_t mask = ::umask(077);
    ::umask(mask);
    CORDON_TRY(const promote::Outcome outcome, kept_.apply(about, std::move(workspace), promotion_rules(mask)));
    whole_ = outcome.is_all();
    if (!json_) return say(promotion_words(outcome));
    nlohmann::json document = promotion_json(outcome);
    document["id"] = about.id;
    return say(printed(document));
  }

  base::Result<void> discard(const About& about) {
    CORDON_OK(kept_.discard(about));
    if (!json_) return say(fmt::format("{} is gone\n", about.id));
    return say(printed({{"id", about.id}, {"discarded", true}}));
  }

  [[nodiscard]] Kept& kept() { return kept_; }
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  base::Result<void> say(const std::string& text) {
    context_.output.print(text);
    return {};
  }

  /// Not valid where it is gone, or another directory by now.
  static base::Fd open_workspace(const About& about) {
    auto opened = kernel::openat(kernel::kHere, about.workspace.c_str(), O_RDONLY | O_DIRECTORY);
    const auto facts = opened ? kernel::statx(*opened) : kernel::Sys<struct ::statx>(base::fail(opened.error()));
    const bool same = facts && facts->stx_ino == about.inode && kernel::device_of(*facts) == about.device;
    return same ? std::move(*opened) : base::Fd();
  }

  static nlohmann::json json_of(const About& about, const Changes& changes) {
    nlohmann::json out = cli::json_of(about);
    out["total"] = changes.total;
    out["whole"] = changes.whole;
    out["changes"] = nlohmann::json::array();
    for (const Change& change : changes.changes)
      out["changes"].push_back({{"path", change.path},
                                {"what", word_of(change.what)},
                                {"kind", word_of(change.kind)},
                                {"size", change.size}});
    return out;
  }

  /// Nothing for what is no file, or too large.
  static std::optional<std::string> content(base::FdView root, const std::string& path) {
    if (!root.valid()) return std::string();
    const auto above = promote::open_directory(root, promote::directory_of(path));
    if (!above) return std::nullopt;
    auto text = promote::read_whole(*above, std::string(promote::name_of(path)).c_str(), kLargestFile);
    return text ? std::optional(std::move(*text)) : std::nullopt;
  }

  base::Result<std::string> differences(const About& about, base::FdView workspace, const Changes& changes) {
    CORDON_TRY(const base::Fd upper, kept_.open_upper(about));
    std::string out;
    for (const Change& change : changes.changes) {
      const bool shown = change.kind == promote::Kind::kFile && change.what != Change::What::kUnusual;
      if (!shown) continue;
      const auto before = change.what == Change::What::kNew ? std::string() : content(workspace, change.path);
      const auto after = change.what == Change::What::kDeleted ? std::string() : content(upper, change.path);
      if (!before || !after || !is_text(*before) || !is_text(*after))
        out += fmt::format("{}: too large to be compared, or no text\n", base::shown(change.path));
      else
        out += line_diff(change.path, *before, *after);
      if (out.size() <= kLargestDiff) continue;
      out += "there is more than is shown here\n";
      break;
    }
    return out;
  }

  Context& context_;
  bool json_, diff_;
  Kept kept_;
  std::int64_t now_;
  bool whole_ = true;
};

Stop missing(const std::string& id) {
  return stop(report::refused_usage(
      "changes-missing",
      id.empty() ? std::string("no changes of yours are kept")
                 : fmt::format("no kept changes, or more than one, have an ID like {}", base::shown(id)),
      "cordon changes, without an ID, lists them", {}));
}

base::Result<void, Stop> act(Command& command, const Wanted& wanted, bool named) {
  const auto refused = [](const base::Error& error) { return stop(report::refused(error, "changes-failed", "")); };
  if (wanted.verb == Verb::kShow && !named) {
    if (const auto listed = command.list(); !listed) return base::fail(refused(listed.error()));
    return {};
  }
  const auto found = command.kept().find(wanted.id);
  if (!found) return base::fail(refused(found.error()));
  if (!*found) return base::fail(missing(wanted.id));
  const auto done = wanted.verb == Verb::kApply     ? command.apply(**found)
                    : wanted.verb == Verb::kDiscard ? command.discard(**found)
                                                    : command.show(**found);
  if (!done) return base::fail(refused(done.error()));
  return {};
}

}  // namespace

int changes(Context& context, const Arguments& arguments) {
  const auto stopped = [&](const Stop& why) {
    return refuse(context, arguments.command, arguments.has("--json"), why.refused, why.source, {});
  };
  const auto wanted = wanted_by(arguments);
  if (!wanted)
    return stopped(stop(report::refused_usage("changes-words", "changes takes one ID, and apply or discard",
                                              "cordon changes ID apply", usage_line(*arguments.command, 78))));
  plan::HostFacts facts;
  host::Session session(context.invocation.caller, {});
  if (auto answered = session.answer({}, facts); !answered)
    return stopped(stop(report::refused(answered.error(), "host-unanswered", "")));
  const std::string state = state_directory(context.invocation.caller, own_home(facts));
  const policy::approval::Caller caller = approval_caller(context.invocation);
  sweep_command_places(state, open_state(state, caller), caller);  // a run that was killed left its changes
  auto kept = open_kept(state, caller, Missing::kLeave);
  if (!kept) return stopped(stop(report::refused(kept.error(), "changes-failed", "")));
  if (!*kept) return stopped(missing(""));
  const std::int64_t now = std::time(nullptr);
  if (const auto expired = (*kept)->expire(now); !expired)
    return stopped(stop(report::refused(expired.error(), "changes-failed", "")));
  Command command(context, arguments, std::move(**kept), now);
  const bool named = !wanted->id.empty() || arguments.has("--diff");
  if (const auto done = act(command, *wanted, named); !done) return stopped(done.error());
  if (context.output.broken()) return kRefused;
  return command.whole() ? 0 : 1;
}

}  // namespace cordon::cli
