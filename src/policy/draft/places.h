// Places: what a path is by its name alone, for a draft: too broad to be granted, somebody else's, a cache.
#pragma once

#include <string_view>

#include "plan/host_facts.h"
#include "policy/draft/draft.h"

namespace cordon::policy::draft {

/// Why a path is never proposed under this key; an empty code where it may be.
struct Floor {
  std::string_view code;
  std::string_view why;
  [[nodiscard]] bool empty() const { return code.empty(); }
};
Floor floor_of(Access access, std::string_view path, const plan::HostFacts& facts);

Purpose purpose_of(std::string_view path, std::string_view project, const plan::HostFacts& facts);

/// Python alone: listing a directory is how it looks for modules there.
bool is_of_the_importer(const std::vector<std::string>& programs);

/// What Python keeps beside its modules: made anew where it is missing, and a place to plant code in.
bool is_bytecode(std::string_view path);

/// What every Java machine keeps in /tmp for others of its user to find: /tmp/hsperfdata_USER, /tmp/.java_pidN.
bool is_of_the_java_machine(std::string_view path);

/// What the C library looks at in every process and does without.
bool is_library_setting(std::string_view path);

/// Below the caller's home, and in a directory of it that begins with a dot: settings and caches.
bool is_hidden_in_home(std::string_view path, const plan::HostFacts& facts);

/// The home that the path lies below, or "".
std::string home_above(std::string_view path, const plan::HostFacts& facts);

}  // namespace cordon::policy::draft
