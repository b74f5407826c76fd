#include "egress/gatekeeper.h"

#include <algorithm>
#include <utility>

#include "egress/destination.h"

namespace cordon::egress {

GateState Gatekeeper::ask(const policy::network::Host& host, std::uint16_t port, const kernel::Endpoint& asker,
                          Handle who, std::uint64_t now_ns) {
  const std::string shown = to_string(host);
  std::string key = shown + " " + std::to_string(port);
  if (const auto kept = kept_.find(key); kept != kept_.end())
    return kept->second ? GateState::kAdmitted : GateState::kRefused;
  if (const auto known = ids_.find(key); known != ids_.end()) {
    pending_[known->second].waiting.push_back(who);
    return GateState::kWaits;
  }
  if (pending_.size() >= bounds_.gate_questions) return GateState::kFull;
  const std::uint64_t id = next_id_++;
  ids_.emplace(key, id);
  pending_.emplace(id, Pending{std::move(key), {who}, now_ns + bounds_.gate_ms * 1'000'000});
  outgoing_.emplace_back(Question{id, port, asker.port, address_of(asker), shown});
  return GateState::kWaits;
}

GateOutcome Gatekeeper::answer(const Answer& answer) {
  const auto found = pending_.find(answer.id);
  if (found == pending_.end()) return {};
  Pending question = std::move(found->second);
  pending_.erase(found);
  ids_.erase(question.key);
  const bool admitted = answer.answer == GateAnswer::kOnce || answer.answer == GateAnswer::kRun;
  const bool keep = answer.answer == GateAnswer::kRun || answer.answer == GateAnswer::kNever;
  if (keep && kept_.size() < bounds_.gate_answers) kept_[question.key] = admitted;
  return {std::move(question.waiting), admitted};
}

void Gatekeeper::leave(Handle who) {
  for (auto one = pending_.begin(); one != pending_.end(); ++one) {
    if (std::erase(one->second.waiting, who) == 0) continue;
    if (!one->second.waiting.empty()) return;
    outgoing_.emplace_back(QuestionGone{one->first});
    ids_.erase(one->second.key);
    pending_.erase(one);
    return;
  }
}

std::vector<Handle> Gatekeeper::expire(std::uint64_t now_ns) {
  std::vector<Handle> out;
  for (auto one = pending_.begin(); one != pending_.end();) {
    if (one->second.until_ns > now_ns) {
      ++one;
      continue;
    }
    out.insert(out.end(), one->second.waiting.begin(), one->second.waiting.end());
    outgoing_.emplace_back(QuestionGone{one->first});
    ids_.erase(one->second.key);
    one = pending_.erase(one);
  }
  return out;
}

}  // namespace cordon::egress
