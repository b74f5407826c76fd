// The profiles as people write them, profiles/*.yaml: read, and refused with file and line where anything is not as it
// must be. The values are those of policy/ecosystem/profile.h; `Read` keeps what they point to. What is accepted here
// becomes tables (profile_tables.h) and a page (profile_page.h) without another check.
//
// Refused: a key or a word nobody knows, a path that is not absolute or "~/…" in its plainest form, a list out of
// order, a host that is none, a command, marker or role of two profiles, no profile "generic". Build time only.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"
#include "input.h"
#include "policy/ecosystem/profile.h"

namespace cordon::profiles {

namespace ecosystem = policy::ecosystem;
using shields::File;

/// Owner of every text and list that the profiles point to.
class Store {
 public:
  std::string_view text(std::string text);
  template <class T>
  std::span<const T> list(std::vector<T> items) {
    const auto kept = std::make_shared<std::vector<T>>(std::move(items));
    kept_.push_back(kept);
    return *kept;
  }

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

struct Read {
  std::vector<ecosystem::Profile> profiles;  ///< sorted by name
  Store store;
};

base::Result<Read, base::Diagnostics> read_profiles(std::span<const File> files);

}  // namespace cordon::profiles
