// The words about a run that started. What is said comes in the order of a reader's questions; see report.h.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "report/agent_use.h"
#include "report/left_behind.h"
#include "report/plan_names.h"
#include "report/refused.h"
#include "report/report.h"

namespace cordon::report {
namespace {

constexpr std::size_t kDenialsShown = 8;  // one screen; the rest is counted
constexpr std::size_t kAliasesShown = 4;
constexpr std::string_view kPrefix = "cordon: ", kDeeper = "cordon:   ";

/// One screen on standard error at the end of a run; or everything, on standard output, for who asks.
enum class Extent : std::uint8_t { kOneScreen, kEverything };

class Lines {
 public:
  Lines(const Style& style, Extent extent) : style_(style), extent_(extent) {}
  [[nodiscard]] bool is_everything() const { return extent_ == Extent::kEverything; }
  /// Of these many, how many are said.
  [[nodiscard]] std::size_t most(std::size_t on_one_screen) const {
    return is_everything() ? std::numeric_limits<std::size_t>::max() : on_one_screen;
  }
  void say(std::string_view prose) { add("", Paint::kNone, prose, 2); }
  void say(std::string_view label, Paint paint, std::string_view prose) { add(label, paint, prose, 2); }
  /// Two columns deeper: it belongs to the line above.
  void below(std::string_view prose) { add("", Paint::kNone, prose, 2, kDeeper); }
  void mend(std::string_view prose) {
    if (!prose.empty()) add("mend:", Paint::kGreen, prose, 6, kDeeper);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }
  [[nodiscard]] bool empty() const { return out_.empty(); }

 private:
  void add(std::string_view label, Paint paint, std::string_view prose, std::size_t hang,
           std::string_view prefix = kPrefix) {
    if (is_everything()) prefix.remove_prefix(kPrefix.size());
    out_ += laid_out({std::string(prefix), std::string(label), paint, std::string(prose), hang}, style_);
  }
  const Style& style_;
  Extent extent_;
  std::string out_;
};

std::string place(const base::Span& at) {
  if (at.file.empty()) return {};
  return at.line == 0 ? fmt::format(" ({})", base::shown(at.file))
                      : fmt::format(" ({}:{})", base::shown(at.file), at.line);
}

/// A signal that the user's own keys send, or that ends a pipeline, needs no words of ours.
bool is_plain(int signal) { return signal == SIGINT || signal == SIGPIPE || signal == SIGQUIT || signal == SIGHUP; }

void say_signal(Lines& lines, const Report& report) {
  if (report.signal == SIGSYS) {
    lines.say("the target was ended by SIGSYS: it made a system call of a foreign architecture, which no run allows");
    return;
  }
  lines.say(fmt::format("the target was ended by {}", signal_name(report.signal)));
}

void say_ending(Lines& lines, const Report& report) {
  switch (report.ending) {
    case Ending::kTimeLimit:
      lines.say("error:", Paint::kRed,
                fmt::format("the time limit of {} was reached, so the target was ended (limits.timeout)",
                            duration(report.timeout_ms)));
      return;
    case Ending::kMemoryLimit:
      lines.say("error:", Paint::kRed,
                fmt::format("the memory limit of {} was reached, and the kernel ended the run (limits.memory)",
                            size_text(report.limits ? report.limits->memory_bytes : 0)));
      return;
    case Ending::kOnRequest:
      lines.say("the run was ended on request");
      return;
    case Ending::kLapsed:
      lines.say("error:", Paint::kRed,
                "a promise lapsed while the target ran, so the run was ended; do not trust what it left");
      for (const plan::Lapse& lapse : report.lapses)
        lines.below(fmt::format("{}: {}{}", plan::layer_name(lapse.layer), lapse.what,
                                lapse.mend.empty() ? "" : "; " + lapse.mend));
      return;
    case Ending::kSignalled:
      if (!is_plain(report.signal)) say_signal(lines, report);
      return;
    case Ending::kExited:
    case Ending::kNotExecuted:
    case Ending::kNotSetUp:
      return;
  }
}

/// A limit that was reached without ending the run. That CPU time was short explains a failure, and nothing else.
void say_limits(Lines& lines, const Report& report) {
  if (!report.limits || !report.limits_use) return;
  const plan::LimitsUse& use = *report.limits_use;
  const bool failed = lines.is_everything() || report.ending != Ending::kExited || report.exit_code != 0;
  if (use.memory_kills != 0 && report.ending != Ending::kMemoryLimit)
    lines.say("limited:", Paint::kYellow,
              fmt::format("the memory limit of {} was reached, and the kernel killed {} processes (limits.memory)",
                          size_text(report.limits->memory_bytes), use.memory_kills));
  if (use.pids_refused != 0)
    lines.say("limited:", Paint::kYellow,
              fmt::format("the limit of {} processes and threads was reached {} times, so no more were started "
                          "(limits.pids)",
                          report.limits->pids, use.pids_refused));
  if (use.cpu_throttled != 0 && failed)
    lines.say("limited:", Paint::kYellow,
              fmt::format("the CPU limit of {} held the run back in {} of {} periods (limits.cpu)",
                          share_text(report.limits->cpu_hundredths), use.cpu_throttled, use.cpu_periods));
}

bool is_of_a_path(const Denial& denial) { return denial.act == "read" || denial.act == "write"; }

std::string_view verb_of(const Denial& denial) {
  if (denial.act == "exec") return "starting";
  if (denial.act == "connect") return "reaching";
  if (denial.act == "read") return "reading";
  return denial.act == "write" ? "writing" : "looking up";
}

std::string denied_act(const Denial& denial) {
  const bool unknown = denial.act == "exec" && denial.subject.empty();
  std::string out = fmt::format("{} {}", verb_of(denial), unknown ? "a program" : base::shown(denial.subject));
  if (denial.count > 1) out += fmt::format(" ({} times)", denial.count);
  return denial.why.empty() ? out : fmt::format("{}: {}", out, denial.why);
}

/// "read: [a]" and "read: [b]" are "read: [a, b]".
void say_path_grants(Lines& lines, const Report& report) {
  for (const std::string_view key : {"read", "write"}) {
    const std::string start = fmt::format("{}: [", key);
    std::string all;
    std::size_t left = lines.most(kDenialsShown);
    for (const Denial& denial : report.denials) {
      if (denial.act != key || !denial.grant.starts_with(start) || left == 0) continue;
      all += all.empty() ? start : ", ";
      all += denial.grant.substr(start.size(), denial.grant.size() - start.size() - 1);
      --left;
    }
    if (!all.empty()) lines.mend(fmt::format("to allow it, write in the manifest: {}]", all));
  }
}

/// One for each kind of grant; of hosts, the first few.
void say_grants(Lines& lines, const Report& report) {
  const std::size_t most = lines.most(3);
  std::vector<std::string_view> said;
  for (const Denial& denial : report.denials) {
    const bool told = std::ranges::find(said, std::string_view(denial.grant)) != said.end();
    const bool is_flag = denial.grant.starts_with("--");
    if (said.size() == most || told || denial.grant.empty() || (is_of_a_path(denial) && !is_flag)) continue;
    said.emplace_back(denial.grant);
    if (is_flag) {
      lines.mend("to allow it: " + denial.grant);
      continue;
    }
    const bool port_unknown = denial.act == "look-up";
    lines.mend(fmt::format("to allow it, write in the manifest: {}{}", denial.grant,
                           port_unknown ? " with the port that it is to reach there" : ""));
  }
  say_path_grants(lines, report);
}

std::string destination_words(const plan::Destination& one) {
  return base::shown(one.host.contains(':') ? fmt::format("[{}]:{}", one.host, one.port)
                                            : fmt::format("{}:{}", one.host, one.port));
}

/// What a person allowed during the run is forgotten with it: this is the line that would keep it.
void say_allowed_on_request(Lines& lines, const Report& report) {
  const std::size_t most = lines.most(8);
  std::vector<std::string> said;
  for (const plan::Destination& one : report.destinations) {
    const std::string grant = network_grant(one.host, one.port);
    const bool told = std::ranges::find(said, grant) != said.end();
    if (one.reach != plan::Reach::kGateAdmitted || told || said.size() == most) continue;
    lines.say("allowed:", Paint::kGreen, fmt::format("{}, because you said so", destination_words(one)));
    lines.mend(fmt::format("to allow it always, write in the manifest: {}", grant));
    said.push_back(grant);
  }
}

void say_untunneled(Lines& lines, const Report& report) {
  for (const plan::Destination& one : report.destinations)
    if (is_untunneled(one))
      lines.say("refused:", Paint::kYellow,
                fmt::format("a request to the proxy for {} that asks for no tunnel (it serves CONNECT, and http:// "
                            "with a Content-Length)",
                            destination_words(one)));
}

bool is_this_machine(const plan::Destination& one) { return one.why == "this-machine"; }

/// A service of this machine has a key of its own, which opens one port and no address.
std::string opening_words(const plan::Destination& one) {
  if (is_this_machine(one))
    return fmt::format(
        "if a service of this machine is meant: host_services: [{}] in the manifest, or --allow-address {}", one.port,
        one.address);
  return fmt::format("if that host is meant to be there: --allow-address {}, or a block around it", one.address);
}

std::string blocked_words(const plan::Destination& one) {
  const std::string host = destination_words(one);
  if (one.address.empty()) return fmt::format("{} is granted, but leads to an address that is {}", host, one.why);
  std::string what = one.block.empty() ? "counts as " + one.why : fmt::format("is {} ({})", one.why, one.block);
  if (is_this_machine(one)) what = "is this machine's own";
  if (one.address == one.host) return fmt::format("{} is granted, but the address {}", host, what);
  return fmt::format("{} is granted, but leads to {}, which {}", host, one.address, what);
}

bool can_be_mended(const plan::Destination& one) { return one.can_be_opened && !one.address.empty(); }

void say_blocked(Lines& lines, const Report& report) {
  std::vector<std::string_view> said;
  for (const plan::Destination& one : report.destinations) {
    if (one.reach != plan::Reach::kGuardBlocked) continue;
    lines.say("blocked:", Paint::kYellow, blocked_words(one));
    const bool told = std::ranges::find(said, std::string_view(one.address)) != said.end();
    if (!can_be_mended(one) || told) continue;
    lines.mend(opening_words(one));
    said.emplace_back(one.address);
  }
}

/// What was granted and could not be reached explains a failure, and nothing else.
void say_unreached(Lines& lines, const Report& report) {
  const bool failed = lines.is_everything() || (report.ending == Ending::kExited && report.exit_code != 0);
  std::map<std::string, std::uint64_t> beyond;  // a flood of names must not push the other lines off the screen
  for (const plan::Destination& one : report.destinations) {
    if (one.reach == plan::Reach::kUnreachable && failed)
      lines.say("not reached:", Paint::kYellow, fmt::format("{}: {}", destination_words(one), one.why));
    if (one.reach == plan::Reach::kOverBound) beyond[one.why.empty() ? "names" : one.why] += one.count;
  }
  for (const auto& [bound, count] : beyond)
    lines.say("refused:", Paint::kYellow, fmt::format("{} connections beyond a bound ({})", count, bound));
}

std::string times(std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

std::string connections(std::uint64_t count) {
  return count == 1 ? "1 connection" : fmt::format("{} connections", count);
}

/// That a port was used as it was meant to be is for who asks. Who came sees a reset, which does not tell why.
void say_inbound(Lines& lines, const Report& report) {
  for (const plan::Inbound& one : report.inbound) {
    if (one.no_room > 0)
      lines.say("refused:", Paint::kYellow,
                fmt::format("{} to port {} {} reset for want of room: too many stood at once", connections(one.no_room),
                            one.port, one.no_room == 1 ? "was" : "were"));
    if (one.count == 0 && one.refused > 0) {
      lines.say("published:", Paint::kYellow,
                fmt::format("{} came to port {}, and nothing listened on 127.0.0.1 or ::1 there",
                            connections(one.refused), one.port));
    } else if (lines.is_everything()) {
      std::string prose = fmt::format("port {} was reached {}", one.port, times(one.count));
      if (one.refused > 0) prose += fmt::format(", and {} in vain (nothing listened)", times(one.refused));
      lines.say("published:", Paint::kNone, prose);
    }
  }
}

/// That something was signed in the caller's name is always said; the rest explains a failure, and nothing else.
void say_agent(Lines& lines, const Report& report) {
  if (!report.agent) return;
  const bool failed = report.ending != Ending::kExited || report.exit_code != 0;
  for (const std::string& sentence : signature_sentences(*report.agent)) lines.say("signed:", Paint::kNone, sentence);
  if (!report.agent->lost.empty())
    lines.say("lost:", Paint::kYellow, report.agent->lost + "; nothing was signed after that");
  if (!failed && !lines.is_everything()) return;
  for (const std::string& sentence : agent_sentences(*report.agent, lines.is_everything()))
    lines.say("agent:", Paint::kYellow, sentence);
}

/// Programs ask for the machine's own name without wanting to reach anything.
bool is_worth_saying(const Denial& denial, const Report& report) {
  const bool failed = report.ending != Ending::kExited || report.exit_code != 0;
  return failed || denial.act != "look-up" || denial.subject.contains('.');
}

void say_denials(Lines& lines, const Report& whole) {
  Report report = whole;
  std::erase_if(report.denials, [&](const Denial& denial) {
    const bool silent = !lines.is_everything() && !is_worth_saying(denial, whole);
    if (silent) report.denials_total -= denial.count;
    return silent;
  });
  if (report.denials.empty()) return;
  const std::size_t shown = std::min(report.denials.size(), lines.most(kDenialsShown));
  std::uint64_t told = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    lines.say("denied:", Paint::kYellow, denied_act(report.denials[i]));
    told += report.denials[i].count;
  }
  if (report.denials_total > told)
    lines.say("denied:", Paint::kYellow, fmt::format("and {} more", report.denials_total - told));
  say_grants(lines, report);
}

/// Only where somebody asked for it.
void say_programs(Lines& lines, const Report& report) {
  const plan::Observations& observed = report.observed;
  const bool asked = observed.watching == plan::Watching::kPrograms || lines.is_everything();
  if (!asked || observed.watching == plan::Watching::kNothing) return;
  std::vector<std::pair<std::string_view, std::uint64_t>> programs;
  std::uint64_t starts = 0;
  for (const plan::ExecutedProgram& one : observed.programs) {
    const auto known = std::ranges::find(programs, std::string_view(one.path), [](const auto& it) { return it.first; });
    if (known != programs.end()) {
      known->second += one.count;
    } else {
      programs.emplace_back(one.path, one.count);
    }
    starts += one.count;
  }
  std::vector<std::string> words;
  for (const auto& [path, count] : programs) {
    if (words.size() == lines.most(kDenialsShown)) break;
    words.push_back(count == 1 ? base::shown(path) : fmt::format("{} ({} times)", base::shown(path), count));
  }
  std::string prose = fmt::format("{} started: {}", starts, base::join(words, ", "));
  if (words.size() < programs.size()) prose += fmt::format(" and {} others", programs.size() - words.size());
  lines.say("programs:", Paint::kNone, prose);
}

/// What is missing from what was watched for.
void say_losses(Lines& lines, const Report& report) {
  if (report.observed.lost == 0) return;
  std::vector<std::string> words;
  for (const plan::Loss& loss : report.observed.losses) words.push_back(fmt::format("{} {}", loss.count, loss.why));
  lines.say("not complete:", Paint::kYellow,
            fmt::format("{} calls could not be told ({})", report.observed.lost, base::join(words, ", ")));
}

/// Said after every run: what was accepted once is easily forgotten.
void say_aliases(Lines& lines, const Report& report) {
  const auto& aliases = report.accepted_aliases;
  for (std::size_t i = 0; i < std::min(aliases.size(), kAliasesShown); ++i) {
    lines.say("accepted:", Paint::kYellow,
              fmt::format("the target saw {}, another name of {}", base::shown(aliases[i].path),
                          base::shown(aliases[i].credential)));
  }
  if (aliases.size() > kAliasesShown)
    lines.say("accepted:", Paint::kYellow, fmt::format("and {} more", aliases.size() - kAliasesShown));
}

/// So is what a line of the manifest shows although it is shielded.
void say_lifted(Lines& lines, const Report& report) {
  for (const plan::Note& note : report.notes)
    if (note.code == "shield-lifted") lines.say("lifted:", Paint::kYellow, note.text + place(note.at));
}

/// What may explain a failure. A name that nothing stands at does so seldom, and every checkout has a score of them.
/// What a run was given beyond the usual explains no failure.
bool may_explain(const plan::Note& note) {
  constexpr std::array kOpens = std::to_array<std::string_view>(
      {"shield-lifted", "shields-absent", "address-opened", "writes-and-executes", "nested-sandbox"});
  return std::ranges::find(kOpens, note.code) == kOpens.end();
}

/// What an engine does not hold is the same in every run of it: by name in one line, unless somebody asks.
void say_engine(Lines& lines, const Report& report) {
  if (report.engine == plan::Engine::kNamespace) return;
  std::string names;
  for (const plan::Degradation& degradation : report.degradations)
    if (!degradation.code.empty()) names += (names.empty() ? "" : ", ") + degradation.code;
  lines.say("weaker:", Paint::kYellow,
            fmt::format("held by Landlock alone (engine landlock); not held: {}; cordon doctor explains each", names));
}

void say_degradations(Lines& lines, const Report& report) {
  say_engine(lines, report);
  for (const plan::Degradation& degradation : report.degradations) {
    if (!degradation.code.empty() && !lines.is_everything()) continue;
    lines.say("weaker:", Paint::kYellow, fmt::format("{}: {}", plan::layer_name(degradation.layer), degradation.what));
    lines.mend(degradation.mend);
  }
}

/// Notes are what may explain a failure; after success nobody wants them.
void say_notes(Lines& lines, const Report& report) {
  const bool failed = report.ending == Ending::kSignalled ? !is_plain(report.signal)
                                                          : report.ending == Ending::kExited && report.exit_code != 0;
  if ((!failed && !lines.is_everything()) || std::ranges::none_of(report.notes, may_explain)) return;
  if (!failed) {
    lines.say("of this run was noted:");
  } else if (report.ending == Ending::kSignalled) {
    lines.say("this may be why:");
  } else {
    lines.say(fmt::format("the target ended with code {}; this may be why:", report.exit_code));
  }
  for (const plan::Note& note : report.notes)
    if (may_explain(note)) lines.below(note.text + place(note.at));
}

std::string told(const Report& report, const Style& style, Extent extent) {
  Lines lines(style, extent);
  if (extent == Extent::kOneScreen || report.ending == Ending::kLapsed) say_ending(lines, report);
  say_limits(lines, report);
  say_denials(lines, report);
  say_programs(lines, report);
  say_losses(lines, report);
  say_allowed_on_request(lines, report);
  say_untunneled(lines, report);
  say_blocked(lines, report);
  say_unreached(lines, report);
  say_inbound(lines, report);
  say_agent(lines, report);
  say_aliases(lines, report);
  say_lifted(lines, report);
  for (const std::string& sentence : left_behind_sentences(report.left))
    lines.say("changed:", Paint::kYellow, sentence);
  say_degradations(lines, report);
  say_notes(lines, report);
  return lines.take();
}

}  // namespace

std::string text(const Report& report, const Style& style) {
  if (report.failure) return text(refused(report), {}, report.executed ? "" : "nothing was run", style);
  return told(report, style, Extent::kOneScreen);
}

std::string blocked_text(const plan::Destination& one, const Style& style) {
  Lines lines(style, Extent::kOneScreen);
  lines.say("blocked:", Paint::kYellow, blocked_words(one));
  if (can_be_mended(one)) lines.mend(opening_words(one));
  return lines.take();
}

std::string everything(const Report& report, const Style& style) { return told(report, style, Extent::kEverything); }

}  // namespace cordon::report
