// Tally: the rows of a run. Everything that the broker decides is counted in one row, by verdict, way, host and port;
// rows that changed are told to the supervisor when it has room for them. Beyond the bound of rows the count goes on in
// one row per verdict without a host, so that no flood of names costs memory or a count. DNS gets half of the rows at
// most, and all that was not reached three quarters: whoever asks for many names must not thereby hide where it tried
// to connect, nor who is refused often where it sent something. Published ports, which are few, always have theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "egress/records.h"

namespace cordon::egress {

class Tally {
 public:
  explicit Tally(std::size_t most) : most_(most) {}

  /// Counts one; answers its row. `row` without id and counters.
  std::uint32_t count(Row row);
  /// Bytes alone are no news until release_bytes(): they change with every turn of a relay.
  void add_bytes(std::uint32_t id, std::uint64_t out, std::uint64_t in);
  void release_bytes();

  [[nodiscard]] bool has_news() const { return !dirty_.empty(); }
  /// A row that changed since it was last taken.
  [[nodiscard]] const Row& news() const { return rows_[dirty_.back()]; }
  void told();

 private:
  std::uint32_t row_for(Row row);
  void mark(std::uint32_t id);

  std::size_t most_;
  std::size_t dns_rows_ = 0;
  std::size_t unreached_rows_ = 0;  ///< those of DNS too
  std::vector<Row> rows_;
  std::vector<bool> is_dirty_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> moved_;  ///< rows with bytes that were not told
  std::vector<bool> is_moved_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace cordon::egress
