#include "report/agent_use.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cordon::report {
namespace {

std::string times(std::uint64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

std::string key_words(const plan::SignedWith& key) {
  if (key.key.empty()) return "further keys";
  return key.comment.empty() ? key.key : fmt::format("{} ({})", key.key, base::shown(key.comment));
}

}  // namespace

std::vector<std::string> signature_sentences(const plan::AgentUse& use) {
  std::vector<std::string> out;
  for (const plan::SignedWith& key : use.keys)
    out.push_back(fmt::format("the ssh agent signed {} with {}", times(key.count), key_words(key)));
  return out;
}

std::vector<std::string> agent_sentences(const plan::AgentUse& use, bool everything) {
  std::vector<std::string> out;
  if (use.declined > 0)
    out.push_back(
        fmt::format("the ssh agent gave {} no answer: it is locked, its user declined, or it cannot use the key",
                    use.declined == 1 ? "one request" : fmt::format("{} requests", use.declined)));
  if (use.no_room > 0)
    out.push_back(fmt::format("connections to the ssh agent were closed {} for a bound's sake", times(use.no_room)));
  if (!everything) return out;
  if (use.listed > 0) out.push_back(fmt::format("the ssh agent listed its keys {}", times(use.listed)));
  if (use.refused > 0)
    out.push_back(
        fmt::format("the ssh agent was asked {} for what is not passed on: anything but a list of its keys "
                    "and a signature with one of them",
                    times(use.refused)));
  return out;
}

nlohmann::ordered_json agent_json(const plan::AgentUse& use) {
  auto keys = nlohmann::ordered_json::array();
  for (const plan::SignedWith& key : use.keys)
    keys.push_back({{"key", key.key}, {"comment", key.comment}, {"count", key.count}});
  nlohmann::ordered_json out = {{"signed", std::move(keys)},
                                {"listed", use.listed},
                                {"declined", use.declined},
                                {"refused", use.refused},
                                {"no_room", use.no_room}};
  if (!use.lost.empty()) out["lost"] = use.lost;
  return out;
}

}  // namespace cordon::report
