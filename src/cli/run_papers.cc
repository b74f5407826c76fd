#include "cli/run_papers.h"

#include <utility>

#include "cli/launcher.h"
#include "report/json.h"

namespace cordon::cli {
namespace {

base::Result<void, Stop> put(const std::optional<ReportFile>& file, const std::string& text) {
  if (!file) return {};
  auto written = file->write(text);
  if (!written) return base::fail(stop(report::refused(written.error(), "report-not-written", "")));
  return {};
}

}  // namespace

base::Result<RunPapers, Stop> RunPapers::of(const Arguments& arguments, std::uint32_t caller) {
  RunPapers out;
  const auto find = [&](const char* flag, ReportFile::Readers readers,
                        std::optional<ReportFile>& into) -> base::Result<void, Stop> {
    if (!arguments.has(flag)) return {};
    auto file = ReportFile::at(flag, arguments.value(flag), caller, readers);
    if (!file) return base::fail(stop(report::refused(file.error(), "report-not-written", "")));
    into = std::move(*file);
    return {};
  };
  CORDON_OK(find("--report", ReportFile::Readers::kByUmask, out.report_));
  CORDON_OK(find("--audit-log", ReportFile::Readers::kOwner, out.audit_));
  return out;
}

base::Result<void, Stop> RunPapers::spare(const Opened& opened) {
  if (!report_ && !audit_) return {};
  std::vector<std::string> files = {opened.file.real_path, opened.policy.entrypoint.path, "/proc/self/exe",
                                    installed_launcher()};
  if (!opened.policy.interpreter_path.empty()) files.push_back(opened.policy.interpreter_path);
  for (const policy::PathGrant& pin : opened.policy.pin) files.push_back(pin.path);
  for (auto* file : {&report_, &audit_}) {
    if (!*file) continue;
    auto spared = (*file)->spare(files);
    if (spared) continue;
    *this = RunPapers();
    return base::fail(stop(report::refused(spared.error(), "report-not-written", "")));
  }
  return {};
}

base::Result<void, Stop> RunPapers::write(const report::Report& report) const {
  CORDON_OK(put(report_, report_ ? report::report_document(report) : std::string()));
  return put(audit_, audit_ ? report::audit_lines(report) : std::string());
}

base::Result<void, Stop> RunPapers::write(const report::Refused& refused) const {
  CORDON_OK(put(report_, report::refusal_document(refused)));
  return put(audit_, "");
}

}  // namespace cordon::cli
