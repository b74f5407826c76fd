// The read-only base: what every program may count on, whatever a policy grants (SPEC §4). Curated, never a whole /etc,
// and of /etc only what anybody may read: as root a target could otherwise read what its owner alone may.
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

/// Adds what of the base stands on this host.
void want_base(const plan::HostFacts& facts, std::vector<Want>& wants, std::vector<Link>& links);

/// `real` is shown by the base, so nothing more is needed to read or execute it.
bool in_base(const plan::HostFacts& facts, std::string_view real);

/// A base path that `real` is or contains, or "".
std::string_view base_below(const plan::HostFacts& facts, std::string_view real);

/// /etc/passwd and its kind, where no grant shows the host's own. `home` is what HOME says inside.
void make_base_files(Draft& draft, const Arranged& arranged, const Identity& identity, std::string_view home);

/// Paths of the synthesised files that make_base_files() made or would make.
std::span<const std::string_view> base_files();

}  // namespace cordon::planner
