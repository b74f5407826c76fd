// ManifestView: a policy and its verdict on this host as `validate` and `approve` show them.
//
// Filled by cli/ from the Policy, the planner's verdict and the approval, because this room knows no Policy. It judges
// nothing: what it calls refused, the planner refused, in the same words that `run` uses.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "plan/refusal.h"
#include "report/layout.h"
#include "report/report.h"

namespace cordon::report {

struct GrantView {
  std::string key;      ///< "read", "write", "deny", …
  std::string written;  ///< as in the manifest
  std::string on_host;  ///< where it leads here; empty where it leads nowhere
  bool missing = false;
  std::vector<plan::RefusedItem> refused;
  base::Span at;
  friend bool operator==(const GrantView&, const GrantView&) = default;
};

enum class ApprovalState : std::uint8_t { kUnapproved, kCurrent, kStale };
std::string_view approval_code(ApprovalState state);  ///< "unapproved", "current", "stale"

struct ManifestView {
  std::string file;        ///< as the user named it
  std::string entrypoint;  ///< as written
  std::string interpreter;
  std::vector<std::string> interpreter_args, args;
  std::string program;            ///< what would really be started here; empty where it cannot be told
  std::string working_directory;  ///< where it would be started; empty where it cannot be told
  std::vector<std::string> environment;
  std::vector<std::string> unset_environment;
  std::vector<GrantView> grants;
  std::vector<std::pair<std::string, std::string>> network;  ///< host, port
  std::vector<std::string> network_blocked;
  std::string exec;                                         ///< "none", "none-strict", "all", "list"
  std::vector<std::string> exec_programs;                   ///< for "list"
  std::vector<std::pair<std::string, std::string>> limits;  ///< name, as written
  std::vector<std::pair<std::string, std::string>> others;  ///< any other key, and its words
  std::vector<std::string> pins;

  std::vector<plan::RefusedItem> problems;  ///< refusals that concern no grant above: the program, the host, other keys
  std::vector<plan::Note> callouts;         ///< worth a second look
  std::vector<plan::Note> notes;
  std::vector<LayerLine> layers;                ///< as planned; empty where refused
  std::vector<plan::Alias> credential_aliases;  ///< other names of hidden credentials in what is granted
  bool credential_aliases_partial = false;      ///< only a part was searched
  ApprovalState approval = ApprovalState::kUnapproved;
  std::string approval_detail;            ///< which pinned file changed, who could rewrite the manifest, …
  std::optional<bool> relocatable;        ///< only where it was asked
  std::vector<std::string> pinned_paths;  ///< entries that tie the manifest to this host
  /// Only where it was asked: what --strict does not let pass, in words.
  std::optional<std::vector<std::string>> strict_problems;
  friend bool operator==(const ManifestView&, const ManifestView&) = default;
};

/// No permission that is asked for is refused.
bool grants_hold(const ManifestView& view);
/// Nothing is wrong with the program, the host, or a key of its own. A run needs both.
bool runnable(const ManifestView& view);

/// What `--strict` does not let pass: a stamp that does not hold, whatever a run would refuse, a read grant that names
/// nothing. One sentence for each; empty where all is well.
std::vector<std::string> strict_problems(const ManifestView& view);

/// The permissions in people's words: what `approve` puts before the question.
std::string summary_text(const ManifestView& view, const Style& style);
/// "worth a second look", or nothing.
std::string callouts_text(const ManifestView& view, const Style& style);
/// All of `validate`'s text: summary, REFUSED lines, callouts, and the footer of verdicts.
std::string validate_text(const ManifestView& view, std::string_view source, const Style& style);

}  // namespace cordon::report
