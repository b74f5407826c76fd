// FactCache: what probes said, kept for this boot. One small JSON file for each user.
//
// Keyed by boot id, kernel release, LSM list, our build id, uid and what confines the caller; a file of another key,
// another owner or mode, one reached through a link, too large or not exactly ours counts as not there. Only features
// are kept, never paths.
//
// A "yes" is believed: where it is wrong, a step fails and the run is planned anew. A "no" is a hint and never more:
// it would make a sandbox weaker or refuse it, and a target that may write the caller's cache could say it. Whoever
// loads one tries that feature again (Session).
//
// Nothing here reports failure: a host without a writable home runs without a cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/host.h"
#include "plan/host_facts.h"

namespace cordon::host {

struct CacheKey {
  std::string boot_id, kernel, lsm, build;
  std::string confinement;  ///< filters, privileges and user namespace that the caller stands in
  std::uint32_t uid = 0;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

struct CachedFacts {
  std::array<plan::FeatureFact, static_cast<std::size_t>(plan::Feature::kCount)> features;
  friend bool operator==(const CachedFacts&, const CachedFacts&) = default;
};

/// The file's text and back; nothing for anything that encode() would not have written under this key.
std::string encode_facts(const CacheKey& key, const CachedFacts& facts);
std::optional<CachedFacts> decode_facts(std::string_view text, const CacheKey& key);

class FactCache {
 public:
  FactCache(CacheLocation location, CacheKey key) : location_(std::move(location)), key_(std::move(key)) {}

  [[nodiscard]] std::optional<CachedFacts> load() const;
  /// Adds the known features to what stands there; features that are kUnknown are left as they stand.
  void remember(const CachedFacts& facts) const;
  void drop(plan::Feature feature) const;

 private:
  void store(const CachedFacts& facts) const;
  [[nodiscard]] std::string file_name() const;
  CacheLocation location_;
  CacheKey key_;
};

}  // namespace cordon::host
