// Libraries: what a program's loader maps before the program runs, found as ld.so(8) finds it: DT_RPATH,
// LD_LIBRARY_PATH, DT_RUNPATH, the loader's cache, the default directories; $ORIGIN expanded, each library's own needs
// followed.
//
// The bytes are anybody's: each file is read within bounds, and a program may need no more than kMostLibraries. What is
// not found here may still be found by a loader that looks elsewhere; nobody is shown anything because of an answer.
// All programs of a Session share one budget, so that a manifest's list of them costs no more than one hostile program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/program_format.h"
#include "host/resolver.h"
#include "plan/host_facts.h"

namespace cordon::host {

inline constexpr std::size_t kMostLibraries = 512;

/// Names tried, with the text of ELF files counted in, of all programs together.
inline constexpr std::size_t kMostLibraryLookUps = 32'768;

class Libraries {
 public:
  Libraries(Tree& tree, Resolver& resolver, std::string cache_file = "/etc/ld.so.cache")
      : tree_(tree), resolver_(resolver), cache_file_(std::move(cache_file)) {}

  [[nodiscard]] plan::LibraryFact find(const std::string& program, const std::string& library_path);

 private:
  friend class LibrarySearch;
  /// Nothing where the file is none that the loader maps. Remembered: programs share most of what they need.
  const std::optional<ElfNeeds>& needs_of(Node& file);
  const LoaderCache& cache();
  /// False where the budget is used up.
  bool spend(std::size_t look_ups);

  Tree& tree_;
  Resolver& resolver_;
  std::string cache_file_;
  std::optional<LoaderCache> cache_;
  std::map<const Node*, std::optional<ElfNeeds>> known_;
  std::size_t left_ = kMostLibraryLookUps;
};

}  // namespace cordon::host
