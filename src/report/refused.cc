#include "report/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/text.h"

namespace cordon::report {
namespace {

plan::RefusedItem item_of(const base::Diagnostic& diagnostic) {
  plan::RefusedItem item;
  item.code = diagnostic.code;
  item.message = diagnostic.message;
  item.mend = diagnostic.hint;
  item.at = diagnostic.at;
  return item;
}

/// Why execve itself failed: nearly always the file's fault, and then said as that.
void word_execve(const Failure& failure, plan::RefusedItem& item) {
  const std::string program = base::shown(failure.error.subject);
  item.blame = plan::Blame::kPolicy;
  item.code = "not-executed";
  switch (failure.error.code) {
    case ENOEXEC:
      item.message =
          fmt::format("{} is no program that this machine runs: it has no '#!' line and no ELF header", program);
      item.mend = "start the file with a '#!' line, or name its interpreter in the manifest: interpreter: …";
      return;
    case EACCES:
      item.message = fmt::format(
          "{} may not be executed: it or its interpreter lacks the x bit, or its file system is mounted noexec",
          program);
      item.mend = "chmod +x the file, or name its interpreter in the manifest: interpreter: …";
      return;
    case ENOENT:
      item.message = fmt::format("{} needs an interpreter or loader that is not in the sandbox", program);
      item.mend = "grant the directory that holds it in the manifest: read: …";
      return;
    default:
      item.blame = plan::Blame::kHost;
      item.message = fmt::format("{} could not be executed: {}", program, base::to_string(failure.error));
  }
}

/// The host's side of a published port: somebody else has it.
void word_publish(const Failure& failure, plan::RefusedItem& item) {
  item.code = "port-taken";
  item.blame = plan::Blame::kHost;
  item.layer = failure.layer;
  item.message =
      fmt::format("publish: {} of this host is taken: another program has it", base::shown(failure.error.subject));
  item.mend = "end what has it, or publish another port, on which the target then has to listen";
}

void word_too_few_descriptors(const Failure& failure, plan::RefusedItem& item) {
  item.code = "too-few-descriptors";
  item.blame = plan::Blame::kHost;
  item.layer = failure.layer;
  item.message = fmt::format("publish needs some 700 descriptors, and the hard limit here is {}",
                             base::shown(failure.error.subject));
  item.mend = "raise it (ulimit -Hn 1024; as root, or in /etc/security/limits.conf)";
}

/// A socket that an agent left behind when it died.
void word_agent(const Failure& failure, plan::RefusedItem& item) {
  item.code = "agent-missing";
  item.blame = plan::Blame::kHost;
  item.layer = failure.layer;
  item.message = fmt::format("{}: nothing answers at {}, which SSH_AUTH_SOCK names", failure.reason,
                             base::shown(failure.error.subject));
  item.mend = "start an agent and add a key: eval $(ssh-agent) && ssh-add";
}

void word_step(const Failure& failure, plan::RefusedItem& item) {
  if (failure.step == "publish" && failure.error.code == EMFILE) return word_too_few_descriptors(failure, item);
  if (failure.step == "agent-socket" && failure.error.code == ECONNREFUSED) return word_agent(failure, item);
  if (failure.step == "publish" && failure.error.code == EADDRINUSE) return word_publish(failure, item);
  item.code = "step-failed";
  item.blame = plan::Blame::kHost;
  item.layer = failure.layer;
  const std::string for_what = failure.reason.empty() ? "" : fmt::format(" for {}", failure.reason);
  const std::string which =
      failure.error.step.value == 0
          ? std::string("the sandbox could not be set up")
          : fmt::format("step {} ({}{}) failed", failure.error.step.value, failure.step, for_what);
  item.message = fmt::format("{}: {}", which, base::to_string(failure.error));
  item.mend = "cordon doctor says what this host lacks";
}

}  // namespace

Refused refused(const plan::Refusal& refusal) {
  Refused out;
  out.items = refusal.items;
  CORDON_CHECK(!out.items.empty());
  return out;
}

Refused refused(const base::Diagnostics& diagnostics) {
  Refused out;
  for (const base::Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == base::Severity::kError) out.items.push_back(item_of(diagnostic));
  CORDON_CHECK(!out.items.empty());
  return out;
}

Refused refused(const base::Error& error, std::string code, std::string mend) {
  Refused out;
  plan::RefusedItem item;
  item.code = std::move(code);
  item.blame = plan::Blame::kHost;
  item.message = base::to_string(error);
  item.mend = std::move(mend);
  out.items.push_back(std::move(item));
  return out;
}

Refused refused_usage(std::string code, std::string message, std::string mend, std::string usage) {
  Refused out;
  plan::RefusedItem item;
  item.code = std::move(code);
  item.message = std::move(message);
  item.mend = std::move(mend);
  out.items.push_back(std::move(item));
  out.usage = std::move(usage);
  return out;
}

Refused refused(const Report& report) {
  CORDON_CHECK(report.failure.has_value());
  Refused out;
  out.exit_code = report.exit_code;
  out.layers = report.layers;
  plan::RefusedItem item;
  item.at = report.failure->at;
  if (report.ending == Ending::kNotExecuted)
    word_execve(*report.failure, item);
  else
    word_step(*report.failure, item);
  out.items.push_back(std::move(item));
  return out;
}

std::string_view reason_code(const Refused& refused) { return refused.items.front().code; }

std::string reason(const Refused& refused) {
  std::string out;
  for (const plan::RefusedItem& item : refused.items) {
    if (!out.empty()) out += "; ";
    out += item.message;
  }
  return out;
}

std::string text(const base::Diagnostic& diagnostic, std::string_view source, const Style& style) {
  std::string place = "cordon: ";
  if (!diagnostic.at.file.empty()) {
    place = base::shown(diagnostic.at.file);
    if (diagnostic.at.line > 0) place += fmt::format(":{}:{}", diagnostic.at.line, diagnostic.at.column);
    place += ": ";
  }
  Paragraph paragraph;
  paragraph.prose = diagnostic.message;
  paragraph.label = diagnostic.severity == base::Severity::kError     ? "error:"
                    : diagnostic.severity == base::Severity::kWarning ? "warning:"
                                                                      : "note:";
  paragraph.paint = diagnostic.severity == base::Severity::kError ? Paint::kRed : Paint::kYellow;
  // The place stands on the first line only: it is what an editor jumps to.
  Style narrowed = style;
  narrowed.width = std::max<std::size_t>(style.width, 40);
  const std::string words = base::wrap(place + paragraph.label + " " + paragraph.prose, narrowed.width, 2);
  std::string out = words;
  if (const std::size_t at = out.find(paragraph.label); at != std::string::npos)
    out.replace(at, paragraph.label.size(), painted(paragraph.paint, paragraph.label, style));
  out += "\n" + base::excerpt(diagnostic.at, source);
  if (!diagnostic.hint.empty()) out += laid_out({"  ", "mend:", Paint::kGreen, diagnostic.hint, 6}, style);
  return out;
}

std::string text(const Refused& refused, std::string_view source, std::string_view closing, const Style& style) {
  std::string out;
  for (const plan::RefusedItem& item : refused.items)
    out += text(base::Diagnostic{base::Severity::kError, item.code, item.at, item.message, item.mend}, source, style);
  if (!refused.usage.empty()) out += refused.usage;
  if (closing.empty()) return out;
  const std::string count =
      refused.items.size() > 1 ? counted(refused.items.size(), "problem", "problems") + "; " : std::string();
  return out + fmt::format("cordon: {}{}\n", count, closing);
}

std::string_view blame_code(plan::Blame blame) {
  switch (blame) {
    case plan::Blame::kPolicy:
      return "policy";
    case plan::Blame::kHost:
      return "host";
    case plan::Blame::kUnsupported:
      return "unsupported";
  }
  CORDON_CHECK(false);
}

}  // namespace cordon::report
