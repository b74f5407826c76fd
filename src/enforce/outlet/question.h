// A question of the broker's: may this host and port be reached, which no rule covers? For whoever runs a run (--ask, a
// library's gate). Plain values; nothing of the broker's own comes along.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::enforce::outlet {

struct Asked {
  std::uint64_t id = 0;
  std::string host;
  std::uint16_t port = 0;
  std::uint16_t asker_port = 0;  ///< inside the sandbox: a hint at which process, no more (sockets can be passed on)
};

enum class GateAnswer : std::uint8_t {
  kNo,     ///< those that wait
  kOnce,   ///< those that wait
  kRun,    ///< and everything to this host and port in this run
  kNever,  ///< no, and not asked again in this run
};

/// Who asks a person, and understands the answer; the words are the caller's.
struct AtTerminal {
  /// `program`: which one reaches for it, a hint from outside, unquoted; "" where that is not known.
  std::function<std::string(const Asked&, const std::string& program)> question;
  std::function<std::optional<GateAnswer>(std::string_view line)> answer;  ///< nothing: it says nothing clear
  std::string again;                                                       ///< after such a line
  std::string disturbed;  ///< after one that admits, where the run did not stand still: it does not count
};

using OnQuestion = std::function<void(const Asked&, std::function<void(GateAnswer)> answer)>;

}  // namespace cordon::enforce::outlet
