// ReportFile: where `run --report FILE` writes. Everything about the place is settled before the target runs: its
// directory is found without following a link (an earlier run's target could have left one), held by descriptor and
// proven writable; the name must be free or a regular file of the caller's own that is no part of the run. The document
// then takes that name in one step, and is never written through whatever has it: a device, a pipe and a terminal are
// not replaced, and what a target put there meanwhile is judged again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::cli {

class ReportFile {
 public:
  /// Who may read it: 0644 less the caller's umask, or 0600.
  enum class Readers : std::uint8_t { kByUmask, kOwner };
  static base::Result<ReportFile> at(const char* flag, const std::string& path, std::uint32_t caller,
                                     Readers readers = Readers::kByUmask);

  /// Fails where the name leads to one of these files: the manifest, the program, Cordon itself. From then on they are
  /// never replaced.
  base::Result<void> spare(std::vector<std::string> files);

  /// Whole or not at all.
  base::Result<void> write(std::string_view document) const;

 private:
  ReportFile(const char* flag, base::Fd directory, std::string name, std::string path, std::uint32_t caller,
             Readers readers)
      : flag_(flag),
        directory_(std::move(directory)),
        name_(std::move(name)),
        path_(std::move(path)),
        caller_(caller),
        readers_(readers) {}
  [[nodiscard]] base::Result<void> may_replace() const;

  const char* flag_;
  base::Fd directory_;
  std::string name_;
  std::string path_;  ///< as it was given
  std::uint32_t caller_;
  Readers readers_;
  std::vector<std::string> spared_;
};

}  // namespace cordon::cli
