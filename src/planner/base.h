// The read-only base: what every program may count on, whatever a policy grants (SPEC §4). Curated, never a whole /etc,
// and only what anybody may read: as root a target could otherwise read what its owner alone may. That is held for each
// path of the list, not for each file below it; /usr/local/etc, where a host's own settings and keys are kept, is
// hidden.
//
// System trees come as they are on the host: a merged /usr has /bin as a link, an unmerged one as a directory. User and
// group names, hosts, resolver and name service are synthesised: the host's own say more than a target needs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "planner/draft.h"
#include "planner/identity.h"
#include "planner/mounts.h"

namespace cordon::planner {

/// Asked of every host.
std::span<const std::string_view> base_paths();

/// Asked as well: directories in base paths that are not shown.
std::span<const std::string_view> hidden_base_paths();

/// Adds what of the base stands on this host.
void want_base(const plan::HostFacts& facts, std::vector<Want>& wants, std::vector<Link>& links);

/// The list of /usr/local/etc, where a line of the policy names something in it: all else there is hidden.
std::vector<std::string> base_listings(const policy::Policy& policy, const plan::HostFacts& facts);

/// Both after every want for something visible is known.
void hide_what_lets_others_in(const plan::HostFacts& facts, std::vector<Want>& wants);
void hide_local_settings(const plan::HostFacts& facts, std::vector<Want>& wants);

/// `real` is shown by the base, so nothing more is needed to read or execute it.
bool in_base(const plan::HostFacts& facts, std::string_view real);

/// A base path that `real` is or contains, or "".
std::string_view base_below(const plan::HostFacts& facts, std::string_view real);

/// The same for many paths, of the same facts.
class StandingBase {
 public:
  explicit StandingBase(const plan::HostFacts& facts);
  [[nodiscard]] std::string_view below(std::string_view real) const;

 private:
  struct Place {
    std::string real;
    std::string_view path;
  };
  std::vector<Place> places_;  ///< sorted by `real`
};

/// /etc/passwd and its kind, where no grant shows the host's own. `home` is what HOME says inside.
void make_base_files(Draft& draft, const Arranged& arranged, const Identity& identity, std::string_view home);

/// Paths of the synthesised files that make_base_files() made or would make.
std::span<const std::string_view> base_files();

}  // namespace cordon::planner
