// Prepared's inside: the options of a run, the streams made for it, and the launcher if one was started early.
#pragma once

#include <optional>
#include <vector>

#include "enforce/launch/start.h"
#include "enforce/supervise/streams.h"
#include "enforce/supervise/supervise.h"

namespace cordon::enforce::supervise {

struct Prepared::Parts {
  explicit Parts(Options given) : options(std::move(given)), streams(make_streams(options)) {}

  Options options;
  base::Result<ChildStreams> streams;
  std::vector<int> keep_ignored;  ///< what the early launcher was started with
  std::optional<launch::Early> early;

  /// How a launcher is started for these options. The streams must have been made.
  [[nodiscard]] launch::Options launch_options(std::vector<int> ignored) const;
  /// By the early launcher where there is one that may be used.
  base::Result<launch::Started> start(const plan::Plan& plan, const std::vector<int>& ignored,
                                      const launch::OnBorn& on_born);
};

}  // namespace cordon::enforce::supervise
