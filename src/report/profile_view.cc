#include "report/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "report/json.h"

namespace cordon::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "cordon: ";
constexpr std::size_t kRemarksShown = 12;
constexpr std::size_t kLinesShown = 200;

std::string short_name(const std::string& program) { return base::shown(program.substr(program.rfind('/') + 1)); }

std::string evidence_of(const ProfileLine& line) {
  std::vector<std::string> programs;
  for (const std::string& program : line.programs)
    if (const std::string name = short_name(program); std::ranges::find(programs, name) == programs.end())
      programs.push_back(name);
  const std::string calls = base::join(line.calls, ", ");
  return fmt::format("{}{}{}", calls.empty() ? "named" : calls,
                     programs.empty() ? "" : " by " + base::join(programs, ", "),
                     line.count > 1 ? fmt::format(", {} times", line.count) : "");
}

std::string name_of(const ProfileLine& line) {
  return base::shown(line.written) + (line.leads_to.empty() ? "" : " → " + base::shown(line.leads_to));
}

std::string subject_of(const ProfileRemark& one) {
  if (!one.path.empty()) return base::shown(one.path);
  if (one.host.empty()) return {};
  if (one.port == 0) return base::shown(one.host);
  const bool ipv6 = one.host.contains(':');
  return base::shown(ipv6 ? fmt::format("[{}]:{}", one.host, one.port) : fmt::format("{}:{}", one.host, one.port));
}

std::string words_of(const ProfileRemark& one) {
  const std::string subject = subject_of(one);
  // The planner's words begin with the line that they are about.
  if (one.reason.starts_with(one.kind + ": ")) return one.reason;
  return fmt::format("{}{}: {}", one.kind, subject.empty() ? "" : " " + subject, one.reason);
}

class Text {
 public:
  explicit Text(const Style& style) : style_(style) {}
  void say(std::string_view prose, std::string_view label = "", Paint paint = Paint::kNone, std::size_t hang = 2) {
    out_ += laid_out({std::string(kPrefix), std::string(label), paint, std::string(prose), hang}, style_);
  }
  void remarks(const std::vector<ProfileRemark>& remarks, std::string_view label, Paint paint) {
    for (const ProfileRemark& one : std::span(remarks).first(std::min(remarks.size(), kRemarksShown)))
      say(words_of(one), label, paint);
    if (remarks.size() > kRemarksShown)
      say(fmt::format("and {} more; --json has them all", remarks.size() - kRemarksShown), label, paint);
  }
  std::string take() { return std::move(out_); }

 private:
  const Style& style_;
  std::string out_;
};

std::string ending_of(const ProfileView& view) {
  const std::string rounds = view.rounds > 1 ? fmt::format(" in the last of {} runs", view.rounds) : "";
  if (view.signal != 0)
    return fmt::format("{} was ended by {}{}", base::shown(view.program), signal_name(view.signal), rounds);
  return fmt::format("{} ended with code {}{}", base::shown(view.program), view.exit_code, rounds);
}

void say_groups(Text& text, const ProfileView& view) {
  std::size_t shown = 0;
  for (std::string_view group : {"project", "runtime", "cache", "temporary", "other"}) {
    bool first = true;
    for (const ProfileLine& line : view.lines) {
      if (line.group != group || shown == kLinesShown) continue;
      ++shown;
      if (std::exchange(first, false)) text.say("", fmt::format("{}:", group), Paint::kBold);
      text.say(fmt::format("  {}: {} ({})", line.key, name_of(line), evidence_of(line)), "", Paint::kNone, 6);
    }
  }
  if (view.lines.size() > shown)
    text.say(fmt::format("and {} more lines; --json has them all", view.lines.size() - shown));
  const bool others = !view.network.empty() || !view.exec.empty() || !view.env.empty();
  if (others) text.say("", "also:", Paint::kBold);
  for (const std::string& one : view.network) text.say(fmt::format("  network: {}", base::shown(one)));
  if (!view.exec.empty()) text.say(fmt::format("  exec: {}", view.exec));
  if (!view.env.empty()) text.say(fmt::format("  env: {}", base::join(view.env, ", ")));
}

void say_where(Text& text, const ProfileView& view) {
  if (view.written && !view.manifest.empty()) {
    const std::string file = base::shown(view.manifest);
    text.say(fmt::format("{} {}{}; next: cordon validate {}, then cordon approve {}",
                         view.merged ? "merged into" : "wrote", file,
                         view.approval_voided ? ", whose approval no longer holds" : "", file, file));
    if (!view.layout_kept)
      text.say("its layout left no plain place for the changes: it was written anew, without its comments");
  }
  for (const std::string& note : view.notes) text.say(note, "note:", Paint::kYellow);
  for (const std::string& why : view.incomplete) text.say(why, "incomplete:", Paint::kYellow);
}

Json json_of(const std::vector<ProfileRemark>& remarks) {
  Json out = Json::array();
  for (const ProfileRemark& one : remarks) {
    Json entry;
    entry["kind"] = one.kind;
    entry["code"] = one.code;
    if (!one.path.empty()) entry["path"] = one.path;
    if (!one.host.empty()) entry["host"] = one.host;
    if (one.port != 0) entry["port"] = one.port;
    entry["reason"] = one.reason;
    out.push_back(std::move(entry));
  }
  return out;
}

Json json_of(const std::vector<ProfileLine>& lines) {
  Json out = Json::array();
  for (const ProfileLine& line : lines)
    out.push_back({{"key", line.key},
                   {"path", line.written},
                   {"group", line.group},
                   {"programs", line.programs},
                   {"calls", line.calls},
                   {"count", line.count}});
  return out;
}

}  // namespace

std::string profile_text(const ProfileView& view, const Style& style) {
  Text text(style);
  text.say(ending_of(view));
  say_groups(text, view);
  if (view.lines.empty() && view.network.empty() && view.exec.empty())
    text.say("it asked for nothing that a line would have to grant");
  text.remarks(view.withheld, "withheld:", Paint::kRed);
  text.remarks(view.flagged, "look twice:", Paint::kYellow);
  say_where(text, view);
  return text.take();
}

std::string check_text(const ProfileView& view, const Style& style) {
  Text text(style);
  if (view.differences.empty())
    text.say(
        fmt::format("{} did nothing that {} does not allow", base::shown(view.program), base::shown(view.manifest)));
  for (const std::string& one : std::span(view.differences).first(std::min(view.differences.size(), kLinesShown)))
    text.say(one, "+", Paint::kRed);
  if (view.differences.size() > kLinesShown)
    text.say(fmt::format("and {} more; --json has them all", view.differences.size() - kLinesShown), "+", Paint::kRed);
  for (const std::string& why : view.incomplete) text.say(why, "incomplete:", Paint::kYellow);
  return text.take();
}

std::string profile_document(const ProfileView& view, const std::string& policy) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["manifest"] = view.manifest;
  out["written"] = view.written;
  out["complete"] = view.incomplete.empty();
  if (!view.incomplete.empty()) out["incomplete_reason"] = base::join(view.incomplete, "; ");
  out["rounds"] = view.rounds;
  out["exit_code"] = view.exit_code;
  if (view.signal != 0) out["signal"] = signal_name(view.signal);
  if (!policy.empty()) out["policy"] = Json::parse(policy, nullptr, false);
  out["lines"] = json_of(view.lines);
  if (!view.started.empty()) out["started"] = view.started;
  if (!view.withheld.empty()) out["withheld"] = json_of(view.withheld);
  if (!view.flagged.empty()) out["flagged"] = json_of(view.flagged);
  if (!view.blocked_hosts.empty()) out["blocked_hosts"] = view.blocked_hosts;
  if (!view.differences.empty()) out["differences"] = view.differences;
  if (view.merged) out["merged"] = {{"approval_voided", view.approval_voided}, {"layout_kept", view.layout_kept}};
  out["seen"] = {{"runtime", view.runtime}, {"scratch", view.scratch}, {"lost", view.lost}, {"unnamed", view.unnamed}};
  return document(out);
}

std::string grant_question(const ProfileLine& line) {
  return fmt::format("cordon: grant {}: {}? ({}: {})\ncordon: [y]es [n]o [g]roup [a]ll [q]uit ", line.key,
                     name_of(line), line.group, evidence_of(line));
}

}  // namespace cordon::report
