// What a plan shows of a path: there or not, to be read or written, shielded. Pure, by the plan's steps alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"

namespace cordon::report {

enum class Sight : std::uint8_t {
  kAbsent,
  kOwn,       ///< of the sandbox itself: its proc, its devices, what it made, what every run sees of the system
  kReadable,  ///< by a line of the policy
  kWritable,
  kScratch,  ///< writable, empty at first, gone with the run
  kHidden,   ///< shielded: empty
  kHeld,     ///< shielded: may be read
};

class Inside {
 public:
  explicit Inside(const plan::Plan& plan);
  [[nodiscard]] Sight at(std::string_view path) const;
  /// Whether something below the directory is shielded.
  [[nodiscard]] bool shields_below(std::string_view directory) const;
  /// There, with nothing in it but what other lines show: who lists it sees less than stands there.
  [[nodiscard]] bool is_partial(std::string_view directory) const;
  /// A list under exec: says what may be started.
  [[nodiscard]] bool lists_programs() const { return lists_programs_; }
  /// Whether it does so of this real path.
  [[nodiscard]] bool starts(std::string_view real) const;
  /// The path with the links that the sandbox itself made followed: /bin/sh is /usr/bin/sh.
  [[nodiscard]] std::string resolved(std::string_view path) const;

 private:
  struct Place {
    Sight sight = Sight::kOwn;
    bool covers = true;  ///< what is below it as well
  };
  void put(const plan::Step& step);
  /// Every path of a run is looked up, with each directory above it.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <class Value>
  using ByPath = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;
  ByPath<Place> places_;
  std::vector<std::string> startable_;
  bool lists_programs_ = false;
  ByPath<std::string> links_;
};

/// "/a" of "/a/b", "/" of "/a" and of "/".
std::string_view parent_of(std::string_view path);

}  // namespace cordon::report
