// ReportFile: where `run --report FILE` writes. Its directory is found before the target runs and held by descriptor;
// the document then takes the place of whatever has the name. So a target that may write there can neither lead the
// report elsewhere through a link of that name nor have the name looked up through a directory that it exchanged.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::cli {

class ReportFile {
 public:
  /// Fails where the directory is not there, or where the name is something that no file can replace.
  static base::Result<ReportFile> at(const std::string& path);

  /// Whole or not at all, 0644 less the caller's umask.
  base::Result<void> write(std::string_view document) const;

 private:
  ReportFile(base::Fd directory, std::string name, std::string path)
      : directory_(std::move(directory)), name_(std::move(name)), path_(std::move(path)) {}

  base::Fd directory_;
  std::string name_;
  std::string path_;  ///< as it was given
};

}  // namespace cordon::cli
