#include "egress/tally.h"

#include <utility>

namespace cordon::egress {
namespace {

/// The detail is the last one's: a host that is unreachable in two ways is one unreachable host.
std::string key_of(const Row& row) {
  std::string key = row.host;
  key += '\0';
  key += static_cast<char>(row.verdict);
  key += static_cast<char>(row.via);
  key += static_cast<char>(row.decided_by);
  key += static_cast<char>(row.port >> 8);
  key += static_cast<char>(row.port & 0xff);
  return key;
}

}  // namespace

std::uint32_t Tally::row_for(Row row) {
  std::string key = key_of(row);
  if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  const bool dns = row.via == Via::kDns;
  const bool unreached = row.verdict != Verdict::kAdmitted && row.verdict != Verdict::kGateAdmitted;
  const bool full =
      rows_.size() >= most_ || (dns && dns_rows_ >= most_ / 2) || (unreached && unreached_rows_ >= most_ - most_ / 4);
  const bool published = row.via == Via::kPublished;  // a few ports, which the target does not choose
  if (full && !published && (!row.host.empty() || row.port != 0)) {
    row.host.clear();
    row.port = 0;
    return row_for(std::move(row));
  }
  if (dns) ++dns_rows_;
  if (unreached && !published) ++unreached_rows_;
  row.id = static_cast<std::uint32_t>(rows_.size());
  ids_.emplace(std::move(key), row.id);
  rows_.push_back(std::move(row));
  is_dirty_.push_back(false);
  is_moved_.push_back(false);
  return rows_.back().id;
}

std::uint32_t Tally::count(Row row) {
  const std::uint32_t detail = row.detail;
  const std::uint32_t rule = row.rule;
  const auto address = row.address;
  const std::uint32_t id = row_for(std::move(row));
  ++rows_[id].count;
  rows_[id].detail = detail;
  rows_[id].rule = rule;
  rows_[id].address = address;
  mark(id);
  return id;
}

void Tally::add_bytes(std::uint32_t id, std::uint64_t out, std::uint64_t in) {
  rows_[id].bytes_out += out;
  rows_[id].bytes_in += in;
  if (is_moved_[id]) return;
  is_moved_[id] = true;
  moved_.push_back(id);
}

void Tally::release_bytes() {
  for (const std::uint32_t id : moved_) {
    is_moved_[id] = false;
    mark(id);
  }
  moved_.clear();
}

void Tally::mark(std::uint32_t id) {
  if (is_dirty_[id]) return;
  is_dirty_[id] = true;
  dirty_.push_back(id);
}

void Tally::told() {
  is_dirty_[dirty_.back()] = false;
  dirty_.pop_back();
}

}  // namespace cordon::egress
