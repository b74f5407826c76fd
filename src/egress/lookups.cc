#include "egress/lookups.h"

#include <utility>

namespace cordon::egress {
namespace {

using policy::network::HostName;
using policy::network::Nat64;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::size_t kMostKept = 4'096;                  // more names than these are not pinned
constexpr std::string_view kNat64Name = "ipv4only.arpa";  // RFC 7050

}  // namespace

const Resolved* Lookups::find(const HostName& name, Handle who, std::uint64_t now_ns) {
  Entry& entry = entries_[name.str()];
  const bool fresh = entry.id == 0 && entry.until_ns == 0;
  if (!fresh && entry.state == State::kDone && entry.until_ns > now_ns) return &entry.resolved;
  entry.waiting.push_back(who);
  if (fresh || entry.state == State::kDone) {
    entry.state = State::kQueued;
    entry.until_ns = now_ns + bounds_.lookup_ms * kMs;
    queue_.push_back(name.str());
  }
  return nullptr;
}

bool Lookups::knows_nat64(Handle who, std::uint64_t now_ns) {
  if (nat64_known_) return true;
  if (!nat64_wanted_) {
    nat64_wanted_ = true;
    nat64_until_ns_ = now_ns + bounds_.nat64_ms * kMs;
  }
  nat64_waiting_.push_back(who);
  return false;
}

std::optional<LookupQuestion> Lookups::next_question(std::uint64_t) {
  if (nat64_wanted_ && !nat64_asked_) {
    const auto name = HostName::parse(kNat64Name);
    return make_question(next_id_, *name, LookupFamily::kIpv6, nat64_until_ns_);
  }
  while (!queue_.empty() && asked_.size() < bounds_.lookups) {
    const auto entry = entries_.find(queue_.front());
    if (entry != entries_.end() && entry->second.state == State::kQueued)
      return make_question(next_id_, *HostName::parse(entry->first), LookupFamily::kAny, entry->second.until_ns);
    queue_.pop_front();  // its time was over before its turn came
  }
  return std::nullopt;
}

void Lookups::sent(std::uint64_t) {
  const std::uint32_t id = next_id_++;
  if (nat64_wanted_ && !nat64_asked_) {
    nat64_asked_ = true;
    nat64_id_ = id;
    return;
  }
  Entry& entry = entries_[queue_.front()];
  entry.state = State::kAsked;
  entry.id = id;
  asked_.emplace(id, std::move(queue_.front()));
  queue_.pop_front();
}

std::vector<Handle> Lookups::finish(Entry& entry, Resolved resolved, std::uint64_t until_ns) {
  entry.state = State::kDone;
  entry.resolved = std::move(resolved);
  entry.until_ns = until_ns;
  asked_.erase(entry.id);
  return std::exchange(entry.waiting, {});
}

void Lookups::finish_nat64(const LookupAnswer* answer) {
  nat64_known_ = true;
  if (answer == nullptr || (answer->status != LookupStatus::kOk && answer->status != LookupStatus::kNoSuchName)) return;
  const auto addresses = addresses_in(*answer);
  prefixes_ = policy::network::nat64_prefixes(addresses);
  // An answer in IPv6 that shows no prefix is not one that RFC 7050 knows: nothing was learnt.
  if (!prefixes_.empty()) nat64_ = Nat64::kKnown;
  if (addresses.empty()) nat64_ = Nat64::kNone;
}

std::vector<Handle> Lookups::take(const LookupAnswer& answer, std::uint64_t now_ns) {
  if (nat64_asked_ && !nat64_known_ && answer.id == nat64_id_) {
    finish_nat64(&answer);
    return std::exchange(nat64_waiting_, {});
  }
  const auto asked = asked_.find(answer.id);
  if (asked == asked_.end()) return {};  // late
  Resolved resolved{answer.status, addresses_in(answer)};
  if (resolved.status == LookupStatus::kOk && resolved.addresses.empty()) resolved.status = LookupStatus::kNoSuchName;
  // What failed is asked again by the next connection.
  const bool keep = resolved.status == LookupStatus::kOk && entries_.size() <= kMostKept;
  const std::uint64_t pinned = keep ? bounds_.pin_ms * kMs : 0;
  return finish(entries_[asked->second], std::move(resolved), now_ns + pinned);
}

std::vector<Handle> Lookups::expire(std::uint64_t now_ns) {
  std::vector<Handle> out;
  for (auto one = entries_.begin(); one != entries_.end();) {
    Entry& entry = one->second;
    const bool over = entry.until_ns <= now_ns;
    const bool forget = over && entry.state == State::kDone;
    if (over && !forget) {
      const auto woken = finish(entry, {LookupStatus::kTooLate, {}}, now_ns);
      out.insert(out.end(), woken.begin(), woken.end());
    }
    one = forget ? entries_.erase(one) : std::next(one);
  }
  if (nat64_wanted_ && !nat64_known_ && nat64_until_ns_ <= now_ns) {
    finish_nat64(nullptr);
    out.insert(out.end(), nat64_waiting_.begin(), nat64_waiting_.end());
    nat64_waiting_.clear();
  }
  return out;
}

std::vector<Handle> Lookups::fail_all(std::uint64_t now_ns) {
  std::vector<Handle> out;
  for (auto& [name, entry] : entries_) {
    if (entry.state == State::kDone) continue;
    const auto woken = finish(entry, {LookupStatus::kNoResolver, {}}, now_ns);
    out.insert(out.end(), woken.begin(), woken.end());
  }
  if (nat64_wanted_ && !nat64_known_) {
    finish_nat64(nullptr);
    out.insert(out.end(), nat64_waiting_.begin(), nat64_waiting_.end());
    nat64_waiting_.clear();
  }
  queue_.clear();
  return out;
}

const Resolved* Lookups::result(const HostName& name) const {
  const auto found = entries_.find(name.str());
  if (found == entries_.end() || found->second.state != State::kDone) return nullptr;
  return &found->second.resolved;
}

}  // namespace cordon::egress
