// RunPapers: the files that `run` writes beside its verdict, `--report FILE` and `--audit-log FILE`. Both places are
// settled before the target runs (report_file.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report_file.h"
#include "cli/verdict.h"
#include "report/report.h"

namespace cordon::cli {

class RunPapers {
 public:
  RunPapers() = default;
  static base::Result<RunPapers, Stop> of(const Arguments& arguments, std::uint32_t caller);

  /// Neither takes the place of a file that makes this run what it is.
  base::Result<void, Stop> spare(const Opened& opened);

  /// Of a run that ended: the report as one document, and each denial as a line of JSON.
  base::Result<void, Stop> write(const report::Report& report) const;
  /// Of one that was refused; nothing was denied.
  base::Result<void, Stop> write(const report::Refused& refused) const;

 private:
  std::optional<ReportFile> report_, audit_;
};

}  // namespace cordon::cli
