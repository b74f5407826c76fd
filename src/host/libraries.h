// Libraries: what a program's loader maps before the program runs, found as ld.so(8) finds it: DT_RPATH,
// LD_LIBRARY_PATH, DT_RUNPATH, the loader's cache, the default directories; $ORIGIN expanded, each library's own needs
// followed.
//
// The bytes are anybody's: each file is read within bounds, and a program may need no more than kMostLibraries. What is
// not found here may still be found by a loader that looks elsewhere; nobody is shown anything because of an answer.
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

  Tree& tree_;
  Resolver& resolver_;
  std::string cache_file_;
  std::optional<LoaderCache> cache_;
  std::map<const Node*, std::optional<ElfNeeds>> known_;
};

}  // namespace cordon::host
