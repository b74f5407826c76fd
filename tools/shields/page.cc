#include "page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace cordon::shields {
namespace {

using shield::Deny;
using shield::Holds;
using shield::Kind;
using shield::Moves;
using shield::WriteOptIn;

constexpr std::string_view kIntroduction = R"(# Shields

<!-- Made from shields/*.yaml; CORDON_REGENERATE=1 with the test "shields" writes it anew. -->

What Cordon protects whatever a manifest, a profile or a flag grants. A grant that merely covers one of these
paths does not lift its shield: `read: ["~"]` shows the home without the keys in it.

- **Hidden**: neither read nor written. A run sees an empty folder or an empty file. `read:` with the exact path lifts it for
  reading, one path at a time, and `validate`, `approve` and the run's report say so. A path inside a hidden folder cannot be
  granted; `write:` never lifts one.
- **Read-only**: seen where a grant shows it, never changed, because something on the host runs or obeys it later. Those that
  ordinary work has to write are lifted by `write:` with the exact path, and `approve` says so. Nothing lifts the others.

A path that begins with `/` is of no home; each other one stands below every home that counts: `$HOME` and the home in the
account database. A `/` at the end marks a folder; what is really there decides. Environment variables that move a store move its shield with it ([below](#variables)).
)";

constexpr std::string_view kWhatIsNotDone = R"(
## What git says of a held name

In a checkout below a write grant a name that is held although it does not exist is an empty folder (a file where the rule
names a file of git's own). It cannot be removed, and git lists no folder that holds nothing, so `git status`, `git add -A` and
`git stash` do not see it. What removes empty folders meets it:

- `git clean -d` removes all else, says `failed to remove` for each held name and exits with 1. Name them
  (`git clean -fd -e .vscode …`), or clean without `-d`.
- `git stash -u` is the same: it saves everything, removes what is not tracked with `git clean -d`, and stops there with 1. The
  stash is whole, and the changes to tracked files still stand: `git reset --hard` after it does what is left. `git stash`
  without `-u` works.

Why it is not mended: a mount can stand over what is a folder or a file, and nowhere else. Git must find a folder there, for a file
would enter the next commit, and whoever removes it is told that it is busy. A list of names for git to ignore would keep files of that name from
commits in other repositories below the grant. On the host nothing is there, and both succeed.

## What the look after a run does not look into

After a run Cordon tells what it left that a tool runs without being asked (docs/threat-model.md). New repositories and folder hooks
(`.envrc`, `mise.toml`, `.mise.toml`) are looked for three levels below each write grant, and not in folders that tools fill in bulk and
nobody enters: `node_modules`, `.git`, `target`, `.venv`, `vendor`, `__pycache__`. What a run leaves in one of these is not told,
wherever it lies below the grant; grant such a folder by itself, and it is the root of a grant and looked at. Programs that git's
configuration names are looked at wherever they lie.
)";

std::string_view section_title(Holds holds) {
  switch (holds) {
    case Holds::kCredentials:
      return "Hidden: keys, tokens, passwords";
    case Holds::kPrivateData:
      return "Hidden: private data";
    case Holds::kHistory:
      return "Hidden: history";
    case Holds::kPersistence:
      return "Hidden: what starts by itself";
    case Holds::kServices:
      return "Hidden: doors to services";
    case Holds::kNothing:
      return "";
  }
  return {};
}

std::string shown_path(const Entry& entry) {
  return fmt::format("`{}{}`", entry.path, entry.kind == Kind::kDirectory ? "/" : "");
}

template <class Wanted>
std::string section(std::string_view title, const std::vector<Entry>& entries, Wanted wanted) {
  std::string rows;
  int count = 0;
  for (const Entry& entry : entries) {
    if (!wanted(entry)) continue;
    rows += fmt::format("| {} | {} |\n", shown_path(entry), entry.what);
    ++count;
  }
  return fmt::format("\n## {} ({})\n\n| path | whose |\n|---|---|\n{}", title, count, rows);
}

std::string home_sections(const std::vector<Entry>& home) {
  std::string out;
  for (const Holds holds :
       {Holds::kCredentials, Holds::kPrivateData, Holds::kHistory, Holds::kPersistence, Holds::kServices})
    out += section(section_title(holds), home, [&](const Entry& entry) { return entry.holds == holds; });
  const auto read_only = [](WriteOptIn opt_in) {
    return [opt_in](const Entry& entry) { return entry.deny == Deny::kWrite && entry.write_opt_in == opt_in; };
  };
  return out + section("Read-only: start-up and settings", home, read_only(WriteOptIn::kNever)) +
         section("Read-only, lifted by exact name: programs", home, read_only(WriteOptIn::kByExactName));
}

std::string workspace_section(const Corpus& corpus) {
  std::string out = fmt::format(
      "\n## In a checkout ({})\n\nRead-only at the root of every checkout that a write grant reaches, beside git's "
      "hooks and "
      "configuration.\n\n| path | what | lifted |\n|---|---|---|\n",
      corpus.workspace.size());
  for (const Entry& entry : corpus.workspace)
    out += fmt::format("| {} | {} | {} |\n", shown_path(entry), entry.what,
                       entry.write_opt_in == WriteOptIn::kByExactName ? "by exact name" : "never");
  out += "\nReported when a run changed them, because a tool runs them unasked:";
  for (const std::string& name : corpus.auto_executed) out += fmt::format("\n`{}`", name);
  return out + ".\n";
}

std::string system_section(const std::vector<Entry>& system) {
  return section("Hidden: of the machine itself", system, [](const Entry&) { return true; });
}

std::string runtime_section(const Corpus& corpus) {
  std::string out =
      "\n## Sockets of the session and of the system\n\nHidden, and shown only by `read:` with the exact path:";
  for (const std::string& name : corpus.runtime) out += fmt::format(" `{}`", name);
  return out + ", and what `XDG_RUNTIME_DIR` names.\n";
}

std::string_view form(Moves moves) {
  switch (moves) {
    case Moves::kBase:
      return "base folder";
    case Moves::kDirectory:
      return "folder";
    case Moves::kFile:
      return "file";
    case Moves::kFileList:
      return "files, with colons";
    case Moves::kDirectoryList:
      return "folders, with colons";
  }
  return {};
}

std::string protection(const Moved& moved) {
  if (moved.moves == Moves::kBase) return "every path that stands above below the default place";
  const std::string_view state = moved.protection.deny == Deny::kAll ? "hidden" : "read-only";
  return moved.below.empty() ? std::string(state) : fmt::format("`{}` {}", moved.below, state);
}

std::string variables_section(const Corpus& corpus) {
  std::map<std::string, std::vector<const Moved*>> variables;
  for (const Moved& moved : corpus.relocations) variables[moved.variable].push_back(&moved);
  std::string out = fmt::format(
      "\n## Variables\n\n{} variables move shields. A value counts where it is absolute; one that is the home itself, "
      "or "
      "holds it,\ncannot be shielded and is named by every verdict. `/dev/null` moves nothing.\n\n"
      "| variable | names a | default | protected there |\n|---|---|---|---|\n",
      variables.size());
  for (const auto& [name, entries] : variables) {
    std::string what;
    for (const Moved* moved : entries) what += (what.empty() ? "" : ", ") + protection(*moved);
    const Moved& first = *entries.front();
    out += fmt::format("| `{}` | {} | {} | {} |\n", name, form(first.moves),
                       first.from.empty() ? std::string("–") : fmt::format("`~/{}`", first.from), what);
  }
  return out;
}

}  // namespace

std::string page(const Corpus& corpus) {
  return std::string(kIntroduction) + home_sections(corpus.home) + workspace_section(corpus) +
         system_section(corpus.system) + runtime_section(corpus) + variables_section(corpus) +
         std::string(kWhatIsNotDone);
}

}  // namespace cordon::shields
