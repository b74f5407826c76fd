// Attempts: what became of each feature in a throw-away child, as it comes over a pipe. The child may stem from a
// process with threads: nothing here or below allocates or locks.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/fd.h"
#include "kernel/errno.h"
#include "plan/host_facts.h"

namespace cordon::host {

inline constexpr std::size_t kFeatureCount = static_cast<std::size_t>(plan::Feature::kCount);

class FeatureSet {
 public:
  void add(plan::Feature feature) { bits_ |= bit(feature); }
  [[nodiscard]] bool has(plan::Feature feature) const { return (bits_ & bit(feature)) != 0; }
  [[nodiscard]] bool empty() const { return bits_ == 0; }

 private:
  static std::uint64_t bit(plan::Feature feature) { return std::uint64_t{1} << static_cast<unsigned>(feature); }
  static_assert(kFeatureCount <= 64);
  std::uint64_t bits_ = 0;
};

/// One record of the pipe; shorter than PIPE_BUF, so that two writers do not mix.
struct Attempt {
  plan::Feature feature = plan::Feature::kCount;
  bool works = false;
  std::int32_t code = 0;             ///< errno; 0 where the call succeeded and did not do its work
  std::array<char, 56> operation{};  ///< what was tried last, with a NUL
};

class Reporter {
 public:
  explicit Reporter(base::FdView pipe) : pipe_(pipe) {}
  void works(plan::Feature feature) const;
  void fails(plan::Feature feature, int code, std::string_view operation) const;
  void tell(plan::Feature feature, const kernel::Sys<void>& outcome) const;

 private:
  base::FdView pipe_;
};

/// Runs in the throw-away child and tries every feature that is wanted; returns when all is told.
void try_features(FeatureSet wanted, const Reporter& out);

/// Parts of it: the namespaces and what is mounted in them; the rest, each in a child of its own where it cannot be
/// undone.
void try_namespaces(FeatureSet wanted, const Reporter& out);
void try_system_calls(FeatureSet wanted, const Reporter& out);
void try_filters(FeatureSet wanted, const Reporter& out);

}  // namespace cordon::host
