#include "report/manifest_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "report/refused.h"

namespace cordon::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string shown_list(const std::vector<std::string>& words, std::string_view separator = " ") {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += base::shown(word);
  }
  return out;
}

/// One row for each value; the heading stands on the first only.
void add_rows(Rows& rows, std::string_view heading, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    rows.push_back({i == 0 ? std::string(heading) : std::string(), values[i]});
}

std::string grant_words(const GrantView& grant) {
  std::string out = base::shown(grant.written);
  if (!grant.on_host.empty() && grant.on_host != grant.written) out += "  →  " + base::shown(grant.on_host);
  if (grant.missing) out += grant.key == "write" ? "  (will be made)" : "  (absent)";
  if (!grant.refused.empty()) out += "  REFUSED";
  return out;
}

std::vector<std::string> grants_of(const ManifestView& view, std::string_view key) {
  std::vector<std::string> out;
  for (const GrantView& grant : view.grants)
    if (grant.key == key) out.push_back(grant_words(grant));
  return out;
}

std::string command_words(const ManifestView& view) {
  std::string out;
  const std::string program = view.interpreter.empty() ? view.entrypoint : view.interpreter;
  out += base::shown(program);
  if (!view.interpreter_args.empty()) out += " " + shown_list(view.interpreter_args);
  if (!view.interpreter.empty()) out += " " + base::shown(view.entrypoint);
  if (!view.args.empty()) out += " " + shown_list(view.args);
  return out;
}

std::string exec_words(const ManifestView& view) {
  if (view.exec == "all") return "any program that it can see";
  if (view.exec == "list") return "only " + shown_list(view.exec_programs, ", ");
  if (view.exec == "none-strict") return "no other program, and no new process";
  return "no other program";
}

std::vector<std::string> network_words(const ManifestView& view) {
  if (view.network.empty()) return {"nothing"};
  std::vector<std::string> out;
  for (const auto& [host, port] : view.network) {
    const std::string who = host == "*" ? "any host" : base::shown(host);
    out.push_back(port == "*" ? who + ", any port" : fmt::format("{}, port {}", who, base::shown(port)));
  }
  return out;
}

std::vector<std::string> environment_words(const ManifestView& view) {
  std::vector<std::string> out;
  const std::set<std::string_view> unset_here(view.unset_environment.begin(), view.unset_environment.end());
  for (const std::string& name : view.environment) {
    const bool unset = unset_here.contains(name);
    out.push_back(base::shown(name) + (unset ? "  (not set here)" : ""));
  }
  return out;
}

std::string yes_no(bool yes, const Style& style) {
  return yes ? painted(Paint::kGreen, "yes", style) : painted(Paint::kRed, "no", style);
}

std::string refused_text(const ManifestView& view, std::string_view source, const Style& style) {
  Refused all;
  all.items = view.problems;
  for (const GrantView& grant : view.grants)
    all.items.insert(all.items.end(), grant.refused.begin(), grant.refused.end());
  return all.items.empty() ? std::string() : "\n" + text(all, source, "", style);
}

// What a reader was told of a line already is not told twice; anything else about that line is told all the same.
bool says_it(std::string_view callout, std::string_view note) {
  constexpr std::array kSame = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"read-missing", "missing-read"}, {"write-makes-directory", "makes-directory"}});
  return callout == note || std::ranges::find(kSame, std::pair(callout, note)) != kSame.end();
}

std::string notes_text(const ManifestView& view, const Style& style) {
  std::string out;
  const auto told = [&](const plan::Note& note) {
    return std::ranges::any_of(view.callouts, [&](const plan::Note& callout) {
      if (note.at.line == 0) return callout.code == note.code && callout.text == note.text;
      return callout.at.line == note.at.line && callout.at.column == note.at.column && says_it(callout.code, note.code);
    });
  };
  for (const plan::Note& note : view.notes)
    if (!told(note)) out += laid_out({"", "note:", Paint::kYellow, note.text, 2}, style);
  return out.empty() ? out : "\n" + out;
}

std::string relocatable_words(const ManifestView& view) {
  if (*view.relocatable) return "yes";
  return "no: tied to this host by " + shown_list(view.pinned_paths, ", ");
}

std::string approval_words(const ManifestView& view) {
  std::string out(approval_code(view.approval));
  if (!view.approval_detail.empty()) out += ": " + view.approval_detail;
  if (view.approval != ApprovalState::kCurrent) out += fmt::format(" (cordon approve {})", base::shown(view.file));
  return out;
}

std::size_t refused_grants(const ManifestView& view) {
  const auto paths = std::ranges::count_if(view.grants, [](const GrantView& grant) { return !grant.refused.empty(); });
  const auto others = std::ranges::count_if(view.problems, &plan::RefusedItem::is_grant);
  return static_cast<std::size_t>(paths + others);
}

std::vector<std::string> missing_reads(const ManifestView& view) {
  std::vector<std::string> out;
  for (const GrantView& grant : view.grants)
    if (grant.missing && grant.key == "read") out.push_back(grant.written);
  return out;
}

/// A run that would be refused is not called runnable, whatever refuses it.
std::string runnable_words(const ManifestView& view, const Style& style) {
  if (!runnable(view)) return yes_no(false, style);
  if (grants_hold(view)) return yes_no(true, style);
  return yes_no(false, style) + ", a run would be refused";
}

std::string grants_words(const ManifestView& view, const Style& style) {
  if (const std::size_t refused = refused_grants(view); refused != 0)
    return yes_no(false, style) + ", " + counted(refused, "is", "are") + " refused";
  const std::size_t missing = missing_reads(view).size();
  return yes_no(true, style) + (missing == 0 ? std::string(", all hold here")
                                             : ", but " + counted(missing, "names", "name") + " nothing here");
}

std::string strict_words(const ManifestView& view) {
  return view.strict_problems->empty() ? "yes" : "no: " + base::join(*view.strict_problems, "; ");
}

std::string footer_text(const ManifestView& view, const Style& style) {
  std::string out = "\nrunnable:     " + runnable_words(view, style) + "\n";
  out += "grants:       " + grants_words(view, style) + "\n";
  if (view.relocatable) out += laid_out({"", "relocatable:", Paint::kNone, " " + relocatable_words(view), 14}, style);
  const Paint paint = view.approval == ApprovalState::kCurrent ? Paint::kGreen : Paint::kRed;
  out += laid_out({"", "approval:    ", paint, approval_words(view), 14}, style);
  if (view.strict_problems)
    out += laid_out(
        {"", "strict:      ", view.strict_problems->empty() ? Paint::kGreen : Paint::kRed, strict_words(view), 14},
        style);
  return out;
}

}  // namespace

std::string_view approval_code(ApprovalState state) {
  switch (state) {
    case ApprovalState::kUnapproved:
      return "unapproved";
    case ApprovalState::kCurrent:
      return "current";
    case ApprovalState::kStale:
      return "stale";
  }
  CORDON_CHECK(false);
}

bool grants_hold(const ManifestView& view) { return refused_grants(view) == 0; }

bool runnable(const ManifestView& view) { return view.problems.empty(); }

std::vector<std::string> strict_problems(const ManifestView& view) {
  std::vector<std::string> out;
  if (view.approval == ApprovalState::kUnapproved) out.emplace_back("nobody approved it");
  if (view.approval == ApprovalState::kStale) out.emplace_back("the approval is stale");
  if (!runnable(view)) out.emplace_back("it is not runnable");
  if (const std::size_t refused = refused_grants(view); refused != 0)
    out.push_back(counted(refused, "grant is", "grants are") + " refused");
  if (const auto missing = missing_reads(view); !missing.empty())
    out.push_back(shown_list(missing, ", ") + (missing.size() == 1 ? " names" : " name") + " nothing here");
  return out;
}

std::string summary_text(const ManifestView& view, const Style& style) {
  Rows rows;
  add_rows(rows, "runs", {command_words(view)});
  if (!view.program.empty()) add_rows(rows, "started as", {base::shown(view.program)});
  if (!view.working_directory.empty()) add_rows(rows, "runs in", {base::shown(view.working_directory)});
  add_rows(rows, "may read", grants_of(view, "read"));
  add_rows(rows, "may write", grants_of(view, "write"));
  add_rows(rows, "writes, starts", grants_of(view, "wx"));
  add_rows(rows, "never sees", grants_of(view, "deny"));
  add_rows(rows, "may reach", network_words(view));
  add_rows(rows, "may start", {exec_words(view)});
  add_rows(rows, "environment", environment_words(view));
  std::vector<std::string> limits;
  for (const auto& [name, value] : view.limits) limits.push_back(fmt::format("{} {}", name, base::shown(value)));
  if (!limits.empty()) add_rows(rows, "limits", {base::join(limits, ", ")});
  for (const auto& [name, value] : view.others) add_rows(rows, name, {value});
  if (!view.pins.empty()) add_rows(rows, "pinned", {shown_list(view.pins, ", ")});
  return fmt::format("{}\n", base::shown(view.file)) + table(rows, style, 2);
}

std::string callouts_text(const ManifestView& view, const Style& style) {
  // The summary above has said it in its own row.
  const auto is_new = [](const plan::Note& callout) {
    return callout.code != "env-not-set" && callout.code != "interpreter-resolved";
  };
  if (std::ranges::none_of(view.callouts, is_new)) return {};
  std::string out = "\n" + painted(Paint::kBold, "worth a second look:", style) + "\n";
  for (const plan::Note& callout : view.callouts) {
    if (!is_new(callout)) continue;
    const std::string place = callout.at.line == 0 ? std::string() : fmt::format("line {}: ", callout.at.line);
    out += laid_out({"  ", "-", Paint::kYellow, place + callout.text, 2}, style);
  }
  return out;
}

std::string validate_text(const ManifestView& view, std::string_view source, const Style& style) {
  return summary_text(view, style) + refused_text(view, source, style) + callouts_text(view, style) +
         notes_text(view, style) + footer_text(view, style);
}

}  // namespace cordon::report
